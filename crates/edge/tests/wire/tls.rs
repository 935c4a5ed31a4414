//! TLS from files that are right, wrong, and changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Version};
use edge::{Options, Server};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use testkit::{Answer, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Site, options, read};

struct Files {
    directory: TempDir,
    certified: CertifiedKey<KeyPair>,
}

fn certified() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["house.example".to_owned()]).unwrap()
}

impl Files {
    fn new() -> Files {
        let files = Files { directory: TempDir::new().unwrap(), certified: certified() };
        files.write(&files.certified);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, certified: &CertifiedKey<KeyPair>) {
        std::fs::write(self.path("certificate.pem"), certified.cert.pem()).unwrap();
        std::fs::write(self.path("key.pem"), certified.signing_key.serialize_pem()).unwrap();
    }

    fn options(&self) -> Options {
        Options {
            tls_certificate: Some(self.path("certificate.pem")),
            tls_key: Some(self.path("key.pem")),
            ..options()
        }
    }
}

type Stream = TlsStream<tokio::net::TcpStream>;

/// Shakes hands, trusting this certificate alone.
async fn shake(
    site: &Site,
    trusted: &CertificateDer<'static>,
    protocols: &[&str],
) -> std::io::Result<Stream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("house.example").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, site.connect().await).await
}

async fn get_livez(mut stream: Stream) -> Answer {
    let request = b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    Answer::parse(&bytes)
}

#[testkit::test]
async fn both_protocols_are_offered_and_the_client_chooses() {
    let files = Files::new();
    let site = Site::with(Router::new(), files.options()).await;
    let trusted = files.certified.cert.der();
    for protocols in [&[][..], &["http/1.1"]] {
        let answer = get_livez(shake(&site, trusted, protocols).await.unwrap()).await;
        assert_eq!((answer.status, answer.text()), (200, "alive\n"));
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=2592000"));
    }
    let stream = shake(&site, trusted, &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut requests, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    site.instance.ground.tasks.spawn("client", async move {
        let _ended = connection.await;
    });
    let request = Request::get("https://house.example/livez").body(Body::empty()).unwrap();
    let response = requests.send_request(request).await.unwrap();
    assert_eq!((response.version(), response.status().as_u16()), (Version::HTTP_2, 200));
    drop(requests);
    assert!(site.server.url().starts_with("https://127.0.0.1:"));
    site.drain().await;
}

#[testkit::test]
async fn changed_files_are_used_and_wrong_ones_are_not() {
    let files = Files::new();
    let site = Site::with(Router::new(), files.options()).await;
    let first = files.certified.cert.der();
    assert_eq!(get_livez(shake(&site, first, &[]).await.unwrap()).await.status, 200);

    std::fs::write(files.path("certificate.pem"), "half a file").unwrap();
    site.time.advance(Duration::from_secs(10)).await;
    assert_eq!(get_livez(shake(&site, first, &[]).await.unwrap()).await.status, 200);

    let second = certified();
    files.write(&second);
    site.time.advance(Duration::from_secs(10)).await;
    assert!(shake(&site, first, &[]).await.is_err());
    let answer = get_livez(shake(&site, second.cert.der(), &[]).await.unwrap()).await;
    assert_eq!(answer.status, 200);

    std::fs::remove_file(files.path("key.pem")).unwrap();
    site.time.advance(Duration::from_secs(10)).await;
    let answer = get_livez(shake(&site, second.cert.der(), &[]).await.unwrap()).await;
    assert_eq!(answer.status, 200);
    site.drain().await;
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let files = Files::new();
    let good = files.options();
    Server::check(&good).unwrap();
    let refused = |options: &Options| Server::check(options).unwrap_err().to_string();

    let half = Options { tls_key: None, ..good.clone() };
    assert_eq!(refused(&half), "`http.tls_key` is missing: TLS needs a certificate and its key");
    let missing = Options { tls_key: Some(files.path("no.pem")), ..good.clone() };
    assert!(refused(&missing).starts_with("cannot use `"), "{}", refused(&missing));
    assert!(refused(&missing).contains("no.pem` for TLS: "), "{}", refused(&missing));
    let swapped = Options {
        tls_certificate: good.tls_key.clone(),
        tls_key: good.tls_certificate.clone(),
        ..good.clone()
    };
    assert!(refused(&swapped).ends_with("key.pem` for TLS: there is no certificate in it"));
    let other = files.path("other.pem");
    std::fs::write(&other, certified().signing_key.serialize_pem()).unwrap();
    let strange = Options { tls_key: Some(other), ..good };
    let told = refused(&strange);
    assert!(
        told.contains("certificate.pem` for TLS: with ") && told.contains("other.pem"),
        "{told}"
    );
}

#[testkit::test]
async fn who_speaks_no_tls_or_says_nothing_harms_nobody() {
    let files = Files::new();
    let site = Site::with(Router::new(), files.options()).await;
    let plain = site.get("/livez").await;
    assert_ne!(plain.status, 200);
    let silent = site.connect().await;
    let (answer, passed) = wait::while_time_passes(&site.time, read(silent)).await;
    assert_eq!(answer.head, "");
    assert!(passed.as_secs() >= 29, "{passed:?}");
    let trusted = files.certified.cert.der();
    assert_eq!(get_livez(shake(&site, trusted, &[]).await.unwrap()).await.status, 200);
    site.drain().await;
}
