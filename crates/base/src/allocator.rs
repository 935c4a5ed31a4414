//! The allocator of all programs of this workspace.

/// An allocator whose `free` takes no lock, whichever thread allocated the memory.
pub use mimalloc::MiMalloc as Allocator;

/// How long freed memory is kept, in milliseconds.
const KEPT_MS: std::ffi::c_long = 20_000;
/// mimalloc's number of this option, which the bindings do not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Lets the allocator keep freed memory for a while before it returns it to the system. A store
/// under load frees and needs the same hundreds of megabytes every few seconds, and memory that the
/// system had in between must be zeroed first. Call it once, before any thread starts.
#[expect(unsafe_code, reason = "an option of the allocator that no safe crate sets")]
pub fn keep_freed_memory() {
    // SAFETY: no other thread exists, so nothing else reads or sets options at the same time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT_MS) };
}

#[cfg(test)]
mod tests {
    use super::{PURGE_DELAY, keep_freed_memory};

    #[test]
    #[expect(unsafe_code, reason = "an option of the allocator that no safe crate reads")]
    fn the_option_number_is_that_of_the_purge_delay() {
        // SAFETY: this process runs only this test, so nothing else sets options at the same time.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1000, "mimalloc's own delay, in milliseconds");
        keep_freed_memory();
        assert_eq!(delay(), super::KEPT_MS);
    }
}
