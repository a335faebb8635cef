//! Decodes Parquet by the parquet crate: all columns that [`super::column_reader`] does not read.
//!
//! If the filter needs only some of the columns, they are decoded first. The others are decoded only for rows that
//! stay.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::BooleanArray;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ArrowReaderMetadata, RowFilter};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};

use super::checks::footer::undecodable;
use super::file::{ParquetFile, is_overflow};
use super::groups_ahead::GroupsAhead;
use super::int96::AtTheEnds;
use super::plan::DecodePlan;
use crate::data::deletes::positions::{RowPositions, Upcoming};
use crate::data::read::guard::guard;
use crate::data::read::source::{BATCH_BYTES, DecodeRequest, FilePart, RowTest, Started, too_large};
use crate::error::{Error, Result};
use crate::parallel::check_cancelled;

/// Refuses 96-bit timestamps that nanoseconds can't hold: the decoder wraps them around.
pub(super) fn check_wide(
    file: ParquetFile,
    plan: &DecodePlan,
    leaves: BTreeSet<usize>,
    batch_rows: usize,
) -> Result<ParquetFile> {
    let note = |file: ParquetFile, metadata: ArrowReaderMetadata| -> Result<(AtTheEnds, ParquetFile)> {
        let leaves = leaves.clone();
        let wide = DecodePlan { metadata, groups: plan.groups.clone(), selection: plan.selection.clone(), leaves };
        let batch_rows = wide.batch_rows(batch_rows);
        let (mut ends, mut batches) = (AtTheEnds::default(), ParquetBatches::after(file, wide, batch_rows, 0)?);
        for batch in &mut batches {
            check_cancelled()?;
            ends.note(&batch?.0)?;
        }
        Ok((ends, batches.decoding.file))
    };
    let metadata = file.in_millis()?;
    let (millis, file) = note(file, metadata)?;
    if millis.is_empty() {
        return Ok(file);
    }
    let (nanos, file) = note(file, plan.metadata.clone())?;
    millis.check_nanos(&nanos).map(|()| file)
}

pub(super) fn decode(
    file: ParquetFile,
    plan: DecodePlan,
    part: &FilePart<'_>,
    request: DecodeRequest,
) -> Result<Started> {
    let batch_rows = plan.batch_rows(request.batch_rows);
    let needs_positions = request.needs_positions();
    let mask = |leaves: &BTreeSet<usize>| ProjectionMask::leaves(file.parquet_schema(), leaves.iter().copied());
    let DecodeRequest { leaves: wanted, test, tells_positions, .. } = request;
    let late = !test.leaves().is_empty() && test.leaves().len() < plan.leaves.len() && plan.can_skip();
    let leaves = if late { wanted } else { plan.leaves.clone() };
    let (test, early, first) = if late {
        let asked = test.leaves().clone();
        (None, Some((Arc::new(test.place(part.columns, &asked)), mask(&asked))), asked)
    } else {
        (Some(test), None, leaves.clone())
    };
    let columns = mask(&leaves);
    let decoding = Decoding { file, plan, columns, test: early, first, needs_positions, tells_positions };
    Ok(Started { batches: Box::new(ParquetBatches::new(decoding, batch_rows)?), leaves, test, keys_tested: false })
}

/// The plan of decoding. It is enough to restart.
pub(crate) struct Decoding {
    file: ParquetFile,
    plan: DecodePlan,
    columns: ProjectionMask,
    /// The test of the decoder, and the columns that it needs.
    test: Option<(Arc<RowTest>, ProjectionMask)>,
    /// The leaf columns that it reads first in each row group.
    first: BTreeSet<usize>,
    needs_positions: bool,
    tells_positions: bool,
}

impl Decoding {
    /// The requests of the decoder that can be predicted: whole row groups, if none of their pages are left out.
    fn ahead(&self) -> GroupsAhead {
        match &self.plan.selection {
            None => GroupsAhead::new(self.plan.metadata.metadata(), &self.plan.groups, &self.first),
            Some(_) => GroupsAhead::none(),
        }
    }

    /// A decoder at the first row.
    fn start(&self, batch_rows: usize) -> Result<(ParquetPushDecoder, DecodedPositions, Arc<Seen>)> {
        let plan = &self.plan;
        let positions = match self.needs_positions {
            true => Some(Upcoming::new(plan.metadata.metadata(), &plan.groups, plan.selection.as_ref())?),
            false => None,
        };
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(plan.metadata.clone())
            .with_batch_size(batch_rows)
            .with_row_groups(plan.groups.clone())
            .with_projection(self.columns.clone());
        if let Some(selection) = &plan.selection {
            builder = builder.with_row_selection(selection.clone());
        }
        let seen = Arc::new(Seen::default());
        let positions = match &self.test {
            Some((test, columns)) => {
                let tells_positions = self.tells_positions;
                let test = DecoderTest { test: test.clone(), positions, tells_positions };
                builder = builder.with_row_filter(test.row_filter(columns.clone(), seen.clone()));
                if tells_positions { DecodedPositions::Kept } else { DecodedPositions::Unknown }
            }
            None => DecodedPositions::All(positions),
        };
        Ok((builder.build().map_err(undecodable)?, positions, seen))
    }
}

/// The report of the predicate inside the decoder to the reader outside.
#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    error: Mutex<Option<Error>>,
    /// Positions of the rows that it kept.
    kept: Mutex<Upcoming>,
}

/// The known positions of the rows that leave the decoder.
enum DecodedPositions {
    /// All rows leave it. These are the positions of the next rows, if they matter.
    All(Option<Upcoming>),
    /// Only rows that the predicate kept. It reports their positions.
    Kept,
    /// Only rows that the predicate kept. Their positions do not matter.
    Unknown,
}

/// Batches that are larger than Arrow can hold are decoded again, with this factor fewer rows.
pub(crate) const SHRINK: usize = 8;

/// Streams a file's batches.
pub(crate) struct ParquetBatches {
    decoding: Decoding,
    /// Most rows of a batch.
    batch_rows: usize,
    /// `None` after the end.
    decoder: Option<ParquetPushDecoder>,
    ahead: GroupsAhead,
    positions: DecodedPositions,
    seen: Arc<Seen>,
    /// Rows according to the row groups.
    expected_rows: u64,
    /// Rows returned so far.
    given: u64,
    /// Next rows that were given before the decoder restarted.
    skip: u64,
}

impl ParquetBatches {
    /// All rows of a plan after the first `skip` rows.
    pub(crate) fn after(file: ParquetFile, plan: DecodePlan, batch_rows: usize, skip: u64) -> Result<ParquetBatches> {
        let columns = ProjectionMask::leaves(file.parquet_schema(), plan.leaves.iter().copied());
        let first = plan.leaves.clone();
        let decoding =
            Decoding { file, plan, columns, test: None, first, needs_positions: true, tells_positions: true };
        Ok(ParquetBatches { given: skip, skip, ..ParquetBatches::new(decoding, batch_rows)? })
    }

    fn new(decoding: Decoding, batch_rows: usize) -> Result<ParquetBatches> {
        let (decoder, positions, seen) = decoding.start(batch_rows)?;
        let (decoder, expected_rows, ahead) = (Some(decoder), decoding.plan.rows(), decoding.ahead());
        Ok(ParquetBatches { decoding, batch_rows, decoder, ahead, positions, seen, expected_rows, given: 0, skip: 0 })
    }

    /// The next batch of the decoder. Dictionaries and shared prefixes make long strings short, and not all writers
    /// record their lengths. If a batch gets too large, the decoder restarts with smaller batches.
    fn next_decoded(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(None) };
            let decoded = guard(|| {
                decoder.try_decode().map_err(|e| {
                    let own = self.seen.error.lock().unwrap_or_else(PoisonError::into_inner).take();
                    own.unwrap_or_else(|| undecodable(e))
                })
            });
            match decoded {
                Ok(DecodeResult::NeedsData(ranges)) => {
                    let pages = self.ahead.pages(&self.decoding.file, &ranges)?;
                    guard(|| self.decoding.file.check_contents(&ranges, &pages))?;
                    let most_rows = BATCH_BYTES / self.decoding.file.dictionary_row_bytes(&ranges, &pages).max(1);
                    if self.batch_rows as u64 / 2 > most_rows {
                        self.restart(most_rows as usize)?;
                    }
                    let pages = pages.into_iter().map(Into::into).collect();
                    if let Some(decoder) = &mut self.decoder {
                        decoder.push_ranges(ranges, pages).map_err(undecodable)?;
                    }
                }
                Ok(DecodeResult::Data(batch)) => return Ok(Some(batch)),
                Ok(DecodeResult::Finished) => {
                    self.decoder = None;
                    return self.check_rows().map(|()| None);
                }
                Err(e) if self.batch_rows > 1 && is_overflow(&e) => self.restart(self.batch_rows / SHRINK)?,
                Err(e) => return Err(if is_overflow(&e) { too_large().because(e) } else { e }),
            }
        }
    }

    /// Restarts the decoder with smaller batches.
    fn restart(&mut self, batch_rows: usize) -> Result<()> {
        self.batch_rows = batch_rows.max(1);
        let (decoder, positions, seen) = self.decoding.start(self.batch_rows)?;
        (self.decoder, self.positions, self.seen, self.skip) = (Some(decoder), positions, seen, self.given);
        Ok(())
    }

    /// The next rows that were not given yet.
    fn next_batch(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        while let Some(mut batch) = self.next_decoded()? {
            let rows = batch.num_rows();
            let mut positions = self.positions(rows)?;
            let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(rows);
            if known > 0 {
                self.skip -= known as u64;
                if known == rows {
                    continue;
                }
                batch = batch.slice(known, rows - known);
                positions = positions.filter(&(0..rows).map(|row| row >= known).collect());
            }
            self.given += batch.num_rows() as u64;
            return Ok(Some((batch, positions)));
        }
        Ok(None)
    }

    /// The positions of the next rows that left the decoder.
    fn positions(&mut self, rows: usize) -> Result<RowPositions> {
        match &mut self.positions {
            DecodedPositions::All(upcoming) => {
                self.seen.rows.fetch_add(rows as u64, Ordering::Relaxed);
                upcoming.as_mut().map_or_else(|| Ok(RowPositions::default()), |upcoming| upcoming.take(rows))
            }
            DecodedPositions::Kept => self.seen.kept.lock().unwrap_or_else(PoisonError::into_inner).take(rows),
            DecodedPositions::Unknown => Ok(RowPositions::default()),
        }
    }

    /// A decoder ends without an error when pages hold fewer rows than their row group says. Rows would be lost.
    fn check_rows(&self) -> Result<()> {
        match self.seen.rows.load(Ordering::Relaxed) {
            seen if seen == self.expected_rows => Ok(()),
            seen => Err(Error::corrupt(format!(
                "the row groups claim {} rows, but their pages hold {seen}",
                self.expected_rows
            ))),
        }
    }
}

impl Iterator for ParquetBatches {
    type Item = Result<(RecordBatch, RowPositions)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// The test in the form that the decoder runs.
struct DecoderTest {
    test: Arc<RowTest>,
    /// The positions of the next rows, if they matter.
    positions: Option<Upcoming>,
    tells_positions: bool,
}

impl DecoderTest {
    /// It counts rows, and keeps the whole error for the reader.
    fn row_filter(mut self, mask: ProjectionMask, seen: Arc<Seen>) -> RowFilter {
        let predicate = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
            seen.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            self.keep(&batch, &seen).map_err(|e| {
                let message = e.to_string();
                *seen.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                ArrowError::ComputeError(message)
            })
        });
        RowFilter::new(vec![Box::new(predicate)])
    }

    fn keep(&mut self, batch: &RecordBatch, seen: &Seen) -> Result<BooleanArray> {
        let positions = match &mut self.positions {
            Some(upcoming) => upcoming.take(batch.num_rows())?,
            None => RowPositions::default(),
        };
        let kept = self.test.keep(batch, &positions)?;
        if self.tells_positions {
            let positions = positions.filter(&kept);
            seen.kept.lock().unwrap_or_else(PoisonError::into_inner).push(&positions);
        }
        Ok(BooleanArray::new(kept, None))
    }
}

#[cfg(test)]
#[path = "parquet_large_tests.rs"]
mod large_tests;
