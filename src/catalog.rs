//! Catalogs: names to tables.
//!
//! The embedded default is the file-system catalog, laid out as Java's `HadoopCatalog`: a namespace is a folder of the
//! warehouse, a table a folder in it.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::catalog::TableIdent;
use crate::iceberg::catalog::filesystem::FilesystemCatalog;
use crate::iceberg::catalog::ident::parse_namespace;
use crate::iceberg::metadata_build::new_table;
use crate::iceberg::partition_by::parse_partition_by;
use crate::iceberg::sort_order::parse_sort_by;
use crate::store;
use crate::table::Table;
use crate::types::Schema;

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
#[derive(Clone, Debug)]
pub struct Catalog {
    name: String,
    properties: BTreeMap<String, String>,
    tables: FilesystemCatalog,
}

impl Catalog {
    /// Opens a catalog: `properties` has `type` (default `filesystem`) and `warehouse`, the root folder, which is made
    /// when something is created in it.
    ///
    /// # Errors
    /// `InvalidInput` without a warehouse; `Unsupported` for other types of catalog or storage.
    pub fn open(name: &str, properties: BTreeMap<String, String>) -> Result<Catalog> {
        match properties.get("type").map(String::as_str) {
            None | Some("filesystem" | "hadoop") => {}
            Some(other) => {
                return Err(Error::unsupported(format!("catalogs of type '{other}' are not supported yet"))
                    .with("catalog", name)
                    .hint("Use type='filesystem' with warehouse='/a/folder'"));
            }
        }
        let root = properties.get("warehouse").filter(|w| !w.is_empty()).ok_or_else(|| {
            Error::invalid("a file-system catalog needs a warehouse")
                .with("catalog", name)
                .hint("Give warehouse='/a/folder'")
        })?;
        let tables = FilesystemCatalog::new(store::open_store(root)?, &store::location::absolute(root)?)?;
        Ok(Catalog { name: name.to_owned(), properties, tables })
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
        match self.tables.create_namespace(&parse_namespace(namespace)?) {
            Err(e) if if_not_exists && e.kind() == ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    /// Makes a namespace with properties, which only those of other types of catalogs can have.
    ///
    /// # Errors
    /// `Unsupported` if there are any; as [`Catalog::create_namespace`].
    pub fn create_namespace_with(
        &self,
        namespace: &str,
        if_not_exists: bool,
        properties: &BTreeMap<String, String>,
    ) -> Result<()> {
        match properties.is_empty() {
            true => self.create_namespace(namespace, if_not_exists),
            false => Err(no_namespace_properties(namespace)),
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
        let (metadata, found) = self.tables.load_table(&TableIdent::parse(identifier)?)?;
        Table::of(self.tables.store().clone(), metadata, found, BTreeMap::new(), false)
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
            Some(location) => location,
            None => self.tables.table_location(&ident)?,
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
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
        let metadata = new_table(schema, &spec, &order, &location, &request.properties, DEFAULT_FORMAT_VERSION, now)?;
        let found = self.tables.create_table(&ident, &metadata)?;
        Table::of(self.tables.store().clone(), metadata, found, BTreeMap::new(), false)
    }

    /// Removes a table with all files in its folder; with `purge` also those that its metadata names elsewhere.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; the store's.
    pub fn drop_table(&self, identifier: &str, purge: bool) -> Result<()> {
        let ident = TableIdent::parse(identifier)?;
        if purge { self.tables.purge_table(&ident) } else { self.tables.drop_table(&ident) }
    }

    /// Makes a table known under a name by its metadata file.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` if the namespace or the file does not exist; `Unsupported` if a file-system catalog
    /// can't have the table, since it is not in the folder of its name.
    pub fn register_table(&self, identifier: &str, metadata_location: &str) -> Result<Table> {
        let ident = TableIdent::parse(identifier)?;
        self.tables.check_namespace(&ident.namespace)?;
        let (metadata, found) = self.tables.register_table(&ident, &store::location::absolute(metadata_location)?)?;
        Table::of(self.tables.store().clone(), metadata, found, BTreeMap::new(), false)
    }

    /// Gives a table another name, which a file-system catalog can't: the name is the folder, and metadata records paths.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; else `Unsupported`.
    pub fn rename_table(&self, identifier: &str, to: &str) -> Result<()> {
        self.load_table(identifier)?;
        TableIdent::parse(to)?;
        Err(Error::unsupported("a file-system catalog can't rename tables: a table is in the folder of its name, and its files are recorded there")
            .with("table", identifier)
            .with("to", to)
            .hint("Create a table of the new name and append the rows of the old one"))
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

    /// The properties of a namespace: where it is.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    pub fn namespace_properties(&self, namespace: &str) -> Result<BTreeMap<String, String>> {
        let levels = parse_namespace(namespace)?;
        self.tables.check_namespace(&levels)?;
        Ok(BTreeMap::from([("location".to_owned(), self.tables.namespace_location(&levels)?)]))
    }

    /// Changes properties of a namespace, of which a file-system catalog's have none.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; else `Unsupported`.
    pub fn update_namespace_properties(&self, namespace: &str) -> Result<()> {
        self.tables.check_namespace(&parse_namespace(namespace)?)?;
        Err(no_namespace_properties(namespace))
    }
}

/// The refusal to store properties of a namespace.
fn no_namespace_properties(namespace: &str) -> Error {
    Error::unsupported("namespaces of a file-system catalog are folders, which have no properties")
        .with("namespace", namespace)
}

/// The schema with these columns as its identifier fields.
fn with_identifiers(schema: &Schema, names: &[String]) -> Result<Schema> {
    let id = |name: &String| {
        let found = schema.find(&name.split('.').collect::<Vec<_>>(), true);
        found.map(|f| f.id).ok_or_else(|| {
            Error::invalid(format!("the identifier field '{name}' is not among the columns")).with("column", name)
        })
    };
    let ids = names.iter().map(id).collect::<Result<Vec<_>>>()?;
    Ok(Schema::new(schema.id, schema.fields.clone(), ids))
}
