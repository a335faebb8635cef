//! Position delete files rewritten in parts. One process plans and commits; others write.
//!
//! Two parts never share a data file. A part names the data files that it may apply to, so its writer reads no
//! manifest.

use super::deletes::{commit_deletes, counted, rewrite_group};
use super::live_deletes::LiveFiles;
use crate::error::Result;
use crate::format::commit::CommitOptions;
use crate::format::maintenance::{DeleteOptions, RewrittenDeletes};
use crate::format::maintenance_parts::{DeletePart, PartWriter, PartedDeletes, PartsDone};
use crate::format::request::{At, ScanRequest};
use crate::format::task::{CommitMessage, DataFile};
use crate::iceberg::maintain::live_deletes::bytes;
use crate::iceberg::rows::new_files::NewFiles;
use crate::iceberg::state::IcebergTable;
use crate::store::Unsynced;

impl IcebergTable {
    /// Plans the work of [`IcebergTable::rewrite_position_deletes`]. Returns the newest version too.
    ///
    /// # Errors
    /// As [`IcebergTable::rewrite_position_deletes`].
    pub fn deletes_in_parts(&self, options: &DeleteOptions) -> Result<(IcebergTable, PartedDeletes)> {
        let (newest, planned) = self.plan_delete_rewrite(options)?;
        let Some(planned) = planned.filter(|p| !p.groups.is_empty()) else {
            return Ok((newest, PartedDeletes::default()));
        };
        let (live, sizes) = (planned.live, planned.sizes);
        let all: Vec<DataFile> = planned.groups.iter().flatten().cloned().collect();
        let groups = match newest.format_version() {
            // Files of a partition are put together.
            0..=2 => planned.groups,
            _ => planned.groups.into_iter().flat_map(|group| live.apart(group, sizes.target)).collect(),
        };
        let part = |deletes: Vec<DataFile>| DeletePart {
            concerned: live.concerned(&deletes),
            roll_at: sizes.roll_at(bytes(&deletes)),
            deletes,
        };
        let parts = groups.into_iter().map(part).collect();
        Ok((newest, PartedDeletes { since: Some(live.since), parts, counted: counted(&all, &[]) }))
    }

    /// Writes a part, without committing.
    ///
    /// # Errors
    /// As [`IcebergTable::rewrite_position_deletes`] and [`IcebergTable::compact_part`]. Written files are deleted
    /// then.
    pub fn deletes_part(&self, since: i64, part: DeletePart, writer: &PartWriter) -> Result<CommitMessage> {
        let scan = self.scan(ScanRequest { at: Some(At::Snapshot(since)), ..ScanRequest::default() })?;
        let live = LiveFiles::of(self, scan, since, part.concerned);
        let context = writer.context(self)?;
        let unsynced = Unsynced::new(context.locations.folder());
        let mut written = NewFiles::new(&self.inner.store);
        written.add(rewrite_group(self, &live, &part.deletes, part.roll_at, context, &unsynced)?);
        unsynced.sync()?;
        Ok(CommitMessage::new(self.uuid(), written.take(), None))
    }

    /// Replaces delete files by those that parts wrote. If the commit certainly failed, the written files are deleted.
    ///
    /// # Errors
    /// As [`IcebergTable::rewrite_position_deletes`] and [`IcebergTable::commit_compacted_parts`].
    pub fn commit_delete_parts(
        &self,
        done: PartsDone,
        options: &CommitOptions,
    ) -> Result<(IcebergTable, RewrittenDeletes)> {
        let PartsDone { since, removed, messages } = done;
        let mut written = NewFiles::new(&self.inner.store);
        self.check_own(&messages)?;
        messages.into_iter().for_each(|m| written.add(m.files));
        commit_deletes(self, since, removed, written, options)
    }
}
