//! What leaves a connection: whatever waits, in one write.
//!
//! Frames are gathered in a buffer of the thread, not of the connection, and only what the system
//! did not take stays behind. So an idle connection holds no buffer, and a busy one makes one call
//! for everything that gathered while the last was under way. A long push that waits alone is not
//! gathered: it leaves from where it lies, once for all who hear it.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hub::{Closed, Deliveries, Item, Text};
use tokio::io::AsyncWrite;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Data, OpCode};

/// What one write gathers: more would not make it cheaper, and is held by a reader that stalls.
const WRITE_BYTES: usize = 64 * 1024;

/// A text that is worth two pieces in one call rather than a copy of it.
const LONG_BYTES: usize = 4 * 1024;

/// The thread's buffer may grow for a large push, and is given back then.
const SCRATCH_BYTES_MAX: usize = 4 * WRITE_BYTES;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    items: Vec<Item>,
    bytes: Vec<u8>,
}

/// What the system has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    pub(super) left: Vec<u8>,
}

impl Outlet {
    pub(super) fn is_clear(&self) -> bool {
        self.left.is_empty()
    }

    /// Adds one text.
    pub(super) fn add(&mut self, text: &Text) {
        append(&mut self.left, &[text]);
    }

    /// Writes what is left from before; whether the system took any.
    pub(super) fn poll_clear(
        &mut self,
        context: &mut Context<'_>,
        io: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<bool>> {
        let mut any = false;
        while !self.left.is_empty() {
            match Pin::new(&mut *io).poll_write(context, &self.left) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    self.left.drain(..count);
                    any = true;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending if any => return Poll::Ready(Ok(true)),
                Poll::Pending => return Poll::Pending,
            }
        }
        // A connection without work holds no memory.
        self.left = Vec::new();
        Poll::Ready(Ok(any))
    }

    /// Takes what waits and writes it. `Ready(Ok)` when there may be more, `Pending` when nothing
    /// waits.
    pub(super) fn poll_pass(
        &mut self,
        context: &mut Context<'_>,
        io: &mut (impl AsyncWrite + Unpin),
        deliveries: &mut Deliveries,
        mut on_gap: impl FnMut(&hub::Gap) -> Option<Text>,
    ) -> Poll<Result<io::Result<()>, Closed>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { items, bytes } = scratch;
            ready!(deliveries.poll_take(context, WRITE_BYTES, items))?;
            if let [Item::Push { text, envelope: None, .. }] = items.as_slice()
                && text.len() >= LONG_BYTES
            {
                begin_frame(bytes, text.len());
                let written = self.write(context, io, [bytes, text.as_bytes()]);
                items.clear();
                bytes.clear();
                return Poll::Ready(Ok(written));
            }
            for item in items.drain(..) {
                match item {
                    Item::Push { text, envelope: None, .. } | Item::Reply(text) => {
                        append(bytes, &[&text]);
                    }
                    Item::Push { text, position, envelope: Some(around), .. } => {
                        let stamp = around.stamp_at(position);
                        append(bytes, &[&around.prefix, &text, &stamp, &around.suffix]);
                    }
                    Item::Gap(gap) => {
                        if let Some(text) = on_gap(&gap) {
                            append(bytes, &[&text]);
                        }
                    }
                }
            }
            let written = self.write(context, io, [bytes, &[]]);
            bytes.clear();
            bytes.shrink_to(SCRATCH_BYTES_MAX);
            Poll::Ready(Ok(written))
        })
    }

    /// Writes the two as one; what the system does not take is left.
    fn write(
        &mut self,
        context: &mut Context<'_>,
        io: &mut (impl AsyncWrite + Unpin),
        parts: [&[u8]; 2],
    ) -> io::Result<()> {
        let [first, second] = parts;
        if first.is_empty() {
            return Ok(());
        }
        let polled = match second {
            [] => Pin::new(io).poll_write(context, first),
            _ => Pin::new(io).poll_write_vectored(context, &parts.map(IoSlice::new)),
        };
        let count = match polled {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => count,
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => 0,
        };
        self.left.extend_from_slice(first.get(count..).unwrap_or_default());
        let of_second = count.saturating_sub(first.len());
        self.left.extend_from_slice(second.get(of_second..).unwrap_or_default());
        Ok(())
    }
}

/// One frame of text made of these parts.
fn append(bytes: &mut Vec<u8>, parts: &[&Text]) {
    begin_frame(bytes, parts.iter().map(|part| part.len()).sum());
    for part in parts {
        bytes.extend_from_slice(part.as_bytes());
    }
}

/// The header of a frame with a text of this length.
fn begin_frame(bytes: &mut Vec<u8>, length: usize) {
    let header = FrameHeader { opcode: OpCode::Data(Data::Text), ..FrameHeader::default() };
    header.format(length as u64, bytes).expect("memory takes every byte");
}
