//! The program `nagaya`. What it does is in the library beside it.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: base::Allocator = base::Allocator;

fn main() -> ExitCode {
    base::keep_freed_memory();
    nagaya::run(std::env::args_os(), std::env::vars_os())
}
