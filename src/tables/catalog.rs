//! Catalogs: names to tables.
//!
//! The embedded default is the file-system catalog, laid out as Java's `HadoopCatalog`: a namespace is a folder of the
//! warehouse, a table a folder in it. SQL catalogs share their database with Java's `JdbcCatalog` and PyIceberg's `SqlCatalog`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::NewTable;
use crate::format::commit::now_ms;
use crate::format::ident::parse_namespace;
use crate::iceberg::catalog::TableIdent;
use crate::iceberg::catalog::filesystem::FilesystemCatalog;
use crate::iceberg::catalog::interface::TableCatalog;
use crate::iceberg::catalog::memory::MemoryNames;
use crate::iceberg::catalog::metadata_pointer::MetadataPointer;
use crate::iceberg::catalog::register::TableRegister;
use crate::iceberg::catalog::registered::NamedCatalog;
use crate::iceberg::catalog::sql::{Layout, SqlNames};
use crate::iceberg::evolve::properties::check_values;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::iceberg::state::Table;
use crate::paimon::catalog_tables::PaimonCatalog;
use crate::rows::seam;
use crate::store::database::open_database;
use crate::store::local::TemporaryFolder;
use crate::store::{self, Store, StoreOptions};
use crate::types::Schema;
use crate::types::select::column_hint;

/// The format of tables in folders `<database>.db`.
const PAIMON: &str = "paimon";

/// The format version of new tables unless the property `format-version` says otherwise.
const DEFAULT_FORMAT_VERSION: u8 = 2;

/// A catalog.
#[derive(Clone)]
pub struct Catalog {
    name: String,
    properties: BTreeMap<String, String>,
    tables: Arc<dyn TableCatalog>,
    /// The tables of Paimon in the warehouse, of a file-system catalog.
    paimon: Option<PaimonCatalog>,
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
        let paimon = match properties.get("type").map(String::as_str) {
            None | Some("filesystem" | "hadoop") => Some(paimon_folders(name, &properties)?),
            _ => None,
        };
        Ok(Catalog { name: name.to_owned(), properties, tables, paimon })
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
    ) -> Result<Arc<dyn MetadataPointer>> {
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
        let namespace = parse_namespace(namespace)?;
        let databases = self.paimon_databases()?;
        let has_folder = databases.iter().any(|name| [name.as_str()] == namespace[..]);
        if let (true, Some(paimon)) = (has_folder, &self.paimon) {
            paimon.drop_database(&namespace)?;
        }
        match self.tables.drop_namespace(&namespace) {
            Err(e) if has_folder && e.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Namespaces directly below `parent`, dotted.
    ///
    /// # Errors
    /// `NotFound` if the parent does not exist.
    pub fn list_namespaces(&self, parent: Option<&str>) -> Result<Vec<String>> {
        let parent = parent.map_or(Ok(Vec::new()), parse_namespace)?;
        let mut out: Vec<String> =
            self.tables.list_namespaces(&parent)?.into_iter().map(|levels| levels.join(".")).collect();
        if parent.is_empty() {
            // The folder of a database of Paimon has another name than the database.
            let databases = self.paimon_databases()?;
            out.retain(|name| name.strip_suffix(".db").is_none_or(|stem| !databases.iter().any(|d| d == stem)));
            out.extend(databases);
            out.sort_unstable();
            out.dedup();
        }
        Ok(out)
    }

    /// Tables of a namespace, as `namespace.name`.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    pub fn list_tables(&self, namespace: &str) -> Result<Vec<String>> {
        let namespace = parse_namespace(namespace)?;
        let paimon = self.paimon.as_ref().map_or(Ok(Vec::new()), |paimon| paimon.tables(&namespace))?;
        let mut out: Vec<String> = match self.tables.list_tables(&namespace) {
            Err(e) if e.kind() == ErrorKind::NotFound && !paimon.is_empty() => Vec::new(),
            tables => tables?.iter().map(TableIdent::to_string).collect(),
        };
        out.extend(paimon.into_iter().map(|name| TableIdent { namespace: namespace.clone(), name }.to_string()));
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    /// Whether the table exists.
    ///
    /// # Errors
    /// `InvalidInput` for a wrong name; as [`Table::open`] if it exists but can't be read.
    pub fn table_exists(&self, identifier: &str) -> Result<bool> {
        match self.load(identifier) {
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

    /// Opens a table of either format.
    ///
    /// # Errors
    /// As [`Catalog::load_table`].
    pub fn load(&self, identifier: &str) -> Result<Arc<dyn seam::Table>> {
        match (self.load_table(identifier), &self.paimon) {
            (Err(e), Some(paimon)) if e.kind() == ErrorKind::NotFound => {
                match paimon.load(&TableIdent::parse(identifier)?) {
                    Ok(table) => Ok(Arc::new(table)),
                    Err(other) if other.kind() == ErrorKind::NotFound => Err(e),
                    Err(other) => Err(other),
                }
            }
            (table, _) => Ok(Arc::new(table?)),
        }
    }

    /// Creates an empty table of a format: `iceberg` or `paimon`.
    ///
    /// # Errors
    /// `InvalidInput` for another format; as [`Catalog::create_table`] and [`Catalog::create_paimon_table`].
    pub fn create(
        &self,
        identifier: &str,
        schema: &Schema,
        request: NewTable,
        format: &str,
    ) -> Result<Arc<dyn seam::Table>> {
        match format {
            PAIMON => self.create_paimon_table(identifier, schema, &request),
            _ => Ok(Arc::new(self.create_table(identifier, schema, request)?)),
        }
    }

    /// Creates an empty table of Paimon.
    ///
    /// # Errors
    /// `Unsupported` if it is no file-system catalog; `AlreadyExists` if there is a table of that name; as
    /// [`PaimonCatalog::create`].
    pub fn create_paimon_table(
        &self,
        identifier: &str,
        schema: &Schema,
        request: &NewTable,
    ) -> Result<Arc<dyn seam::Table>> {
        let ident = TableIdent::parse(identifier)?;
        let no =
            || Error::unsupported("only file-system catalogs have tables of Apache Paimon").with("catalog", &self.name);
        let paimon = self.paimon.as_ref().ok_or_else(no)?;
        self.check_no_iceberg_table(&ident)?;
        if !self.paimon_databases()?.iter().any(|name| [name.as_str()] == ident.namespace[..]) {
            self.tables.check_namespace(&ident.namespace)?;
        }
        Ok(Arc::new(paimon.create(&ident, schema, request)?))
    }

    /// Refuses a name that a table of Iceberg has.
    fn check_no_iceberg_table(&self, ident: &TableIdent) -> Result<()> {
        match self.tables.load(ident) {
            Ok(_) => Err(Error::already_exists(format!("there is a table {ident}, of Apache Iceberg"))),
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            Err(_) => Ok(()),
        }
    }

    /// Refuses a name that a table of Paimon has.
    fn check_no_paimon_table(&self, ident: &TableIdent) -> Result<()> {
        match self.paimon.as_ref().map(|paimon| paimon.load(ident)) {
            Some(Ok(_)) => Err(Error::already_exists(format!("there is a table {ident}, of Apache Paimon"))),
            Some(Err(e)) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn paimon_databases(&self) -> Result<Vec<String>> {
        self.paimon.as_ref().map_or(Ok(Vec::new()), PaimonCatalog::databases)
    }

    /// Creates an empty table. Columns get new field ids.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` if the namespace does not exist; `InvalidInput` for a wrong schema, transform, order,
    /// property or location.
    pub fn create_table(&self, identifier: &str, schema: &Schema, request: NewTable) -> Result<Table> {
        let ident = TableIdent::parse(identifier)?;
        self.tables.check_namespace(&ident.namespace)?;
        self.check_no_paimon_table(&ident)?;
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
        check_values(&request.properties, &BTreeMap::new())?;
        let metadata = new_table(schema, &spec, &order, &location, &request.properties, DEFAULT_FORMAT_VERSION, now)?;
        Table::of_catalog(self.tables.create(&ident, metadata)?)
    }

    /// Removes a table; with `purge` with all files that its metadata names. A file-system catalog always removes the files in
    /// the table's folder.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; the store's.
    pub fn drop_table(&self, identifier: &str, purge: bool) -> Result<()> {
        let ident = TableIdent::parse(identifier)?;
        match (self.tables.remove(&ident, purge), &self.paimon) {
            (Err(e), Some(paimon)) if e.kind() == ErrorKind::NotFound => match paimon.drop(&ident) {
                Err(other) if other.kind() == ErrorKind::NotFound => Err(e),
                done => done,
            },
            (done, _) => done,
        }
    }

    /// Makes a table known under a name by its metadata file.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` if the namespace or the file does not exist; `Unsupported` if a file-system catalog
    /// can't have the table, since it is not in the folder of its name.
    pub fn register_table(&self, identifier: &str, metadata_location: &str) -> Result<Table> {
        let ident = TableIdent::parse(identifier)?;
        self.tables.check_namespace(&ident.namespace)?;
        self.check_no_paimon_table(&ident)?;
        Table::of_catalog(self.tables.register(&ident, &store::location::absolute(metadata_location)?)?)
    }

    /// As [`Catalog::register_table`], behind the seam.
    ///
    /// # Errors
    /// As [`Catalog::register_table`].
    pub fn register(&self, identifier: &str, metadata_location: &str) -> Result<Arc<dyn seam::Table>> {
        Ok(Arc::new(self.register_table(identifier, metadata_location)?))
    }

    /// Gives a table another name, which a file-system catalog can't: the name is the folder, and metadata records paths.
    /// Its files stay where they are. The folder of a table of Paimon is renamed.
    ///
    /// # Errors
    /// `NotFound` if it, or the namespace that it goes to, does not exist; `AlreadyExists` if the name is taken;
    /// `Unsupported` by file-system catalogs.
    pub fn rename_table(&self, identifier: &str, to: &str) -> Result<()> {
        let (ident, to) = (TableIdent::parse(identifier)?, TableIdent::parse(to)?);
        match (&self.paimon, self.load(identifier)) {
            (Some(paimon), Ok(table)) if table.format() == PAIMON => {
                self.check_no_iceberg_table(&to)?;
                paimon.rename(&ident, &to)
            }
            (Some(_), Err(e)) if e.kind() == ErrorKind::NotFound => Err(e),
            _ => self.tables.rename(&ident, &to),
        }
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
fn folders(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
    let root = text(properties, "warehouse").ok_or_else(|| {
        Error::invalid("a file-system catalog needs a warehouse")
            .with("catalog", name)
            .hint("Give warehouse='/a/folder'")
    })?;
    let options = StoreOptions::of_catalog(properties).with("catalog", name)?;
    let store = store::open_store(root, options.as_map())?;
    Ok(Arc::new(FilesystemCatalog::new(store, &store::location::absolute(root)?)?))
}

/// The tables of Paimon in the same folders.
fn paimon_folders(name: &str, properties: &BTreeMap<String, String>) -> Result<PaimonCatalog> {
    let root = text(properties, "warehouse").unwrap_or_default();
    let options = StoreOptions::of_catalog(properties).with("catalog", name)?;
    let store = store::open_store(root, options.as_map())?;
    PaimonCatalog::new(store, &store::location::absolute(root)?, options.as_map().clone())
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
fn memory(name: &str, properties: &BTreeMap<String, String>) -> Result<Arc<dyn TableCatalog>> {
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
