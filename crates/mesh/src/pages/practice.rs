//! The practice group: one that the page of a class plays itself, as a client with the key. Its nodes
//! have ids as Smalruby makes them. When the page is closed its host is silent, and the group ends.

use serde::Serialize;

/// The host of the practice group: a class has one.
pub(super) const HOST: &str = "3810ad00000000000000000000000001";
/// Its members.
const MEMBERS: [&str; 2] = ["30b84300000000000000000000000002", "f8b80100000000000000000000000003"];

/// Who plays.
#[derive(Debug, Serialize)]
pub(super) struct Practice {
    host: &'static str,
    members: [&'static str; 2],
}

pub(super) const PRACTICE: Practice = Practice { host: HOST, members: MEMBERS };

#[cfg(test)]
mod tests {
    use super::{HOST, MEMBERS};
    use crate::model::naming::hiragana;

    #[test]
    fn everybody_who_plays_has_a_name_that_can_be_read() {
        let names = [HOST, MEMBERS[0], MEMBERS[1]].map(|id| hiragana(id).unwrap());
        assert_eq!(names, ["たのしいはな", "たいこのうた", "きのこのいし"]);
    }
}
