//! The requests to the kernel that no safe crate offers. Two are about the same thing: that the
//! settler's work does not stand in the way of a commit. The third says why a process ends that
//! reads a page of a mapped file which is not there any more.
//!
//! Elsewhere than on Linux they do nothing; then writers feel the settler more.

use std::fs::File;
use std::io;

/// How a thread shares the processor with the others.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    /// It has little to do at a time, and others wait for it: it may interrupt them.
    Prompt,
    /// It has much to do, and seldom does anybody wait for it: others may interrupt it. It still
    /// gets a fair part of a busy machine, because writers wait for it when memory is full.
    Patient,
}

/// Gives the calling thread its pace, as far as the kernel knows of such a thing.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call that no safe crate offers")]
pub(super) fn set_pace(pace: Pace) {
    // A niceness alone decides how much time a thread gets; how soon it gets it is decided by the
    // slice it asks for, from 0.1 ms to 100 ms (since Linux 6.12; before, it is ignored).
    // At niceness 19, two other processes that kept the processors busy left the settler a sixtieth
    // of one, and writers that had filled the memory waited for it. At 5 it has a quarter. It cannot
    // be raised when it is needed: only privileged processes may lower a niceness.
    let (sched_nice, sched_runtime) = match pace {
        Pace::Prompt => (0, 100_000),
        Pace::Patient => (5, 100_000_000),
    };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: 0,
        sched_nice,
        sched_priority: 0,
        sched_runtime,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads `attributes`, as long as their `size` says, before it returns.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Hands the dirty pages in a part of `file` to the disk, and waits until it has them.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call that no safe crate offers")]
pub(super) fn write_back(file: &File, offset: u64, length: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (offset, length) = (offset.cast_signed(), length.cast_signed());
    // SAFETY: the call takes no memory, and the descriptor is open for as long as `file` lives.
    let failed = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, all) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What is said when a page of a mapped file cannot be read. The tree is the only one.
const BUS_ERROR: &[u8] = b"nagaya: a page of settled/data.mdb cannot be read: the file was cut \
    while it was open, or the disk failed; the process ends\n";

/// From now on, the process says why before it ends by SIGBUS.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call that no safe crate offers")]
pub(super) fn explain_bus_errors() {
    extern "C" fn explain(_signal: libc::c_int) {
        // SAFETY: `write` may be called by signal handlers, and reads as many bytes as there are.
        unsafe { libc::write(libc::STDERR_FILENO, BUS_ERROR.as_ptr().cast(), BUS_ERROR.len()) };
    }
    // SAFETY: all zeros are a valid `sigaction`: no flags, and no signal blocked.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = explain as extern "C" fn(libc::c_int) as usize;
    // Once: the instruction is tried again when the handler returns, and ends the process.
    action.sa_flags = libc::SA_RESETHAND;
    // SAFETY: the kernel reads `action` before it returns; the handler is a function of this kind.
    unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn explain_bus_errors() {}

#[cfg(not(target_os = "linux"))]
pub(super) fn set_pace(_pace: Pace) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn write_back(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
    Ok(())
}
