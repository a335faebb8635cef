//! The types of catalogs, and the properties that each needs.
//!
//! The embedded default is the file-system catalog, laid out as Java's `HadoopCatalog`. A namespace is a folder of the
//! warehouse, and a table is a folder in it. SQL catalogs share their database with Java's `JdbcCatalog` and
//! PyIceberg's `SqlCatalog`. REST catalogs are services with Iceberg's open API.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::filesystem::FilesystemCatalog;
use super::interface::TableCatalog;
use super::memory::MemoryRegister;
use super::registered::NamedCatalog;
use super::rest::RestCatalog;
use super::sql::{SqlLayout, SqlRegister};
use crate::error::{Error, Result, ResultExt};
use crate::format::register::{TableRegister, library_register};
use crate::store::database::open_database;
use crate::store::http::auth::HeaderProvider;
use crate::store::local::TemporaryFolder;
use crate::store::{self, StoreOptions};
use crate::types::options::truth;
use crate::types::suggest::suggest;

/// PyIceberg's property with the class of a catalog. It is the type too if no other type is given.
const CUSTOM: &str = "py-catalog-impl";

/// The names of all types.
const TYPES: [&str; 11] =
    ["filesystem", "hadoop", "sql", "jdbc", "rest", "memory", "in-memory", "hive", "glue", "dynamodb", "bigquery"];

/// Whether properties are those of a file-system catalog.
pub fn has_folders(properties: &BTreeMap<String, String>) -> bool {
    matches!(properties.get("type").map(String::as_str), None | Some("filesystem" | "hadoop"))
}

/// The catalog of a table that another process has sent. REST catalogs with the same properties share a session.
///
/// # Errors
/// As [`of_type`].
pub(crate) fn of_handle(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
    match properties.get("type").map(String::as_str) {
        Some("rest") => Ok(Arc::new(RestCatalog::of_handles(name, properties)?)),
        _ => of_type(name, properties, None),
    }
}

/// A catalog of the type that `properties` name. It is not asked for anything yet. `headers` gives headers of a REST
/// catalog's requests.
///
/// # Errors
/// `InvalidInput` if a property is missing that the type needs, and for headers of a catalog that sends no requests.
/// `Unsupported` for other types of catalogs, databases or storage.
pub(crate) fn of_type(
    name: &str,
    properties: &BTreeMap<String, String>,
    headers: Option<HeaderProvider>,
) -> Result<Arc<dyn TableCatalog>> {
    let kind = properties.get("type").map(String::as_str);
    if headers.is_some() && kind != Some("rest") {
        return Err(Error::invalid("only a REST catalog sends headers").with("catalog", name));
    }
    match kind {
        _ if has_folders(properties) => folders(name, properties),
        Some("sql" | "jdbc") => sql(name, properties),
        Some("rest") => Ok(Arc::new(RestCatalog::new(name, properties, headers)?)),
        Some("memory" | "in-memory") => memory(name, properties),
        Some("hive" | "glue" | "dynamodb" | "bigquery") => library(name, properties),
        Some(CUSTOM) if properties.contains_key(CUSTOM) => library(name, properties),
        other => {
            let other = other.unwrap_or_default();
            let known: Vec<String> = TYPES.iter().map(|known| (*known).to_owned()).collect();
            let similar = suggest(&known, other).first().map(|known| format!("Did you mean '{known}'? "));
            Err(Error::unsupported(format!("catalogs of type '{other}' are not supported"))
                .with("catalog", name)
                .hint(format!(
                    "{}Supported types: filesystem, sql, rest, memory, and by PyIceberg hive, glue, dynamodb and bigquery",
                    similar.unwrap_or_default()
                )))
        }
    }
}

/// The tables of a catalog that PyIceberg opens.
fn library(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
    of_register(library_register(name, properties).with("catalog", name)?, name, properties)
}

/// The tables of a register.
///
/// # Errors
/// Errors of [`NamedCatalog::new`].
pub fn of_register(
    register: Arc<dyn TableRegister>,
    name: &str,
    properties: &BTreeMap<String, String>,
) -> Result<Arc<dyn TableCatalog>> {
    named(register, name, properties, text(properties, "warehouse"))
}

/// The tables of a file-system catalog.
fn folders(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
    let root = text(properties, "warehouse").ok_or_else(|| {
        Error::invalid("a file-system catalog needs a warehouse")
            .with("catalog", name)
            .hint("Give warehouse='/a/folder'")
    })?;
    let options = StoreOptions::of_catalog(properties).with("catalog", name)?;
    if store::local::is_file(root) {
        return Err(Error::invalid("the warehouse is a file, not a folder")
            .with("catalog", name)
            .with("warehouse", root));
    }
    let store = store::open_store(root, options.as_map())?;
    Ok(Arc::new(FilesystemCatalog::new(store, &store::location::absolute(root)?)?))
}

/// The tables of a SQL catalog.
fn sql(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
    let uri = text(properties, "uri").ok_or_else(|| {
        Error::invalid("a SQL catalog needs the uri of its database")
            .with("catalog", name)
            .hint("Give uri='sqlite:////path/to/catalog.db' or uri='postgresql://user@host/database'")
    })?;
    let database = open_database(uri, text(properties, "jdbc.user"), text(properties, "jdbc.password"));
    let Some(database) = database.with("catalog", name)? else {
        return memory(name, properties);
    };
    let create = text(properties, "init_catalog_tables").or(text(properties, "jdbc.init-catalog-tables"));
    let version = text(properties, "schema_version").or(text(properties, "jdbc.schema-version"));
    let layout = SqlLayout {
        create: create.map_or(Ok(true), |value| flag("init_catalog_tables", value))?,
        upgrade: match version.map(str::to_ascii_lowercase).as_deref() {
            None | Some("v0") => false,
            Some("v1") => true,
            Some(_) => return Err(Error::invalid("schema_version must be v0 or v1").with("catalog", name)),
        },
    };
    named(Arc::new(SqlRegister::new(database, name, layout)), name, properties, text(properties, "warehouse"))
}

/// The tables of a catalog in memory.
fn memory(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
    match text(properties, "warehouse") {
        Some(warehouse) => named(Arc::new(MemoryRegister::new(None)), name, properties, Some(warehouse)),
        None => {
            let folder = TemporaryFolder::new()?;
            let warehouse = folder.path().to_string_lossy().into_owned();
            named(Arc::new(MemoryRegister::new(Some(folder))), name, properties, Some(&warehouse))
        }
    }
}

fn named(
    names: Arc<dyn TableRegister>,
    name: &str,
    properties: &BTreeMap<String, String>,
    warehouse: Option<&str>,
) -> Result<Arc<dyn TableCatalog>> {
    Ok(Arc::new(NamedCatalog::new(names, name, properties.clone(), warehouse)?))
}

/// A property that is not empty.
fn text<'a>(properties: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    properties.get(key).map(String::as_str).filter(|v| !v.is_empty())
}

fn flag(key: &'static str, value: &str) -> Result<bool> {
    let wrong = || Error::invalid(format!("the property {key} must be true or false")).with("value", value);
    truth(value).ok_or_else(wrong)
}
