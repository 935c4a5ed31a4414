//! What needs the operator now: sentences made of numbers that the house has anyway, the urgent
//! ones first.

use base::Timestamp;
use edge::Certificate;
use kit::Problem;
use table::Space;

use crate::limits::{
    BACKUP_DAYS_MAX, CERTIFICATE_DAYS_MIN, CERTIFICATE_DAYS_URGENT, DISK_FREE_MIN,
    DISK_PERCENT_MIN, DISK_PERCENT_URGENT,
};
use crate::overview::Moment;

const DAY_SECONDS: u64 = 24 * 60 * 60;
const GIB: u64 = 1024 * 1024 * 1024;

/// What is looked at less often than every second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlook {
    /// Of the disk that the store is on.
    pub(crate) space: Option<Space>,
    pub(crate) certificate: Option<Certificate>,
}

/// Everything that is wrong, the urgent first. `of_rooms` is what the rooms say.
pub(crate) fn find_problems(
    moment: &Moment,
    outlook: &Outlook,
    of_rooms: Vec<Problem>,
) -> Vec<Problem> {
    let now = Timestamp::from_millis(moment.at);
    let own = [
        stopped(moment),
        disk(outlook),
        dead_letters(moment),
        outlook.certificate.as_ref().and_then(|certificate| expiry(certificate, now)),
        backup(moment),
    ];
    let mut problems: Vec<Problem> = own.into_iter().flatten().chain(of_rooms).collect();
    problems.sort_by_key(|problem| !problem.is_urgent);
    problems
}

fn stopped(moment: &Moment) -> Option<Problem> {
    (moment.store.is_writable == Some(false)).then(|| Problem {
        id: "store_stopped",
        is_urgent: true,
        en: "The store has stopped writing. Its log says why.".to_owned(),
        ja: "ストアが書き込みを停止しました。理由はログにあります。".to_owned(),
        path: "/console/backups",
    })
}

fn disk(outlook: &Outlook) -> Option<Problem> {
    let space = outlook.space?;
    let percent = space.free_bytes * 100 / space.total_bytes.max(1);
    if percent >= DISK_PERCENT_MIN || space.free_bytes >= DISK_FREE_MIN {
        return None;
    }
    let gib = (space.free_bytes * 10 / GIB) as f64 / 10.0;
    Some(Problem {
        id: "disk",
        is_urgent: percent < DISK_PERCENT_URGENT,
        en: format!("The disk of the store is almost full: {percent} % ({gib} GiB) free."),
        ja: format!("ストアのディスクの空きが少なくなっています(残り{percent}%、{gib} GiB)。"),
        path: "/console/settings",
    })
}

fn dead_letters(moment: &Moment) -> Option<Problem> {
    let dead = moment.queues.dead;
    let messages = if dead == 1.0 { "message was" } else { "messages were" };
    (dead > 0.0).then(|| Problem {
        id: "dead_letters",
        is_urgent: true,
        en: format!("{dead} {messages} given up. Read why, and try again."),
        ja: format!("処理できなかったメッセージ(デッドレター)が{dead}件あります。"),
        path: "/console/flow",
    })
}

fn expiry(certificate: &Certificate, now: Timestamp) -> Option<Problem> {
    let seconds = certificate.ends.checked_since(now).map(|left| left.as_secs());
    let days = seconds.map(|seconds| seconds / DAY_SECONDS);
    if days.is_some_and(|days| days >= CERTIFICATE_DAYS_MIN) {
        return None;
    }
    let (en, ja) = match days {
        None => (
            "The TLS certificate has expired: browsers refuse it.".to_owned(),
            "TLS 証明書の有効期限が切れています。ブラウザーは接続を拒否します。".to_owned(),
        ),
        Some(days) => {
            let (unit, left) = (if days == 1 { "day" } else { "days" }, days);
            (
                format!("The TLS certificate expires in {left} {unit}."),
                format!("TLS 証明書の有効期限まであと{left}日です。"),
            )
        }
    };
    let is_urgent = days.is_none_or(|days| days < CERTIFICATE_DAYS_URGENT);
    Some(Problem { id: "certificate", is_urgent, en, ja, path: "/console/settings" })
}

/// A house that never had a backup is told so by its first steps.
fn backup(moment: &Moment) -> Option<Problem> {
    let days = moment.store.backup_seconds? / DAY_SECONDS;
    (days > BACKUP_DAYS_MAX).then(|| Problem {
        id: "backup_age",
        is_urgent: false,
        en: format!("The newest backup is {days} days old."),
        ja: format!("最新のバックアップは{days}日前のものです。"),
        path: "/console/backups",
    })
}

#[cfg(test)]
mod tests {
    use base::Timestamp;
    use edge::Certificate;
    use table::Space;

    use super::{DAY_SECONDS, GIB, Outlook, find_problems};
    use crate::overview::Moment;

    const NOW: u64 = 1_000 * DAY_SECONDS * 1_000;

    fn calm() -> Moment {
        Moment { at: NOW, ..Moment::default() }
    }

    fn ids(moment: &Moment, outlook: &Outlook) -> Vec<(&'static str, bool)> {
        let problems = find_problems(moment, outlook, Vec::new());
        problems.iter().map(|problem| (problem.id, problem.is_urgent)).collect()
    }

    fn ends_in(days: i64) -> Outlook {
        let ends = NOW.checked_add_signed(days * 86_400_000 + 1_000).unwrap();
        let certificate = Certificate {
            names: Vec::new(),
            begins: Timestamp::from_millis(0),
            ends: Timestamp::from_millis(ends),
        };
        Outlook { certificate: Some(certificate), ..Outlook::default() }
    }

    #[test]
    fn a_house_that_is_well_has_no_problem() {
        assert_eq!(ids(&calm(), &Outlook::default()), []);
        assert_eq!(ids(&calm(), &ends_in(60)), []);
    }

    #[test]
    fn urgent_problems_stand_first_and_each_has_a_page() {
        let mut moment = calm();
        moment.queues.dead = 1.0;
        moment.store.backup_seconds = Some(30 * DAY_SECONDS);
        moment.store.is_writable = Some(false);
        let outlook = Outlook {
            space: Some(Space { free_bytes: GIB / 2, total_bytes: 100 * GIB }),
            ..ends_in(10)
        };
        let found = [
            ("store_stopped", true),
            ("disk", true),
            ("dead_letters", true),
            ("certificate", false),
            ("backup_age", false),
        ];
        assert_eq!(ids(&moment, &outlook), found);
        let problems = find_problems(&moment, &outlook, Vec::new());
        assert!(problems.iter().all(|problem| problem.path.starts_with("/console")));
        assert_eq!(problems[2].en, "1 message was given up. Read why, and try again.");
        assert_eq!(problems[3].en, "The TLS certificate expires in 10 days.");
    }

    #[test]
    fn a_certificate_that_has_ended_is_urgent() {
        assert_eq!(ids(&calm(), &ends_in(-2)), [("certificate", true)]);
        assert_eq!(ids(&calm(), &ends_in(1)), [("certificate", true)]);
    }

    #[test]
    fn a_small_disk_with_much_free_and_a_large_one_with_a_little_are_well() {
        let with = |free_bytes, total_bytes| Outlook {
            space: Some(Space { free_bytes, total_bytes }),
            ..Outlook::default()
        };
        assert_eq!(ids(&calm(), &with(GIB, 2 * GIB)), []);
        assert_eq!(ids(&calm(), &with(50 * GIB, 10_000 * GIB)), []);
        assert_eq!(ids(&calm(), &with(GIB, 15 * GIB)), [("disk", false)]);
    }
}
