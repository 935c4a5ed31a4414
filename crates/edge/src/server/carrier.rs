//! What carries a connection's bytes: the bare socket, or TLS on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

pub(super) enum Carrier {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Carrier {
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Carrier::Plain(stream) => stream,
            Carrier::Tls(stream) => stream.get_ref().0,
        }
    }

    /// Whether the handshake agreed on HTTP/2; `None` if there was none.
    pub(super) fn find_agreed_http2(&self) -> Option<bool> {
        match self {
            Carrier::Plain(_) => None,
            Carrier::Tls(stream) => Some(stream.get_ref().1.alpn_protocol() == Some(b"h2")),
        }
    }
}

impl AsyncRead for Carrier {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Carrier::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Carrier::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Carrier {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Carrier::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Carrier::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Carrier::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Carrier::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Carrier::Plain(stream) => stream.is_write_vectored(),
            Carrier::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Carrier::Plain(stream) => Pin::new(stream).poll_flush(context),
            Carrier::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Carrier::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Carrier::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}
