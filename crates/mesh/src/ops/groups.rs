//! Groups: made, found, kept alive by their host, and dissolved.

use table::{BatchWrite, commit, query_all, write_all};

use super::Tries;
use crate::Mesh;
use crate::api::host::is_host;
use crate::error::Error;
use crate::items;
use crate::limits::{PREFIX_CHARACTERS_MAX, SEARCH_RESULTS_MAX};
use crate::live::Push;
use crate::model::{Budget, CreateGroup, Group, GroupKey};

/// What one batch removes.
const REMOVED_AT_ONCE: usize = 25;

/// The group of a host that wanted one.
pub(crate) enum Hosted {
    /// It was made.
    New(Group),
    /// The host has had it.
    Held(Group),
}

impl Hosted {
    /// The group.
    pub(crate) fn group(self) -> Group {
        let (Hosted::New(group) | Hosted::Held(group)) = self;
        group
    }
}

impl Mesh {
    /// Makes a group, or answers the living one that the host already has in the domain.
    pub(crate) async fn create_group(&self, command: CreateGroup) -> Result<Hosted, Error> {
        command.check_names()?;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let now = self.clock.now();
            let host = items::get_host(&command.domain, &command.host_id);
            let before = self.tables.get(host).await?;
            let before = before.as_ref().and_then(items::host_group);
            if let Some(before) = &before {
                let key = GroupKey { id: before.clone(), domain: command.domain.clone() };
                if let Some(held) = self.find_group(&key).await? {
                    return Ok(Hosted::Held(held));
                }
            }
            let group = command.decide(self.ids.random().to_string(), &self.terms, now)?;
            let lapse = self.lapses.prepare(self.lapse(&group)?)?;
            let mut writes = items::put_group(&group, before.as_deref());
            writes.push(lapse.write());
            if commit(&*self.tables, writes).await? {
                lapse.committed();
                return Ok(Hosted::New(group));
            }
        }
    }

    /// The group, if it lives.
    pub(crate) async fn find_group(&self, key: &GroupKey) -> Result<Option<Group>, Error> {
        let item = self.tables.get(items::get_group(key)).await?;
        let group = item.as_ref().and_then(items::read_group);
        Ok(group.filter(|group| group.is_alive(self.clock.now())))
    }

    /// The living groups of a domain, by creation.
    pub(crate) async fn list_groups(
        &self,
        domain: &str,
        budget: &Budget,
    ) -> Result<Vec<Group>, Error> {
        GroupKey::new(String::new(), domain.to_owned())?;
        let (mut groups, mut query) = (Vec::new(), items::query_groups(domain));
        let now = self.clock.now();
        loop {
            let page = self.tables.query(query.clone()).await?;
            let found = page.items.iter().filter_map(items::read_group);
            for group in found.filter(|group| group.is_alive(now)) {
                budget.read(group.bytes())?;
                groups.push(group);
            }
            match page.last_key {
                Some(last) => query.start_after = Some(last),
                None => return Ok(groups),
            }
        }
    }

    /// Living groups of all domains whose names begin so, by name.
    pub(crate) async fn search_groups(
        &self,
        prefix: &str,
        limit: Option<i32>,
    ) -> Result<Vec<Group>, Error> {
        let characters = prefix.chars().count();
        if !(1..=PREFIX_CHARACTERS_MAX).contains(&characters) {
            let told = format!(
                "namePrefix must be 1 to {PREFIX_CHARACTERS_MAX} characters, not {characters}"
            );
            return Err(Error::invalid(told));
        }
        let wanted = limit.and_then(|limit| usize::try_from(limit).ok());
        let wanted = wanted.unwrap_or(SEARCH_RESULTS_MAX).min(SEARCH_RESULTS_MAX);
        let (mut groups, mut query) = (Vec::new(), items::query_names(prefix));
        let now = self.clock.now();
        loop {
            let page = self.tables.query(query.clone()).await?;
            let found = page.items.iter().filter_map(items::read_group);
            groups.extend(found.filter(|group| group.is_alive(now)));
            match page.last_key {
                Some(last) if groups.len() < wanted => query.start_after = Some(last),
                Some(_) | None => break,
            }
        }
        groups.truncate(wanted);
        Ok(groups)
    }

    /// Renews the host's lease; the group's end does not move.
    pub(crate) async fn renew_heartbeat(
        &self,
        key: &GroupKey,
        host_id: &str,
        secret: Option<&str>,
    ) -> Result<Group, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let group = self.load_group(key).await?;
            let now = self.clock.now();
            let lease = group.renew(is_host(&group, host_id, secret), &self.terms, now)?;
            match self.tables.update(items::renew_host(&group, lease, now)).await {
                Ok(_) => return Ok(Group { host_lease: lease, ..group }),
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends a group: for its host, also when it has just lapsed.
    pub(crate) async fn dissolve_group(
        &self,
        key: &GroupKey,
        host_id: &str,
        secret: Option<&str>,
    ) -> Result<Push, Error> {
        let group = self.load_group(key).await?;
        if !is_host(&group, host_id, secret) {
            return Err(Error::NotTheHost("dissolve the group"));
        }
        self.dissolve(&group).await
    }

    /// Ends a group, whoever wants it.
    pub(super) async fn dissolve(&self, group: &Group) -> Result<Push, Error> {
        let key = &group.key;
        let message = format!("Group {} has been dissolved successfully.", key.full_id());
        let push = Push::dissolve(key, message);
        if self.end_group(group, &push).await? {
            Ok(push)
        } else {
            Err(Error::GroupNotFound(key.full_id()))
        }
    }

    /// Tells the members of a group that has lapsed, once, and answers it if it has not. What is
    /// left of it stays a while for those who ask why, and is then forgotten by the store.
    pub(crate) async fn tell_lapse(&self, key: &GroupKey) -> Result<Option<Group>, Error> {
        let _order = self.order.enter(key).await;
        let item = self.tables.get(items::get_group(key)).await?;
        let Some(group) = item.as_ref().and_then(items::read_group) else { return Ok(None) };
        let now = self.clock.now();
        if group.is_alive(now) {
            return Ok(Some(group));
        }
        match self.tables.update(items::note_lapse(&group, now)).await {
            Ok(_) => {
                let message = format!("Group {} has ended.", key.full_id());
                self.recent.forget(key);
                self.publish(&Push::dissolve(key, message));
                Ok(None)
            }
            // Somebody else has told it, or it was dissolved.
            Err(error) if error.is_lost_race() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a group and tells its members; `false` if it was gone already.
    async fn end_group(&self, group: &Group, push: &Push) -> Result<bool, Error> {
        let order = self.order.enter(&group.key).await;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let host = items::get_host(&group.key.domain, &group.host_id);
            let held = self.tables.get(host).await?;
            let held = held.as_ref().and_then(items::host_group);
            let is_its_hosts = held.as_deref() == Some(group.key.id.as_str());
            if commit(&*self.tables, items::delete_group(group, is_its_hosts)).await? {
                break;
            }
            if self.tables.get(items::get_group(&group.key)).await?.is_none() {
                return Ok(false);
            }
        }
        self.recent.forget(&group.key);
        self.publish(push);
        drop(order);
        self.remove_remains(&group.key).await?;
        Ok(true)
    }

    /// Removes members, events and statuses of a group that is gone. What a crash leaves of them
    /// is forgotten by its `ttl`; nobody sees it, because the group is gone.
    async fn remove_remains(&self, key: &GroupKey) -> Result<(), Error> {
        for query in items::query_remains(key) {
            let table = query.table.clone();
            let keys = query_all(&*self.tables, query).await?;
            for some in keys.chunks(REMOVED_AT_ONCE) {
                let delete = |key: &table::Item| BatchWrite::Delete {
                    table: table.clone(),
                    key: key.clone(),
                };
                let deletes = some.iter().map(delete).collect();
                write_all(&*self.tables, &self.clock, deletes).await?;
            }
        }
        Ok(())
    }
}
