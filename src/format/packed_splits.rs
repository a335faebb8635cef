//! Splits in a compact form.

use std::sync::Arc;

use crate::error::Result;
use crate::format::task::{ReadContext, Split};
use crate::format::wire::packed::packed_tasks_at;
use crate::parallel::check_cancelled;

/// Splits, single or packed.
#[derive(Clone, Debug)]
pub enum Splits {
    /// Single splits.
    Each(Vec<Split>),
    /// All splits packed.
    Packed(PackedSplits),
}

/// Packed splits. [`packed_tasks_at`] reads any one of them.
#[derive(Clone, Debug)]
pub struct PackedSplits {
    /// The data that all splits share.
    pub context: Arc<ReadContext>,
    /// Their number.
    pub count: usize,
    /// Their tasks.
    pub packed: Vec<u8>,
}

impl PackedSplits {
    /// All of them.
    ///
    /// # Errors
    /// A cancellation.
    pub fn splits(&self) -> Result<Vec<Split>> {
        let split = |index| {
            check_cancelled()?;
            packed_tasks_at(&self.packed, index, &self.context)
        };
        (0..self.count).map(split).collect()
    }
}
