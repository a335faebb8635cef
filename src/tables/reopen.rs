//! Opens tables and parts of plans again from their JSON, even in another process.

use std::sync::Arc;

use crate::error::Result;
use crate::format::wire::handle::{members, parse};
use crate::iceberg::scan::plan_parts::IcebergPlanPart;
use crate::iceberg::state::IcebergTable;
use crate::paimon::state::PaimonTable;
use crate::rows::seam;

/// Opens the version that [`seam::Table::to_json`] describes.
///
/// # Errors
/// `InvalidInput` for any other text; as [`crate::tables::open::open`].
pub fn table_from_json(text: &str) -> Result<Arc<dyn seam::Table>> {
    let json = parse(text)?;
    Ok(match members(&json).any_string("format") {
        #[cfg(test)]
        Some("toy") => Arc::new(super::toy::ToyTable::from_json(&json)?),
        Some("paimon") => Arc::new(PaimonTable::from_json(&json)?),
        _ => Arc::new(IcebergTable::from_json(&json)?),
    })
}

/// Makes the part of a plan that [`seam::PlanPart::to_json`] describes.
///
/// # Errors
/// `InvalidInput` for any other text.
pub fn plan_part_from_json(text: &str) -> Result<Box<dyn seam::PlanPart>> {
    Ok(Box::new(IcebergPlanPart::from_json(text)?))
}
