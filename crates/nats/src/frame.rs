//! The encoding of a message in the stream.
//!
//! ```text
//! push   [1][channel length u16][topic length u16][channel][topic][text]
//! lost   [2]      an instance could not publish: readers of any topic may have missed a push
//! ```
//!
//! Lengths are little endian. Channel and topic are part of the message and not of the subject,
//! because a topic may contain any character and a subject may not.

use bytes::{BufMut, Bytes, BytesMut};
use hub::TopicName;

const PUSH: u8 = 1;
const LOST: u8 = 2;
const HEAD_BYTES: usize = 5;

/// A decoded message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'m> {
    Push { topic: TopicName<'m>, text: &'m str },
    Lost,
}

/// Encodes a push; `None` if a name is too long.
pub(crate) fn push(topic: TopicName<'_>, text: &str) -> Option<Bytes> {
    let channel_length = u16::try_from(topic.channel.len()).ok()?;
    let topic_length = u16::try_from(topic.topic.len()).ok()?;
    let length = HEAD_BYTES + topic.channel.len() + topic.topic.len() + text.len();
    let mut message = BytesMut::with_capacity(length);
    message.put_u8(PUSH);
    message.put_u16_le(channel_length);
    message.put_u16_le(topic_length);
    message.put_slice(topic.channel.as_bytes());
    message.put_slice(topic.topic.as_bytes());
    message.put_slice(text.as_bytes());
    Some(message.freeze())
}

pub(crate) fn lost() -> Bytes {
    Bytes::from_static(&[LOST])
}

/// Decodes a message; `None` if no instance can have written it.
pub(crate) fn read(message: &[u8]) -> Option<Frame<'_>> {
    match message.split_first()? {
        (&LOST, []) => Some(Frame::Lost),
        (&PUSH, rest) => {
            let (channel_length, rest) = rest.split_first_chunk()?;
            let (topic_length, rest) = rest.split_first_chunk()?;
            let rest = std::str::from_utf8(rest).ok()?;
            let (channel, rest) =
                rest.split_at_checked(u16::from_le_bytes(*channel_length).into())?;
            let (topic, text) = rest.split_at_checked(u16::from_le_bytes(*topic_length).into())?;
            Some(Frame::Push { topic: TopicName { channel, topic }, text })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hub::TopicName;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Frame, lost, push, read};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_frame_reads_back_as_it_was_written(channel: String, topic: String, text: String) {
            let topic = TopicName { channel: &channel, topic: &topic };
            let message = push(topic, &text).unwrap();
            prop_assert_eq!(read(&message), Some(Frame::Push { topic, text: &text }));
        }

        #[test]
        fn any_input_is_decoded_or_refused(message in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(Frame::Push { topic, text }) = read(&message) {
                prop_assert_eq!(push(topic, text).unwrap(), message);
            }
        }
    }

    #[test]
    fn a_foreign_message_is_refused() {
        let whole = push(TopicName { channel: "c", topic: "t" }, "日").unwrap();
        for end in 0..7 {
            assert_eq!(read(&whole[..end]), None, "{end}");
        }
        assert_eq!(read(&whole[..8]), None, "half a character");
        assert_eq!((read(&[9, 0, 0]), read(&[2, 0])), (None, None));
        assert_eq!(read(&lost()), Some(Frame::Lost));
        let long = "x".repeat(65_536);
        assert_eq!(push(TopicName { channel: "c", topic: &long }, ""), None);
    }
}
