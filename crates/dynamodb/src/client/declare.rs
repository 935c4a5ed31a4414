//! Creates and changes tables as declared.
//!
//! [`Client::declare`] looks at the table, takes one step towards the declaration, and repeats this
//! until no step is left. If another instance takes the same step at the same moment, DynamoDB
//! refuses one of the two, and the next look finds the step done. So several instances may start
//! together.

use std::sync::Arc;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    BillingMode, DeleteGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate, IndexStatus,
    TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
};
use table::{Error, IndexSpec, TableDescription, TableSpec};

use super::Client;
use super::attempts::{RetryRule, failure};
use super::batches::cannot_build;
use super::limits::{
    GLOBAL_INDEXES_MAX, LOCAL_INDEXES_MAX, READY_LOOK, READY_LOOK_MAX, READY_WITHIN,
};
use super::shape;

/// A table as it exists.
struct ExistingTable {
    spec: TableSpec,
    created_ms: u64,
    items: u64,
    bytes: u64,
    /// Whether table, indexes and expiry are in their final state and no change is running.
    is_stable: bool,
}

/// The next change to make.
enum DeclareStep {
    Create,
    Wait,
    DropIndex(String),
    AddIndex(Box<IndexSpec>),
    Expire(String, bool),
}

impl Client {
    pub(super) async fn declare(&self, spec: TableSpec) -> Result<(), Error> {
        spec.check()?;
        for (local, kind, max) in
            [(false, "global", GLOBAL_INDEXES_MAX), (true, "local", LOCAL_INDEXES_MAX)]
        {
            let count = spec.indexes.iter().filter(|index| index.local == local).count();
            if count > max {
                return Err(Error::Invalid(format!(
                    "table `{}` has {count} {kind} indexes (dynamodb takes {max})",
                    spec.name
                )));
            }
        }
        let deadline = self.clock.instant().after(READY_WITHIN);
        let mut look = READY_LOOK;
        while let Some(step) = next_step(&spec, self.find(&spec.name).await?.as_ref())? {
            if self.clock.instant() >= deadline {
                return Err(not_ready(&spec.name));
            }
            match step {
                DeclareStep::Wait => {
                    self.clock.sleep(look).await;
                    look = look.saturating_mul(2).min(READY_LOOK_MAX);
                }
                step => self.take(&spec, step).await?,
            }
        }
        self.specs.lock().insert(spec.name.clone(), Arc::new(spec));
        Ok(())
    }

    /// The declaration of a table, from memory if possible.
    pub(super) async fn spec(&self, name: &str) -> Result<Arc<TableSpec>, Error> {
        if let Some(spec) = self.specs.lock().get(name) {
            return Ok(Arc::clone(spec));
        }
        let found = self.find(name).await?.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
        let spec = Arc::new(found.spec);
        self.specs.lock().insert(name.to_owned(), Arc::clone(&spec));
        Ok(spec)
    }

    pub(super) async fn describe(&self, name: &str) -> Result<TableDescription, Error> {
        let Some(found) = self.find(name).await? else {
            self.specs.lock().remove(name);
            return Err(Error::NoSuchTable(name.to_owned()));
        };
        let declared = self.specs.lock().get(name).map(|spec| TableSpec::clone(spec));
        let spec = declared.filter(|spec| agrees(spec, &found.spec)).unwrap_or(found.spec);
        let (created_ms, items, bytes) = (found.created_ms, found.items, found.bytes);
        Ok(TableDescription { spec, created_ms, items, bytes })
    }

    pub(super) async fn list(&self) -> Result<Vec<String>, Error> {
        let (mut names, mut start) = (Vec::new(), None);
        loop {
            let call = self.sdk.list_tables().set_exclusive_start_table_name(start);
            let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
            let answer = answer.map_err(|error| failure(error, ""))?;
            let found = answer.table_names.unwrap_or_default();
            names.extend(found.iter().filter_map(|name| self.short(name)).map(str::to_owned));
            start = answer.last_evaluated_table_name;
            if start.is_none() {
                names.sort();
                return Ok(names);
            }
        }
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), Error> {
        self.specs.lock().remove(name);
        let call = self.sdk.delete_table().table_name(self.full(name));
        let answer = self.send(RetryRule::Never, || call.clone().send()).await;
        answer.map_err(|error| failure(error, name))?;
        let deadline = self.clock.instant().after(READY_WITHIN);
        let mut look = READY_LOOK;
        while self.find(name).await?.is_some() {
            if self.clock.instant() >= deadline {
                return Err(not_ready(name));
            }
            self.clock.sleep(look).await;
            look = look.saturating_mul(2).min(READY_LOOK_MAX);
        }
        Ok(())
    }

    async fn find(&self, name: &str) -> Result<Option<ExistingTable>, Error> {
        let call = self.sdk.describe_table().table_name(self.full(name));
        let answer = match self.send(RetryRule::Safe, || call.clone().send()).await {
            Ok(answer) => answer,
            Err(error) => return none_if_missing(failure(error, name)),
        };
        let Some(described) = answer.table else { return Ok(None) };
        let call = self.sdk.describe_time_to_live().table_name(self.full(name));
        let answer = match self.send(RetryRule::Safe, || call.clone().send()).await {
            Ok(answer) => answer,
            Err(error) => return none_if_missing(failure(error, name)),
        };
        let expiry = answer.time_to_live_description;
        let (ttl, expiry_settled) = match expiry.as_ref().and_then(|it| it.time_to_live_status()) {
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling) => {
                (expiry.and_then(|expiry| expiry.attribute_name), true)
            }
            Some(TimeToLiveStatus::Disabling) => (None, false),
            Some(_) | None => (None, true),
        };
        let mut indexes = described.global_secondary_indexes().iter();
        let table_settled = described.table_status() == Some(&TableStatus::Active)
            && indexes.all(|index| index.index_status() == Some(&IndexStatus::Active));
        let count = |count: Option<i64>| count.and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
        let created = described.creation_date_time.and_then(|time| time.to_millis().ok());
        Ok(Some(ExistingTable {
            spec: shape::read(name, &described, ttl)?,
            created_ms: count(created),
            items: count(described.item_count),
            bytes: count(described.table_size_bytes),
            is_stable: table_settled && expiry_settled,
        }))
    }

    /// Takes a step. A step that already runs counts as taken.
    async fn take(&self, spec: &TableSpec, step: DeclareStep) -> Result<(), Error> {
        let name = self.full(&spec.name);
        match step {
            DeclareStep::Wait => Ok(()),
            DeclareStep::Create => self.create(spec).await,
            DeclareStep::DropIndex(index) => {
                let drop = DeleteGlobalSecondaryIndexAction::builder().index_name(index);
                let update = GlobalSecondaryIndexUpdate::builder();
                let update = update.delete(drop.build().map_err(cannot_build)?).build();
                let call =
                    self.sdk.update_table().table_name(name).global_secondary_index_updates(update);
                ignore_running(
                    self.send(RetryRule::Never, || call.clone().send()).await,
                    &spec.name,
                )
            }
            DeclareStep::AddIndex(index) => {
                let update = GlobalSecondaryIndexUpdate::builder();
                let update = update.create(shape::new_index(spec, &index)?).build();
                let keys = [&spec.key, &index.key];
                let call = self
                    .sdk
                    .update_table()
                    .table_name(name)
                    .set_attribute_definitions(Some(shape::definitions(keys.into_iter())?))
                    .global_secondary_index_updates(update);
                ignore_running(
                    self.send(RetryRule::Never, || call.clone().send()).await,
                    &spec.name,
                )
            }
            DeclareStep::Expire(attribute, enabled) => {
                let expiry =
                    TimeToLiveSpecification::builder().attribute_name(attribute).enabled(enabled);
                let expiry = expiry.build().map_err(cannot_build)?;
                let call = self
                    .sdk
                    .update_time_to_live()
                    .table_name(name)
                    .time_to_live_specification(expiry);
                ignore_running(
                    self.send(RetryRule::Never, || call.clone().send()).await,
                    &spec.name,
                )
            }
        }
    }

    async fn create(&self, spec: &TableSpec) -> Result<(), Error> {
        let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
        let held = |local| spec.indexes.iter().filter(move |index| index.local == local);
        let global = held(false).map(|index| shape::global_index(spec, index));
        let global = global.collect::<Result<Vec<_>, Error>>()?;
        let local = held(true).map(|index| shape::local_index(spec, index));
        let local = local.collect::<Result<Vec<_>, Error>>()?;
        let call = self
            .sdk
            .create_table()
            .table_name(self.full(&spec.name))
            .set_key_schema(Some(shape::schema(&spec.key)?))
            .set_attribute_definitions(Some(shape::definitions(keys)?))
            .set_global_secondary_indexes(Some(global).filter(|indexes| !indexes.is_empty()))
            .set_local_secondary_indexes(Some(local).filter(|indexes| !indexes.is_empty()))
            .billing_mode(BillingMode::PayPerRequest);
        ignore_running(self.send(RetryRule::Never, || call.clone().send()).await, &spec.name)
    }
}

/// The first necessary step, or none.
fn next_step(
    wanted: &TableSpec,
    found: Option<&ExistingTable>,
) -> Result<Option<DeclareStep>, Error> {
    let Some(found) = found else { return Ok(Some(DeclareStep::Create)) };
    // A local index can only be created and deleted with its table.
    let locals = |one: &TableSpec, other: &TableSpec| {
        let mut locals = one.indexes.iter().filter(|index| index.local);
        locals.all(|index| other.find_index(&index.name).is_some_and(|(_, other)| other.local))
    };
    let same_locals = locals(wanted, &found.spec) && locals(&found.spec, wanted);
    if found.spec.key != wanted.key || !same_locals {
        return Err(Error::TableDiffers(wanted.name.clone()));
    }
    if !found.is_stable {
        return Ok(Some(DeclareStep::Wait));
    }
    if let Some(index) = found.spec.indexes.iter().find(|index| !has_index(wanted, index)) {
        return match index.local {
            true => Err(Error::TableDiffers(wanted.name.clone())),
            false => Ok(Some(DeclareStep::DropIndex(index.name.clone()))),
        };
    }
    let missing = |index: &&IndexSpec| found.spec.find_index(&index.name).is_none();
    if let Some(index) = wanted.indexes.iter().find(missing) {
        return Ok(Some(DeclareStep::AddIndex(Box::new(index.clone()))));
    }
    Ok(match (&wanted.ttl, &found.spec.ttl) {
        (Some(wanted), Some(found)) if wanted == found => None,
        (None, None) => None,
        (Some(wanted), None) => Some(DeclareStep::Expire(wanted.clone(), true)),
        (_, Some(found)) => Some(DeclareStep::Expire(found.clone(), false)),
    })
}

/// Whether the existing table matches the declaration.
fn agrees(declared: &TableSpec, found: &TableSpec) -> bool {
    declared.key == found.key
        && declared.ttl == found.ttl
        && declared.indexes.len() == found.indexes.len()
        && found.indexes.iter().all(|index| has_index(declared, index))
}

/// Whether an existing index matches the declaration.
fn has_index(declared: &TableSpec, found: &IndexSpec) -> bool {
    declared.find_index(&found.name).is_some_and(|(_, index)| {
        index.key == found.key && shape::stored_projection(declared, index) == found.projection
    })
}

/// Turns a missing table into `None`.
fn none_if_missing(error: Error) -> Result<Option<ExistingTable>, Error> {
    match error {
        Error::NoSuchTable(_) => Ok(None),
        error => Err(error),
    }
}

/// A change that another instance is making, or has just made, is found at the next look.
fn ignore_running<T, E>(answer: Result<T, SdkError<E>>, table: &str) -> Result<(), Error>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match answer {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some("ResourceInUseException") => Ok(()),
        Err(error) => match failure(error, table) {
            Error::Invalid(message) if message.contains("already") => Ok(()),
            error => Err(error),
        },
    }
}

fn not_ready(table: &str) -> Error {
    let minutes = READY_WITHIN.as_secs() / 60;
    Error::Throttled(format!("table `{table}` is still not ready after {minutes} minutes"))
}
