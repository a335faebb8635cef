//! Strings of an ORC column in a stripe: as a dictionary while that is shorter, otherwise one after another.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::codec::orc::StreamKind;
use crate::codec::orc::encode::{Compressor, EncodingOut, IntegerWriter, StreamWriter};
use crate::error::{Error, Result};
use crate::parallel::check_cancelled;

/// A dictionary is used while at most this number of ten values are different, as in Java.
const MOST_DISTINCT: usize = 8;

/// The dictionary is judged when the column has this number of values or bytes.
const ENOUGH_VALUES: usize = 10_000;
const ENOUGH_BYTES: usize = 4 << 20;

/// The numbers of strings and of bytes that are written between two checks for cancellation.
const STRINGS_AT_ONCE: usize = 8192;
const BYTES_AT_ONCE: usize = 1 << 20;

/// Takes the strings of a column.
#[derive(Debug)]
pub(crate) struct TextEncoder {
    compressor: Compressor,
    form: TextForm,
    /// The positions where groups of rows begin that are not in a dictionary.
    positions: Vec<Vec<u64>>,
    /// The error that stopped the encoder.
    failed: Option<Error>,
}

/// The streams of a column in a stripe.
pub(crate) struct ColumnStreams {
    pub streams: Vec<(StreamKind, Vec<u8>)>,
    pub encoding: EncodingOut,
    /// The positions where groups of rows begin, if they are known only now.
    pub positions: Vec<Vec<u64>>,
}

#[derive(Debug)]
enum TextForm {
    Dictionary(TextDictionaryBuilder),
    Direct { bytes: StreamWriter, lengths: IntegerWriter },
}

#[derive(Debug, Default)]
struct TextDictionaryBuilder {
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    ends: Vec<usize>,
    content: Vec<u8>,
    /// The number of each value's entry.
    indexes: Vec<u32>,
    /// The number of values at the beginning of each group of rows.
    groups: Vec<usize>,
}

fn entry<'a>(ends: &[usize], content: &'a [u8], at: u32) -> &'a [u8] {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends.get(at - 1).copied().unwrap_or_default() };
    content.get(start..ends.get(at).copied().unwrap_or_default()).unwrap_or_default()
}

impl TextDictionaryBuilder {
    fn push(&mut self, text: &[u8]) {
        let (ends, content, hasher) = (&mut self.ends, &mut self.content, &self.hasher);
        let next = ends.len() as u32;
        let found = self.known.entry(
            hasher.hash_one(text),
            |at| entry(ends, content, *at) == text,
            |at| hasher.hash_one(entry(ends, content, *at)),
        );
        let at = match found {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(place) => {
                place.insert(next);
                content.extend_from_slice(text);
                ends.push(content.len());
                next
            }
        };
        self.indexes.push(at);
    }

    fn pays(&self) -> bool {
        self.ends.len() * 10 <= self.indexes.len() * MOST_DISTINCT
    }

    fn is_large(&self) -> bool {
        self.ends.len() >= ENOUGH_VALUES || self.content.len() >= ENOUGH_BYTES
    }
}

fn position(bytes: &StreamWriter, lengths: &IntegerWriter) -> Vec<u64> {
    let mut at = Vec::new();
    bytes.position(&mut at);
    lengths.position(&mut at);
    at
}

impl TextEncoder {
    /// No strings.
    pub(crate) fn new(compressor: &Compressor) -> TextEncoder {
        TextEncoder {
            compressor: compressor.clone(),
            form: TextForm::Dictionary(TextDictionaryBuilder::default()),
            positions: Vec::new(),
            failed: None,
        }
    }

    /// Appends a string. [`TextEncoder::checked`] returns the error, if this stops.
    pub(crate) fn push(&mut self, text: &[u8]) {
        match &mut self.form {
            TextForm::Direct { bytes, lengths } => {
                bytes.extend(text);
                lengths.push(text.len() as i64);
            }
            TextForm::Dictionary(dictionary) => {
                dictionary.push(text);
                // The dictionary is judged while it grows, so that large strings are not kept in vain.
                if dictionary.is_large()
                    && !dictionary.pays()
                    && let Err(e) = self.give_up()
                {
                    self.failed = Some(e);
                }
            }
        }
    }

    /// Whether all strings were taken.
    ///
    /// # Errors
    /// A cancellation. Then the encoder can't be used any more.
    pub(crate) fn checked(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Begins a group of rows.
    pub(crate) fn begin_group(&mut self) {
        match &mut self.form {
            TextForm::Dictionary(dictionary) => dictionary.groups.push(dictionary.indexes.len()),
            TextForm::Direct { bytes, lengths } => self.positions.push(position(bytes, lengths)),
        }
    }

    /// Writes the strings so far, one after another.
    fn give_up(&mut self) -> Result<()> {
        let (mut bytes, mut lengths) =
            (StreamWriter::new(&self.compressor), IntegerWriter::new(&self.compressor, false));
        let direct = || TextForm::Direct {
            bytes: StreamWriter::new(&self.compressor),
            lengths: IntegerWriter::new(&self.compressor, false),
        };
        let form = std::mem::replace(&mut self.form, direct());
        if let TextForm::Dictionary(TextDictionaryBuilder { ends, content, indexes, groups, .. }) = &form {
            let mut groups = groups.iter().peekable();
            for i in 0..=indexes.len() {
                if i.is_multiple_of(STRINGS_AT_ONCE) {
                    check_cancelled()?;
                }
                while groups.next_if(|group| **group == i).is_some() {
                    self.positions.push(position(&bytes, &lengths));
                }
                if let Some(index) = indexes.get(i) {
                    let text = entry(ends, content, *index);
                    bytes.extend(text);
                    lengths.push(text.len() as i64);
                }
            }
        }
        self.form = TextForm::Direct { bytes, lengths };
        Ok(())
    }

    /// Returns the streams and leaves no strings.
    ///
    /// # Errors
    /// As [`TextEncoder::checked`].
    pub(crate) fn take(&mut self) -> Result<ColumnStreams> {
        self.checked()?;
        // No dictionary is needed without any string.
        if matches!(&self.form, TextForm::Dictionary(d) if !d.pays() || d.ends.is_empty()) {
            self.give_up()?;
        }
        let TextEncoder { form, mut positions, compressor, .. } =
            std::mem::replace(self, TextEncoder::new(&self.compressor));
        match form {
            TextForm::Direct { mut bytes, mut lengths } => {
                let streams = vec![(StreamKind::Data, bytes.take()), (StreamKind::Length, lengths.take())];
                Ok(ColumnStreams { streams, encoding: EncodingOut::DirectV2, positions })
            }
            TextForm::Dictionary(TextDictionaryBuilder { ends, content, indexes, groups, .. }) => {
                let mut numbers = IntegerWriter::new(&compressor, false);
                let mut groups = groups.iter().peekable();
                for i in 0..=indexes.len() {
                    if i.is_multiple_of(STRINGS_AT_ONCE) {
                        check_cancelled()?;
                    }
                    while groups.next_if(|group| **group == i).is_some() {
                        let mut at = Vec::new();
                        numbers.position(&mut at);
                        positions.push(at);
                    }
                    if let Some(index) = indexes.get(i) {
                        numbers.push(i64::from(*index));
                    }
                }
                let (mut bytes, mut lengths) = (StreamWriter::new(&compressor), IntegerWriter::new(&compressor, false));
                for part in content.chunks(BYTES_AT_ONCE) {
                    check_cancelled()?;
                    bytes.extend(part);
                }
                let starts = std::iter::once(0).chain(ends.iter().copied());
                ends.iter().zip(starts).for_each(|(end, start)| lengths.push((end - start) as i64));
                let streams = vec![
                    (StreamKind::Data, numbers.take()),
                    (StreamKind::DictionaryData, bytes.take()),
                    (StreamKind::Length, lengths.take()),
                ];
                Ok(ColumnStreams { streams, encoding: EncodingOut::DictionaryV2(ends.len()), positions })
            }
        }
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        match &self.form {
            TextForm::Direct { bytes, lengths } => bytes.held() + lengths.held(),
            TextForm::Dictionary(d) => d.content.len() + 4 * d.indexes.len() + 16 * d.ends.len(),
        }
    }
}
