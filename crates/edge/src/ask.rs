//! Asks a house on this machine, as anybody else would: at its address, over TLS if it speaks that.
//! For commands that want to know how a house is.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, header};
use base::Clock;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::tls::Tls;
use crate::{Error, Options};

/// A house that is well answers within moments.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer: all numbers of a house, and more.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What the house answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The status.
    pub status: u16,
    /// The text.
    pub body: String,
}

/// Asks the house that these options describe for a path.
///
/// # Errors
/// Nobody answers, or not in time, or somebody else.
pub async fn ask_house(options: &Options, clock: &Clock, path: &str) -> Result<Told, Error> {
    let address = reachable(options.listen);
    let failed = |cause| Error::NoAnswer { address, cause };
    let tls = Tls::load(options)?;
    let asked = async {
        let stream = TcpStream::connect(address).await?;
        match tls.as_ref().map(Tls::certificate).transpose().map_err(io::Error::other)? {
            None => ask(stream, path).await,
            Some(certificate) => {
                let connector = TlsConnector::from(Arc::new(config(certificate)));
                let name = ServerName::from(address.ip());
                ask(connector.connect(name, stream).await?, path).await
            }
        }
    };
    tokio::select! {
        told = asked => told.map_err(failed),
        () = clock.sleep(PATIENCE) => {
            let told = format!("no answer within {PATIENCE:?}");
            Err(failed(io::Error::new(io::ErrorKind::TimedOut, told)))
        }
    }
}

/// Who listens everywhere listens here too.
pub fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, listen.port())
}

async fn ask<S>(stream: S, path: &str) -> io::Result<Told>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let request = Request::get(path)
        .header(header::HOST, "localhost")
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(io::Error::other)?;
    let answer = async move {
        let answer = sender.send_request(request).await.map_err(io::Error::other)?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await;
        let body = body.map_err(io::Error::other)?.to_bytes();
        Ok(Told { status, body: String::from_utf8_lossy(&body).into_owned() })
    };
    // How the connection ends shows in the answer.
    let (answer, _) = tokio::join!(answer, connection);
    answer
}

fn config(certificate: CertificateDer<'static>) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let verifier = Own { certificate, provider: Arc::clone(&provider) };
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth()
}

/// Trusts the certificate in the settings' file, under whatever name, and no other.
#[derive(Debug)]
struct Own {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Own {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *end_entity == self.certificate {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::reachable;

    #[test]
    fn who_listens_everywhere_is_found_here() {
        for (listen, here) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()), here.parse().unwrap());
        }
    }
}
