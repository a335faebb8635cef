//! Paths of consecutive files. Each is stored as its difference from the paths before it. Most names have a random
//! UUID: as text it would be half of the remaining path.
//!
//! ```text
//! path: number (bytes that its head shares with the head before, times eight, and what follows), the head's others
//!       0: nothing, the head is the whole path
//!       1: a UUID. 2: a UUID, and a tail. 3: nothing, the UUID is the last one. 4: a tail, the UUID is the last one
//! ```
//!
//! If the path has no tail of its own, the last tail is used. Paths without a UUID leave UUID and tail unchanged.

use uuid::Uuid;

use crate::codec::avro::Cursor;
use crate::codec::avro::encode::{put_bytes, put_long};
use crate::error::{Error, Result};

/// Bytes of a UUID in text, and in binary.
const TEXT: usize = 36;
const BINARY: usize = 16;

/// The kinds of parts that follow a head.
const NOTHING: i64 = 0;
const NEW_UUID: i64 = 1;
const NEW_UUID_AND_TAIL: i64 = 2;
const SAME_UUID: i64 = 3;
const SAME_UUID_NEW_TAIL: i64 = 4;
const KIND_SHIFT: u32 = 3;
const KIND_BITS: i64 = 7;

/// The most bytes that a path takes from earlier paths. This limits how much a few bytes can expand to.
const MOST_SHARED: usize = 4096;

/// Writes paths.
#[derive(Default)]
pub(crate) struct PathWriter<'a> {
    head: &'a [u8],
    uuid: [u8; BINARY],
    tail: &'a [u8],
}

impl<'a> PathWriter<'a> {
    /// Appends a path.
    pub(crate) fn put(&mut self, path: &'a str, out: &mut Vec<u8>) {
        let path = path.as_bytes();
        let found = self.uuid_of(path);
        let head = found.map_or(path, |(head, ..)| head);
        let shared = shared(head, self.head).min(MOST_SHARED);
        let same_tail = found.is_some_and(|(.., tail)| tail == self.tail && tail.len() <= MOST_SHARED);
        let kind = match found {
            None => NOTHING,
            Some((_, uuid, _)) if uuid == self.uuid && same_tail => SAME_UUID,
            Some((_, uuid, _)) if uuid == self.uuid => SAME_UUID_NEW_TAIL,
            Some(_) if same_tail => NEW_UUID,
            Some(_) => NEW_UUID_AND_TAIL,
        };
        put_long(out, (shared as i64) << KIND_SHIFT | kind);
        put_bytes(out, head.get(shared..).unwrap_or_default());
        self.head = head;
        let Some((_, uuid, tail)) = found else { return };
        if has_uuid(kind) {
            out.extend(uuid);
        }
        if has_tail(kind) {
            put_bytes(out, tail);
        }
        (self.uuid, self.tail) = (uuid, tail);
    }

    /// The text before a UUID, the UUID, and the text after it. Names are similar, so the search starts at the position
    /// of the last one.
    fn uuid_of(&self, path: &'a [u8]) -> Option<(&'a [u8], [u8; BINARY], &'a [u8])> {
        let at = |start: usize| {
            let (head, rest) = path.split_at_checked(start)?;
            let (text, tail) = rest.split_first_chunk::<TEXT>()?;
            Some((head, parse_uuid(text)?, tail))
        };
        let likely = path.len().checked_sub(self.tail.len() + TEXT).and_then(at);
        likely.or_else(|| {
            let name = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            (name..(path.len() + 1).saturating_sub(TEXT)).find_map(at)
        })
    }
}

fn has_uuid(kind: i64) -> bool {
    matches!(kind, NEW_UUID | NEW_UUID_AND_TAIL)
}

fn has_tail(kind: i64) -> bool {
    matches!(kind, NEW_UUID_AND_TAIL | SAME_UUID_NEW_TAIL)
}

/// The number of bytes that both have in common at the beginning.
fn shared(one: &[u8], other: &[u8]) -> usize {
    let (ones, others) = (one.as_chunks::<16>().0, other.as_chunks::<16>().0);
    let chunks = ones.iter().zip(others).take_while(|(a, b)| a == b).count() * 16;
    let rest = one.iter().zip(other).skip(chunks);
    chunks + rest.take_while(|(a, b)| a == b).count()
}

/// The bytes of a UUID in lower case.
fn parse_uuid(text: &[u8; TEXT]) -> Option<[u8; BINARY]> {
    // At most positions there is no UUID. This quick check finds that out.
    let may_be = text[8] == b'-' && text[13] == b'-' && !text.iter().any(u8::is_ascii_uppercase);
    may_be.then(|| Uuid::try_parse_ascii(text).ok()).flatten().map(Uuid::into_bytes)
}

/// Reads paths.
#[derive(Default)]
pub(crate) struct PathReader {
    head: Vec<u8>,
    uuid: [u8; BINARY],
    tail: Vec<u8>,
    /// Whether UUID and tail follow the head.
    follows: bool,
}

impl PathReader {
    /// Reads a path.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a path.
    pub(crate) fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let first = cursor.long()?;
        let (shared, kind) = (usize::try_from(first >> KIND_SHIFT).unwrap_or(usize::MAX), first & KIND_BITS);
        if shared > self.head.len().min(MOST_SHARED) || kind > SAME_UUID_NEW_TAIL {
            return Err(Error::corrupt("a packed path shares more bytes with the path before it than that path has"));
        }
        self.head.truncate(shared);
        self.head.extend_from_slice(cursor.bytes()?);
        self.follows = kind != NOTHING;
        if has_uuid(kind) {
            self.uuid.copy_from_slice(cursor.take(BINARY)?);
        }
        if has_tail(kind) {
            self.tail.clear();
            self.tail.extend_from_slice(cursor.bytes()?);
        } else if self.follows && self.tail.len() > MOST_SHARED {
            return Err(Error::corrupt("a packed path shares a tail that is too long"));
        }
        Ok(())
    }

    /// The path that was read last.
    ///
    /// # Errors
    /// `CorruptTable` if it is not UTF-8.
    pub(crate) fn path(&self) -> Result<String> {
        let mut path = Vec::with_capacity(self.head.len() + TEXT + self.tail.len());
        path.extend_from_slice(&self.head);
        if self.follows {
            let mut text = [0; TEXT];
            path.extend_from_slice(Uuid::from_bytes(self.uuid).hyphenated().encode_lower(&mut text).as_bytes());
            path.extend_from_slice(&self.tail);
        }
        String::from_utf8(path).map_err(|e| Error::corrupt("a file's path is not UTF-8").because(e))
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
