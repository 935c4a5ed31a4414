//! What happens without a call: facts reach the services that want to know, other instances are
//! heard, the file of other issuers is looked at, and once a day timelines are cut and counts
//! counted again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dispatch::{Dispatch, Effect, Error as FactError, Fact, Failed, Job, Schedule};
use edge::{JwtAlgorithm, JwtKeys, JwtRules, JwtVerifier, KeyRing, Rotation, WatchedFile};
use hub::Heard;
use serde::Deserialize;

use crate::Sns;
use crate::error::Error;
use crate::items::facts::{FOR_NOTES, FOR_POSTS, FOR_SOCIAL, FOR_TIMELINE, FOR_USERS, Told};
use crate::limits::{
    CONSUMER_CONCURRENCY, ISSUERS_FILE_BYTES_MAX, ISSUERS_REFRESH, KEYS_KEPT, KEYS_TURN,
    PULLED_REFRESH,
};
use crate::live::News;

/// The ring whose keys sign the room's tokens.
pub(crate) const RING: &str = "sns";
/// When its keys turn.
pub(crate) const ROTATION: Rotation =
    Rotation { every: KEYS_TURN, at: Duration::ZERO, keep: KEYS_KEPT };
/// The job that cuts timelines and counts again.
pub(crate) const KEEPING: &str = "sns-keeping";
/// When it runs: at an hour when few are about.
const KEEPING_AT: &str = "30 3 * * *";

/// The services that hear facts, each with a queue of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Consumer {
    Users,
    Timeline,
    Social,
    Posts,
    Notes,
}

impl Consumer {
    /// All of them.
    pub(crate) const ALL: [Consumer; 5] =
        [Consumer::Users, Consumer::Timeline, Consumer::Social, Consumer::Posts, Consumer::Notes];

    /// Its name, and what it wants to know.
    pub(crate) fn of(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Consumer::Users => ("sns.users", &FOR_USERS),
            Consumer::Timeline => ("sns.timeline", &FOR_TIMELINE),
            Consumer::Social => ("sns.social", &FOR_SOCIAL),
            Consumer::Posts => ("sns.posts", &FOR_POSTS),
            Consumer::Notes => ("sns.notes", &FOR_NOTES),
        }
    }
}

impl Sns {
    /// Starts all of it.
    pub(crate) async fn start(self: &Arc<Self>, dispatch: &Dispatch) -> Result<(), Error> {
        for consumer in Consumer::ALL {
            let (name, kinds) = consumer.of();
            let subscription = dispatch.bus().subscribe(name, kinds).await?;
            self.queues.write().push(subscription.queue().clone());
            let sns = Arc::clone(self);
            subscription.work(CONSUMER_CONCURRENCY, move |fact| {
                let sns = Arc::clone(&sns);
                async move { sns.consume(consumer, &fact).await }
            });
        }
        self.open_accounts().await?;
        self.open_looks().await?;
        self.refresh_pulled().await?;
        self.hear_news();
        let path = self.options.issuers_file.clone();
        let mut issuers = path.map(|path| WatchedFile::new(path, ISSUERS_FILE_BYTES_MAX));
        self.look_at_issuers(&mut issuers)?;
        self.watch(issuers);
        self.start_keeping(dispatch).await
    }

    /// Does what a fact means to a service. All of it is keyed, so that a fact which comes twice
    /// changes nothing the second time.
    pub(crate) async fn consume(
        self: &Arc<Self>,
        consumer: Consumer,
        fact: &Fact,
    ) -> Result<Effect, Failed> {
        // What cannot be read cannot be read later either.
        let read = |error: FactError| Failed::for_good(error.to_string());
        let told = Told::read(fact).map_err(read)?;
        let done = match (consumer, &told) {
            (Consumer::Users, Told::UserDeleted(of)) => {
                self.end_sessions(of.user().map_err(read)?, None).await
            }
            (Consumer::Timeline, Told::PostCreated(of)) => {
                return Ok(self.fan_out(&of.post().map_err(read)?).await?);
            }
            (Consumer::Timeline, Told::PostDeleted(of)) => {
                self.take_back(&of.post().map_err(read)?).await
            }
            (Consumer::Timeline, Told::FollowCreated(of) | Told::MuteDeleted(of)) => {
                self.back_fill(&of.follow().map_err(read)?).await
            }
            (Consumer::Timeline, Told::FollowDeleted(of)) => {
                self.clear(&of.follow().map_err(read)?).await
            }
            (Consumer::Timeline, Told::ProfileUpdated(of)) => {
                self.tell_card(of.user().map_err(read)?);
                Ok(())
            }
            (Consumer::Timeline, Told::UserDeleted(of)) => {
                self.remove_timeline(of.user().map_err(read)?).await
            }
            (Consumer::Social, Told::PostDeleted(of)) => {
                self.remove_likes_of(of.post().map_err(read)?.id).await
            }
            (Consumer::Social, Told::UserDeleted(of)) => {
                self.remove_relations_of(of.user().map_err(read)?).await
            }
            (Consumer::Posts, Told::UserDeleted(of)) => {
                self.remove_posts_of(of.user().map_err(read)?).await
            }
            (Consumer::Notes, Told::FollowCreated(of)) => {
                self.note_follow(&of.follow().map_err(read)?).await
            }
            (Consumer::Notes, Told::FollowDeleted(of)) => {
                self.unnote_follow(&of.follow().map_err(read)?).await
            }
            (Consumer::Notes, Told::LikeCreated(of)) => {
                self.note_like(&of.like().map_err(read)?).await
            }
            (Consumer::Notes, Told::LikeDeleted(of)) => {
                self.unnote_like(&of.like().map_err(read)?).await
            }
            // Nobody subscribed to these for this service.
            (
                Consumer::Users
                | Consumer::Timeline
                | Consumer::Social
                | Consumer::Posts
                | Consumer::Notes,
                _,
            ) => Ok(()),
        };
        done?;
        Ok(Effect::default())
    }

    /// Hears what other instances tell.
    fn hear_news(self: &Arc<Self>) {
        let sns = Arc::clone(self);
        self.news.listen(&self.tasks, move |heard| {
            match heard {
                Heard::Word { text, .. } => {
                    News::read(text.as_str()).into_iter().for_each(|news| sns.hear(news));
                }
                // What was missed may have been anybody's name. Who is merged in is read again.
                Heard::Missed => sns.cards.invalidate_all(),
            }
            std::future::ready(())
        });
    }

    /// Looks now and then at what others may have changed without a word.
    fn watch(self: &Arc<Self>, mut file: Option<WatchedFile>) {
        let (sns, shutdown) = (Arc::clone(self), self.tasks.shutdown().begun());
        let mut pulled = self.clock.interval(PULLED_REFRESH);
        let mut issuers = self.clock.interval(ISSUERS_REFRESH);
        self.tasks.spawn("sns watch", async move {
            tokio::pin!(shutdown);
            loop {
                let looked = tokio::select! {
                    biased;
                    () = &mut shutdown => return,
                    () = pulled.tick() => sns.refresh_pulled().await,
                    () = issuers.tick() => sns.look_at_issuers(&mut file),
                };
                if let Err(error) = looked {
                    tracing::warn!(%error, "what was known stays");
                }
            }
        });
    }

    async fn start_keeping(self: &Arc<Self>, dispatch: &Dispatch) -> Result<(), Error> {
        let job = Job::new(KEEPING, Schedule::cron(KEEPING_AT, "UTC")?);
        let sns = Arc::clone(self);
        let handler = move |_run| {
            let sns = Arc::clone(&sns);
            async move {
                let trimmed = sns.trim().await?;
                tracing::info!(trimmed, "timelines are cut");
                for wrong in sns.recount_all().await? {
                    tracing::warn!(?wrong, "a count was wrong and is corrected");
                }
                Ok(Vec::new())
            }
        };
        dispatch.scheduler().start(job, handler).await?;
        Ok(())
    }

    /// Takes the other issuers from their file, if it has changed.
    fn look_at_issuers(&self, file: &mut Option<WatchedFile>) -> Result<(), Error> {
        let Some(text) = file.as_mut().and_then(WatchedFile::look) else { return Ok(()) };
        let wrong = |why: String| Error::Settings(format!("`sns.issuers_file`: {why}"));
        let text = text.as_ref().map_err(|why| wrong(why.clone()))?;
        let listed: Vec<Issuer> =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut issuers = BTreeMap::new();
        for Issuer { issuer, audience, jwks } in listed {
            let keys = JwtKeys::from_jwks(&jwks.to_string())
                .map_err(|error| wrong(format!("{issuer}: {error}")))?;
            let (algorithms, leeway) = (JwtAlgorithm::ALL.to_vec(), LEEWAY);
            let rules = JwtRules { issuer: issuer.clone(), audience, algorithms, leeway };
            issuers.insert(issuer, JwtVerifier::new(rules, keys, self.clock.clone()));
        }
        *self.issuers.write() = issuers;
        Ok(())
    }
}

/// How far another issuer's clock may be from ours.
const LEEWAY: Duration = Duration::from_secs(60);

/// Another issuer whose tokens open an account.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Issuer {
    issuer: String,
    audience: String,
    jwks: serde_json::Value,
}

/// The ring, which turns by itself as long as the tasks run.
pub(crate) async fn open_ring(ground: &edge::Ground) -> Result<KeyRing, Error> {
    let random = ground.random.fork("sns keys");
    let (tables, clock) = (Arc::clone(&ground.tables), ground.clock.clone());
    let ring = KeyRing::open(RING, ROTATION, tables, clock, random, &ground.tasks);
    ring.await.map_err(|error| Error::Keys(error.to_string()))
}
