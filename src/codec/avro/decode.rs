//! A cursor over Avro's binary encoding, and compiled steps that skip values.
//!
//! Lengths claimed by the bytes never cause an allocation. Every loop consumes at least one byte per turn.

use super::schema::{Node, Optional, Shape};
use crate::error::{Error, Result};

/// The top bit of each byte of a word.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// A position in encoded bytes. Every read fails with `CorruptTable` if the bytes end early.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

/// A run of array items or map entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipRun {
    /// The number of items. Don't allocate memory by it.
    pub count: u64,
    /// The length in bytes, if the writer gave it. It never exceeds the remaining bytes.
    pub bytes: Option<usize>,
}

impl SkipRun {
    /// Checks that the items took as many bytes as the writer gave, if it gave a length. Skipping relies on this
    /// length.
    ///
    /// # Errors
    /// `CorruptTable` if not. `before` is the number of bytes left at the first item, `after` is the cursor after the
    /// last item.
    #[inline(always)]
    pub fn check(&self, before: usize, after: &Cursor<'_>) -> Result<()> {
        match self.bytes {
            Some(bytes) if before.wrapping_sub(after.rest.len()) != bytes => Err(Error::corrupt(format!(
                "the length of an Avro array's items is not the {bytes} bytes that it claims"
            ))),
            _ => Ok(()),
        }
    }
}

#[cold]
fn ended() -> Error {
    Error::corrupt("an Avro value runs past the end of its block")
}

#[cold]
fn too_long() -> Error {
    Error::corrupt("an Avro integer is longer than 64 bits")
}

#[cold]
fn bad_length(length: i64) -> Error {
    Error::corrupt(format!("an Avro value claims a length of {length} bytes, which its block does not have"))
}

#[cold]
fn no_record() -> Error {
    Error::corrupt("a record of the Avro file is null")
}

#[cold]
fn no_branch(branch: Result<i64>) -> Error {
    branch.map_or_else(|e| e, |b| Error::corrupt(format!("an Avro union has no branch {b}")))
}

#[inline]
fn zigzag(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}

/// Combines the 7-bit groups of eight bytes.
#[inline]
fn join_groups(w: u64) -> u64 {
    let w = (w & 0x007f_007f_007f_007f) | (w & 0x7f00_7f00_7f00_7f00) >> 1;
    let w = (w & 0x0000_3fff_0000_3fff) | (w & 0x3fff_0000_3fff_0000) >> 2;
    (w & 0x0000_0000_0fff_ffff) | (w & 0x0fff_ffff_0000_0000) >> 4
}

/// A varint near the end of the bytes, or of more than eight bytes, and the bytes after it.
#[inline(never)]
fn long_varint(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let mut value = 0u64;
    for (i, &b) in bytes.iter().enumerate().take(10) {
        if i == 9 && b > 1 {
            return Err(too_long());
        }
        value |= u64::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            return Ok((value, bytes.get(i + 1..).unwrap_or_default()));
        }
    }
    Err(ended())
}

/// The bytes after `count` varints.
#[inline(never)]
fn after_varints(bytes: &[u8], count: u64) -> Result<&[u8]> {
    let (mut rest, mut left) = (bytes, count);
    while let Some((word, next)) = rest.split_first_chunk::<8>() {
        let mut ends = !u64::from_le_bytes(*word) & HIGH;
        // The sum of the eight 0/1 bytes lands in the top byte.
        let found = (ends >> 7).wrapping_mul(0x0101_0101_0101_0101) >> 56;
        if found < left {
            left -= found;
            rest = next;
            continue;
        }
        if left == 0 {
            return Ok(rest);
        }
        for _ in 1..left {
            ends &= ends - 1;
        }
        return Ok(rest.get(ends.trailing_zeros() as usize / 8 + 1..).unwrap_or_default());
    }
    for (i, &b) in rest.iter().enumerate() {
        if left == 0 {
            return Ok(rest.get(i..).unwrap_or_default());
        }
        left -= u64::from(b < 0x80);
    }
    if left == 0 { Ok(&[]) } else { Err(ended()) }
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes }
    }

    /// The bytes that are not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An `int` or `long`.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end, or it has more than 64 bits.
    #[inline(always)]
    pub fn long(&mut self) -> Result<i64> {
        if let Some((&b, rest)) = self.rest.split_first()
            && b < 0x80
        {
            self.rest = rest;
            return Ok(zigzag(u64::from(b)));
        }
        self.wide_varint().map(zigzag)
    }

    /// A varint of more than one byte.
    #[inline(always)]
    fn wide_varint(&mut self) -> Result<u64> {
        if let Some(word) = self.rest.first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            let ends = !word & HIGH;
            if ends != 0 {
                let length = ends.trailing_zeros() as usize / 8 + 1;
                self.rest = self.rest.get(length..).unwrap_or_default();
                return Ok(join_groups(word & (u64::MAX >> (64 - 8 * length))));
            }
        }
        let (value, rest) = long_varint(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    /// An `int`.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end, or it has more than 32 bits.
    #[inline]
    pub fn int(&mut self) -> Result<i32> {
        let v = self.long()?;
        i32::try_from(v).map_err(|_| Error::corrupt(format!("{v} is not a 32-bit integer")))
    }

    /// A `boolean`.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end, or it is neither 0 nor 1.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            other => Err(Error::corrupt(format!("{other:?} is not an Avro boolean"))),
        }
    }

    /// A `float`.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end.
    pub fn float(&mut self) -> Result<f32> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>().ok_or_else(ended)?;
        self.rest = rest;
        Ok(f32::from_le_bytes(*bytes))
    }

    /// A `double`.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end.
    pub fn double(&mut self) -> Result<f64> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>().ok_or_else(ended)?;
        self.rest = rest;
        Ok(f64::from_le_bytes(*bytes))
    }

    /// A `fixed`: the next `length` bytes.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end.
    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(ended)?;
        self.rest = rest;
        Ok(taken)
    }

    /// `bytes`, or a `string` unchecked.
    ///
    /// # Errors
    /// `CorruptTable` if the length is negative or exceeds the remaining bytes.
    #[inline(always)]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.long()?;
        let (taken, rest) = usize::try_from(length)
            .ok()
            .and_then(|n| self.rest.split_at_checked(n))
            .ok_or_else(|| bad_length(length))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A `string`.
    ///
    /// # Errors
    /// Errors of [`Cursor::bytes`]; `CorruptTable` if it is not UTF-8.
    pub fn string(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|e| Error::corrupt("an Avro string is not UTF-8").because(e))
    }

    /// The head of the next run of an array or map; `None` at its end.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end, or a length is negative or exceeds the remaining bytes.
    #[inline(always)]
    pub fn run(&mut self) -> Result<Option<SkipRun>> {
        let count = self.long()?;
        if count > 0 {
            return Ok(Some(SkipRun { count: count as u64, bytes: None }));
        }
        if count == 0 {
            return Ok(None);
        }
        let length = self.long()?;
        let bytes = usize::try_from(length).ok().filter(|n| *n <= self.rest.len()).ok_or_else(|| bad_length(length))?;
        Ok(Some(SkipRun { count: count.unsigned_abs(), bytes: Some(bytes) }))
    }

    /// Moves to a record of a file, which may be in a union ([`Node::records`]).
    ///
    /// # Errors
    /// `CorruptTable` if the record is null; errors of [`Cursor::present`].
    #[inline(always)]
    pub fn begin_record(&mut self, optional: Optional) -> Result<()> {
        if self.present(optional)? { Ok(()) } else { Err(no_record()) }
    }

    /// Whether a value follows, after the branch of an optional union.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end, or the branch does not exist.
    #[inline(always)]
    pub fn present(&mut self, optional: Optional) -> Result<bool> {
        let null_first = match optional {
            Optional::Never => return Ok(false),
            Optional::Always => return Ok(true),
            Optional::NullFirst => true,
            Optional::NullLast => false,
        };
        match self.rest {
            [0, rest @ ..] => {
                self.rest = rest;
                Ok(!null_first)
            }
            [2, rest @ ..] => {
                self.rest = rest;
                Ok(null_first)
            }
            _ => match self.long() {
                Ok(branch @ (0 | 1)) => Ok((branch == 1) == null_first),
                other => Err(no_branch(other)),
            },
        }
    }

    /// Skips one varint.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end.
    #[inline(always)]
    pub fn skip_varint(&mut self) -> Result<()> {
        // Branches on the length help the processor to predict repeated lengths, as in counts.
        if let Some(&[a, b, c, d]) = self.rest.first_chunk::<4>() {
            let length = if a < 0x80 {
                1
            } else if b < 0x80 {
                2
            } else if c < 0x80 {
                3
            } else if d < 0x80 {
                4
            } else {
                return self.skip_varints(1);
            };
            self.rest = self.rest.get(length..).unwrap_or_default();
            return Ok(());
        }
        self.skip_varints(1)
    }

    /// Skips `count` varints.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end.
    #[inline]
    pub fn skip_varints(&mut self, count: u64) -> Result<()> {
        self.rest = after_varints(self.rest, count)?;
        Ok(())
    }
}

/// The bytes after pairs of a varint and a length-prefixed value: the entries of a map from integers to bytes.
fn after_pairs(mut cursor: Cursor<'_>, count: u64) -> Result<Cursor<'_>> {
    for _ in 0..count {
        cursor.skip_varint()?;
        cursor.bytes()?;
    }
    Ok(cursor)
}

/// The bytes after nullable numbers.
fn after_numbers_or_nulls(mut cursor: Cursor<'_>, count: u64) -> Result<Cursor<'_>> {
    for _ in 0..count {
        match cursor.long()? {
            0 => {}
            1 => cursor.skip_varint()?,
            branch => return Err(no_branch(Ok(branch))),
        }
    }
    Ok(cursor)
}

/// The most steps of a compiled schema. Shared named types could otherwise multiply without limit.
#[derive(Debug)]
pub struct Budget(usize);

const MAX_STEPS: usize = 50_000;

impl Default for Budget {
    fn default() -> Self {
        Budget(MAX_STEPS)
    }
}

/// The steps to skip a value. Every step except [`Skip::Nothing`] consumes at least one byte.
#[derive(Clone, Debug, PartialEq)]
pub enum Skip {
    /// No bytes.
    Nothing,
    /// This number of bytes.
    Bytes(usize),
    /// This number of varints.
    Varints(u64),
    /// A length, and that number of bytes.
    Prefixed,
    /// A union's branch and its value.
    Union(Vec<Skip>),
    /// Runs of items.
    Items(Box<Skip>),
    /// One after another.
    Sequence(Vec<Skip>),
}

impl Budget {
    /// Takes one step.
    ///
    /// # Errors
    /// `Unsupported` if no step is left.
    pub fn spend(&mut self) -> Result<()> {
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or_else(|| Error::unsupported(format!("an Avro schema needs more than {MAX_STEPS} steps to read")))?;
        Ok(())
    }
}

impl Skip {
    /// Compiles the steps that skip a value of this schema. They count against a budget for the whole schema of a file.
    ///
    /// # Errors
    /// `Unsupported` if the budget is exceeded.
    pub fn of(node: &Node, budget: &mut Budget) -> Result<Skip> {
        budget.spend()?;
        if node.min_bytes == 0 {
            return Ok(Skip::Nothing);
        }
        Ok(match &node.shape {
            Shape::Null => Skip::Nothing,
            Shape::Boolean => Skip::Bytes(1),
            Shape::Int | Shape::Long | Shape::Enum(_) => Skip::Varints(1),
            Shape::Float => Skip::Bytes(4),
            Shape::Double => Skip::Bytes(8),
            Shape::Fixed(n) => Skip::Bytes(*n),
            Shape::Bytes | Shape::String => Skip::Prefixed,
            Shape::Union(branches) => Skip::Union(branches.iter().map(|b| Skip::of(b, budget)).collect::<Result<_>>()?),
            Shape::Array(items) => Skip::Items(Box::new(Skip::of(items, budget)?)),
            Shape::Map(values) => {
                let value = Skip::of(values, budget)?;
                Skip::Items(Box::new(Skip::sequence(vec![Skip::Prefixed, value])))
            }
            Shape::Record(members) => {
                Skip::sequence(members.iter().map(|m| Skip::of(&m.node, budget)).collect::<Result<_>>()?)
            }
        })
    }

    /// Combines several steps into one, and fuses neighbours.
    pub fn sequence(steps: Vec<Skip>) -> Skip {
        let mut out: Vec<Skip> = Vec::with_capacity(steps.len());
        for step in steps {
            match (out.last_mut(), step) {
                (_, Skip::Nothing) => {}
                (Some(Skip::Bytes(n)), Skip::Bytes(more)) => *n = n.saturating_add(more),
                (Some(Skip::Varints(n)), Skip::Varints(more)) => *n = n.saturating_add(more),
                (_, Skip::Sequence(inner)) => out.extend(inner),
                (_, step) => out.push(step),
            }
        }
        match out.len() {
            0 => Skip::Nothing,
            1 => out.swap_remove(0),
            _ => Skip::Sequence(out),
        }
    }

    /// Skips a value and returns the cursor after it. Passing the cursor by value keeps it in registers.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not such a value. The width of skipped integers is not checked.
    pub fn run<'a>(&self, mut cursor: Cursor<'a>) -> Result<Cursor<'a>> {
        let Skip::Sequence(steps) = self else { return self.step(cursor) };
        for step in steps {
            cursor = step.step(cursor)?;
        }
        Ok(cursor)
    }

    /// Like [`Skip::run`], inlined for the most common steps of records.
    #[inline(always)]
    fn step<'a>(&self, mut cursor: Cursor<'a>) -> Result<Cursor<'a>> {
        match self {
            Skip::Nothing => {}
            Skip::Bytes(n) => {
                cursor.take(*n)?;
            }
            Skip::Varints(1) => cursor.skip_varint()?,
            Skip::Varints(n) => cursor.skip_varints(*n)?,
            Skip::Prefixed => {
                cursor.bytes()?;
            }
            Skip::Union(branches) => {
                let branch = cursor.long()?;
                match usize::try_from(branch).ok().and_then(|b| branches.get(b)) {
                    Some(Skip::Nothing) => {}
                    Some(Skip::Varints(1)) => cursor.skip_varint()?,
                    Some(Skip::Prefixed) => {
                        cursor.bytes()?;
                    }
                    Some(Skip::Items(item)) => return item.run_items(cursor),
                    Some(skip) => return skip.run(cursor),
                    None => return Err(no_branch(Ok(branch))),
                }
            }
            Skip::Items(item) => return item.run_items(cursor),
            Skip::Sequence(_) => return self.run(cursor),
        }
        Ok(cursor)
    }

    fn run_items<'a>(&self, mut cursor: Cursor<'a>) -> Result<Cursor<'a>> {
        while let Some(run) = cursor.run()? {
            match (run.bytes, self) {
                (Some(bytes), _) => {
                    cursor.take(bytes)?;
                }
                (None, Skip::Nothing) => {}
                (None, Skip::Varints(n)) => cursor.skip_varints(run.count.saturating_mul(*n))?,
                (None, Skip::Sequence(steps)) if matches!(steps[..], [Skip::Varints(1), Skip::Prefixed]) => {
                    cursor = after_pairs(cursor, run.count)?;
                }
                (None, Skip::Union(branches)) if matches!(branches[..], [Skip::Nothing, Skip::Varints(1)]) => {
                    cursor = after_numbers_or_nulls(cursor, run.count)?;
                }
                (None, item) => {
                    for _ in 0..run.count {
                        cursor = item.run(cursor)?;
                    }
                }
            }
        }
        Ok(cursor)
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
