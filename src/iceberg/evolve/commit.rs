//! Commits changes of a table's metadata as one new version.

use crate::error::{Error, Result};
use crate::format::evolution::Evolution;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::committing;
use crate::iceberg::evolve;
use crate::iceberg::evolve::Requirements;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::store::location::normalise;

/// The property that would put metadata where readers of the folder do not look for it.
const METADATA_PATH: &str = "write.metadata.path";

/// Evolutions alone in a commit.
struct Evolve {
    evolutions: Vec<Evolution>,
    requirements: Requirements,
}

impl TableChange for Evolve {
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.requirements.check(base)?;
        evolve::apply(base, &self.evolutions, now_ms)
    }

    fn only_evolves(&self) -> bool {
        true
    }

    /// Evolutions that change nothing are not committed.
    fn is_applied(&self, metadata: &TableMetadata) -> bool {
        let applied = evolve::apply(metadata, &self.evolutions, metadata.last_updated_ms);
        self.requirements.check(metadata).is_ok() && applied.is_ok_and(|next| evolve::is_same(&next, metadata))
    }
}

impl IcebergTable {
    /// Changes the table's schema, spec, order, properties, format version or references in one commit on the newest
    /// version. Returns the table at that version. Changes without an effect are not committed.
    ///
    /// # Errors
    /// `CommitConflict` if another commit changed the same part of the table since this version. `InvalidInput` and
    /// others for changes that the specification does not allow. `CommitStateUnknown` if it is not known whether the
    /// commit happened.
    pub fn evolve(&self, evolutions: &[Evolution]) -> Result<IcebergTable> {
        committing::commit(self, vec![self.evolution(evolutions)?]).into_result()
    }

    /// A change that makes these evolutions, planned on this version of the table.
    ///
    /// # Errors
    /// As [`IcebergTable::evolve`], but for conflicts.
    pub(crate) fn evolution(&self, evolutions: &[Evolution]) -> Result<Box<dyn TableChange>> {
        let root = self.writable_location()?;
        let base = &self.inner.metadata;
        let by_folder = self.inner.versions.is_by_folder();
        evolutions.iter().filter(|_| by_folder).try_for_each(|e| check_in_place(e, root, base))?;
        for evolution in evolutions {
            if let Evolution::SetProperties(given) = evolution {
                crate::iceberg::evolve::properties::check_values(given, &base.properties)?;
            }
        }
        let requirements = Requirements::of(base, evolutions);
        let evolutions = evolutions.iter().map(|e| e.pinned(base)).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(Evolve { evolutions, requirements }))
    }
}

/// A table that is found by its folder can't move, nor can its metadata.
fn check_in_place(evolution: &Evolution, root: &str, base: &TableMetadata) -> Result<()> {
    let refused = |what: &str| {
        Err(Error::unsupported(format!("{what} of a table that is known by its folder can't change"))
            .with("path", root))
    };
    match evolution {
        Evolution::SetLocation(location) if normalise(location.trim_end_matches('/')) != normalise(&base.location) => {
            refused("the location")
        }
        Evolution::SetProperties(properties) if properties.contains_key(METADATA_PATH) => {
            refused("the metadata folder")
        }
        _ => Ok(()),
    }
}
