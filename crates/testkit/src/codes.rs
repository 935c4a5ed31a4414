//! Failures of the store as the clients of a room see them.

use edge::Failure;

/// Asserts that a room reports a store that is busy, full or stopped with the store's own status
/// and code. `errors` turns such a failure into the room's errors.
///
/// # Panics
/// One of them has another status or code.
pub fn assert_store_codes<E>(errors: impl Fn(table::Error) -> [E; 2])
where
    Failure: From<E>,
{
    let states = [
        (table::Error::Throttled("slow".to_owned()), (429, "store_busy")),
        (table::Error::DiskFull, (507, "disk_full")),
        (table::Error::Stopped("broken".to_owned()), (503, "store_stopped")),
    ];
    for (state, expected) in states {
        for error in errors(state) {
            let failure = Failure::from(error);
            assert_eq!((failure.status().as_u16(), failure.code()), expected);
        }
    }
}
