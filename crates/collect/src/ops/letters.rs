//! Dead letters: slots that were given up, found by source and reason.

use dispatch::{DeadLetter, DeadLetters};

use crate::Collect;
use crate::error::Error;
use crate::jobs::read_letter;
use crate::limits::{LETTERS_LOOKED_AT, LETTERS_SOUGHT_MAX};

impl Collect {
    /// The dead letters after a place, of a source and with a text in their reason where that is
    /// wanted.
    pub(crate) async fn list_letters(
        &self,
        after: Option<&str>,
        limit: u32,
        (source, reason): (Option<&str>, Option<&str>),
    ) -> Result<DeadLetters, Error> {
        if source.is_none() && reason.is_none() {
            return Ok(self.asks.list_dead(after, limit).await?);
        }
        let (mut found, mut sought, mut after) =
            (DeadLetters::default(), 0, after.map(str::to_owned));
        loop {
            let part = self.asks.list_dead(after.as_deref(), LETTERS_LOOKED_AT).await?;
            sought += part.letters.len() as u64;
            for letter in part.letters.into_iter().filter(|it| is_wanted(it, source, reason)) {
                let id = letter.id.clone();
                found.letters.push(letter);
                if found.letters.len() as u64 >= u64::from(limit) {
                    found.next = Some(id);
                    return Ok(found);
                }
            }
            after = part.next;
            if after.is_none() || sought >= LETTERS_SOUGHT_MAX {
                found.next = after;
                return Ok(found);
            }
        }
    }

    /// Sends dead letters again; answers how many.
    pub(crate) async fn replay_letters(
        &self,
        source: Option<&str>,
        reason: Option<&str>,
    ) -> Result<u64, Error> {
        Ok(self.asks.replay_if(|letter| is_wanted(letter, source, reason)).await?)
    }

    /// Removes dead letters; answers how many. One that stands for several sources is removed with
    /// all of them.
    pub(crate) async fn purge_letters(
        &self,
        source: Option<&str>,
        reason: Option<&str>,
    ) -> Result<u64, Error> {
        let is_alone = |letter: &DeadLetter| {
            source.is_none() || read_letter(&letter.body).is_some_and(|(all, _)| all.len() == 1)
        };
        let wanted = |letter: &DeadLetter| is_wanted(letter, source, reason) && is_alone(letter);
        Ok(self.asks.purge_if(wanted).await?)
    }
}

fn is_wanted(letter: &DeadLetter, source: Option<&str>, reason: Option<&str>) -> bool {
    let of_source = |name: &str| {
        read_letter(&letter.body).is_some_and(|(sources, _)| sources.iter().any(|it| it == name))
    };
    source.is_none_or(of_source) && reason.is_none_or(|text| letter.reason.contains(text))
}
