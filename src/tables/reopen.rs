//! Opens tables and parts of plans again from their JSON, even in another process.

use std::sync::Arc;

use crate::error::Result;
use crate::format::ident::TableIdent;
use crate::format::wire::handle::{members, parse};
use crate::iceberg::catalog::interface::OpenedTable;
use crate::iceberg::catalog::kinds::of_type;
use crate::iceberg::scan::plan_parts::IcebergPlanPart;
use crate::iceberg::state::IcebergTable;
use crate::paimon::state::PaimonTable;
use crate::rows::seam;
use crate::types::json_members::JsonMembers;

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
        _ => Arc::new(iceberg_from_json(members(&json))?),
    })
}

/// Makes the part of a plan that [`seam::PlanPart::to_json`] describes.
///
/// # Errors
/// `InvalidInput` for any other text.
pub fn plan_part_from_json(text: &str) -> Result<Box<dyn seam::PlanPart>> {
    Ok(Box::new(IcebergPlanPart::from_json(text)?))
}

/// Opens a table of Iceberg, by its catalog if it has one.
fn iceberg_from_json(j: JsonMembers<'_>) -> Result<IcebergTable> {
    let (location, options) = (j.string("metadata-location")?, j.texts("storage-options")?);
    let table = IcebergTable::open(location, options, j.any_flag("moved").unwrap_or(false))?;
    let Some(kept) = j.get("catalog").map(members) else { return Ok(table) };
    let properties = kept.texts("properties")?;
    let store = table.inner.store.clone();
    let catalog = of_type(kept.string("name")?, &properties)?;
    let versions = catalog.versions(&TableIdent::parse(kept.string("identifier")?)?, &store)?;
    let (metadata, found) = (table.inner.metadata.as_ref().clone(), table.inner.found.clone());
    IcebergTable::of_catalog(OpenedTable { store, metadata, found, versions })
}
