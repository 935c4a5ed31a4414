//! `nagaya man`: the manual's pages.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Extent, help, print};
use crate::Error;

pub(super) const NAME: &str = "man";

const OF: &str = "command";

pub(super) fn command() -> Command {
    let of = Arg::new(OF)
        .value_name("COMMAND")
        .action(ArgAction::Append)
        .num_args(0..)
        .help("The page of this command, such as `table query` [default: of all]");
    Command::new(NAME).about("Print a page of the manual").arg(of).arg(Extent::flag())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), Error> {
    let words: Vec<&String> = matches.get_many::<String>(OF).into_iter().flatten().collect();
    print(&page(&words, Extent::of(matches))?)
}

fn page(words: &[&String], extent: Extent) -> Result<String, Error> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(help::find(words, extent)?).render(&mut page);
    rendered.map_err(Error::system("cannot write the manual's page"))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Extent, page};

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let [table, query, none] = ["table", "query", "nothing"].map(str::to_owned);
        let whole = page(&[], Extent::Common).unwrap();
        assert!(whole.contains(".TH nagaya 1") && whole.contains("score"), "{whole}");
        let rare = "drain";
        assert!(!whole.contains(rare) && page(&[], Extent::All).unwrap().contains(rare));
        let told = page(&[&table, &query], Extent::Common).unwrap();
        assert!(told.contains(".TH nagaya-table-query 1"), "{told}");
        assert!(told.contains("partition"), "{told}");
        assert!(page(&[&none], Extent::All).is_err());
    }
}
