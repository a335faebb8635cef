//! Opens tables and parts of plans again from their JSON, even in another process.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::format::wire::members::texts;
use crate::iceberg::catalog::interface::OpenedTable;
use crate::iceberg::catalog::kinds::of_type;
use crate::iceberg::scan::plan_parts::IcebergPlanPart;
use crate::iceberg::state::IcebergTable;
use crate::paimon::state::PaimonTable;
use crate::rows::seam;

/// Opens the version that [`seam::Table::to_json`] describes.
///
/// # Errors
/// `InvalidInput` for any other text; as [`crate::tables::open::open`].
pub fn table_from_json(text: &str) -> Result<Arc<dyn seam::Table>> {
    let j: Json =
        serde_json::from_str(text).map_err(|e| Error::invalid("the text is not JSON of a table").because(e))?;
    Ok(match j.get("format").and_then(Json::as_str) {
        #[cfg(test)]
        Some("toy") => Arc::new(super::toy::ToyTable::from_json(&j)?),
        Some("paimon") => Arc::new(PaimonTable::from_json(&j)?),
        _ => Arc::new(iceberg_from_json(text)?),
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
fn iceberg_from_json(text: &str) -> Result<IcebergTable> {
    let wrong = || Error::invalid("the text is not JSON of a table");
    let j: Json = serde_json::from_str(text).map_err(|e| wrong().because(e))?;
    let location = j.get("metadata-location").and_then(|v| v.as_str()).ok_or_else(wrong)?;
    let options = texts(j.get("storage-options")).ok_or_else(wrong)?;
    let table = IcebergTable::open(location, options, j.get("moved").and_then(|v| v.as_bool()).unwrap_or(false))?;
    let Some(kept) = j.get("catalog") else { return Ok(table) };
    let member = |key: &str| kept.get(key).and_then(|v| v.as_str()).ok_or_else(wrong);
    let properties = texts(kept.get("properties")).ok_or_else(wrong)?;
    let store = table.inner.store.clone();
    let catalog = of_type(member("name")?, &properties)?;
    let versions = catalog.versions(&TableIdent::parse(member("identifier")?)?, &store)?;
    let (metadata, found) = (table.inner.metadata.as_ref().clone(), table.inner.found.clone());
    IcebergTable::of_catalog(OpenedTable { store, metadata, found, versions })
}
