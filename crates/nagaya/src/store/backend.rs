//! Which backend the house's store is. Nothing else in the house knows.

use std::sync::Arc;

use base::{Clock, Random, Tasks, hide_passwords};
use dynamodb::client::Client;
use table::{Backend, Embedded, Progress, Tables};

use crate::{Error, Settings};

/// An open store.
#[derive(Clone)]
pub(crate) enum Store {
    Embedded(Embedded),
    DynamoDb(Client),
}

impl Store {
    /// Looks at what the settings say, without asking anybody.
    ///
    /// # Errors
    /// They lack something.
    pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
        match settings.store.backend {
            Backend::Embedded => Ok(()),
            Backend::DynamoDb => {
                settings.aws.check().map_err(|lack| Error::Usage(lack.to_string()))
            }
        }
    }

    /// Opens the store that the settings name.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) async fn open(
        settings: &Settings,
        clock: &Clock,
        random: &Random,
        tasks: &Tasks,
    ) -> Result<Store, Error> {
        Store::open_telling(settings, clock, random, tasks, &Progress::new()).await
    }

    /// The same, and tells `progress` how far it has come.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) async fn open_telling(
        settings: &Settings,
        clock: &Clock,
        random: &Random,
        tasks: &Tasks,
        progress: &Progress,
    ) -> Result<Store, Error> {
        Ok(match settings.store.backend {
            Backend::Embedded => {
                let (options, clock) = (settings.store.clone(), clock.clone());
                Store::Embedded(Embedded::open_telling(options, clock, tasks, progress).await?)
            }
            Backend::DynamoDb => {
                let random = random.fork("dynamodb");
                Store::DynamoDb(Client::new(&settings.aws, clock.clone(), random)?)
            }
        })
    }

    /// The port to it.
    pub(crate) fn tables(&self) -> Arc<dyn Tables> {
        match self {
            Store::Embedded(store) => Arc::new(store.clone()),
            Store::DynamoDb(client) => Arc::new(client.clone()),
        }
    }

    /// The engine, if it is the house's own.
    pub(crate) fn engine(&self) -> Option<&Embedded> {
        match self {
            Store::Embedded(store) => Some(store),
            Store::DynamoDb(_) => None,
        }
    }

    /// Where the settings say that the data is, for people.
    pub(crate) fn place(settings: &Settings) -> String {
        match settings.store.backend {
            Backend::Embedded => {
                let path = &settings.store.path;
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                path.display().to_string()
            }
            Backend::DynamoDb => {
                let aws = &settings.aws;
                let at = if aws.endpoint.is_empty() { &aws.region } else { &aws.endpoint };
                format!("DynamoDB at {}, tables `{}…`", hide_passwords(at), aws.prefix)
            }
        }
    }
}
