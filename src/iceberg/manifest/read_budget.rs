//! The limit on the bytes of manifests that a plan may read.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::format::manifest_count::ManifestCount;

/// The limit of a plan and the amount that it has used so far. The stages of one plan share it.
#[derive(Debug, Default)]
pub struct ReadBudget {
    most: Option<u64>,
    /// Data manifests and delete manifests.
    taken: Mutex<[ManifestCount; 2]>,
}

impl ReadBudget {
    /// Creates a budget of this many bytes. `None` means no limit.
    pub fn new(most: Option<u64>) -> ReadBudget {
        ReadBudget { most, ..ReadBudget::default() }
    }

    /// Counts data manifests and delete manifests before they are read.
    ///
    /// # Errors
    /// `InvalidInput` if they and the earlier ones exceed the limit.
    pub fn take(&self, manifests: [ManifestCount; 2]) -> Result<()> {
        let Some(most) = self.most else { return Ok(()) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, more) in taken.iter_mut().zip(manifests) {
            sum.extend(more);
        }
        let [data, deletes] = *taken;
        let bytes = data.bytes.saturating_add(deletes.bytes);
        if bytes <= most {
            return Ok(());
        }
        let of_deletes = if deletes.manifests == 1 { "delete manifest" } else { "delete manifests" };
        let of_data = if data.manifests == 1 { "manifest" } else { "manifests" };
        Err(Error::invalid(format!(
            "planning would read {bytes} bytes of {} {of_data} and {} {of_deletes}, more than the limit of {most}",
            data.manifests, deletes.manifests
        ))
        .hint("Narrow the filter by the columns that the table is partitioned by, or raise max_plan_bytes"))
    }
}
