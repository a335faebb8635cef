//! Cutting tasks at split offsets and packing them into splits of even weight.
//!
//! The groups equal those of Java's `TableScanUtil.planTaskGroups`, which by default emits the largest bin first.

use std::collections::{BTreeMap, VecDeque};

use crate::error::{Error, Result};
use crate::format::task::{DataFile, FileFormat, ScanTask, Split};
use crate::parallel::check_cancelled;

/// How tasks are packed; `None` takes the scan's option, the table's property or Java's default.
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitRequest {
    /// Bytes of a split (`split-size`, `read.split.target-size`, 128 MiB).
    pub split_size_bytes: Option<i64>,
    /// The number of open bins (`lookback`, `read.split.planning-lookback`, 10).
    pub lookback: Option<usize>,
    /// Least weight of a file (`file-open-cost`, `read.split.open-file-cost`, 4 MiB).
    pub open_file_cost_bytes: Option<i64>,
}

/// A [`SplitRequest`] with all values set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitPlan {
    pub(crate) split_size_bytes: i64,
    pub(crate) lookback: usize,
    pub(crate) open_file_cost_bytes: i64,
}

impl SplitRequest {
    /// Takes missing values from the scan's options, then from the table's properties, then from the defaults.
    ///
    /// # Errors
    /// `InvalidInput` if a value is not a number, or not positive.
    pub fn or(&self, options: &BTreeMap<String, String>, properties: &BTreeMap<String, String>) -> Result<SplitPlan> {
        let number = |given: Option<i64>, option: &str, property: &str, default: i64, least: i64| -> Result<i64> {
            let text = options.get(option).or_else(|| properties.get(property));
            let value = match (given, text) {
                (Some(v), _) => v,
                (None, Some(text)) => text.trim().parse().map_err(|e| {
                    Error::invalid(format!("'{text}' is not a number")).with("option", option).because(e)
                })?,
                (None, None) => default,
            };
            if value < least {
                return Err(Error::invalid(format!("{option} must be at least {least}, not {value}")));
            }
            Ok(value)
        };
        let lookback = self.lookback.map(|l| i64::try_from(l).unwrap_or(i64::MAX));
        let size = "read.split.target-size";
        let cost = "read.split.open-file-cost";
        Ok(SplitPlan {
            split_size_bytes: number(self.split_size_bytes, "split-size", size, 128 << 20, 1)?,
            lookback: number(lookback, "lookback", "read.split.planning-lookback", 10, 1)? as usize,
            open_file_cost_bytes: number(self.open_file_cost_bytes, "file-open-cost", cost, 4 << 20, 0)?,
        })
    }
}

/// A range of a file, which is cut and packed.
pub trait Piece: Sized {
    /// First byte and bytes.
    fn range(&self) -> (i64, i64);
    /// Another range of the file.
    fn with_range(&self, start: i64, length: i64) -> Self;
    /// The file's length.
    fn size_bytes(&self) -> i64;
    /// The offsets where the file may be split, as recorded.
    fn split_offsets(&self) -> Option<&[i64]>;
    /// The number of delete files, and the bytes to read from them.
    fn deletes(&self) -> (i64, i64);
    /// Whether the other is a range of the same file.
    fn is_of_same_file(&self, other: &Self) -> bool;
}

impl Piece for ScanTask {
    fn range(&self) -> (i64, i64) {
        (self.start, self.length)
    }

    fn with_range(&self, start: i64, length: i64) -> ScanTask {
        ScanTask { start, length, ..self.clone() }
    }

    fn size_bytes(&self) -> i64 {
        self.data_file.size_bytes
    }

    fn split_offsets(&self) -> Option<&[i64]> {
        self.data_file.split_offsets.as_deref()
    }

    fn deletes(&self) -> (i64, i64) {
        let bytes = self.deletes.iter().map(|d| content_bytes(&d.file)).fold(0, i64::saturating_add);
        (self.deletes.len() as i64, bytes)
    }

    fn is_of_same_file(&self, other: &ScanTask) -> bool {
        self.data_file.path == other.data_file.path
    }
}

impl Split {
    /// The bytes of the data that its tasks read. Deletes are not included.
    pub fn size_bytes(&self) -> i64 {
        sum(&self.tasks, |task| task.length)
    }

    /// The rows in the files of its tasks, before the filter and before deletes and merging.
    ///
    /// Nothing records the rows of a part of a file. They are in proportion to its bytes.
    pub fn row_count(&self) -> i64 {
        sum(&self.tasks, rows)
    }

    /// The tasks of splits of one scan in one split. `None` without splits.
    pub fn joined(splits: &[&Split]) -> Option<Split> {
        let context = splits.first()?.context.clone();
        let tasks = splits.iter().flat_map(|split| split.tasks.iter().cloned()).collect();
        Some(Split { context, tasks: merge_adjacent(tasks) })
    }
}

/// The sum of a figure over tasks and the files that are merged with them.
fn sum(tasks: &[ScanTask], figure: fn(&ScanTask) -> i64) -> i64 {
    let of_task = |task: &ScanTask| match &task.merge {
        Some(section) => section.runs.iter().flatten().map(figure).fold(0, i64::saturating_add),
        None => figure(task),
    };
    tasks.iter().map(of_task).fold(0, i64::saturating_add)
}

fn rows(task: &ScanTask) -> i64 {
    let file = &task.data_file;
    let first = file.split_offsets.as_deref().filter(|offsets| valid_offsets(offsets, file.size_bytes));
    let bytes = i128::from(file.size_bytes - first.map_or(0, |offsets| offsets[0])).max(1);
    let rows = (i128::from(file.record_count) * i128::from(task.length) + bytes / 2) / bytes;
    i64::try_from(rows).unwrap_or(i64::MAX).clamp(0, file.record_count.max(0))
}

/// Cuts and packs tasks, keeping their order as far as packing allows.
///
/// # Errors
/// A cancellation.
pub fn pack<T: Piece>(tasks: Vec<T>, plan: &SplitPlan) -> Result<Vec<Vec<T>>> {
    let mut bins = Bins { open: VecDeque::new(), full: Vec::new(), added: 0, plan };
    tasks.into_iter().try_for_each(|task| cut(&task, plan.split_size_bytes, |piece| bins.add(piece)))?;
    let Bins { open, mut full, .. } = bins;
    full.extend(open.into_iter().map(|bin| merge_adjacent(bin.tasks)));
    Ok(full)
}

/// Splits that are being filled, and finished splits.
struct Bins<'a, T> {
    open: VecDeque<Bin<T>>,
    full: Vec<Vec<T>>,
    added: usize,
    plan: &'a SplitPlan,
}

impl<T: Piece> Bins<'_, T> {
    fn add(&mut self, task: T) -> Result<()> {
        if self.added.is_multiple_of(PIECES_BETWEEN) {
            check_cancelled()?;
        }
        self.added += 1;
        let (_, length) = task.range();
        let (deletes, delete_bytes) = task.deletes();
        let cost = (deletes + 1).saturating_mul(self.plan.open_file_cost_bytes);
        let weight = length.saturating_add(delete_bytes).max(cost);
        let fits = |bin: &&mut Bin<T>| bin.weight.saturating_add(weight) <= self.plan.split_size_bytes;
        if let Some(bin) = self.open.iter_mut().find(fits) {
            bin.add(task, weight);
            return Ok(());
        }
        let mut tasks = Vec::with_capacity(TASKS_OF_SPLIT);
        tasks.push(task);
        self.open.push_back(Bin { tasks, weight });
        if self.open.len() > self.plan.lookback {
            self.full.extend(take_largest(&mut self.open).map(|bin| merge_adjacent(bin.tasks)));
        }
        Ok(())
    }
}

struct Bin<T> {
    tasks: Vec<T>,
    weight: i64,
}

impl<T> Bin<T> {
    fn add(&mut self, task: T, weight: i64) {
        self.weight = self.weight.saturating_add(weight);
        self.tasks.push(task);
    }
}

/// The heaviest bin. Among equal ones it is the first, as in `Collections.max`.
fn take_largest<T>(bins: &mut VecDeque<Bin<T>>) -> Option<Bin<T>> {
    let heaviest = bins.iter().map(|b| b.weight).max()?;
    let at = bins.iter().position(|b| b.weight == heaviest)?;
    bins.remove(at)
}

/// The bytes that a task reads from a delete file: those of the deletion vector, else the whole file.
fn content_bytes(file: &DataFile) -> i64 {
    match file.format {
        FileFormat::Puffin => file.content_size_bytes.unwrap_or(file.size_bytes),
        _ => file.size_bytes,
    }
}

/// Pieces between two checks for cancellation.
const PIECES_BETWEEN: usize = 256;

/// About the number of tasks in a split: the initial capacity.
const TASKS_OF_SPLIT: usize = 4;

/// About the number of pieces of one file. A wrong file size must not fill the memory.
const MOST_PIECES: i64 = 1 << 16;

/// Cuts a task at its file's offsets if these are valid, else every `split_size_bytes`. Avro, ORC and Parquet can be
/// cut.
fn cut<T: Piece>(task: &T, split_size_bytes: i64, mut add: impl FnMut(T) -> Result<()>) -> Result<()> {
    let (_, length) = task.range();
    let mut piece = |start: i64, end: i64| add(task.with_range(start, end - start));
    match task.split_offsets() {
        Some(offsets) if valid_offsets(offsets, task.size_bytes()) => {
            let ends = offsets.iter().skip(1).copied().chain([length]);
            offsets.iter().zip(ends).try_for_each(|(start, end)| piece(*start, end))
        }
        _ if length <= 0 => Ok(()),
        _ => {
            let bytes = split_size_bytes.max(length / MOST_PIECES);
            let step = usize::try_from(bytes).unwrap_or(usize::MAX);
            (0..length).step_by(step).try_for_each(|start| piece(start, start.saturating_add(bytes).min(length)))
        }
    }
}

/// Offsets must ascend strictly and be inside the file. Wrong offsets are ignored.
fn valid_offsets(offsets: &[i64], size_bytes: i64) -> bool {
    let ascending = offsets.windows(2).all(|w| w[0] < w[1]);
    let inside = offsets.first().is_some_and(|o| *o >= 0) && offsets.last().is_some_and(|o| *o < size_bytes);
    ascending && inside
}

/// Joins adjacent ranges of one file.
fn merge_adjacent<T: Piece>(mut tasks: Vec<T>) -> Vec<T> {
    tasks.dedup_by(|task, last| {
        // Ranges are compared first, because the identity of a file is elsewhere in memory.
        let ((first, before), (start, length)) = (last.range(), task.range());
        let joins = first + before == start && last.is_of_same_file(task);
        if joins {
            *last = last.with_range(first, before + length);
        }
        joins
    });
    tasks
}

#[cfg(test)]
#[path = "splits_tests.rs"]
mod tests;
