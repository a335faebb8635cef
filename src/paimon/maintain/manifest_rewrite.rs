//! Joins small manifests and divides large ones, in a snapshot of kind `COMPACT` that adds and removes no file.
//!
//! Source: Java's `FileStoreCommitImpl.compactManifest`.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::format::maintenance::{ManifestOptions, RewrittenManifests};
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::merge::can_join;
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::state::PaimonTable;

impl PaimonTable {
    /// Joins small manifests, divides large ones and drops the entries of removed files. Returns the table at its new
    /// version.
    ///
    /// # Errors
    /// `Unsupported` for partition specs and sizes; those of the commit.
    pub(crate) fn rewrite_manifests(&self, options: &ManifestOptions) -> Result<(PaimonTable, RewrittenManifests)> {
        let no = |what: &str, hint: &str| {
            Err(Error::unsupported(format!("{what}: not with tables of Apache Paimon"))
                .with("table", self.location())
                .hint(hint))
        };
        if options.spec_id.is_some() {
            return no("spec_id=", "Leave it out: a table has one partitioning");
        }
        if options.target_bytes.is_some() {
            return no("target_size_bytes=", "Set the table's option 'manifest.target-file-size'");
        }
        let table = self.newest_of(options.commit.branch.as_deref())?;
        if options.dry_run {
            let rewritten = table.joinable()?.unwrap_or_default();
            let rewritten = rewritten.into_iter().map(|m| m.file_name).collect();
            return Ok((self.refresh()?, RewrittenManifests { rewritten, added: Vec::new() }));
        }
        let mut before = Vec::new();
        let mut plan = || -> Result<Option<Commit>> {
            let newest = table.refresh()?;
            let commit = || Commit::new(newest.folder(), Changes::default()).compacting().joining_manifests();
            let properties = || options.commit.snapshot_properties.clone();
            let only_on = newest.metadata().snapshot.as_ref().map(|s| s.id);
            let Some(joinable) = newest.joinable()? else { return Ok(None) };
            before = names(joinable);
            Ok(Some(commit().with_properties(properties()).only_on(only_on)))
        };
        match run_planned(&mut plan).into_result()? {
            None => Ok((self.refresh()?, RewrittenManifests::default())),
            Some(snapshot) => {
                let after = names(data_manifests(self.folder().manifests(), &snapshot)?);
                Ok((self.after_commit()?, RewrittenManifests::between(&before, &after)))
            }
        }
    }

    /// The manifests of the latest snapshot, if some of them can be joined.
    fn joinable(&self) -> Result<Option<Vec<PaimonManifestFile>>> {
        let Some(snapshot) = &self.metadata().snapshot else { return Ok(None) };
        let manifests = data_manifests(self.folder().manifests(), snapshot)?;
        Ok(can_join(self.table_schema(), &manifests)?.then_some(manifests))
    }
}

impl RewrittenManifests {
    /// The manifests that a snapshot no longer lists, and those that it lists first.
    fn between(before: &[String], after: &[String]) -> RewrittenManifests {
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            let others: HashSet<&String> = others.iter().collect();
            all.iter().filter(|name| !others.contains(name)).cloned().collect()
        };
        RewrittenManifests { rewritten: without(before, after), added: without(after, before) }
    }
}

fn names(manifests: Vec<PaimonManifestFile>) -> Vec<String> {
    manifests.into_iter().map(|m| m.file_name).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::format::task::NewBucketFile;
    use crate::paimon::catalog::warehouse::create_table;
    use crate::paimon::commit::testing;
    use crate::paimon::manifest::entries::PaimonEntryRequest;
    use crate::paimon::manifest::live::live_files;
    use crate::paimon::spec::data_type::{DataField, TypeKind};
    use crate::paimon::spec::schema::SchemaParts;
    use crate::store::{self, Store};

    /// A table without compressed manifests, whose target is 65,536 bytes.
    fn table(folder: &std::path::Path) -> PaimonTable {
        let options = [("manifest.target-file-size", "64 kb"), ("manifest.compression", "null")];
        let parts = SchemaParts {
            fields: vec![DataField::new(0, "id", TypeKind::Int.nullable())],
            options: options.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            ..SchemaParts::default()
        };
        std::fs::create_dir_all(folder).unwrap();
        let location = folder.display().to_string();
        let store: Arc<dyn Store> = store::open_store(&location, &BTreeMap::new()).unwrap();
        create_table(&store, &location, parts).unwrap();
        PaimonTable::find(&store, &location, &BTreeMap::new()).unwrap().unwrap()
    }

    /// A file whose entry has little more than these bytes, in an embedded index.
    fn file(table: &PaimonTable, name: &str, bytes: usize) -> NewBucketFile {
        NewBucketFile { embedded_index: Some(vec![7; bytes]), ..testing::file(table.folder(), name) }
    }

    /// A commit of files `f0`, `f1` and so on, whose entries have these bytes.
    fn append(table: &PaimonTable, bytes: &[usize]) -> PaimonTable {
        let added = bytes.iter().enumerate().map(|(i, bytes)| file(table, &format!("f{i}"), *bytes)).collect();
        commit(table, Changes { added, ..Changes::default() })
    }

    fn commit(table: &PaimonTable, changes: Changes) -> PaimonTable {
        Commit::new(table.folder(), changes).run().into_result().unwrap();
        table.refresh().unwrap()
    }

    fn manifests(table: &PaimonTable) -> Vec<PaimonManifestFile> {
        data_manifests(table.folder().manifests(), table.metadata().snapshot.as_ref().unwrap()).unwrap()
    }

    /// Added and deleted files of each manifest.
    fn counts(table: &PaimonTable) -> Vec<(i64, i64)> {
        manifests(table).iter().map(|m| (m.added_files, m.deleted_files)).collect()
    }

    /// Sorted names of live files.
    fn live(table: &PaimonTable) -> Vec<String> {
        let live = live_files(table.folder().manifests(), &manifests(table), &PaimonEntryRequest::default()).unwrap();
        let rows = live.iter().flat_map(|l| l.rows.iter().map(|r| l.columns.entry(*r as usize).unwrap().file_name));
        let mut names: Vec<String> = rows.collect();
        names.sort();
        names
    }

    /// The table after a rewrite, which a second one leaves as it is. `rewritten` and `added` are numbers of manifests.
    fn rewritten(table: &PaimonTable, rewritten: usize, added: usize) -> PaimonTable {
        let options = ManifestOptions::default();
        let (table, done) = table.rewrite_manifests(&options).unwrap();
        assert_eq!((done.rewritten.len(), done.added.len()), (rewritten, added));
        let (again, done) = table.rewrite_manifests(&options).unwrap();
        assert_eq!(done, RewrittenManifests::default());
        let id = |table: &PaimonTable| table.metadata().snapshot.as_ref().unwrap().id;
        assert_eq!(id(&again), id(&table));
        again
    }

    #[test]
    fn a_large_manifest_is_divided_by_a_rewrite_alone() {
        let dir = tempfile::tempdir().unwrap();
        // A block of Avro is closed at 64,000 bytes: after two entries. These are above the target.
        let one = append(&table(&dir.path().join("t")), &[40_000; 9]);
        assert_eq!(counts(&one), [(9, 0)]);
        // Commits leave it as it is.
        let last = file(&one, "g", 100);
        let two = commit(&one, Changes { added: vec![last], ..Changes::default() });
        assert_eq!(counts(&two), [(9, 0), (1, 0)]);
        let before = live(&two);
        let divided = rewritten(&two, 2, 5);
        assert_eq!(counts(&divided), [(2, 0), (2, 0), (2, 0), (2, 0), (2, 0)]);
        assert_eq!(live(&divided), before);
        // So is a manifest that is the only one.
        let alone = append(&table(&dir.path().join("alone")), &[40_000; 9]);
        assert_eq!(counts(&rewritten(&alone, 1, 5)), [(2, 0), (2, 0), (2, 0), (2, 0), (1, 0)]);
    }

    #[test]
    fn manifests_up_to_four_targets_stay() {
        let dir = tempfile::tempdir().unwrap();
        let table = append(&table(&dir.path().join("t")), &[40_000; 6]);
        let size = manifests(&table)[0].file_size;
        assert!((240_000..=4 * 65_536).contains(&size), "{size}");
        assert_eq!(counts(&rewritten(&table, 0, 0)), [(6, 0)]);
    }

    #[test]
    fn removed_files_of_another_manifest_do_not_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let table = append(&table(&dir.path().join("t")), &[40_000; 9]);
        let removed = vec![file(&table, "f3", 40_000).file];
        let table = commit(&table, Changes { removed, ..Changes::default() });
        assert_eq!(counts(&table), [(9, 0), (0, 1)]);
        let before = live(&table);
        assert_eq!(before, [0, 1, 2, 4, 5, 6, 7, 8].map(|n| format!("f{n}.parquet")));
        let table = rewritten(&table, 2, 4);
        assert_eq!(counts(&table), [(2, 0), (2, 0), (2, 0), (2, 0)]);
        assert_eq!(live(&table), before);
    }

    #[test]
    fn an_entry_above_the_limit_has_a_manifest_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let one = append(&table(&dir.path().join("one")), &[300_000]);
        assert_eq!(counts(&rewritten(&one, 0, 0)), [(1, 0)]);
        let mixed = append(&table(&dir.path().join("mixed")), &[40_000; 9]);
        let files = [1_000, 300_000, 1_000, 1_000, 300_000].iter().enumerate();
        let added = files.map(|(i, bytes)| file(&mixed, &format!("g{i}"), *bytes)).collect();
        let mixed = commit(&mixed, Changes { added, ..Changes::default() });
        assert_eq!(counts(&mixed), [(9, 0), (5, 0)]);
        let before = live(&mixed);
        // `f8`, `g0` and `g1` share a block, so that the manifest is far too large with `g1`. So it is with `g4`.
        let mixed = rewritten(&mixed, 2, 8);
        assert_eq!(counts(&mixed), [(2, 0), (2, 0), (2, 0), (2, 0), (2, 0), (1, 0), (2, 0), (1, 0)]);
        assert_eq!(live(&mixed), before);
    }
}
