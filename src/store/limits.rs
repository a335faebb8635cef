//! Limits of what is read at once. Memory is taken for bytes that have arrived, not for a size that a file claims.

use std::io::{self, Read};
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::parallel::check_cancelled;

/// The longest hint to a version or snapshot. A longer file is not a hint.
pub const LONGEST_HINT: u64 = 1024;

/// The environment variable that sets the most bytes of a file that are read at once.
const VARIABLE: &str = "FRAZIL_MAX_READ_BYTES";

/// The default of the most bytes of a file that are read at once.
const MOST_BYTES: u64 = 4 << 30;

/// Memory that is taken before a byte has arrived.
pub(super) const FIRST_BYTES: usize = 64 << 20;

/// Bytes that are read at once behind the first ones.
const CHUNK_BYTES: usize = 16 << 20;

/// The most bytes of a file that are read at once: a metadata file, a manifest, the column chunk of a data file.
pub(super) fn most_bytes() -> u64 {
    static MOST: OnceLock<u64> = OnceLock::new();
    let named = || std::env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    *MOST.get_or_init(|| named().unwrap_or(MOST_BYTES))
}

/// Refuses to read more than [`most_bytes`] at once.
pub(super) fn check_bytes(path: &str, bytes: u64) -> Result<()> {
    check_at_most(path, bytes, most_bytes())
}

/// Refuses to read more than this number of bytes at once.
pub(super) fn check_at_most(path: &str, bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    let error = Error::corrupt(format!("{bytes} bytes of the file would be read at once, more than {most}"));
    let error = error.with("path", path);
    Err(match most < MOST_BYTES.min(most_bytes()) {
        true => error.hint("A file of this kind is small; this one is damaged"),
        false => error.hint(format!(
            "Such a size is mostly that of a damaged file. If the file is sound, set the environment variable {VARIABLE} \
             to a larger number"
        )),
    })
}

/// What a whole file may not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holes {
    /// Data may be zeros.
    Allowed,
    /// Metadata never has millions of zeros in a row: the file is sparse.
    Refused,
}

/// Why reading ended early.
pub(super) enum ReadFailure {
    Io(io::Error),
    Own(Error),
}

/// Reads `length` bytes, or fewer if there are no more. Memory grows with the bytes that arrive.
pub(super) fn read_exactly(
    source: &mut impl Read,
    length: u64,
    holes: Holes,
) -> std::result::Result<Vec<u8>, ReadFailure> {
    let mut bytes = Vec::new();
    let mut left = length;
    let mut step = FIRST_BYTES as u64;
    while left > 0 {
        let wanted = left.min(step);
        let start = bytes.len();
        grow(&mut bytes, wanted as usize).map_err(ReadFailure::Own)?;
        let read = source.by_ref().take(wanted).read_to_end(&mut bytes).map_err(ReadFailure::Io)?;
        if (read as u64) < wanted {
            break;
        }
        if holes == Holes::Refused && start > 0 && bytes.iter().skip(start).all(|byte| *byte == 0) {
            let message =
                format!("bytes {start} to {} of the file are all zero: it was not written whole", bytes.len());
            return Err(ReadFailure::Own(Error::corrupt(message)));
        }
        check_cancelled().map_err(ReadFailure::Own)?;
        left -= wanted;
        step = CHUNK_BYTES as u64;
    }
    Ok(bytes)
}

/// Takes memory for more bytes.
///
/// # Errors
/// `Store` if there is not so much memory.
pub(super) fn grow(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    let reserved = match bytes.is_empty() {
        true => bytes.try_reserve_exact(more),
        false => bytes.try_reserve(more),
    };
    reserved.map_err(|e| Error::store("there is not enough memory to read the file").because(e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_limit_is_named_with_what_lifts_it() {
        assert!(check_bytes("p", MOST_BYTES).is_ok());
        let e = check_bytes("p", 1 << 42).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        assert!(format!("{e:?} {e}").contains(VARIABLE), "{e}");
        let e = check_at_most("p", 2000, LONGEST_HINT).unwrap_err();
        assert!(e.to_string().contains("2000 bytes") && !e.to_string().contains(VARIABLE), "{e}");
    }

    #[test]
    fn memory_is_taken_for_bytes_that_arrive() {
        let bytes = read_exactly(&mut &b"abc"[..], 1 << 40, Holes::Refused).ok().unwrap();
        assert_eq!(bytes, b"abc");
        assert!(bytes.capacity() <= FIRST_BYTES);
        let length = (FIRST_BYTES + CHUNK_BYTES) as u64;
        assert!(read_exactly(&mut io::repeat(1), length, Holes::Refused).is_ok_and(|b| b.len() as u64 == length));
        assert!(read_exactly(&mut io::repeat(0), length, Holes::Allowed).is_ok());
        assert!(matches!(read_exactly(&mut io::repeat(0), length, Holes::Refused), Err(ReadFailure::Own(_))));
    }
}
