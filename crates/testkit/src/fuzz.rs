//! Fuzz targets: functions that take arbitrary bytes and assert what must hold.
//!
//! A target is a test in a module `fuzz`; its corpus is the folder `corpus/<name>` of its crate.
//! The usual run feeds every file of the corpus to the target and needs no engine. `cargo xtask
//! fuzz` compiles the tests with `--cfg fuzzing` and names one target: libFuzzer then makes new
//! inputs for it, guided by the branches that they reach.

use std::path::Path;

/// Feeds every file of the corpus `name` to `target`, or inputs of the engine in a fuzzing run.
///
/// # Panics
/// The target panics, or it has no corpus. The last printed path is the input.
pub fn check(name: &str, target: impl Fn(&[u8])) {
    #[cfg(fuzzing)]
    if let Some(wanted) = engine::wanted() {
        if wanted == name {
            engine::run(&target);
        }
        return;
    }
    replay(&Path::new("corpus").join(name), target);
}

/// Cargo runs the tests of a crate in the crate's folder.
fn replay(folder: &Path, target: impl Fn(&[u8])) {
    let files = std::fs::read_dir(folder);
    let files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> =
        files.map(|file| file.expect("the folder can be read").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    for path in paths {
        println!("{}", path.display());
        target(&std::fs::read(&path).expect("a file of the corpus can be read"));
    }
}

#[cfg(fuzzing)]
mod engine {
    //! libFuzzer, by way of `bolero`. Its arguments are in a variable that bolero reads.

    use std::panic::RefUnwindSafe;

    /// Set by `cargo xtask fuzz`.
    const VARIABLE: &str = "NAGAYA_FUZZ_TARGET";

    /// The target to fuzz.
    #[expect(clippy::disallowed_methods, reason = "the target of a run comes from the environment")]
    pub(super) fn wanted() -> Option<String> {
        std::env::var(VARIABLE).ok()
    }

    /// Runs the engine. It ends the process after its time or when the target fails.
    pub(super) fn run(target: &impl Fn(&[u8])) {
        let target = Target(target);
        bolero::check!().for_each(|input: &[u8]| target.feed(input));
    }

    /// The engine stops at the first panic, so no broken state is seen later.
    struct Target<'t, F>(&'t F);

    impl<F> RefUnwindSafe for Target<'_, F> {}

    impl<F: Fn(&[u8])> Target<'_, F> {
        fn feed(&self, input: &[u8]) {
            (self.0)(input);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::replay;

    #[test]
    fn every_file_of_a_corpus_is_fed_to_its_target() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("b", "two"), ("a", "one")] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let fed = RefCell::new(Vec::new());
        replay(folder.path(), |input| fed.borrow_mut().push(input.to_vec()));
        assert_eq!(fed.into_inner(), [b"one", b"two"]);
    }

    #[test]
    #[should_panic(expected = "is empty")]
    fn a_target_without_corpus_fails() {
        replay(tempfile::tempdir().unwrap().path(), |_| {});
    }
}
