# Built from the repository alone: `docker build -t nagaya .` The release profile strips the binary,
# and the build fails if it did not.

FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
ARG GIT_COMMIT=unknown
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    GIT_COMMIT="$GIT_COMMIT" cargo build --release --locked --package nagaya \
    && cp target/release/nagaya /usr/local/bin/nagaya \
    && ! readelf --section-headers /usr/local/bin/nagaya | grep --quiet '\.symtab'

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data nagaya \
    && install --directory --owner nagaya --group nagaya --mode 0700 /data
COPY --from=build /usr/local/bin/nagaya /usr/local/bin/nagaya
USER 10001
VOLUME /data
# In a container the loopback is nobody's: who publishes the port decides who reaches it.
ENV NAGAYA_STORE_PATH=/data NAGAYA_HTTP_LISTEN=:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["nagaya", "healthcheck"]
ENTRYPOINT ["nagaya"]
# Whatever ends is started again (`restart: unless-stopped`), so what a restart does not mend holds.
CMD ["serve", "--hold"]
