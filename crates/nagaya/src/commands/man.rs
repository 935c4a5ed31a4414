//! `nagaya man`: the manual's pages.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{print, program};
use crate::Error;

pub(super) const NAME: &str = "man";

const OF: &str = "command";

pub(super) fn command() -> Command {
    let of = Arg::new(OF)
        .value_name("COMMAND")
        .action(ArgAction::Append)
        .num_args(0..)
        .help("The page of this command, such as `table query` [default: of all]");
    Command::new(NAME).about("Print a page of the manual").arg(of)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), Error> {
    let words: Vec<&String> = matches.get_many::<String>(OF).into_iter().flatten().collect();
    print(&page(&words)?)
}

fn page(words: &[&String]) -> Result<String, Error> {
    let mut all = program();
    all.build();
    let found = words.iter().try_fold(&all, |command, word| command.find_subcommand(word));
    let found = found.ok_or_else(|| {
        let said: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        Error::Usage(format!("there is no command `{}`", said.join(" ")))
    })?;
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(found.clone()).render(&mut page);
    rendered.map_err(Error::system("cannot write the manual's page"))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let [table, query, none] = ["table", "query", "nothing"].map(str::to_owned);
        assert!(page(&[]).unwrap().contains(".TH nagaya 1"));
        let told = page(&[&table, &query]).unwrap();
        assert!(told.contains(".TH nagaya-table-query 1"), "{told}");
        assert!(told.contains("partition"), "{told}");
        assert!(page(&[&none]).is_err());
    }
}
