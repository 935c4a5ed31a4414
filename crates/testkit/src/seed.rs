//! The source of randomness in tests.
//!
//! `cargo xtask test` draws one seed, prints it, and passes it to every test; `--seed` sets it. A
//! test that runs alone draws its own. Properties get the same number from proptest's own variable.

use base::Random;

/// Set by `cargo xtask test`.
const VARIABLE: &str = "NAGAYA_TEST_SEED";

/// The seed of this run. Prints it, so that a failed test shows how to repeat it.
///
/// # Panics
/// The variable is set and not a number.
#[expect(clippy::disallowed_methods, reason = "the seed of a run comes from the environment")]
pub fn draw() -> u64 {
    let seed = match std::env::var(VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{VARIABLE} is a number, not `{text}`")),
        Err(_) => Random::from_os().next_u64(),
    };
    println!("repeat with {VARIABLE}={seed}");
    seed
}

/// Randomness from the seed of this run.
pub fn random() -> Random {
    Random::seeded(draw())
}

/// This number of seeds, derived from the seed of this run.
pub fn several(count: usize) -> impl Iterator<Item = u64> {
    let random = random();
    std::iter::repeat_with(move || random.next_u64()).take(count)
}
