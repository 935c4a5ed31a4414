//! How much a run repeats. `cargo xtask test` proves every claim once; `cargo xtask test --deep`
//! repeats more, and sets the variable that is read here.

/// What `cargo xtask test --deep` sets.
const VARIABLE: &str = "NAGAYA_TEST_DEEP";

/// A deep run tries so many times as many cases of every property.
const DEEP_CASES: u32 = 10;

/// Whether this is a deep run.
pub fn is_deep() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The first value, or in a deep run the second.
pub fn pick<T>(usual: T, deep: T) -> T {
    if is_deep() { deep } else { usual }
}

/// A property's configuration with so many cases, or more in a deep run.
pub fn cases(usual: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config::with_cases(pick(usual, usual * DEEP_CASES))
}
