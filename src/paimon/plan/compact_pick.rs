//! Picks the files of a bucket that are compacted, and the level that they get.
//!
//! A bucket is a tree of levels. Each file of level 0 is a separate sorted run, younger ones first; each other level is
//! one run. A compaction takes some of the first runs together.
//!
//! Source: Java's `Levels`, `UniversalCompaction`, `EarlyFullCompaction`, `ForceUpLevel0Compaction`,
//! `CompactStrategy.pickFullCompaction` and `MergeTreeCompactManager.triggerCompaction`.

use std::cmp::Reverse;

use crate::error::{Error, Result};
use crate::paimon::manifest::file_entry::FileEntry;
use crate::types::options::Options;

/// A sorted run of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelRun {
    /// Its level.
    pub level: i32,
    /// The size of its files.
    pub bytes: i64,
    /// Its files, as places in a list.
    pub files: Vec<usize>,
}

/// The files of a bucket by level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Level 0 first, with one run for each file.
    pub runs: Vec<LevelRun>,
    /// How many levels there are.
    pub count: i32,
}

impl Levels {
    /// The levels of these files; there are at least this many levels.
    pub fn new(files: &[FileEntry], count: i32) -> Levels {
        let highest = files.iter().map(|f| f.level).max().unwrap_or(-1);
        let mut order: Vec<usize> = (0..files.len()).collect();
        let age = |f: &FileEntry| {
            (Reverse(f.max_sequence_number), f.min_sequence_number, f.creation_time_ms, f.file_name.clone())
        };
        order
            .sort_by_cached_key(|at| files.get(*at).map(|f| (f.level, if f.level == 0 { Some(age(f)) } else { None })));
        let mut runs: Vec<LevelRun> = Vec::new();
        for at in order {
            let Some(file) = files.get(at) else { continue };
            match runs.last_mut() {
                Some(run) if run.level == file.level && file.level > 0 => {
                    run.bytes = run.bytes.saturating_add(file.file_size);
                    run.files.push(at);
                }
                _ => runs.push(LevelRun { level: file.level, bytes: file.file_size, files: vec![at] }),
            }
        }
        Levels { runs, count: count.max(highest.saturating_add(1)) }
    }

    /// The highest level.
    pub fn top(&self) -> i32 {
        self.count - 1
    }

    /// The highest level that has files.
    pub fn highest(&self) -> i32 {
        self.runs.last().map_or(-1, |run| run.level)
    }
}

/// Files that are compacted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactUnit {
    /// The level of the result.
    pub level: i32,
    /// The files, as places in a list.
    pub files: Vec<usize>,
    /// Whether each file is rewritten on its own: files that are at the highest level already.
    pub each: bool,
}

/// The options of a table that control compactions.
#[derive(Clone, Debug, PartialEq)]
pub struct PickRules {
    /// `compaction.max-size-amplification-percent`.
    pub size_amplification: i64,
    /// `compaction.size-ratio`.
    pub size_ratio: i64,
    /// `num-sorted-run.compaction-trigger`.
    pub trigger: usize,
    /// `num-levels`.
    pub levels: i32,
    /// `compaction.optimization-interval`: a process that does not know of a compaction makes a full one.
    pub has_interval: bool,
    /// `compaction.total-size-threshold`.
    pub total_bytes: Option<i64>,
    /// `compaction.incremental-size-threshold`.
    pub incremental_bytes: Option<i64>,
    /// Whether files of level 0 are always compacted.
    pub up_from_0: bool,
    /// `compaction.force-rewrite-all-files`.
    pub rewrites_all: bool,
}

impl PickRules {
    /// Reads them. The hours of `compaction.offpeak.*` are ignored.
    ///
    /// # Errors
    /// `InvalidInput` for an option that can't be read.
    pub fn new(options: &Options<'_>) -> Result<PickRules> {
        let number = |key, default| Ok::<i64, Error>(options.integer(key)?.unwrap_or(default));
        let bytes = |key| options.get(key).map(|_| options.bytes(key, 0)).transpose();
        let trigger = number("num-sorted-run.compaction-trigger", 5)?.clamp(0, i64::from(i32::MAX) - 1);
        let levels = number("num-levels", trigger + 1)?;
        if levels < 2 {
            return Err(Error::invalid(format!("a bucket can't have {levels} levels")).with("option", "num-levels"));
        }
        let looks_up = options.looks_up()?;
        let gentle = options.get("lookup-compact").is_some_and(|mode| mode.trim().eq_ignore_ascii_case("gentle"));
        Ok(PickRules {
            size_amplification: number("compaction.max-size-amplification-percent", 200)?,
            size_ratio: number("compaction.size-ratio", 1)?,
            trigger: trigger as usize,
            levels: i32::try_from(levels).unwrap_or(i32::MAX),
            has_interval: options.duration_ms("compaction.optimization-interval")?.is_some(),
            total_bytes: bytes("compaction.total-size-threshold")?,
            incremental_bytes: bytes("compaction.incremental-size-threshold")?,
            up_from_0: if looks_up { !gentle } else { options.boolean("compaction.force-up-level-0", false)? },
            rewrites_all: options.boolean("compaction.force-rewrite-all-files", false)?,
        })
    }

    /// The files of a full compaction: all files, to the highest level. If a bucket has files only there, those that
    /// `is_due` selects are rewritten.
    pub fn full(&self, levels: &Levels, is_due: impl Fn(usize) -> bool) -> Option<CompactUnit> {
        let level = levels.top();
        match &levels.runs[..] {
            [] => None,
            [only] if only.level == level => {
                let files: Vec<usize> =
                    only.files.iter().copied().filter(|at| self.rewrites_all || is_due(*at)).collect();
                (!files.is_empty()).then_some(CompactUnit { level, files, each: true })
            }
            runs => Some(unit(level, runs)),
        }
    }

    /// The files of the smallest compaction that is enough.
    pub fn minor(&self, levels: &Levels) -> Option<CompactUnit> {
        let picked = self.universal(levels).or_else(|| match self.up_from_0 {
            true => self.up_to_next(levels),
            false => None,
        })?;
        let alone = |at: usize| levels.runs.iter().any(|run| run.level == picked.level && run.files.contains(&at));
        match picked.files[..] {
            [] => None,
            [only] if alone(only) => None,
            _ => Some(picked),
        }
    }

    fn universal(&self, levels: &Levels) -> Option<CompactUnit> {
        let (runs, top) = (&levels.runs[..], levels.top());
        if self.is_early(runs, top) {
            return Some(unit(top, runs));
        }
        if runs.len() >= self.trigger {
            if let Some((last, others)) = runs.split_last() {
                let others = others.iter().map(|run| run.bytes).fold(0, i64::saturating_add);
                if others.saturating_mul(100) > self.size_amplification.saturating_mul(last.bytes) {
                    return Some(unit(top, runs));
                }
            }
            if let Some(picked) = self.by_ratio(runs, top, 1, false) {
                return Some(picked);
            }
        }
        match runs.len() > self.trigger {
            true => self.by_ratio(runs, top, runs.len() - self.trigger + 1, false),
            false => None,
        }
    }

    /// Whether all runs are compacted, which is decided before other choices.
    fn is_early(&self, runs: &[LevelRun], top: i32) -> bool {
        let bytes = |runs: &mut dyn Iterator<Item = &LevelRun>| runs.map(|r| r.bytes).fold(0, i64::saturating_add);
        runs.len() != 1
            && (self.has_interval
                || self.total_bytes.is_some_and(|most| bytes(&mut runs.iter()) < most)
                || self
                    .incremental_bytes
                    .is_some_and(|least| bytes(&mut runs.iter().filter(|r| r.level != top)) > least))
    }

    /// All files of level 0, and the files that must be compacted with them.
    fn up_to_next(&self, levels: &Levels) -> Option<CompactUnit> {
        let count = levels.runs.iter().take_while(|run| run.level == 0).count();
        if count == 0 { None } else { self.by_ratio(&levels.runs, levels.top(), count, true) }
    }

    /// The first runs, and those after them that are not much larger than all before.
    fn by_ratio(&self, runs: &[LevelRun], top: i32, first: usize, anyway: bool) -> Option<CompactUnit> {
        let mut count = first;
        let mut bytes = runs.iter().take(first).map(|run| run.bytes).fold(0, i64::saturating_add);
        for next in runs.iter().skip(first) {
            if bytes as f64 * (100.0 + self.size_ratio as f64) / 100.0 < next.bytes as f64 {
                break;
            }
            bytes = bytes.saturating_add(next.bytes);
            count += 1;
        }
        (anyway || count > 1).then(|| below(runs, top, count))
    }
}

/// The first runs, to the level below that of the next one. The new level is never 0.
fn below(runs: &[LevelRun], top: i32, count: usize) -> CompactUnit {
    let mut count = count;
    let mut level = runs.get(count).map_or(top, |next| (next.level - 1).max(0));
    if level == 0 {
        for next in runs.iter().skip(count) {
            count += 1;
            if next.level != 0 {
                level = next.level;
                break;
            }
        }
    }
    if count == runs.len() {
        level = top;
    }
    unit(level, runs.get(..count).unwrap_or_default())
}

fn unit(level: i32, runs: &[LevelRun]) -> CompactUnit {
    CompactUnit { level, files: runs.iter().flat_map(|run| run.files.iter().copied()).collect(), each: false }
}

#[cfg(test)]
#[path = "compact_pick_tests.rs"]
mod tests;
