//! Which data files to rewrite together.
//!
//! Files that are too small, too large or have too many deletes are packed into groups, partition by partition. Groups
//! that would gain too little are left out. The rules and their defaults are those of Java's
//! `BinPackRewriteFilePlanner`.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};
use crate::format::maintenance::CompactRules;
use crate::format::task::{DataFile, FileContent, FileFormat, Partition, ScanTask};
use crate::iceberg::plan::deletes::partition_key;
use crate::iceberg::scan::handle::IcebergScan;

/// The rules with all sizes filled in.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    rules: CompactRules,
    pub target: u64,
    min: u64,
    max: u64,
}

/// Files of one partition that are rewritten together.
#[derive(Debug)]
pub(crate) struct CompactionGroup {
    pub tasks: Vec<ScanTask>,
}

impl CompactionGroup {
    pub(crate) fn bytes(&self) -> u64 {
        self.tasks.iter().map(bytes).fold(0, u64::saturating_add)
    }
}

fn bytes(task: &ScanTask) -> u64 {
    task.data_file.size_bytes.max(0).unsigned_abs()
}

/// Bins in the order of the items, each filled up to its limit.
pub(crate) fn bins<T>(items: Vec<T>, most_bytes: u64, bytes: impl Fn(&T) -> u64) -> Vec<Vec<T>> {
    let (mut bins, mut taken): (Vec<Vec<T>>, u64) = (Vec::new(), 0);
    for item in items {
        let bytes = bytes(&item);
        match bins.last_mut().filter(|_| taken.saturating_add(bytes) <= most_bytes) {
            Some(bin) => {
                taken += bytes;
                bin.push(item);
            }
            None => {
                taken = bytes;
                bins.push(vec![item]);
            }
        }
    }
    bins
}

impl Sizes {
    /// # Errors
    /// `InvalidInput` for impossible file sizes or thresholds out of range.
    pub(crate) fn new(rules: &CompactRules, default_target: u64) -> Result<Sizes> {
        let target = rules.target_bytes.unwrap_or(default_target);
        let min = rules.min_bytes.unwrap_or(target / 4 * 3 + target % 4 * 3 / 4);
        let max = rules.max_bytes.unwrap_or(target.saturating_add(target / 5 * 4 + target % 5 * 4 / 5));
        if target == 0 || min >= target || max <= target {
            return Err(Error::invalid(
                "the target size of files must be above the smallest and below the largest size",
            )
            .with("target", target)
            .with("smallest", min)
            .with("largest", max));
        }
        if rules.min_input_files == 0 || rules.max_group_bytes == 0 {
            return Err(Error::invalid("a group has one file or more, and a size above 0"));
        }
        if !(rules.delete_ratio_threshold > 0.0 && rules.delete_ratio_threshold <= 1.0) {
            return Err(Error::invalid("the share of deleted rows must be above 0 and at most 1")
                .with("delete_ratio_threshold", rules.delete_ratio_threshold));
        }
        Ok(Sizes { rules: rules.clone(), target, min, max })
    }

    /// The groups of a scan's files, in the order of partitions.
    ///
    /// # Errors
    /// As [`IcebergScan::plan_files`].
    pub(crate) fn groups(&self, scan: &IcebergScan, spec_id: i32) -> Result<Vec<CompactionGroup>> {
        let mut by_partition: BTreeMap<String, Vec<ScanTask>> = BTreeMap::new();
        let mut tasks = scan.plan_files()?;
        while let Some(task) = tasks.next_task()? {
            if self.rules.rewrite_all || self.is_off(&task) {
                by_partition.entry(key(&task.data_file.partition, spec_id)).or_default().push(task);
            }
        }
        let groups = by_partition.into_values().flat_map(|tasks| self.pack(tasks));
        Ok(groups.filter(|group| self.rules.rewrite_all || self.is_worth_it(group)).collect())
    }

    /// Bins in the order of the files, each filled up to a group's limit. A file that is listed more than once is
    /// removed from the table as a whole, so its tasks stay together.
    fn pack(&self, tasks: Vec<ScanTask>) -> impl Iterator<Item = CompactionGroup> + use<> {
        let (mut files, mut places): (Vec<Vec<ScanTask>>, HashMap<String, usize>) = (Vec::new(), HashMap::new());
        for task in tasks {
            match places.get(task.data_file.path.as_str()).and_then(|place| files.get_mut(*place)) {
                Some(file) => file.push(task),
                None => {
                    places.insert(task.data_file.path.clone(), files.len());
                    files.push(vec![task]);
                }
            }
        }
        let size = |tasks: &Vec<ScanTask>| tasks.iter().map(bytes).fold(0, u64::saturating_add);
        let groups = bins(files, self.rules.max_group_bytes, size).into_iter();
        groups.map(|files| CompactionGroup { tasks: files.into_iter().flatten().collect() })
    }

    /// Position delete files of one partition that are rewritten together.
    pub(crate) fn delete_groups(&self, files: Vec<DataFile>) -> Vec<Vec<DataFile>> {
        let size = |f: &DataFile| f.size_bytes.max(0).unsigned_abs();
        let off = |f: &DataFile| self.rules.rewrite_all || size(f) < self.min || size(f) > self.max;
        let mut by_partition: BTreeMap<Vec<u8>, Vec<DataFile>> = BTreeMap::new();
        for file in files.into_iter().filter(off) {
            by_partition.entry(partition_key(&file.partition)).or_default().push(file);
        }
        let groups = by_partition.into_values().flat_map(|files| bins(files, self.rules.max_group_bytes, size));
        let worth_it = |group: &Vec<DataFile>| {
            let bytes = group.iter().map(size).fold(0, u64::saturating_add);
            self.rules.rewrite_all || self.gains(group.len(), bytes)
        };
        groups.filter(worth_it).collect()
    }

    /// Whether rewriting this number of files, of this total size, is worth it.
    fn gains(&self, files: usize, bytes: u64) -> bool {
        (files > 1 && (files >= self.rules.min_input_files || bytes > self.target)) || bytes > self.max
    }

    fn is_off(&self, task: &ScanTask) -> bool {
        let bytes = bytes(task);
        bytes < self.min || bytes > self.max || self.has_many_deletes(task)
    }

    fn has_many_deletes(&self, task: &ScanTask) -> bool {
        let most = self.rules.delete_file_threshold;
        if most.is_some_and(|most| task.deletes.len() >= most) {
            return true;
        }
        // A delete file for several data files does not tell how many of its rows belong to this one.
        let own = task.deletes.iter().map(|d| &d.file).filter(|f| {
            f.content == FileContent::PositionDeletes
                && (f.format == FileFormat::Puffin || f.referenced_data_file.is_some())
        });
        let rows = task.data_file.record_count;
        let deleted = own.fold(0i64, |n, f| n.saturating_add(f.record_count)).min(rows);
        !task.deletes.is_empty() && rows > 0 && deleted as f64 / rows as f64 >= self.rules.delete_ratio_threshold
    }

    fn is_worth_it(&self, group: &CompactionGroup) -> bool {
        self.gains(group.tasks.len(), group.bytes()) || group.tasks.iter().any(|t| self.has_many_deletes(t))
    }

    /// The size at which the writer begins a new file, so that a group's files become equally large.
    pub(crate) fn roll_at(&self, input: u64) -> u64 {
        const OVERHEAD: u64 = 5 << 10;
        let most = self.most();
        let split = input / self.expected_files(input).max(1) + OVERHEAD;
        if split < self.target { self.target } else { split.min(most) }
    }

    /// The largest size of a file.
    pub(crate) fn most(&self) -> u64 {
        self.target + (self.max - self.target) / 2
    }

    /// How many files a group becomes. A remainder too small for its own file is shared among the others.
    fn expected_files(&self, input: u64) -> u64 {
        if input < self.target {
            return 1;
        }
        let (floor, ceiling) = (input / self.target, input.div_ceil(self.target));
        let most = self.most();
        let shared = (self.target.saturating_add(self.target / 10)).min(most);
        if input % self.target > self.min || input / floor >= shared { ceiling } else { floor }
    }
}

/// Files of older specs are grouped across partitions, because rewriting partitions them by the new spec.
fn key(partition: &Partition, spec_id: i32) -> String {
    if partition.spec_id == spec_id { format!("={}", partition.path()) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_java() {
        let sizes = Sizes::new(&CompactRules::default(), 100).unwrap();
        assert_eq!((sizes.min, sizes.target, sizes.max), (75, 100, 180));
        // Input, files: with a remainder above the smallest size, below it, and shared by few files or many.
        for (input, files) in
            [(50, 1), (100, 1), (109, 1), (111, 2), (176, 2), (205, 2), (230, 3), (1050, 10), (1080, 11)]
        {
            assert_eq!(sizes.expected_files(input), files, "{input}");
        }
        let wrong = |rules: CompactRules| Sizes::new(&rules, 100).is_err();
        assert!(wrong(CompactRules { min_bytes: Some(100), ..CompactRules::default() }));
        assert!(wrong(CompactRules { max_bytes: Some(100), ..CompactRules::default() }));
        assert!(wrong(CompactRules { target_bytes: Some(0), ..CompactRules::default() }));
        assert!(wrong(CompactRules { delete_ratio_threshold: 1.1, ..CompactRules::default() }));
    }
}
