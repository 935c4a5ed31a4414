//! Every number that bounds the console, with its reason.

use std::time::Duration;

use hub::History;

/// How often the house is looked at: often enough to see it move, seldom enough to cost nothing.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// How often the folder of backups is read. Backups come by the day.
pub(crate) const LOOK_FOR_BACKUPS: Duration = Duration::from_secs(30);

/// Looks that are remembered: a minute of rates, and the look before it.
pub(crate) const LOOKS_KEPT: usize = 61;

/// Items on one page of a table: as many as somebody reads.
pub(crate) const ITEMS_PER_PAGE: u32 = 25;

/// Items that are looked at for one page, where a filter leaves few: half a megabyte or so, read in
/// some milliseconds.
pub(crate) const LOOKED_AT_PER_PAGE: u32 = 2_000;

/// Columns of a page of items; an item that is open shows all of its attributes.
pub(crate) const COLUMNS_MAX: usize = 24;

/// Letters of a value in the list, as many as a column is wide.
pub(crate) const CELL_LETTERS_MAX: usize = 60;

/// Versions of an item on a page: as many as a slider tells apart.
pub(crate) const VERSIONS_PER_PAGE: usize = 20;

/// Items that an export reads at once.
pub(crate) const EXPORT_PAGE_ITEMS: u32 = 500;

/// Items that come in by one form; more go by the command line, which shows its progress.
pub(crate) const IMPORT_ITEMS_MAX: usize = 10_000;

/// Bytes of a form: an import of its items, each a few hundred bytes.
pub(crate) const FORM_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Days that a key may be good for: ten years. One without an end is asked for as such.
pub(crate) const KEY_DAYS_MAX: u64 = 3_650;

/// Secrets with which a key is whole: the one in use and the one that will replace it. The guard has
/// the same bound; here it hides a button.
pub(crate) const KEY_SECRETS_SHOWN: usize = 2;

/// Time for what reads or writes the whole store or very many items: backups, trials, imports. A
/// backup of a hundred gigabytes takes so long on a slow disk; who is not patient has the command.
pub(crate) const LONG_WORK: Duration = Duration::from_secs(60 * 60);

/// Dead letters of one queue on a page, and letters of what each says.
pub(crate) const DEAD_LETTERS_SHOWN: u32 = 20;
pub(crate) const LETTER_LETTERS_SHOWN: usize = 500;

/// Facts on a page, and commits of the log that they are looked for in: the last minutes of a busy
/// house, read in a moment.
pub(crate) const FACTS_SHOWN: usize = 20;
pub(crate) const FACTS_LOOKED_AT: u64 = 5_000;

/// Backups on a page: a month of daily ones.
pub(crate) const BACKUPS_SHOWN: usize = 31;

/// What is kept for a browser that comes back: as much as its lines show.
pub(crate) const PUSHES_KEPT: History =
    History { pushes: LOOKS_KEPT, bytes: 256 * 1024, age: Duration::from_secs(60) };

/// Minutes that are remembered: an hour of rates for the lines of the overview.
pub(crate) const MINUTES_KEPT: usize = 60;

/// How often the first steps are looked at: soon enough for somebody who has just done one.
pub(crate) const LOOK_FOR_STEPS: Duration = Duration::from_secs(5);

/// Results of a search, and those of one room: as many as somebody looks through.
pub(crate) const FOUND_MAX: usize = 30;
pub(crate) const FOUND_PER_ROOM: usize = 10;

/// Time for the answers to a search. Somebody types meanwhile.
pub(crate) const SEARCH_TIME: Duration = Duration::from_millis(800);

/// A disk with less free than this part of it, and less than these bytes, is a problem: a large one
/// has room for months at five percent.
pub(crate) const DISK_PERCENT_MIN: u64 = 10;
pub(crate) const DISK_PERCENT_URGENT: u64 = 3;
pub(crate) const DISK_FREE_MIN: u64 = 10 * 1024 * 1024 * 1024;

/// Days before the end of a certificate: those that renew themselves do so a month before.
pub(crate) const CERTIFICATE_DAYS_MIN: u64 = 21;
pub(crate) const CERTIFICATE_DAYS_URGENT: u64 = 3;

/// A newest backup that is older was forgotten, whether they come by the day or by the week.
pub(crate) const BACKUP_DAYS_MAX: u64 = 8;
