//! Branches and tags, and the current snapshot of a branch.
//!
//! The rules are those of the reference. Tags do not move by themselves. `main` is a branch and stays. A branch is
//! rolled back only to an ancestor, and fast-forwarded only to a descendant.
//!
//! Source: Iceberg specification, "Snapshot References", "Snapshot Retention Policy".

use crate::error::{Error, Result};
use crate::format::evolution::RefKind;
use crate::format::evolution::{RefChange, RefUpdate, Retention, Version};
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::snapshot::{Snapshot, SnapshotRef};
use crate::types::temporal::format_instant;

impl RefUpdate {
    /// Resolves the version in it to a snapshot id, as `metadata` knows it. So it means the same when it is applied to
    /// a later version of the table.
    ///
    /// # Errors
    /// `NotFound` for an unknown version.
    pub fn pinned(&self, metadata: &TableMetadata) -> Result<RefUpdate> {
        use RefChange as C;
        let pin = |version: &Version| match version {
            Version::Picked(ids) => Ok(Version::Picked(*ids)),
            version => snapshot_id(metadata, version).map(Version::Snapshot),
        };
        let change = match &self.change {
            C::Create(kind, version, retention) => C::Create(*kind, pin(version)?, *retention),
            C::Replace(version) => C::Replace(pin(version)?),
            C::SetSnapshot(version) => C::SetSnapshot(pin(version)?),
            C::RollBack(version @ Version::Ref(_)) => C::RollBack(pin(version)?),
            other => other.clone(),
        };
        Ok(RefUpdate { name: self.name.clone(), change })
    }

    /// The same for a commit that publishes these snapshots. A reference to the current version may then mean another
    /// snapshot: the published one.
    #[must_use]
    pub fn following(&self, metadata: &TableMetadata, picks: &[[i64; 2]]) -> RefUpdate {
        use RefChange as C;
        let follow = |version: &Version| {
            let id = match version {
                Version::Current | Version::Ref(_) => snapshot_id(metadata, version).ok(),
                _ => None,
            };
            let pick = id.and_then(|id| picks.iter().find(|pick| pick.contains(&id)));
            pick.map_or_else(|| version.clone(), |pick| Version::Picked(*pick))
        };
        let change = match &self.change {
            C::Create(kind, version, retention) => C::Create(*kind, follow(version), *retention),
            C::Replace(version) => C::Replace(follow(version)),
            C::SetSnapshot(version) => C::SetSnapshot(follow(version)),
            other => other.clone(),
        };
        RefUpdate { name: self.name.clone(), change }
    }
}

fn no_snapshot() -> Error {
    Error::invalid("the table has no snapshot yet").hint("Append rows first; appending to a branch makes the branch")
}

/// The id of a version's snapshot. A snapshot given by id is checked when the reference is set.
fn snapshot_id(metadata: &TableMetadata, version: &Version) -> Result<i64> {
    match version {
        Version::Snapshot(id) => Ok(*id),
        Version::Current => metadata.current_snapshot_id.ok_or_else(no_snapshot),
        Version::Ref(name) => Ok(metadata.snapshot_of_ref(name)?.ok_or_else(no_snapshot)?.id),
        Version::TimestampMs(ms) => Ok(metadata.snapshot_as_of(*ms)?.id),
        Version::Picked([first, second]) => {
            Ok(if metadata.snapshot_by_id(*second).is_some() { *second } else { *first })
        }
    }
}

fn snapshot(metadata: &TableMetadata, id: i64) -> Result<&Snapshot> {
    let found = metadata.snapshot_by_id(id).map(|s| s.as_ref());
    found.ok_or_else(|| Error::not_found("the table has no such snapshot").with("snapshot", id))
}

/// The metadata with a reference changed.
///
/// # Errors
/// `NotFound` for an unknown reference or snapshot, `AlreadyExists` for a name that is taken, `InvalidInput` for
/// changes that the rules do not allow.
pub(super) fn update_ref(base: &TableMetadata, update: &RefUpdate, now_ms: i64) -> Result<TableMetadata> {
    let name = update.name.as_str();
    changed(base, name, &update.change, now_ms).map_err(|e| e.with("ref", name))
}

fn changed(base: &TableMetadata, name: &str, change: &RefChange, now_ms: i64) -> Result<TableMetadata> {
    match change {
        RefChange::Create(kind, version, retention) => {
            check_free(base, name)?;
            if name == MAIN_BRANCH && *kind == RefKind::Tag {
                return Err(Error::invalid("main is a branch, so it can't be a tag"));
            }
            let mut reference = SnapshotRef::new(snapshot_id(base, version)?, *kind);
            retain(&mut reference, retention)?;
            set(base, name, reference, now_ms)
        }
        RefChange::Replace(version) => {
            let mut reference = existing(base, name)?.clone();
            reference.snapshot_id = snapshot_id(base, version)?;
            set(base, name, reference, now_ms)
        }
        RefChange::Drop => {
            if name == MAIN_BRANCH {
                return Err(Error::invalid("the branch main can't be dropped"));
            }
            existing(base, name)?;
            let mut next = base.clone();
            next.refs.remove(name);
            Ok(next)
        }
        RefChange::Rename(to) => {
            if name == MAIN_BRANCH {
                return Err(Error::invalid("the branch main can't be renamed"));
            }
            let reference = branch(base, name)?.clone();
            check_free(base, to)?;
            let mut next = set(base, to, reference, now_ms)?;
            next.refs.remove(name);
            Ok(next)
        }
        RefChange::FastForward(to) => fast_forward(base, name, to, now_ms),
        RefChange::Merge(_) => Err(Error::unsupported("branches of tables of Apache Iceberg can't be merged")
            .hint("Move a branch with fast_forward(), or pick its snapshots with cherry_pick()")),
        RefChange::Retain(retention) => {
            let mut reference = existing(base, name)?.clone();
            retain(&mut reference, retention)?;
            set(base, name, reference, now_ms)
        }
        RefChange::SetSnapshot(version) => move_branch(base, name, snapshot_id(base, version)?, now_ms),
        RefChange::RollBack(version) => move_branch(base, name, rollback_target(base, name, version)?, now_ms),
    }
}

fn existing<'a>(base: &'a TableMetadata, name: &str) -> Result<&'a SnapshotRef> {
    base.refs.get(name).ok_or_else(|| base.no_ref(name))
}

fn branch<'a>(base: &'a TableMetadata, name: &str) -> Result<&'a SnapshotRef> {
    match existing(base, name)? {
        r if r.kind == RefKind::Tag => Err(Error::invalid(format!("'{name}' is a tag, and tags do not move"))
            .hint("Name a branch, or replace the tag")),
        r => Ok(r),
    }
}

fn check_free(base: &TableMetadata, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid("a branch or tag needs a name"));
    }
    match base.refs.contains_key(name) {
        true => Err(Error::already_exists(format!("the table has a branch or tag '{name}' already"))
            .hint("Replace it, or drop it first")),
        false => Ok(()),
    }
}

fn retain(reference: &mut SnapshotRef, retention: &Retention) -> Result<()> {
    let Retention { min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms } = *retention;
    if reference.kind == RefKind::Tag && (min_snapshots_to_keep.is_some() || max_snapshot_age_ms.is_some()) {
        return Err(Error::invalid(
            "only a branch keeps snapshots: a tag has no min_snapshots_to_keep and max_snapshot_age_ms",
        ));
    }
    let numbers = [min_snapshots_to_keep.map(i64::from), max_snapshot_age_ms, max_ref_age_ms];
    if numbers.into_iter().flatten().any(|n| n <= 0) {
        return Err(Error::invalid("ages and counts of snapshots to keep must be above 0"));
    }
    reference.min_snapshots_to_keep = min_snapshots_to_keep.or(reference.min_snapshots_to_keep);
    reference.max_snapshot_age_ms = max_snapshot_age_ms.or(reference.max_snapshot_age_ms);
    reference.max_ref_age_ms = max_ref_age_ms.or(reference.max_ref_age_ms);
    Ok(())
}

/// Sets a reference. The current snapshot always follows `main`.
fn set(base: &TableMetadata, name: &str, reference: SnapshotRef, now_ms: i64) -> Result<TableMetadata> {
    let id = snapshot(base, reference.snapshot_id)?.id;
    let mut next = base.clone();
    if name == MAIN_BRANCH && base.current_snapshot_id != Some(id) {
        next.set_current(id, now_ms);
    }
    next.refs.insert(name.to_owned(), reference);
    Ok(next)
}

fn move_branch(base: &TableMetadata, name: &str, id: i64, now_ms: i64) -> Result<TableMetadata> {
    let reference = match branch(base, name) {
        Ok(r) => SnapshotRef { snapshot_id: id, ..r.clone() },
        // The first `main` of a table whose snapshots are all staged or on other branches.
        Err(_) if name == MAIN_BRANCH => SnapshotRef::new(id, RefKind::Branch),
        Err(e) => return Err(e),
    };
    set(base, name, reference, now_ms)
}

fn fast_forward(base: &TableMetadata, name: &str, to: &str, now_ms: i64) -> Result<TableMetadata> {
    let target = existing(base, to)?.snapshot_id;
    if !base.refs.contains_key(name) {
        return changed(
            base,
            name,
            &RefChange::Create(RefKind::Branch, Version::Snapshot(target), Retention::default()),
            now_ms,
        );
    }
    let reference = branch(base, name)?;
    if base.ancestors(target).iter().all(|s| s.id != reference.snapshot_id) {
        return Err(Error::invalid(format!(
            "'{name}' can't be fast-forwarded to '{to}', which does not descend from it"
        ))
        .with("snapshot", reference.snapshot_id)
        .with("to", target)
        .hint("Both have commits that the other lacks. Replace the branch to give up its own"));
    }
    move_branch(base, name, target, now_ms)
}

fn rollback_target(base: &TableMetadata, name: &str, version: &Version) -> Result<i64> {
    let ancestors = base.ancestors(branch(base, name)?.snapshot_id);
    if let Version::TimestampMs(ms) = version {
        // The reference does the same: before that time, not at it.
        let before = ancestors.iter().filter(|s| s.timestamp_ms < *ms);
        let latest = before.fold(None, |best: Option<i64>, s| {
            let best_ms = best.and_then(|id| base.snapshot_by_id(id)).map_or(i64::MIN, |s| s.timestamp_ms);
            if s.timestamp_ms > best_ms { Some(s.id) } else { best }
        });
        return latest
            .ok_or_else(|| Error::invalid(format!("'{name}' has no snapshot from before {}", format_instant(*ms))));
    }
    let id = snapshot(base, snapshot_id(base, version)?)?.id;
    if ancestors.iter().all(|s| s.id != id) {
        return Err(Error::invalid(format!("'{name}' can be rolled back to an ancestor of its snapshot only"))
            .with("snapshot", id)
            .hint("Set the current snapshot to go to any other"));
    }
    Ok(id)
}
