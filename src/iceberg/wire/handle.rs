//! The handle of a table as JSON.

use serde_json::{Value as Json, json};

use crate::error::Result;
use crate::format::ident::TableIdent;
use crate::format::wire::handle::members;
use crate::iceberg::catalog::interface::OpenedTable;
use crate::iceberg::catalog::kinds::of_handle;
use crate::iceberg::state::IcebergTable;
use crate::store::credentials::current_options;

impl IcebergTable {
    /// The JSON from which [`IcebergTable::from_json`] opens the same version again, even in another process. For a
    /// table of a catalog, it has all options of the catalog, including secrets. For a catalog in memory it has none,
    /// so that the opened table is read-only.
    pub fn to_json(&self) -> String {
        let mut out = json!({
            "metadata-location": self.metadata_location(),
            "storage-options": current_options(&self.inner.storage_options, self.location()),
            "moved": self.inner.moved,
        });
        if let Some(kept) = self.inner.versions.catalog() {
            let ident = kept.ident.to_string();
            out["catalog"] = json!({"name": kept.name, "properties": kept.properties, "identifier": ident});
        }
        out.to_string()
    }

    /// Opens the version that [`IcebergTable::to_json`] describes, by its catalog if it has one.
    ///
    /// # Errors
    /// `InvalidInput` for any other JSON; as [`IcebergTable::open`].
    pub(crate) fn from_json(json: &Json) -> Result<IcebergTable> {
        let j = members(json);
        let (location, options) = (j.string("metadata-location")?, j.texts("storage-options")?);
        // A catalog may not say where its metadata files are.
        if let (Some(kept), true) = (j.get("catalog").map(members), location.is_empty()) {
            let catalog = of_handle(kept.string("name")?, &kept.texts("properties")?)?;
            return IcebergTable::of_catalog(catalog.load(&TableIdent::parse(kept.string("identifier")?)?)?);
        }
        let table = IcebergTable::open(location, options, j.any_flag("moved").unwrap_or(false))?;
        let Some(kept) = j.get("catalog").map(members) else { return Ok(table) };
        let properties = kept.texts("properties")?;
        let store = table.inner.store.clone();
        let catalog = of_handle(kept.string("name")?, &properties)?;
        let versions = catalog.versions(&TableIdent::parse(kept.string("identifier")?)?, &store)?;
        let (metadata, found) = (table.inner.metadata.clone(), table.inner.found.clone());
        IcebergTable::of_catalog(OpenedTable { store, metadata, found, versions })
    }
}
