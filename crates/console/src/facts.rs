//! Facts of late, each followed from the change that told it to what became of it.
//!
//! The change log has it all: the transaction that told a fact, those that handed it to consumers,
//! and those in which the consumers did what they do, with everything else that they changed. Only
//! the newest part of the log is read.

use std::collections::BTreeSet;

use base::Cause;
use dispatch::{FactStep, FactStepKind};
use table::{Changes, Embedded, Error};

use crate::limits::{FACTS_LOOKED_AT, FACTS_SHOWN};

/// One fact and its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FactStory {
    pub(crate) id: String,
    /// What happened.
    pub(crate) kind: String,
    pub(crate) subject: Option<String>,
    /// The request that it came of.
    pub(crate) cause: Option<Cause>,
    /// When it was told.
    pub(crate) told_ms: u64,
    /// What became of it, in order.
    pub(crate) steps: Vec<StoryStep>,
}

/// A step, and what was changed by the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoryStep {
    pub(crate) at_ms: u64,
    pub(crate) kind: FactStepKind,
    /// Tables that the same commit changed. Commits are shared, so some may be of others.
    pub(crate) tables: Vec<String>,
}

impl FactStory {
    /// When it all began: when the request came, or when the fact was told. Clocks of two instances
    /// may differ by a little, and nothing ends before it begins.
    fn start_ms(&self) -> u64 {
        let begun = self.cause.as_ref().map_or(self.told_ms, |cause| cause.begun.millis());
        begun.min(self.told_ms)
    }

    /// How long after the beginning the fact was told, in milliseconds.
    pub(crate) fn told(&self) -> u64 {
        self.told_ms - self.start_ms()
    }

    /// How long after the beginning a step ended.
    pub(crate) fn behind(&self, step: &StoryStep) -> u64 {
        step.at_ms.saturating_sub(self.start_ms())
    }

    /// How long after the beginning the step at `index` began: when the one before it ended, of the
    /// same consumer.
    pub(crate) fn begun(&self, index: usize) -> u64 {
        let consumer = self.steps.get(index).and_then(|step| consumer_of(&step.kind));
        let before = self.steps.iter().take(index).rev();
        let mut same =
            before.filter(|step| consumer.is_some() && consumer_of(&step.kind) == consumer);
        same.next().map_or(self.told(), |step| self.behind(step))
    }

    /// One step further. Holding longer what was taken up is none.
    fn go_on(&mut self, step: StoryStep) {
        let is_told = self.steps.iter().rev().any(|before| before.kind == step.kind);
        if !(is_told && matches!(step.kind, FactStepKind::Taken { .. })) {
            self.steps.push(step);
        }
    }

    /// How often consumers had to try again.
    pub(crate) fn retries(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.kind, FactStepKind::Postponed(_))).count()
    }
}

fn consumer_of(kind: &FactStepKind) -> Option<&str> {
    match kind {
        FactStepKind::Told { .. } => None,
        FactStepKind::Handed(consumer)
        | FactStepKind::Taken { consumer, .. }
        | FactStepKind::Postponed(consumer)
        | FactStepKind::Done(consumer)
        | FactStepKind::Buried(consumer) => Some(consumer),
    }
}

/// The newest facts, newest first. Reads files.
pub(crate) fn newest_facts(store: &Embedded) -> Result<Vec<FactStory>, Error> {
    let mut feed = store.changes(store.last_change().saturating_sub(FACTS_LOOKED_AT));
    let mut stories = Stories::default();
    while let Some(changes) = feed.try_next()? {
        stories.hear(&changes);
    }
    Ok(stories.newest())
}

#[derive(Default)]
struct Stories {
    stories: Vec<FactStory>,
}

impl Stories {
    fn hear(&mut self, changes: &Changes) {
        let steps: Vec<FactStep> = changes.changes.iter().filter_map(FactStep::of).collect();
        if steps.is_empty() {
            return;
        }
        let others = changes.changes.iter().map(|change| change.table.clone());
        let others: BTreeSet<String> = others.filter(|table| table != "dispatch").collect();
        for FactStep { fact, kind } in steps {
            let step = StoryStep {
                at_ms: changes.time_ms,
                tables: others.iter().cloned().collect(),
                kind: kind.clone(),
            };
            if let FactStepKind::Told { kind, subject, cause } = kind {
                let (id, told_ms, steps) = (fact, changes.time_ms, vec![step]);
                self.stories.push(FactStory { id, kind, subject, cause, told_ms, steps });
            } else if let Some(story) = self.stories.iter_mut().rev().find(|story| story.id == fact)
            {
                story.go_on(step);
            }
        }
        // What is not shown need not be kept; what comes late finds its story among the newest.
        let surplus = self.stories.len().saturating_sub(4 * FACTS_SHOWN);
        self.stories.drain(..surplus);
    }

    fn newest(self) -> Vec<FactStory> {
        self.stories.into_iter().rev().take(FACTS_SHOWN).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use base::{Cause, Clock, Tasks};
    use dispatch::{FactStepKind, NewFact};
    use table::{Embedded, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables, TransactWrite};
    use testkit::wait::while_time_passes;
    use testkit::{Instance, START, World};

    use super::newest_facts;

    #[testkit::test]
    async fn a_fact_is_followed_from_what_told_it_to_its_effect() {
        let (clock, time) = Clock::virtual_at(START);
        let tasks = Tasks::new();
        let store = Embedded::in_memory(clock.clone(), &tasks).await.unwrap();
        let key = || KeySpec::simple(KeyAttribute::s("pk"));
        for name in ["posts", "timelines"] {
            store.ensure_table(TableSpec::new(name, key())).await.unwrap();
        }
        let tables: Arc<dyn Tables> = Arc::new(store.clone());
        let world = World::on(tables, clock.clone(), time.clone(), tasks).await;
        let Instance { dispatch, .. } = world.instance().await;
        let subscription = dispatch.bus().subscribe("timeline", &["posts.*"]).await.unwrap();
        let fact = NewFact::new("/sns", "posts.made", &"hello").unwrap().id("f1").subject("p1");
        // It came of a request that had taken its time by then.
        let begun = clock.now();
        time.advance(Duration::from_millis(30)).await;
        let (request, traceparent) = ("POST /posts".to_owned(), "00-1-2-01".to_owned());
        let cause = Cause { request, traceparent, begun };
        let prepared = Cause::during(Some(cause.clone()), async { dispatch.bus().prepare(fact) });
        let prepared = prepared.await.unwrap();
        let post = Put::new("posts", Item::new().with("pk", "p1"));
        let writes = vec![post.into(), prepared.write()];
        store.transact_write(TransactWrite::new(writes)).await.unwrap();
        prepared.committed();
        // The first attempt fails.
        let (first, _) = while_time_passes(&time, subscription.queue().receive(1)).await;
        for delivery in first.unwrap() {
            delivery.retry("not now").await.unwrap();
        }
        let (second, _) = while_time_passes(&time, subscription.receive(1)).await;
        for delivery in second.unwrap() {
            let effect = Put::new("timelines", Item::new().with("pk", "t1")).into();
            delivery.apply(vec![effect]).await.unwrap();
        }
        let stories = newest_facts(&store).unwrap();
        assert_eq!(stories.len(), 1);
        let story = &stories[0];
        assert_eq!((story.kind.as_str(), story.subject.as_deref()), ("posts.made", Some("p1")));
        assert_eq!((story.cause.as_ref(), story.told()), (Some(&cause), 30));
        let kinds: Vec<_> = story.steps.iter().map(|step| &step.kind).collect();
        assert!(matches!(kinds[0], FactStepKind::Told { .. }), "{kinds:?}");
        assert_eq!(*kinds[1], FactStepKind::Handed("timeline".to_owned()));
        let taken = |tries| FactStepKind::Taken { consumer: "timeline".to_owned(), tries };
        assert_eq!(*kinds[2], taken(1));
        assert_eq!(*kinds[3], FactStepKind::Postponed("timeline".to_owned()));
        assert_eq!(*kinds[4], taken(2));
        assert_eq!(*kinds[5], FactStepKind::Done("timeline".to_owned()));
        assert_eq!((kinds.len(), story.retries()), (6, 1));
        assert_eq!(story.steps[0].tables, ["posts"]);
        assert_eq!(story.steps[5].tables, ["timelines"]);
        // A consumer's step begins where its last one ended; what waited is seen as waiting.
        assert_eq!((story.begun(0), story.begun(1)), (30, 30));
        assert_eq!(story.begun(4), story.behind(&story.steps[3]));
        assert!(story.behind(&story.steps[4]) > story.behind(&story.steps[3]));
    }
}
