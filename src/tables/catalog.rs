//! Opens catalogs: chooses the formats that a catalog has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::warehouse::SharedWarehouse;
use crate::error::Result;
use crate::format::register::TableRegister;
use crate::format::table_format::TableFormat;
use crate::iceberg::catalog::kinds::has_folders;
use crate::iceberg::catalog_tables::IcebergCatalog;
use crate::iceberg::state::ICEBERG;
use crate::paimon::catalog_tables::PaimonCatalog;
use crate::paimon::state::PAIMON;
use crate::rows::seam::Catalog;
use crate::store::http::auth::HeaderProvider;

/// The formats that tables can be created in.
pub const FORMATS: [&TableFormat; 2] = [&ICEBERG, &PAIMON];

/// Opens a catalog: `properties` has `type` and the properties that the type needs, see [`IcebergCatalog::open`]. A
/// file-system catalog has tables of Paimon too.
///
/// # Errors
/// `InvalidInput` if a property that the type needs is missing. `Unsupported` for other types of catalogs, databases
/// or storage. Errors of the database.
pub fn open(name: &str, properties: BTreeMap<String, String>) -> Result<Arc<dyn Catalog>> {
    open_with(name, properties, None)
}

/// As [`open`]. `headers` gives headers of a REST catalog's requests.
///
/// # Errors
/// As [`open`]; `InvalidInput` for headers of a catalog that sends no requests.
pub(crate) fn open_with(
    name: &str,
    properties: BTreeMap<String, String>,
    headers: Option<HeaderProvider>,
) -> Result<Arc<dyn Catalog>> {
    let iceberg = IcebergCatalog::open_with(name, properties.clone(), headers)?;
    match has_folders(&properties) {
        true => Ok(Arc::new(SharedWarehouse { iceberg, paimon: PaimonCatalog::open(name, properties)? })),
        false => Ok(Arc::new(iceberg)),
    }
}

/// The catalog of a register that a library of another language keeps.
///
/// # Errors
/// As [`IcebergCatalog::of_register`].
pub fn of_register(
    name: &str,
    properties: BTreeMap<String, String>,
    register: Arc<dyn TableRegister>,
) -> Result<Arc<dyn Catalog>> {
    Ok(Arc::new(IcebergCatalog::of_register(name, properties, register)?))
}
