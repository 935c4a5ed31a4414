//! The program `nagaya`. What it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    nagaya::run(std::env::args_os(), std::env::vars_os())
}
