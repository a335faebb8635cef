//! The files that are deleted when commits end in odd ways.

use super::*;
use crate::error::ErrorKind;
use crate::format::maintenance::{
    BucketCompaction, CompactOptions, CompactRules, ExpireOptions, Expired, Expiry, Maintenance, ManifestOptions,
    OrphanOptions,
};
use crate::iceberg::committing::tests::{Fault, Setup};
use crate::parallel::Cancellation;

fn everything() -> ExpireOptions {
    ExpireOptions { expiry: Expiry { older_than_ms: Some(i64::MAX), ..Expiry::default() }, ..ExpireOptions::default() }
}

/// A table with three snapshots.
fn setup() -> Setup {
    let setup = Setup::new();
    (0..3).for_each(|_| drop(setup.append(Fault::None).unwrap()));
    setup
}

fn expire(setup: &Setup, fault: Fault) -> Result<(IcebergTable, Expired)> {
    *setup.store.fault.lock().unwrap() = fault;
    setup.table.expire_snapshots(&everything())
}

#[test]
fn nothing_is_deleted_while_the_outcome_is_unknown() {
    for (fault, kind) in
        [(Fault::Timeout, ErrorKind::CommitStateUnknown), (Fault::Refused, ErrorKind::PermissionDenied)]
    {
        let setup = setup();
        let before = (setup.files("metadata"), setup.files("data"));
        assert_eq!(expire(&setup, fault).unwrap_err().kind(), kind);
        assert_eq!((setup.files("metadata"), setup.files("data")), before);
        assert_eq!(setup.snapshots(), 3);
    }
}

#[test]
fn what_was_committed_is_cleaned_up_whatever_the_reply() {
    for (fault, versions) in [(Fault::None, 1), (Fault::LostReply, 1), (Fault::LostRace, 2)] {
        let setup = setup();
        let before = (setup.files("metadata"), setup.files("data"));
        let (table, expired) = expire(&setup, fault).unwrap();
        assert_eq!((table.snapshots().len(), expired.snapshots.len()), (1, 2));
        assert_eq!((expired.manifest_lists.len(), expired.manifests.len(), expired.data_files.len()), (2, 0, 0));
        assert!(expired.deletion.done && expired.deletion.failed.is_empty());
        assert_eq!((setup.files("metadata"), setup.files("data")), (before.0 + versions - 2, before.1), "{fault:?}");
        assert_eq!(table.refresh().unwrap().scan(Default::default()).unwrap().count().unwrap(), 3);
    }
}

#[test]
fn a_job_that_is_stopped_before_the_commit_changes_nothing() {
    let setup = setup();
    let before = (setup.files("metadata"), setup.files("data"));
    let stop = Cancellation::after(0);
    let orphans = OrphanOptions { older_than_ms: Some(i64::MAX), ..OrphanOptions::default() };
    let removed = stop.scope(|| setup.table.remove_orphan_files(&orphans));
    assert_eq!(removed.unwrap_err().message(), "stopped");
    let rules = CompactRules { rewrite_all: true, ..CompactRules::default() };
    let compaction = CompactOptions { rules, ..CompactOptions::default() };
    let compacted = stop.scope(|| setup.table.compact(&compaction));
    assert_eq!(compacted.unwrap_err().message(), "stopped");
    assert_eq!((setup.files("metadata"), setup.files("data")), before);
    let by_options = Maintenance::CompactBuckets(BucketCompaction::default());
    assert_eq!(setup.table.maintain(&by_options).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn manifests_are_rewritten_in_waves_and_again_after_a_lost_race() {
    for (fault, target_bytes) in [(Fault::None, i64::MAX), (Fault::LostRace, 12_000), (Fault::LostReply, 1)] {
        let setup = Setup::new();
        (0..11).for_each(|_| drop(setup.append(Fault::None).unwrap()));
        let before = setup.files("metadata");
        *setup.store.fault.lock().unwrap() = fault;
        let options = ManifestOptions { target_bytes: Some(target_bytes), ..ManifestOptions::default() };
        let (table, done) = setup.table.rewrite_manifests(&options).unwrap();
        let versions = 1 + usize::from(fault == Fault::LostRace);
        // A list and the manifests. The files of the attempt that lost are used or gone.
        assert_eq!(setup.files("metadata"), before + versions + 1 + done.added.len(), "{fault:?}");
        assert_eq!((done.rewritten.len(), done.added.is_empty()), (11, false));
        if target_bytes == i64::MAX {
            assert_eq!(done.added.len(), 1);
        }
        assert_eq!(table.scan(Default::default()).unwrap().count().unwrap(), 11);
        assert_eq!(table.scan(Default::default()).unwrap().count_files().unwrap(), 11);
    }
}
