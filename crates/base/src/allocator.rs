//! The allocator of the house's programs.

/// Frees take no lock, whichever thread made what is freed.
pub use mimalloc::MiMalloc as Allocator;

/// Milliseconds for which freed memory is kept.
const KEPT_MS: std::ffi::c_long = 20_000;
/// mimalloc's number of that option, which its bindings do not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Lets the allocator keep freed memory for a while before the system gets it back. A store under
/// load frees and needs the same hundreds of megabytes every few seconds; what the system has had
/// in between must be cleared first. To be called once, before any thread is started.
#[expect(unsafe_code, reason = "an option of the allocator that no safe crate sets")]
pub fn keep_freed_memory() {
    // SAFETY: nobody else sets or reads options meanwhile, because there is no other thread.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT_MS) };
}

#[cfg(test)]
mod tests {
    use super::{PURGE_DELAY, keep_freed_memory};

    #[test]
    #[expect(unsafe_code, reason = "an option of the allocator that no safe crate reads")]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: this process runs this test alone, and nobody sets options meanwhile.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1000, "mimalloc's own delay, in milliseconds");
        keep_freed_memory();
        assert_eq!(delay(), super::KEPT_MS);
    }
}
