//! Catalogs: names to tables.
//!
//! The embedded default is the file-system catalog, laid out as Java's `HadoopCatalog`: a namespace is a folder of the
//! warehouse, a table a folder in it. SQL catalogs share their database with Java's `JdbcCatalog` and PyIceberg's `SqlCatalog`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::iceberg::catalog::TableIdent;
use crate::iceberg::catalog::filesystem::FilesystemCatalog;
use crate::iceberg::catalog::ident::parse_namespace;
use crate::iceberg::catalog::memory::MemoryNames;
use crate::iceberg::catalog::named::NamedCatalog;
use crate::iceberg::catalog::names::Names;
use crate::iceberg::catalog::sql::{Layout, SqlNames};
use crate::iceberg::catalog::tables::Tables;
use crate::iceberg::catalog::versions::Versions;
use crate::iceberg::metadata_build::new_table;
use crate::iceberg::partition_by::parse_partition_by;
use crate::iceberg::sort_order::parse_sort_by;
use crate::store::database::open_database;
use crate::store::local::TemporaryFolder;
use crate::store::{self, Store, StoreOptions};
use crate::table::Table;
use crate::transaction::now_ms;
use crate::types::Schema;
use crate::types::select::column_hint;

/// The format version of new tables unless the property `format-version` says otherwise.
const DEFAULT_FORMAT_VERSION: u8 = 2;

/// What a new table is to be; see [`Catalog::create_table`].
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Texts such as `day(ts)` or `bucket(16, user_id)`.
    pub partition_by: Vec<String>,
    /// Texts such as `ts desc nulls last`.
    pub sort_by: Vec<String>,
    /// Table properties; `format-version` chooses 1, 2 or 3 (default 2).
    pub properties: BTreeMap<String, String>,
    /// Columns that together identify a row, by dotted path; `None` for those that the schema says.
    pub identifier_fields: Option<Vec<String>>,
    /// Where it goes; a file-system catalog decides itself and refuses another place.
    pub location: Option<String>,
}

/// A catalog.
#[derive(Clone)]
pub struct Catalog {
    name: String,
    properties: BTreeMap<String, String>,
    tables: Arc<dyn Tables>,
}

impl std::fmt::Debug for Catalog {
    /// Without the properties, which hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Catalog({:?})", self.name)
    }
}

impl Catalog {
    /// Opens a catalog: `properties` has `type` and what the type needs.
    ///
    /// - `filesystem` (the default): `warehouse`, the root folder, which is made when something is created in it.
    /// - `sql`: `uri` of a SQLite or PostgreSQL database, `warehouse` for new tables; `init_catalog_tables` (default true) makes
    ///   the database's tables, `schema_version` = `v1` adds the column for views to old ones.
    /// - `memory`: tables of this process alone; their files are in `warehouse`, or in a temporary folder.
    ///
    /// # Errors
    /// `InvalidInput` without what the type needs; `Unsupported` for other types of catalogs, databases or storage; those of
    /// the database.
    pub fn open(name: &str, properties: BTreeMap<String, String>) -> Result<Catalog> {
        let catalog = Catalog::unasked(name, properties)?;
        catalog.tables.prepare()?;
        Ok(catalog)
    }

    /// As [`Catalog::open`], but nothing is asked yet.
    fn unasked(name: &str, properties: BTreeMap<String, String>) -> Result<Catalog> {
        let tables = match properties.get("type").map(String::as_str) {
            None | Some("filesystem" | "hadoop") => folders(name, &properties),
            Some("sql" | "jdbc") => sql(name, &properties),
            Some("memory" | "in-memory") => memory(name, &properties),
            Some(other) => Err(Error::unsupported(format!("catalogs of type '{other}' are not supported yet"))
                .with("catalog", name)
                .hint("Supported types: filesystem, sql, memory")),
        }?;
        Ok(Catalog { name: name.to_owned(), properties, tables })
    }

    /// What keeps the versions of a table in `store`, for a handle that came from another process.
    ///
    /// # Errors
    /// As [`Catalog::open`], but for those of the database.
    pub(crate) fn versions(
        name: &str,
        properties: BTreeMap<String, String>,
        identifier: &str,
        store: &Arc<dyn Store>,
    ) -> Result<Arc<dyn Versions>> {
        Catalog::unasked(name, properties)?.tables.versions(&TableIdent::parse(identifier)?, store)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its properties.
    pub fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }

    /// Makes a namespace (`a.b` nests).
    ///
    /// # Errors
    /// `AlreadyExists` unless `if_not_exists`; `InvalidInput` for a name that can't be a folder.
    pub fn create_namespace(&self, namespace: &str, if_not_exists: bool) -> Result<()> {
        self.create_namespace_with(namespace, if_not_exists, &BTreeMap::new())
    }

    /// Makes a namespace with properties, which file-system catalogs refuse.
    ///
    /// # Errors
    /// As [`Catalog::create_namespace`]; `Unsupported` for properties that it can't have.
    pub fn create_namespace_with(
        &self,
        namespace: &str,
        if_not_exists: bool,
        properties: &BTreeMap<String, String>,
    ) -> Result<()> {
        match self.tables.create_namespace(&parse_namespace(namespace)?, properties) {
            Err(e) if if_not_exists && e.kind() == ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    /// Removes an empty namespace.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` if something is in it.
    pub fn drop_namespace(&self, namespace: &str) -> Result<()> {
        self.tables.drop_namespace(&parse_namespace(namespace)?)
    }

    /// Namespaces directly below `parent`, dotted.
    ///
    /// # Errors
    /// `NotFound` if the parent does not exist.
    pub fn list_namespaces(&self, parent: Option<&str>) -> Result<Vec<String>> {
        let parent = parent.map_or(Ok(Vec::new()), parse_namespace)?;
        Ok(self.tables.list_namespaces(&parent)?.into_iter().map(|levels| levels.join(".")).collect())
    }

    /// Tables of a namespace, as `namespace.name`.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    pub fn list_tables(&self, namespace: &str) -> Result<Vec<String>> {
        Ok(self.tables.list_tables(&parse_namespace(namespace)?)?.iter().map(TableIdent::to_string).collect())
    }

    /// Whether the table exists.
    ///
    /// # Errors
    /// `InvalidInput` for a wrong name; as [`Table::open`] if it exists but can't be read.
    pub fn table_exists(&self, identifier: &str) -> Result<bool> {
        match self.load_table(identifier) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Opens a table.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; as [`Table::open`].
    pub fn load_table(&self, identifier: &str) -> Result<Table> {
        Table::of_catalog(self.tables.load(&TableIdent::parse(identifier)?)?)
    }

    /// Creates an empty table. Columns get new field ids.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` if the namespace does not exist; `InvalidInput` for a wrong schema, transform, order,
    /// property or location.
    pub fn create_table(&self, identifier: &str, schema: &Schema, request: NewTable) -> Result<Table> {
        let ident = TableIdent::parse(identifier)?;
        self.tables.check_namespace(&ident.namespace)?;
        let location = match request.location {
            Some(location) => store::location::absolute(location.trim_end_matches('/'))?,
            None => self.tables.new_location(&ident)?,
        };
        let identified;
        let schema = match &request.identifier_fields {
            None => schema,
            Some(names) => {
                identified = with_identifiers(schema, names)?;
                &identified
            }
        };
        let spec = parse_partition_by(&request.partition_by, schema)?;
        let order = parse_sort_by(&request.sort_by, schema)?;
        let now = now_ms();
        let metadata = new_table(schema, &spec, &order, &location, &request.properties, DEFAULT_FORMAT_VERSION, now)?;
        Table::of_catalog(self.tables.create(&ident, metadata)?)
    }

    /// Removes a table; with `purge` with all files that its metadata names. A file-system catalog always removes the files in
    /// the table's folder.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; the store's.
    pub fn drop_table(&self, identifier: &str, purge: bool) -> Result<()> {
        self.tables.remove(&TableIdent::parse(identifier)?, purge)
    }

    /// Makes a table known under a name by its metadata file.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` if the namespace or the file does not exist; `Unsupported` if a file-system catalog
    /// can't have the table, since it is not in the folder of its name.
    pub fn register_table(&self, identifier: &str, metadata_location: &str) -> Result<Table> {
        let ident = TableIdent::parse(identifier)?;
        self.tables.check_namespace(&ident.namespace)?;
        Table::of_catalog(self.tables.register(&ident, &store::location::absolute(metadata_location)?)?)
    }

    /// Gives a table another name, which a file-system catalog can't: the name is the folder, and metadata records paths.
    /// Its files stay where they are.
    ///
    /// # Errors
    /// `NotFound` if it, or the namespace that it goes to, does not exist; `AlreadyExists` if the name is taken;
    /// `Unsupported` by file-system catalogs.
    pub fn rename_table(&self, identifier: &str, to: &str) -> Result<()> {
        self.tables.rename(&TableIdent::parse(identifier)?, &TableIdent::parse(to)?)
    }

    /// Whether the namespace exists.
    ///
    /// # Errors
    /// `InvalidInput` for a wrong name; the store's.
    pub fn namespace_exists(&self, namespace: &str) -> Result<bool> {
        match self.tables.check_namespace(&parse_namespace(namespace)?) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// The properties of a namespace, `location` among them if it is known.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    pub fn namespace_properties(&self, namespace: &str) -> Result<BTreeMap<String, String>> {
        self.tables.namespace_properties(&parse_namespace(namespace)?)
    }

    /// Removes properties of a namespace and sets others.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` for a property both to remove and to set; `Unsupported` by file-system
    /// catalogs.
    pub fn update_namespace_properties(
        &self,
        namespace: &str,
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()> {
        self.tables.update_namespace_properties(&parse_namespace(namespace)?, removed, set)
    }
}

/// The tables of a file-system catalog.
fn folders(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn Tables>> {
    let root = text(properties, "warehouse").ok_or_else(|| {
        Error::invalid("a file-system catalog needs a warehouse")
            .with("catalog", name)
            .hint("Give warehouse='/a/folder'")
    })?;
    let options = StoreOptions::of_catalog(properties).with("catalog", name)?;
    let store = store::open_store(root, options.as_map())?;
    Ok(Arc::new(FilesystemCatalog::new(store, &store::location::absolute(root)?)?))
}

/// The tables of a SQL catalog.
fn sql(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn Tables>> {
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
    let layout = Layout {
        create: create.map_or(Ok(true), |value| flag("init_catalog_tables", value))?,
        upgrade: match version.map(str::to_ascii_lowercase).as_deref() {
            None | Some("v0") => false,
            Some("v1") => true,
            Some(_) => return Err(Error::invalid("schema_version must be v0 or v1").with("catalog", name)),
        },
    };
    named(Arc::new(SqlNames::new(database, name, layout)), name, properties, text(properties, "warehouse"))
}

/// The tables of a catalog in memory.
fn memory(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn Tables>> {
    match text(properties, "warehouse") {
        Some(warehouse) => named(Arc::new(MemoryNames::new(None)), name, properties, Some(warehouse)),
        None => {
            let folder = TemporaryFolder::new()?;
            let warehouse = folder.path().to_string_lossy().into_owned();
            named(Arc::new(MemoryNames::new(Some(folder))), name, properties, Some(&warehouse))
        }
    }
}

fn named(
    names: Arc<dyn Names>,
    name: &str,
    properties: &BTreeMap<String, String>,
    warehouse: Option<&str>,
) -> Result<Arc<dyn Tables>> {
    Ok(Arc::new(NamedCatalog::new(names, name, properties.clone(), warehouse)?))
}

/// A property that is not empty.
fn text<'a>(properties: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    properties.get(key).map(String::as_str).filter(|v| !v.is_empty())
}

fn flag(key: &'static str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Ok(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Ok(false),
        _ => Err(Error::invalid(format!("the property {key} must be true or false")).with("value", value)),
    }
}

/// The schema with these columns as its identifier fields.
fn with_identifiers(schema: &Schema, names: &[String]) -> Result<Schema> {
    let id = |name: &String| {
        let found = schema.find(&name.split('.').collect::<Vec<_>>(), true);
        found.map(|f| f.id).ok_or_else(|| {
            Error::invalid(format!("the identifier field '{name}' is not among the columns"))
                .with("column", name)
                .hint(column_hint(schema, name))
        })
    };
    let ids = names.iter().map(id).collect::<Result<Vec<_>>>()?;
    Ok(Schema::new(schema.id, schema.fields.clone(), ids))
}
