//! Splits in few bytes.

use std::sync::Arc;

use crate::error::Result;
use crate::format::task::{ReadContext, Split};
use crate::format::wire::packed::packed_tasks_at;
use crate::parallel::check_cancelled;

/// Splits, or the same packed.
#[derive(Clone, Debug)]
pub enum Splits {
    /// Each by itself.
    Each(Vec<Split>),
    /// All in few bytes.
    Packed(PackedSplits),
}

/// Splits in few bytes, any of which [`packed_tasks_at`] reads.
#[derive(Clone, Debug)]
pub struct PackedSplits {
    /// What they share.
    pub context: Arc<ReadContext>,
    /// How many they are.
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
