//! Lines with a bound on their length, read in both worlds.

use std::io::{self, BufRead, Read};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use crate::Error;

/// Bytes of one line. An item weighs at most 400 KB; as JSON it grows by escapes, Base64 and the
/// names of types, at worst some forty times (a list of round numbers with 126 digits each).
pub(crate) const LINE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The next line without its end; none behind the last.
pub(crate) async fn next(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<Option<String>, Error> {
    let mut line = Vec::new();
    let read = reader.take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line).await;
    checked(read, line)
}

/// What [`next`] does, for a reader that waits in the thread.
pub(crate) fn next_blocking(reader: &mut impl BufRead) -> Result<Option<String>, Error> {
    let mut line = Vec::new();
    let read = reader.take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
    checked(read, line)
}

fn checked(read: io::Result<usize>, mut line: Vec<u8>) -> Result<Option<String>, Error> {
    if read.map_err(Error::system("cannot read"))? == 0 {
        return Ok(None);
    }
    let ended = line.last() == Some(&b'\n');
    if ended {
        line.pop();
    }
    if line.len() as u64 > LINE_BYTES_MAX {
        return Err(Error::LineTooLong { max: LINE_BYTES_MAX });
    }
    String::from_utf8(line).map(Some).map_err(|_| Error::NotText)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{LINE_BYTES_MAX, next, next_blocking};

    #[tokio::test]
    async fn lines_are_read_whole_and_bounded_in_both_worlds() {
        let max = usize::try_from(LINE_BYTES_MAX).unwrap();
        let text = format!("a\n\n{}\nlast", "x".repeat(max));
        let (mut one, mut other) = (Cursor::new(text.as_bytes()), Cursor::new(text.as_bytes()));
        for length in [Some(1), Some(0), Some(max), Some(4), None] {
            let line = next(&mut one).await.unwrap();
            assert_eq!(line.as_ref().map(String::len), length);
            assert_eq!(next_blocking(&mut other).unwrap(), line);
        }
        let long = "x".repeat(max + 1);
        for text in [format!("{long}\n"), long] {
            assert!(next(&mut Cursor::new(text.as_bytes())).await.is_err());
            assert!(next_blocking(&mut Cursor::new(text.as_bytes())).is_err());
        }
        let told = next(&mut Cursor::new(b"\xff\n")).await.unwrap_err().to_string();
        assert_eq!(told, "the line is not UTF-8");
    }
}
