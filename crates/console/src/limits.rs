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
