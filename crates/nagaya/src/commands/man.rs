//! `nagaya man`: the manual's page.

use clap::Command;

use super::{print, program};
use crate::Error;

pub(super) const NAME: &str = "man";

pub(super) fn command() -> Command {
    Command::new(NAME).about("Print the manual's page: `nagaya man | man -l -`")
}

pub(super) fn run() -> Result<(), Error> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(program()).render(&mut page);
    rendered.map_err(Error::system("cannot write the manual's page"))?;
    print(&String::from_utf8_lossy(&page))
}
