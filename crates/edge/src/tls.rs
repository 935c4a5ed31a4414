//! TLS from two files, read again when they change.
//!
//! - **Invariant:** files that are no certificate and its key are refused by name: at the start
//!   before anything is opened, later by keeping what is in use.
//! - **Invariant:** connections keep the certificate that they began with.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use base::{Clock, Tasks, Timestamp};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use crate::limits::TLS_CHECK_INTERVAL;
use crate::{Error, Options};

/// Both protocols, the better one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What the house's own certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The names and addresses that it is for.
    pub names: Vec<String>,
    /// From when on it counts.
    pub begins: Timestamp,
    /// When it ends.
    pub ends: Timestamp,
}

impl Certificate {
    /// Reads the certificate that the options name, if they name one.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn find(options: &Options) -> Result<Option<Certificate>, Error> {
        let Some(tls) = Tls::load(options)? else { return Ok(None) };
        let der = tls.certificate()?;
        let (_, certificate) = X509Certificate::from_der(&der)
            .map_err(|cause| refused(&tls.files.certificate, cause))?;
        let names = certificate.subject_alternative_name().ok().flatten();
        let names = names.map(|names| names.value.general_names.iter().filter_map(name).collect());
        let at = |time: ASN1Time| {
            let seconds = u64::try_from(time.timestamp()).unwrap_or_default();
            Timestamp::from_millis(seconds * 1_000)
        };
        Ok(Some(Certificate {
            names: names.unwrap_or_default(),
            begins: at(certificate.validity().not_before),
            ends: at(certificate.validity().not_after),
        }))
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(bytes) => Some(IpAddr::from(bytes).to_string()),
            Err(_) => Some(IpAddr::from(<[u8; 16]>::try_from(*bytes).ok()?).to_string()),
        },
        _ => None,
    }
}

/// A certificate and its key, as they are in their files.
#[derive(Clone)]
pub(crate) struct Tls {
    files: Files,
    config: Arc<ArcSwap<ServerConfig>>,
}

#[derive(Clone, Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What the files held.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// Reads the files that the options name, if they name any.
    pub(crate) fn load(options: &Options) -> Result<Option<Tls>, Error> {
        let files = match (&options.tls_certificate, &options.tls_key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => {
                Files { certificate: certificate.clone(), key: key.clone() }
            }
            (Some(_), None) => return Err(Error::TlsHalf { missing: "http.tls_key" }),
            (None, Some(_)) => return Err(Error::TlsHalf { missing: "http.tls_certificate" }),
        };
        let config = files.config(&files.read()?)?;
        Ok(Some(Tls { files, config: Arc::new(ArcSwap::from_pointee(config)) }))
    }

    /// The house's own certificate, as it is in its file now.
    pub(crate) fn certificate(&self) -> Result<CertificateDer<'static>, Error> {
        let chain = self.files.chain(&self.files.read()?)?;
        Ok(chain.into_iter().next().expect("a chain is not empty"))
    }

    /// Shakes hands.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.config.load_full()).accept(stream).await
    }

    /// Looks at the files from time to time until the tasks shut down.
    pub(crate) fn watch(&self, clock: &Clock, tasks: &Tasks) {
        let (tls, mut ticks) = (self.clone(), tasks.ticks(clock, TLS_CHECK_INTERVAL));
        tasks.spawn("certificate watcher", async move {
            // Files that fail are tried again only when they have changed.
            let mut tried = tls.files.read().ok();
            while ticks.next().await {
                tls.check(&mut tried);
            }
        });
    }

    fn check(&self, tried: &mut Option<Contents>) {
        // Two small files on a local disk: not worth a thread of their own.
        let read = self.files.read();
        if read.as_ref().ok() == tried.as_ref() {
            return;
        }
        let config = read
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|contents| self.files.config(contents).map_err(|error| error.to_string()));
        match config {
            Ok(config) => {
                self.config.store(Arc::new(config));
                metrics::counter!("nagaya_tls_loads_total", "result" => "ok").increment(1);
                tracing::info!(files = %self.files, "new connections get the changed certificate");
            }
            Err(cause) => {
                metrics::counter!("nagaya_tls_loads_total", "result" => "failed").increment(1);
                tracing::error!(cause, "the certificate before stays in use");
            }
        }
        *tried = read.ok();
    }
}

impl Files {
    fn read(&self) -> Result<Contents, Error> {
        let read = |path: &Path| std::fs::read(path).map_err(|cause| refused(path, cause));
        Ok(Contents { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    fn chain(&self, contents: &Contents) -> Result<Vec<CertificateDer<'static>>, Error> {
        let chain: Result<Vec<_>, pem::Error> =
            CertificateDer::pem_slice_iter(&contents.certificate).collect();
        let chain = chain.map_err(|cause| refused(&self.certificate, cause))?;
        if chain.is_empty() {
            return Err(refused(&self.certificate, "there is no certificate in it"));
        }
        Ok(chain)
    }

    fn config(&self, contents: &Contents) -> Result<ServerConfig, Error> {
        let chain = self.chain(contents)?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|cause| match cause {
            pem::Error::NoItemsFound => refused(&self.key, "there is no private key in it"),
            cause => refused(&self.key, cause),
        })?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows the default versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|cause| {
                refused(&self.certificate, format!("with {}: {cause}", self.key.display()))
            })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(config)
    }
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.certificate.display(), self.key.display())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is nobody's business.
        self.files.fmt(f)
    }
}

fn refused(path: &Path, what: impl ToString) -> Error {
    Error::Tls { path: path.to_owned(), what: what.to_string() }
}
