//! The address that the pages show people: on join cards, in QR codes, and as the link to copy.
//!
//! It is made in this file alone. Today it is the address under which the reader has opened the page.

use edge::Address;

use super::room_path;
use crate::model::Room;

/// Where people find a room.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Scheme and host.
    base: String,
    path: String,
}

impl Link {
    /// The link to a room, for a page that was opened under this address.
    pub(super) fn of(room: &Room, address: &Address) -> Link {
        Link { base: address.0.clone(), path: room_path(&room.code) }
    }

    /// The whole link, for a QR code.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.base, self.path)
    }

    /// The host as people read it and type it.
    pub(super) fn host(&self) -> &str {
        self.base.split_once("//").map_or(self.base.as_str(), |(_, host)| host)
    }

    /// Whether only this machine can open it.
    pub(super) fn is_local(&self) -> bool {
        let host = self.host();
        let starts = ["localhost", "127.", "[::1]", "0.0.0.0", "[::]"];
        starts.iter().any(|start| host.starts_with(start))
    }
}
