//! The headers of delta-encoded numbers in Parquet pages: how many numbers they claim, and where they end.
//!
//! The parquet crate reserves memory for the number of string lengths that such a header claims. So the claim is
//! compared with the page first. The numbers themselves are not decoded here.
//!
//! Source: parquet-format `Encodings.md`, "Delta Encoding".

use super::thrift::Flaw;

const EARLY: Flaw = "its delta-encoded numbers end early";

/// The most numbers in a byte. A block of 128 equal numbers takes five bytes.
const NUMBERS_PER_BYTE: u64 = 64;

/// The number of numbers that a page of any size may hold.
const ALWAYS_ALLOWED: u64 = 1 << 20;

/// `Encoding` of strings with delta-encoded lengths.
pub(crate) const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;

/// `Encoding` of strings that share prefixes.
pub(crate) const DELTA_BYTE_ARRAY: i64 = 7;

/// Checks the numbers of strings that a page with one of the two encodings claims, given its values without levels.
///
/// # Errors
/// A flaw if it claims more strings than the page has values, or more than its bytes can hold.
pub(crate) fn check_lengths(encoding: i64, values: &[u8], page_values: i64) -> Result<(), Flaw> {
    if values.is_empty() {
        return Ok(());
    }
    let by_bytes = (values.len() as u64).saturating_mul(NUMBERS_PER_BYTE).max(ALWAYS_ALLOWED);
    let most = u64::try_from(page_values).unwrap_or(0).min(by_bytes);
    let mut cursor = DeltaCursor { bytes: values, at: 0 };
    let first = cursor.header()?;
    if first.count > most {
        return Err("it claims more strings than it has values");
    }
    if encoding == DELTA_BYTE_ARRAY {
        cursor.skip_blocks(&first)?;
        if cursor.header()?.count != first.count {
            return Err("it has other numbers of prefixes and of suffixes");
        }
    }
    Ok(())
}

struct DeltaHeader {
    mini_blocks: u64,
    /// The number of numbers in a mini-block.
    mini_block: u64,
    /// The number of all numbers, including the first, which is in the header.
    count: u64,
}

struct DeltaCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl DeltaCursor<'_> {
    fn varint(&mut self) -> Result<u64, Flaw> {
        let mut out = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(EARLY)?;
            self.at += 1;
            out |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(out);
            }
        }
        Err("a delta-encoded number takes too many bytes")
    }

    fn header(&mut self) -> Result<DeltaHeader, Flaw> {
        let (block, mini_blocks, count) = (self.varint()?, self.varint()?, self.varint()?);
        self.varint()?;
        match block.checked_div(mini_blocks) {
            Some(mini_block) if mini_block > 0 && block <= u64::from(u32::MAX) => {
                Ok(DeltaHeader { mini_blocks, mini_block, count })
            }
            _ => Err("the blocks of its delta-encoded numbers have an impossible size"),
        }
    }

    /// Skips the numbers of a header.
    fn skip_blocks(&mut self, header: &DeltaHeader) -> Result<(), Flaw> {
        let mut left = header.count.saturating_sub(1);
        while left > 0 {
            self.varint()?;
            let widths =
                self.at..usize::try_from(header.mini_blocks).ok().and_then(|n| self.at.checked_add(n)).ok_or(EARLY)?;
            self.at = widths.end;
            for width in self.bytes.get(widths).ok_or(EARLY)? {
                // The widths of mini-blocks without numbers have no meaning.
                if left > 0 {
                    let bytes = (u64::from(*width) * header.mini_block).div_ceil(8);
                    self.at = usize::try_from(bytes).ok().and_then(|n| self.at.checked_add(n)).ok_or(EARLY)?;
                    left = left.saturating_sub(header.mini_block);
                }
            }
        }
        if self.at <= self.bytes.len() { Ok(()) } else { Err(EARLY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Block size 128, 4 mini-blocks, this number of numbers, the first 0.
    fn numbers(count: u64, blocks: &[u8]) -> Vec<u8> {
        let mut out = vec![0x80, 1, 4];
        let mut left = count;
        loop {
            let byte = (left & 0x7f) as u8;
            left >>= 7;
            out.push(if left > 0 { byte | 0x80 } else { byte });
            if left == 0 {
                break;
            }
        }
        out.push(0);
        out.extend_from_slice(blocks);
        out
    }

    #[test]
    fn a_claim_is_bounded_by_the_values_and_the_bytes() {
        let three = numbers(3, &[0, 0, 0, 0, 0]);
        assert_eq!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &three, 3), Ok(()));
        assert_eq!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &three, 9), Ok(()), "nulls have no length");
        assert!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &three, 2).is_err());
        for claim in [1 << 40, 1 << 31, u64::MAX] {
            assert!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &numbers(claim, &[0; 5]), i64::from(i32::MAX)).is_err());
        }
        assert_eq!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &[], 3), Ok(()));
        assert!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &[0x80], 3).is_err());
        assert!(check_lengths(DELTA_LENGTH_BYTE_ARRAY, &[0, 0, 3, 0], 3).is_err());
    }

    #[test]
    fn prefixes_and_suffixes_are_as_many() {
        // One mini-block of width 3: 32 numbers in 12 bytes. The widths of the others have no meaning.
        let prefixes = numbers(3, &[&[0, 3, 9, 9, 9][..], &[0; 12]].concat());
        let page = |suffixes: u64| [prefixes.clone(), numbers(suffixes, &[0; 5])].concat();
        assert_eq!(check_lengths(DELTA_BYTE_ARRAY, &page(3), 3), Ok(()));
        assert!(check_lengths(DELTA_BYTE_ARRAY, &page(1 << 40), 3).is_err());
        assert!(check_lengths(DELTA_BYTE_ARRAY, &prefixes, 3).is_err());
        let wide = numbers(3, &[0, 255, 255, 255, 255]);
        assert!(check_lengths(DELTA_BYTE_ARRAY, &wide, 3).is_err());
        let one = [numbers(1, &[]), numbers(1, &[])].concat();
        assert_eq!(check_lengths(DELTA_BYTE_ARRAY, &one, 1), Ok(()));
    }
}
