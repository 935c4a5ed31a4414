//! How much a run repeats. `cargo xtask test` runs every test once; `cargo xtask test --deep`
//! repeats more, and sets the variable that this module reads.

/// Set by `cargo xtask test --deep`.
const VARIABLE: &str = "NAGAYA_TEST_DEEP";

/// The factor for the cases of every property in a deep run.
const DEEP_CASES: u32 = 10;

/// Whether this is a deep run.
pub fn is_deep() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The first value, or the second in a deep run.
pub fn pick<T>(usual: T, deep: T) -> T {
    if is_deep() { deep } else { usual }
}

/// A property's configuration with this number of cases, or more in a deep run.
pub fn cases(usual: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config::with_cases(pick(usual, usual * DEEP_CASES))
}
