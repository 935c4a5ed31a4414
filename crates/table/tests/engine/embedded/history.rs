//! A checker of histories: is there an order of the calls, in keeping with when each began and
//! ended, in which one after the other they would have answered what they answered?
//!
//! The search is that of Wing and Gong with Lowe's memory: calls are put in order one by one,
//! among those that began before any other that is left has ended; what was tried (which calls,
//! leading to which state) is not tried again. A call that changes nothing and fits now is put in
//! order at once: whatever order there is with it later, there is one with it here.
//!
//! Where calls do not tell what they saw, orders to try are many. Then a witness helps (the change
//! feed, say): it is followed first, and is believed in nothing.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// What calls would answer one after the other.
pub(crate) trait Sequential {
    type State: Clone + Eq + Hash + Default;
    type Asked;
    type Answered: PartialEq;

    /// What comes after `state`, and the answer.
    fn step(state: &Self::State, asked: &Self::Asked) -> (Self::State, Self::Answered);
}

/// One call with its answer; begun and ended on a clock that all calls share.
#[derive(Clone, Debug)]
pub(crate) struct Call<Q, A> {
    pub(crate) asked: Q,
    pub(crate) answered: A,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    /// The place that a witness gives it.
    pub(crate) witnessed: Option<u64>,
}

/// Takes down a history.
pub(crate) struct Recorder<Q, A> {
    clock: AtomicU64,
    calls: Mutex<Vec<Call<Q, A>>>,
}

impl<Q, A> Default for Recorder<Q, A> {
    fn default() -> Recorder<Q, A> {
        Recorder { clock: AtomicU64::new(0), calls: Mutex::new(Vec::new()) }
    }
}

impl<Q, A> Recorder<Q, A> {
    /// A call begins now.
    pub(crate) fn begin(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// It has ended just now.
    pub(crate) fn end(&self, begun: u64, asked: Q, answered: A) {
        let ended = self.clock.fetch_add(1, Ordering::SeqCst);
        self.calls.lock().push(Call { asked, answered, begun, ended, witnessed: None });
    }

    /// All that happened.
    pub(crate) fn take(&self) -> Vec<Call<Q, A>> {
        std::mem::take(&mut self.calls.lock())
    }
}

/// A choice of the search: which calls could come next, and how many of them were tried.
struct Level<S> {
    state: S,
    candidates: Vec<usize>,
    tried: usize,
    /// What was put in order to come here: one that was chosen and all that changed nothing.
    placed: Vec<usize>,
}

/// Whether the calls could have happened one after the other; if not, how many at most could.
pub(crate) fn check<M: Sequential>(
    mut calls: Vec<Call<M::Asked, M::Answered>>,
) -> Result<(), usize> {
    calls.sort_by_key(|call| call.begun);
    let mut search: Search<'_, M> = Search {
        calls: &calls,
        done: vec![false; calls.len()],
        count: 0,
        first: 0,
        seen: HashSet::new(),
    };
    search.run()
}

struct Search<'a, M: Sequential> {
    /// By when they began.
    calls: &'a [Call<M::Asked, M::Answered>],
    done: Vec<bool>,
    count: usize,
    /// All before this one are done.
    first: usize,
    seen: HashSet<(Vec<bool>, M::State)>,
}

impl<M: Sequential> Search<'_, M> {
    fn run(&mut self) -> Result<(), usize> {
        let mut levels = vec![self.descend(M::State::default(), Vec::new())];
        let mut most = self.count;
        while let Some(level) = levels.last_mut() {
            if self.count == self.calls.len() {
                return Ok(());
            }
            let Some(&next) = level.candidates.get(level.tried) else {
                let placed = std::mem::take(&mut level.placed);
                placed.into_iter().for_each(|call| self.take_back(call));
                levels.pop();
                continue;
            };
            level.tried += 1;
            let (state, answer) = M::step(&level.state, &self.calls[next].asked);
            if answer != self.calls[next].answered {
                continue;
            }
            self.place(next);
            if self.seen.insert((self.done[self.first..].to_vec(), state.clone())) {
                let below = self.descend(state, vec![next]);
                levels.push(below);
                most = most.max(self.count);
            } else {
                self.take_back(next);
            }
        }
        Err(most)
    }

    /// Puts everything in order that changes nothing, and finds what could come then.
    fn descend(&mut self, state: M::State, mut placed: Vec<usize>) -> Level<M::State> {
        loop {
            let candidates = self.candidates();
            let idle = candidates.iter().copied().filter(|call| {
                let call = &self.calls[*call];
                let (after, answer) = M::step(&state, &call.asked);
                after == state && answer == call.answered
            });
            let idle: Vec<usize> = idle.collect();
            if idle.is_empty() {
                return Level { state, candidates, tried: 0, placed };
            }
            idle.iter().for_each(|call| self.place(*call));
            placed.extend(idle);
        }
    }

    /// Calls that may come next: begun before any that is left has ended. First come those that did
    /// by the witness, then those that ended first, for they mostly did.
    fn candidates(&self) -> Vec<usize> {
        let mut limit = u64::MAX;
        let mut candidates = Vec::new();
        for (number, call) in self.calls.iter().enumerate().skip(self.first) {
            if call.begun > limit {
                break;
            }
            if !self.done[number] {
                limit = limit.min(call.ended);
                candidates.push(number);
            }
        }
        candidates.retain(|number| self.calls[*number].begun < limit);
        candidates.sort_by_key(|number| {
            let call = &self.calls[*number];
            (call.witnessed.unwrap_or(u64::MAX), call.ended)
        });
        candidates
    }

    fn place(&mut self, call: usize) {
        self.done[call] = true;
        self.count += 1;
        while self.done.get(self.first) == Some(&true) {
            self.first += 1;
        }
    }

    fn take_back(&mut self, call: usize) {
        self.done[call] = false;
        self.count -= 1;
        self.first = self.first.min(call);
    }
}

/// A register that can be read, written and swapped: for trials of the checker itself.
struct Register;

#[derive(Clone, Debug)]
enum Ask {
    Read,
    Write(i64),
    Swap(i64, i64),
}

impl Sequential for Register {
    type State = i64;
    type Asked = Ask;
    type Answered = Option<i64>;

    fn step(state: &i64, asked: &Ask) -> (i64, Option<i64>) {
        match asked {
            Ask::Read => (*state, Some(*state)),
            Ask::Write(value) => (*value, None),
            Ask::Swap(from, to) if state == from => (*to, Some(1)),
            Ask::Swap(..) => (*state, Some(0)),
        }
    }
}

fn call(begun: u64, ended: u64, asked: Ask, answered: Option<i64>) -> Call<Ask, Option<i64>> {
    Call { asked, answered, begun, ended, witnessed: None }
}

#[test]
fn a_read_that_misses_a_finished_write_is_found() {
    let stale = vec![
        call(0, 1, Ask::Write(1), None),
        call(2, 3, Ask::Write(2), None),
        call(4, 5, Ask::Read, Some(1)),
    ];
    assert!(check::<Register>(stale).is_err());
    let overlapping = vec![
        call(0, 1, Ask::Write(1), None),
        call(2, 5, Ask::Write(2), None),
        call(3, 4, Ask::Read, Some(1)),
        call(6, 7, Ask::Read, Some(2)),
    ];
    assert_eq!(check::<Register>(overlapping), Ok(()));
}

#[test]
fn two_swaps_from_one_value_are_found() {
    let both_won =
        vec![call(0, 10, Ask::Swap(0, 1), Some(1)), call(1, 11, Ask::Swap(0, 2), Some(1))];
    assert!(check::<Register>(both_won).is_err());
    let one_won =
        vec![call(0, 10, Ask::Swap(0, 1), Some(1)), call(1, 11, Ask::Swap(0, 2), Some(0))];
    assert_eq!(check::<Register>(one_won), Ok(()));
}

#[test]
fn reads_that_see_two_writes_in_different_orders_are_found() {
    let split = vec![
        call(0, 100, Ask::Write(1), None),
        call(1, 100, Ask::Write(2), None),
        call(2, 3, Ask::Read, Some(1)),
        call(4, 5, Ask::Read, Some(2)),
        call(6, 7, Ask::Read, Some(1)),
    ];
    assert!(check::<Register>(split).is_err());
}

#[test]
fn a_true_history_passes_and_one_wrong_answer_in_it_is_found() {
    for seed in 0..40 {
        let random = base::Random::seeded(seed);
        let mut state = 0;
        // One after the other at even times; each call then reaches out to both sides.
        let mut calls: Vec<_> = (0..120_u64)
            .map(|number| {
                let asked = match random.below(3) {
                    0 => Ask::Read,
                    1 => Ask::Write(i64::try_from(number).unwrap()),
                    _ => Ask::Swap(state, i64::try_from(number).unwrap()),
                };
                let (after, answered) = Register::step(&state, &asked);
                state = after;
                let place = 1000 + number * 10;
                call(place - random.below(60), place + 1 + random.below(60), asked, answered)
            })
            .collect();
        assert_eq!(check::<Register>(calls.clone()), Ok(()), "seed {seed}");
        let reads: Vec<usize> =
            (0..calls.len()).filter(|number| matches!(calls[*number].asked, Ask::Read)).collect();
        // A value that was never written.
        calls[*random.pick(&reads).unwrap()].answered = Some(-1);
        assert!(check::<Register>(calls).is_err(), "seed {seed}");
    }
}
