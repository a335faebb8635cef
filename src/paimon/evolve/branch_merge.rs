//! Adds the files of a branch to another branch. Both must only ever have been appended to.
//!
//! Where branches began is not recorded. So both must still have all of their snapshots, and none may have removed a
//! file. Then the files that only one of them has are those to add.
//!
//! Source: Java's `FileSystemBranchManager.mergeBranch`, `BranchMergeHandler`.

use std::collections::HashSet;

use crate::error::{Error, Result, ResultExt};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::manifest::entries::PaimonEntryRequest;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::live::{data_manifests, live_files};
use crate::paimon::spec::snapshot::PaimonSnapshot;

/// Kinds of snapshots that remove no file.
const APPENDING: [&str; 2] = ["APPEND", "ANALYZE"];

/// The statistics of entries are kept.
const WHOLE: PaimonEntryRequest<'static> =
    PaimonEntryRequest { key_stats: true, value_stats: true, kind: None, keep: None };

/// Adds the files of the branch `from` that the branch `to` lacks, in one commit.
///
/// # Errors
/// `InvalidInput` if the branches have other columns, a primary key, or a history with more than appends; `NotFound`
/// if one does not exist; `CommitConflict` if a file was added meanwhile; those of the store.
pub(super) fn merge_branch(folder: &TableFolder, from: &str, to: &str) -> Result<()> {
    if from == to {
        return Err(Error::invalid(format!("the branch '{from}' can't be merged into itself")));
    }
    let (source, target) = (folder.branch(from)?, folder.branch(to)?);
    let newest = appended_only(&source)?;
    let known = live_entries(&target, &appended_only(&target)?)?;
    check_schemas(&source, &target)?;
    let known: HashSet<Vec<u8>> = known.iter().map(FileEntry::identity).collect();
    let mut adopted = live_entries(&source, &newest)?;
    adopted.retain(|entry| !known.contains(&entry.identity()));
    if adopted.is_empty() {
        return Ok(());
    }
    let schemas: HashSet<i64> = adopted.iter().map(|entry| entry.schema_id).collect();
    for id in schemas {
        if source.schema(id)? != target.schema(id).with("branch", to)? {
            return Err(Error::invalid("the branches have different schemas with the same number").with("schema", id));
        }
    }
    // Rows get ids of the other branch.
    adopted.iter_mut().for_each(|entry| entry.first_row_id = None);
    let changes = Changes { adopted, ..Changes::default() };
    Commit::new(&target, changes).checking_appends().run().into_result().map(drop)
}

/// The latest snapshot of a branch, if it has all of its snapshots and none removed a file.
fn appended_only(branch: &TableFolder) -> Result<PaimonSnapshot> {
    let name = branch.branch_name();
    let wrong = |what: String| Err(Error::invalid(what).with("branch", name));
    let snapshots = branch.snapshots()?;
    for (snapshot, wanted) in snapshots.iter().zip(1..) {
        if snapshot.id != wanted {
            return wrong(format!("branches can be merged only with all of their snapshots: {wanted} is missing"));
        }
        if !APPENDING.contains(&snapshot.commit_kind.as_str()) {
            let (id, kind) = (snapshot.id, &snapshot.commit_kind);
            return wrong(format!("branches can be merged only if all commits are appends: snapshot {id} is {kind}"));
        }
    }
    match snapshots.into_iter().next_back() {
        Some(latest) if latest.index_manifest.is_some() => wrong("a branch with an index can't be merged".to_owned()),
        Some(latest) => Ok(latest),
        None => wrong("a branch without snapshots can't be merged".to_owned()),
    }
}

fn check_schemas(source: &TableFolder, target: &TableFolder) -> Result<()> {
    let (theirs, own) = (source.latest_schema()?, target.latest_schema()?);
    for schema in [&theirs, &own] {
        if schema.has_primary_key() {
            return Err(Error::invalid("branches of a table with a primary key can't be merged"));
        }
        if schema.options().data_evolution()? {
            return Err(Error::invalid("branches of a table whose columns are in several files can't be merged")
                .with("option", "data-evolution.enabled"));
        }
    }
    if theirs.fields != own.fields {
        return Err(Error::invalid("the branches have different columns"));
    }
    if theirs.options().row_tracking()? != own.options().row_tracking()? {
        return Err(Error::invalid("only one of the branches tracks its rows").with("option", "row-tracking.enabled"));
    }
    Ok(())
}

/// The entries of the files of a snapshot.
fn live_entries(branch: &TableFolder, snapshot: &PaimonSnapshot) -> Result<Vec<FileEntry>> {
    let from = branch.manifests();
    let live = live_files(from, &data_manifests(from, snapshot)?, &WHOLE)?;
    live.iter().flat_map(|part| part.rows.iter().map(|row| part.columns.entry(*row as usize))).collect()
}
