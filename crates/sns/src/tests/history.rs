//! Random histories beside a plain model, with facts in the order of the bus, or in any order and
//! twice.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::TestRunner;
use testkit::{START, depth};

use super::{Network, roomy};
use crate::Options;
use crate::jobs::Consumer;
use crate::model::timeline::Place;
use crate::model::{PostId, UserId};
use crate::ops::identity::Caller;

const USERS: usize = 5;

/// What somebody does. Numbers pick among what is there.
#[derive(Clone, Copy, Debug)]
enum Step {
    Post(usize),
    Delete(usize),
    Follow(usize, usize),
    Unfollow(usize, usize),
    Block(usize, usize),
    Unblock(usize, usize),
    Leave(usize),
    /// Lets the facts so far be handled, if the bus is not held back.
    Settle,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let user = || 0..USERS;
    let pair = || (user(), user());
    let step = prop_oneof![
        6 => user().prop_map(Step::Post),
        2 => (0..20_usize).prop_map(Step::Delete),
        6 => pair().prop_map(|(one, other)| Step::Follow(one, other)),
        3 => pair().prop_map(|(one, other)| Step::Unfollow(one, other)),
        1 => pair().prop_map(|(one, other)| Step::Block(one, other)),
        1 => pair().prop_map(|(one, other)| Step::Unblock(one, other)),
        1 => user().prop_map(Step::Leave),
        3 => proptest::strategy::Just(Step::Settle),
    ];
    // Fewer posts than a new follower finds, so that a follow brings them all.
    vec(step, 1..45)
}

/// What the rules say.
#[derive(Default)]
struct Model {
    living: BTreeSet<usize>,
    /// In their order.
    posts: BTreeMap<Place, usize>,
    follows: BTreeSet<(usize, usize)>,
    blocks: BTreeSet<(usize, usize)>,
}

impl Model {
    fn timeline(&self, user: usize) -> Vec<PostId> {
        let seen = |author: usize| author == user || self.follows.contains(&(user, author));
        let posts = self.posts.iter().rev().filter(|(_, author)| seen(**author));
        posts.map(|(place, _)| place.post).collect()
    }

    fn unfollow(&mut self, one: usize, other: usize) {
        self.follows.remove(&(one, other));
    }

    fn leave(&mut self, user: usize) {
        self.living.remove(&user);
        self.posts.retain(|_, author| *author != user);
        self.follows.retain(|(one, other)| *one != user && *other != user);
        self.blocks.retain(|(one, other)| *one != user && *other != user);
    }
}

struct Trial {
    network: Network,
    users: Vec<UserId>,
    model: Model,
}

impl Trial {
    async fn new(threshold: u64) -> Trial {
        let network = Network::open_with(Options { push_threshold: threshold, ..roomy() }).await;
        let mut users = Vec::new();
        for number in 0..USERS {
            users.push(network.user(&number.to_string()).await);
        }
        let model = Model { living: (0..USERS).collect(), ..Model::default() };
        Trial { network, users, model }
    }

    /// Does a step in the house and in the model; both must agree on whether it can be done.
    async fn take(&mut self, step: Step) {
        let Trial { network, users, model } = self;
        let sns = &network.sns;
        let both = |one: usize, other: usize| {
            one != other && model.living.contains(&one) && model.living.contains(&other)
        };
        match step {
            Step::Post(user) => {
                let made = sns.create_post(users[user], "x").await;
                assert_eq!(made.is_ok(), model.living.contains(&user));
                model.posts.extend(made.ok().map(|post| (post.place(), user)));
            }
            Step::Delete(number) => {
                let number = number % model.posts.len().max(1);
                let Some((&place, &author)) = model.posts.iter().nth(number) else { return };
                model.posts.remove(&place);
                sns.delete_post(users[author], place.post).await.unwrap();
            }
            Step::Follow(one, other) => {
                let blocked =
                    model.blocks.contains(&(one, other)) || model.blocks.contains(&(other, one));
                let can = both(one, other) && !blocked && !model.follows.contains(&(one, other));
                let followed = sns.follow(users[one], users[other]).await;
                assert_eq!(followed.is_ok(), can, "{followed:?}");
                if can {
                    model.follows.insert((one, other));
                }
            }
            // Who has left asks for nothing.
            Step::Unfollow(one, _) if !model.living.contains(&one) => {}
            Step::Unfollow(one, other) => {
                let can = model.follows.contains(&(one, other));
                let unfollowed = sns.unfollow(users[one], users[other]).await;
                assert_eq!(unfollowed.is_ok(), can, "{unfollowed:?}");
                model.unfollow(one, other);
            }
            Step::Block(one, other) => {
                let can = both(one, other);
                assert_eq!(sns.block(users[one], users[other]).await.is_ok(), can);
                if can {
                    model.blocks.insert((one, other));
                    model.unfollow(one, other);
                    model.unfollow(other, one);
                }
            }
            Step::Unblock(one, other) => {
                let can = both(one, other);
                assert_eq!(sns.unblock(users[one], users[other]).await.is_ok(), can);
                if can {
                    model.blocks.remove(&(one, other));
                }
            }
            Step::Leave(user) => {
                let session = String::new();
                let caller = Caller { user: users[user], session, ends: START };
                let left = sns.delete_account(&caller).await;
                assert_eq!(left.is_ok(), model.living.contains(&user), "{left:?}");
                model.leave(user);
            }
            Step::Settle => network.settle().await,
        }
    }

    /// What readers see is what the rules say, at once.
    async fn check_shown(&self, complete: bool) {
        for (number, user) in self.users.iter().enumerate() {
            if !self.model.living.contains(&number) {
                continue;
            }
            let page = self.network.page(*user, 800).await;
            let shown: Vec<PostId> = page.items.iter().map(|shown| shown.post.id).collect();
            let expected = self.model.timeline(number);
            if complete {
                assert_eq!(shown, expected, "timeline of {number}");
            } else {
                let mut wrong = shown.iter().filter(|post| !expected.contains(post));
                assert_eq!(wrong.next(), None, "timeline of {number}");
            }
        }
    }

    /// When the bus is quiet the tables hold exactly that, and every count is right.
    async fn check_tables(&self, is_pushed: bool) {
        let mut entries: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (pk, sk) in self.network.keys("timeline").await {
            if let Some(post) = sk.strip_prefix("POST#") {
                let user = pk.trim_start_matches("USER#").to_owned();
                let (_, post) = post.split_once('#').unwrap();
                assert!(entries.entry(user).or_default().insert(post.to_owned()), "twice: {sk}");
            }
        }
        for (number, user) in self.users.iter().enumerate() {
            let there = entries.remove(&user.to_string()).unwrap_or_default();
            let expected: BTreeSet<String> = match self.model.living.contains(&number) {
                true => self.model.timeline(number).iter().map(PostId::to_string).collect(),
                false => BTreeSet::new(),
            };
            if is_pushed {
                assert_eq!(there, expected, "entries of {number}");
            } else {
                assert!(there.is_subset(&expected), "entries of {number}");
            }
        }
        assert_eq!(self.network.sns.recount_all().await.unwrap(), []);
    }
}

async fn in_order(steps: Vec<Step>, threshold: u64) {
    let mut trial = Trial::new(threshold).await;
    for step in steps {
        trial.take(step).await;
        trial.check_shown(false).await;
    }
    for _ in 0..4 {
        trial.network.settle().await;
    }
    trial.check_shown(true).await;
    trial.check_tables(threshold > USERS as u64).await;
}

async fn in_any_order(steps: Vec<Step>, luck: u64) {
    let mut trial = Trial::new(10_000).await;
    let bus = trial.network.instance.dispatch.bus().clone();
    for consumer in Consumer::ALL {
        bus.unsubscribe(consumer.of().0).await.unwrap();
    }
    let recorder = bus.subscribe("recorder", &["com.mini-sns.*"]).await.unwrap();
    let random = base::Random::seeded(luck);
    for step in steps {
        trial.take(step).await;
    }
    let mut seen = Vec::new();
    loop {
        let fresh = trial.network.heard(&recorder).await;
        if fresh.is_empty() {
            break;
        }
        // Those that came now and all that came before, each to everybody, in any order and twice.
        seen.extend(fresh);
        let mut all: Vec<_> = seen.iter().chain(&seen).collect();
        while !all.is_empty() {
            let picked = usize::try_from(random.below(all.len() as u64)).unwrap();
            let fact = all.swap_remove(picked);
            for consumer in Consumer::ALL {
                let effect = trial.network.sns.consume(consumer, fact).await.unwrap();
                trial.network.sns.write_all(effect.writes).await.unwrap();
            }
            trial.check_shown(false).await;
        }
    }
    trial.check_shown(true).await;
    trial.check_tables(true).await;
}

fn run<T: std::fmt::Debug>(cases: u32, strategy: impl Strategy<Value = T>, check: impl AsyncFn(T)) {
    let ran = TestRunner::new(depth::cases(cases)).run(&strategy, |case| {
        testkit::run(0, check(case));
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn when_the_bus_is_quiet_every_timeline_is_what_the_rules_say() {
    run(24, steps(), async |steps| in_order(steps, 10_000).await);
}

#[test]
fn merging_at_read_shows_the_same_as_writing() {
    run(12, (steps(), 1..4_u64), async |(steps, threshold)| in_order(steps, threshold).await);
}

#[test]
fn facts_may_come_in_any_order_and_twice() {
    run(16, (steps(), any::<u64>()), async |(steps, luck)| in_any_order(steps, luck).await);
}
