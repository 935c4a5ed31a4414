//! The plan is the seed's, and slots are what everybody agrees on.

use std::collections::BTreeSet;

use base::Timestamp;
use proptest::collection::vec;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{
    MINUTE_S, Planned, Rhythm, Slot, Span, begin_span, calculate_slot_time, end_span, expected,
    first_minute, minute_of, plan, read_time, slots_between, spell,
};

const SEED: Rhythm = Rhythm { interval_s: 5, lag_s: 6, offset_ms: 0 };
/// The last second that has a spelling, less a minute.
const LAST_S: u64 = 253_402_300_739;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn seconds(count: u64) -> Timestamp {
    Timestamp::from_millis(count * 1000)
}

/// What the trigger of a minute sends for the seed's source.
fn seed_plan(base: Timestamp, rhythm: Rhythm) -> Vec<Planned> {
    plan(base, base, seconds(base.seconds() + MINUTE_S), [("default", rhythm)])
}

proptest! {
    #![proptest_config(testkit::depth::cases(512))]

    // **Feature: data-collection-scheduler, Property 1: for any Sender execution the function
    // generates exactly 12 messages whose DelaySeconds values form the sequence [0, 5, 10, 15, 20,
    // 25, 30, 35, 40, 45, 50, 55]**
    #[test]
    fn a_trigger_plans_twelve_messages_five_seconds_apart(
        minute in 0..LAST_S / 60,
        lag_s in 0..=172_800_u64,
    ) {
        let base = seconds(minute * 60);
        let planned = seed_plan(base, Rhythm { lag_s, ..SEED });
        let delays: Vec<u64> = planned.iter().map(|message| message.delay_s).collect();
        prop_assert_eq!(delays, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55]);
        for message in planned {
            let due = base.seconds() + lag_s + message.delay_s;
            prop_assert_eq!(message.due, seconds(due));
            prop_assert_eq!(message.sources, ["default"]);
        }
    }

    // **Feature: data-collection-scheduler, Property 2: for any base time (second 0 of a minute)
    // the 12 messages that the Sender generates have consecutive time windows (from, to) of
    // exactly 5 seconds each, with to - from = 5 seconds and from < to**
    #[test]
    fn the_windows_of_a_minute_follow_each_other(minute in 0..LAST_S / 60) {
        let base = seconds(minute * 60);
        let planned = seed_plan(base, SEED);
        let mut from = base;
        for message in &planned {
            prop_assert_eq!(message.slot.from(), from);
            prop_assert!(message.slot.from() < message.slot.to());
            prop_assert_eq!(message.slot.to().since(message.slot.from()).as_millis(), 5000);
            from = message.slot.to();
        }
        prop_assert_eq!(from, seconds(base.seconds() + 60));
    }

    // **Feature: data-collection-scheduler, Property 5: for any timestamp the calculated slot time
    // has seconds that are a multiple of 5, is not after the original timestamp, and differs from
    // it by less than 5 seconds**
    #[test]
    fn a_slot_time_is_cut_to_five_seconds(millis in 0..LAST_S * 1000) {
        let time = Timestamp::from_millis(millis);
        let slot = read_time(&calculate_slot_time(time)).unwrap();
        prop_assert_eq!(slot.millis() % 60_000 % 5_000, 0);
        prop_assert!(slot <= time);
        prop_assert!(time.since(slot).as_millis() < 5_000);
    }

    // **Feature: data-collection-scheduler, Property 6: for any calculated slot time the output
    // string matches the ISO8601 pattern YYYY-MM-DDTHH:mm:ssZ and can be parsed back to an
    // equivalent date**
    #[test]
    fn a_slot_time_has_one_spelling(millis in 0..LAST_S * 1000) {
        let time = Timestamp::from_millis(millis);
        let text = calculate_slot_time(time);
        let pattern = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
        prop_assert_eq!(pattern.collect::<String>(), "0000-00-00T00:00:00Z");
        prop_assert_eq!(read_time(&text), Some(Slot::holding(time, 5).from()));
        prop_assert_eq!(spell(read_time(&text).unwrap()), text);
    }

    #[test]
    fn every_slot_is_planned_once_by_the_minute_in_which_it_begins(
        interval_s in 1..=400_u64,
        start in 0..1_000_000_u64,
        minutes in 1..20_u64,
        offset_ms in 0..600_u64,
    ) {
        let rhythm = Rhythm { interval_s, lag_s: interval_s + 1, offset_ms: offset_ms * 100 };
        let mut planned = Vec::new();
        for minute in start..start + minutes {
            let (from, to) = (seconds(minute * 60), seconds(minute * 60 + 60));
            planned.extend(plan(from, from, to, [("a", rhythm)]).into_iter().map(|it| it.slot));
        }
        let (from, to) = (seconds(start * 60), seconds((start + minutes) * 60));
        let all: Vec<Slot> = slots_between(interval_s, from, to).collect();
        prop_assert_eq!(&planned, &all);
        for pair in all.windows(2) {
            prop_assert_eq!(pair[0].to(), pair[1].from());
        }
        prop_assert!(all.iter().all(|slot| slot.from().seconds() % interval_s == 0));
        prop_assert!(all.iter().all(|slot| rhythm.due(*slot) > slot.to()));
        for slot in all {
            prop_assert_eq!(rhythm.last_due(rhythm.due(slot)), Some(slot));
        }
    }

    #[test]
    fn what_is_expected_lies_in_a_span_and_nothing_of_it_is_left_out(
        spans in vec((0..500_u64, 1..500_u64, 1..30_u64), 1..5),
        from in 0..2_000_u64,
        length in 0..2_000_u64,
    ) {
        let mut begin = 0;
        let spans: Vec<Span> = spans.into_iter().map(|(pause, length, interval_s)| {
            let from = begin + pause;
            begin = from + length;
            Span { from: seconds(from), to: Some(seconds(begin)), interval_s }
        }).collect();
        let (from, to) = (seconds(from), seconds(from + length));
        let slots = expected(&spans, from, to);
        let known: BTreeSet<Slot> = slots.iter().copied().collect();
        prop_assert_eq!(known.len(), slots.len());
        for second in from.seconds()..to.seconds() {
            let holds = spans.iter().any(|span| {
                let time = seconds(second);
                span.from <= time && span.to.is_none_or(|end| time < end)
                    && second.is_multiple_of(span.interval_s)
            });
            prop_assert_eq!(slots.iter().any(|slot| slot.from().seconds() == second), holds);
        }
    }
}

#[test]
fn a_time_on_the_boundary_is_its_own_slot_time() {
    assert_eq!(calculate_slot_time(at("2025-12-02T10:23:05Z")), "2025-12-02T10:23:05Z");
    assert_eq!(calculate_slot_time(at("2025-12-02T10:23:00Z")), "2025-12-02T10:23:00Z");
}

#[test]
fn slot_times_cross_minutes_and_hours() {
    assert_eq!(calculate_slot_time(at("2025-12-02T10:59:59Z")), "2025-12-02T10:59:55Z");
    assert_eq!(calculate_slot_time(at("2025-12-02T11:00:00Z")), "2025-12-02T11:00:00Z");
    assert_eq!(calculate_slot_time(at("2025-12-31T23:59:58Z")), "2025-12-31T23:59:55Z");
}

#[test]
fn milliseconds_do_not_reach_the_slot_time() {
    assert_eq!(calculate_slot_time(at("2025-12-02T10:23:07.999Z")), "2025-12-02T10:23:05Z");
    assert_eq!(calculate_slot_time(at("2025-12-02T10:23:04.999Z")), "2025-12-02T10:23:00Z");
    assert_eq!(calculate_slot_time(at("2025-12-02T10:23:05.000Z")), "2025-12-02T10:23:05Z");
}

#[test]
fn another_spelling_of_a_time_is_no_key() {
    for text in [
        "2025-12-02T10:23:05.000Z",
        "2025-12-02T10:23:05+00:00",
        "2025-12-02T19:23:05+09:00",
        "2025-12-02t10:23:05z",
        "2025-12-02 10:23:05Z",
    ] {
        assert_eq!(read_time(text), None, "{text}");
    }
}

#[test]
fn what_is_not_aligned_is_no_slot() {
    let between = |from, to| Slot::between(at(from), at(to));
    let slot = between("2025-12-02T10:23:00Z", "2025-12-02T10:23:05Z").unwrap();
    assert_eq!(slot, Slot::holding(at("2025-12-02T10:23:04.999Z"), 5));
    assert_eq!(between("2025-12-02T10:23:01Z", "2025-12-02T10:23:06Z"), None);
    assert_eq!(between("2025-12-02T10:23:05Z", "2025-12-02T10:23:05Z"), None);
    assert_eq!(between("2025-12-02T10:23:05Z", "2025-12-02T10:23:00Z"), None);
}

#[test]
fn sources_of_one_rhythm_share_messages_and_no_message_is_too_long() {
    let names: Vec<String> = (0..600).map(|nth| format!("s{nth:03}")).collect();
    let sources = names.iter().map(|name| (name.as_str(), SEED));
    let base = at("2025-12-02T10:23:00Z");
    let planned = plan(base, base, at("2025-12-02T10:24:00Z"), sources);
    assert_eq!(planned.len(), 12 * 3);
    let sizes: Vec<usize> = planned.iter().take(3).map(|message| message.sources.len()).collect();
    assert_eq!(sizes, [250, 250, 100]);
}

#[test]
fn spans_are_bounded_and_none_of_their_slots_is_forgotten() {
    let mut spans = Vec::new();
    for nth in 0..150 {
        begin_span(&mut spans, seconds(nth * 100), 5);
        end_span(&mut spans, seconds(nth * 100 + 50));
    }
    assert_eq!(spans.len(), 100);
    assert_eq!(expected(&spans, seconds(0), seconds(5)).len(), 1);
    assert_eq!(expected(&spans, seconds(14_900), seconds(15_000)).len(), 10);
    // A second end changes nothing, and one before the beginning leaves nothing.
    end_span(&mut spans, seconds(20_000));
    begin_span(&mut spans, seconds(30_000), 5);
    end_span(&mut spans, seconds(29_000));
    assert!(expected(&spans, seconds(15_000), seconds(40_000)).is_empty());
}

#[test]
fn a_source_begins_with_a_minute_whose_trigger_has_seen_it() {
    let time = at("2025-12-02T10:23:00.001Z");
    assert_eq!(minute_of(time), at("2025-12-02T10:23:00Z"));
    assert_eq!(first_minute(time), at("2025-12-02T10:24:00Z"));
    assert_eq!(first_minute(at("2025-12-02T10:23:00Z")), at("2025-12-02T10:24:00Z"));
    // The trigger of 10:24 might not see what is changed a moment before.
    assert_eq!(first_minute(at("2025-12-02T10:23:59.500Z")), at("2025-12-02T10:25:00Z"));
}
