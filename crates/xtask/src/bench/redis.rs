//! Redis as a peer.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use super::house::end;
use crate::run;

/// How long it has to listen.
const START: Duration = Duration::from_secs(10);

/// When a write is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// Before the response.
    Always,
    /// Within a second or two.
    EverySecond,
    /// Never.
    Never,
}

/// Redis on an empty folder; ended when dropped.
pub(super) struct Redis {
    child: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl Redis {
    pub(super) fn start(sync: SyncMode) -> Result<Redis, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let data = super::data_folder().map_err(|error| error.to_string())?;
        let mut command = run::program("redis-server");
        let (appended, synced) = match sync {
            SyncMode::Always => ("yes", "always"),
            SyncMode::EverySecond => ("yes", "everysec"),
            SyncMode::Never => ("no", "no"),
        };
        command.args(["--save", "", "--appendonly", appended, "--appendfsync", synced]);
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]);
        command.arg(data.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| error.to_string())?;
        let redis = Redis { child, port, _data: data };
        let begin = run::now();
        while redis.connect().is_err() {
            if begin.elapsed() > START {
                return Err("redis-server does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(redis)
    }

    pub(super) fn connect(&self) -> Result<TcpStream, String> {
        let connected = TcpStream::connect(("127.0.0.1", self.port));
        let stream = connected.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(stream)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
