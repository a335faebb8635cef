//! Other users of the files of a branch's snapshots: tags, other branches, and changelogs that outlast their
//! snapshots.

use std::collections::HashSet;

use crate::error::Result;
use crate::paimon::catalog::filesystem::{MAIN_BRANCH, TableFolder};
use crate::paimon::spec::snapshot::PaimonSnapshot;

/// The part of a snapshot that expiry keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HeldPart {
    /// The state of the table, and the changelog of its commit.
    State,
    /// The changelog of its commit.
    Changelog,
    /// The files that its commit added. Without a changelog producer they show the changes.
    Delta,
}

/// A snapshot, tag or changelog that needs files.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) snapshot: PaimonSnapshot,
    pub(crate) held: HeldPart,
}

impl Root {
    pub(crate) fn state(snapshot: PaimonSnapshot) -> Root {
        Root { snapshot, held: HeldPart::State }
    }
}

/// Snapshots that expiry must keep: tags, and those of other branches. A branch may be half made or half removed.
pub(crate) fn roots(folder: &TableFolder) -> Result<Vec<Root>> {
    let mut out: Vec<Root> = folder.tags()?.into_iter().map(|tag| Root::state(tag.snapshot)).collect();
    let others = folder.branch_folders()?.into_iter().chain([MAIN_BRANCH.to_owned()]);
    for name in others.filter(|name| name != folder.branch_name()) {
        let branch = folder.on_branch(&name);
        out.extend(branch.tags()?.into_iter().map(|tag| Root::state(tag.snapshot)));
        let lasting = branch.lasting_from()?;
        let (going, last): (Vec<_>, Vec<_>) = branch.snapshots()?.into_iter().partition(|s| s.id < lasting);
        out.extend(last.into_iter().map(Root::state));
        out.extend(half_expired(going));
        out.extend(kept_changelogs(&branch)?);
    }
    // Tags and branches begin as copies.
    let mut seen = HashSet::new();
    out.retain(|root| {
        let PaimonSnapshot { base_manifest_list, delta_manifest_list, .. } = &root.snapshot;
        seen.insert((base_manifest_list.clone(), delta_manifest_list.clone(), root.held))
    });
    Ok(out)
}

/// The parts of half-expired snapshots that expiry keeps. Such snapshots may become changelogs.
pub(crate) fn half_expired(snapshots: Vec<PaimonSnapshot>) -> impl Iterator<Item = Root> {
    let held = [HeldPart::Changelog, HeldPart::Delta];
    snapshots.into_iter().flat_map(move |snapshot| held.map(|held| Root { snapshot: snapshot.clone(), held }))
}

/// The changelogs of a branch that outlast their snapshots. Without a changelog producer these are the files that
/// commits added. They may be missing if the table has a producer now.
pub(crate) fn kept_changelogs(folder: &TableFolder) -> Result<Vec<Root>> {
    let changelogs = folder.changelogs()?;
    if changelogs.is_empty() {
        return Ok(Vec::new());
    }
    // A half-removed branch may have no schema.
    let by_delta = !folder.is_complete()? || !folder.latest_schema()?.options().produces_changelog();
    let held = |snapshot: &PaimonSnapshot| {
        let has_log = snapshot.changelog_manifest_list.is_some();
        let log = has_log.then_some(HeldPart::Changelog);
        log.into_iter().chain((by_delta || !has_log).then_some(HeldPart::Delta))
    };
    let root = |snapshot: PaimonSnapshot| held(&snapshot).map(move |held| Root { held, snapshot: snapshot.clone() });
    Ok(changelogs.into_iter().flat_map(root).collect())
}
