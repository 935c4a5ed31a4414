//! Where a demonstration lives: a directory of its own, never the store that the settings name.
//!
//! Without a directory of its choice it is a new one below the system's temporary directory, removed
//! at the end; one that was killed leaves it there, as `nagaya-demo-…`. A directory that is kept has
//! a mark. One without it that holds anything is refused: it may be a real store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::options::Value;
use tempfile::TempDir;

use crate::config::Config;
use crate::{Error, log};

/// What a demonstration's directory below the temporary one is called.
const PREFIX: &str = "nagaya-demo-";

/// The file that says that a directory is a demonstration's.
const MARK: &str = "nagaya-demo.txt";

/// What stands in it.
const MARKED: &str =
    "This directory holds the data of `nagaya serve --demo`. Nothing in it is real.\n";

/// What a demonstration does not log: that slots of its sources fail and are given up, as they are
/// meant to.
const SILENT: &str = "collect::ops::collect=error,dispatch::queue::dead=off";

/// The directory and the settings of a demonstration. Dropped, it removes what it does not keep.
pub(crate) struct Ground {
    config: Config,
    _removed_at_end: Option<TempDir>,
}

impl Ground {
    /// Makes the ground: in `keep`, or in a new directory.
    ///
    /// # Errors
    /// `keep` is not a demonstration's, there is no room for a directory, or the settings ask for TLS,
    /// which the players do not speak.
    pub(crate) fn open(config: &Config, keep: Option<&Path>) -> Result<Ground, Error> {
        if config.settings.http.tls_certificate.is_some() {
            return Err(Error::Usage("a demonstration speaks no TLS".to_owned()));
        }
        let temporary = match keep {
            Some(keep) => {
                claim(keep, &config.settings.store.path)?;
                None
            }
            None => {
                let made = tempfile::Builder::new().prefix(PREFIX).tempdir();
                Some(made.map_err(Error::system("cannot make a directory for the demonstration"))?)
            }
        };
        let path = match (&temporary, keep) {
            (Some(temporary), _) => temporary.path(),
            (None, Some(keep)) => keep,
            (None, None) => unreachable!("what is not kept is temporary"),
        };
        mark(path)?;
        Ok(Ground { config: config.for_demo(path), _removed_at_end: temporary })
    }

    /// What a demonstration logs, where a house would log as `options` say.
    pub(crate) fn quiet(options: &log::Options) -> log::Options {
        let mut quiet = options.clone();
        let level = format!("{},{SILENT}", options.level.write());
        assert!(quiet.level.read(&level), "`{level}` is a level");
        quiet
    }

    /// The settings of the demonstration.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }
}

/// Takes a directory that is to be kept.
fn claim(keep: &Path, store: &Path) -> Result<(), Error> {
    let shown = keep.display();
    if is_within(keep, store) {
        return Err(Error::Usage(format!(
            "`--demo-keep {shown}` is in the directory of the real store (`store.path`); choose \
             another one"
        )));
    }
    let is_empty = match fs::read_dir(keep) {
        Ok(mut entries) => entries.next().is_none(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => true,
        Err(cause) => return Err(Error::File { path: keep.to_owned(), cause }),
    };
    if is_empty || keep.join(MARK).is_file() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`--demo-keep {shown}` holds files that are not a demonstration's; choose a new directory"
    )))
}

fn mark(path: &Path) -> Result<(), Error> {
    let file = path.join(MARK);
    let marked = fs::create_dir_all(path).and_then(|()| fs::write(&file, MARKED));
    marked.map_err(|cause| Error::File { path: file, cause })
}

/// Whether one path is another or lies in it, also through links where they exist.
fn is_within(path: &Path, other: &Path) -> bool {
    let whole = |path: &Path| -> PathBuf {
        let known = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        known.unwrap_or_else(|_| path.to_owned())
    };
    whole(path).starts_with(whole(other))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use base::options::Value;

    use super::{Ground, MARK};
    use crate::config::{Config, Sources};
    use crate::log;

    fn config(store: &std::path::Path) -> Config {
        let text = store.to_str().unwrap().to_owned();
        let flags = vec![
            ("store.path", text),
            ("collect.base_url", "http://upstream.example".to_owned()),
            ("hub.carrier", "nats".to_owned()),
            ("http.listen", "127.0.0.1:0".to_owned()),
        ];
        Config::load(&Sources { flags, ..Sources::default() }).unwrap()
    }

    #[test]
    fn a_demonstration_takes_from_the_settings_how_it_is_reached_and_nothing_that_it_would_touch() {
        let home = tempfile::tempdir().unwrap();
        let config = config(&home.path().join("real"));
        let ground = Ground::open(&config, None).unwrap();
        let demo = &ground.config().settings;
        assert_eq!(demo.http.listen, config.settings.http.listen);
        let settings = |config: &Config| {
            let written = crate::config::show::in_force(config, false);
            written.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        for real in ["base_url = \"http://upstream.example\"", "carrier = \"nats\""] {
            assert!(settings(&config).iter().any(|line| line == real), "{real}");
            assert!(!settings(ground.config()).iter().any(|line| line == real), "{real}");
        }
        let path = demo.store.path.clone();
        assert!(path != config.settings.store.path && path.join(MARK).is_file());
        drop(ground);
        assert!(!path.exists(), "it is removed at the end");
        assert!(!home.path().join("real").exists());
    }

    #[test]
    fn a_demonstration_is_quiet_about_failures_that_it_plays() {
        let quiet = Ground::quiet(&log::Options::default());
        let level = quiet.level.write();
        assert_eq!(level, "info,collect::ops::collect=error,dispatch::queue::dead=off");
    }

    #[test]
    fn only_a_new_directory_or_a_demonstrations_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let (store, other) = (home.path().join("real"), home.path().join("other"));
        let config = config(&store);
        let refusal = |keep: &std::path::Path| match Ground::open(&config, Some(keep)) {
            Ok(_) => panic!("{} is taken", keep.display()),
            Err(error) => error.to_string(),
        };
        assert!(refusal(&store).contains("store.path"));
        assert!(refusal(&store.join("demo")).contains("store.path"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("log"), "real").unwrap();
        assert!(refusal(&other).contains("not a demonstration's"));
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1, "nothing is written into it");
        let kept = home.path().join("kept");
        drop(Ground::open(&config, Some(&kept)).unwrap());
        assert!(kept.join(MARK).is_file(), "it stays");
        drop(Ground::open(&config, Some(&kept)).unwrap());
    }
}
