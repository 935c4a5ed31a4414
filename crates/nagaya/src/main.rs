//! The program `nagaya`. What it does is in the library beside it.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Frees take no lock, whichever thread made what is freed.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    nagaya::run(std::env::args_os(), std::env::vars_os())
}
