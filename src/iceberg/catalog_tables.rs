//! A catalog of Apache Iceberg behind the seam: [`seam::Catalog`] and its capabilities.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::NewTable;
use crate::format::deletion::OutsideLocations;
use crate::format::ident::TableIdent;
use crate::format::register::TableRegister;
use crate::format::table_format::TableFormat;
use crate::format::view::{NewView, ViewInfo};
use crate::iceberg::catalog::creation::CreatingPointer;
use crate::iceberg::catalog::interface::{TableCatalog, ViewCatalog};
use crate::iceberg::catalog::kinds::{of_register, of_type};
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::evolve::Replacement;
use crate::iceberg::evolve::properties::check_values;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::iceberg::state::{ICEBERG, IcebergTable};
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::iceberg::transaction::several_tables::JointIcebergTransaction;
use crate::rows::seam;
use crate::store;
use crate::store::http::auth::HeaderProvider;
use crate::types::Schema;
use crate::types::select::column_hint;
use crate::types::temporal::now_ms;

/// The format version of new tables unless the property `format-version` says otherwise.
const DEFAULT_FORMAT_VERSION: u8 = 2;

/// The location in the metadata of a new table whose real location the catalog decides.
const DECIDED_LATER: &str = "decided-by-the-catalog";

/// A catalog of Iceberg tables, of any type.
#[derive(Clone)]
pub struct IcebergCatalog {
    name: String,
    properties: BTreeMap<String, String>,
    tables: Arc<dyn TableCatalog>,
}

impl fmt::Debug for IcebergCatalog {
    /// Leaves out the properties, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Catalog({:?})", self.name)
    }
}

impl IcebergCatalog {
    /// Opens a catalog: `properties` has `type` and the properties that the type needs.
    ///
    /// - `filesystem` (the default): `warehouse`, the root folder. The folder is made when something is created in it.
    /// - `sql`: `uri` of a SQLite or PostgreSQL database, `warehouse` for new tables. `init_catalog_tables` (default
    ///   true) makes the database's tables. `schema_version` = `v1` adds the column for views to old ones.
    /// - `rest`: `uri` of a service with Iceberg's REST API, and the properties that it needs: `warehouse`, `token` or
    ///   `credential`.
    /// - `memory`: tables of this process alone; their files are in `warehouse`, or in a temporary folder.
    ///
    /// # Errors
    /// As [`of_type`]; errors of the database or server.
    pub fn open(name: &str, properties: BTreeMap<String, String>) -> Result<IcebergCatalog> {
        IcebergCatalog::open_with(name, properties, None)
    }

    /// As [`IcebergCatalog::open`]. `headers` gives headers of a REST catalog's requests.
    ///
    /// # Errors
    /// As [`of_type`].
    pub(crate) fn open_with(
        name: &str,
        properties: BTreeMap<String, String>,
        headers: Option<HeaderProvider>,
    ) -> Result<IcebergCatalog> {
        let tables = of_type(name, &properties, headers)?;
        tables.prepare()?;
        Ok(IcebergCatalog { name: name.to_owned(), properties, tables })
    }

    /// The catalog of a register. The properties say how tables are stored, and where new ones are.
    ///
    /// # Errors
    /// Errors of the register; `InvalidInput` for unknown options of stores.
    pub fn of_register(
        name: &str,
        properties: BTreeMap<String, String>,
        register: Arc<dyn TableRegister>,
    ) -> Result<IcebergCatalog> {
        let tables = of_register(register, name, &properties)?;
        tables.prepare()?;
        Ok(IcebergCatalog { name: name.to_owned(), properties, tables })
    }
}

impl seam::Catalog for IcebergCatalog {
    fn name(&self) -> &str {
        &self.name
    }

    fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }

    fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        self.tables.check_namespace(namespace)
    }

    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.tables.list_namespaces(parent)
    }

    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        self.tables.create_namespace(namespace, properties)
    }

    fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.tables.drop_namespace(namespace)
    }

    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        self.tables.list_tables(namespace)
    }

    fn load_table(&self, ident: &TableIdent) -> Result<Arc<dyn seam::Table>> {
        Ok(Arc::new(IcebergTable::of_catalog(self.tables.load(ident)?)?))
    }

    fn table_exists(&self, ident: &TableIdent) -> Result<bool> {
        self.tables.exists(ident)
    }

    /// Columns get new field ids.
    fn create_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Arc<dyn seam::Table>> {
        let (commit, chosen) = self.first_commit(ident, schema, request, format)?;
        let opened = self.tables.create(ident, commit, chosen.as_deref())?;
        Ok(Arc::new(IcebergTable::of_catalog(opened)?))
    }

    /// A file-system catalog always removes the files in the table's folder.
    fn drop_table(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()> {
        self.tables.remove(ident, purge)
    }

    fn namespace_properties(&self) -> Option<&dyn seam::NamespaceProperties> {
        Some(self)
    }

    fn registration(&self) -> Option<&dyn seam::Registration> {
        Some(self)
    }

    fn renames(&self) -> Option<&dyn seam::Renames> {
        Some(self)
    }

    fn creations(&self) -> Option<&dyn seam::Creations> {
        Some(self)
    }

    fn views(&self) -> Option<&dyn seam::Views> {
        self.tables.views().map(|_| self as &dyn seam::Views)
    }

    fn joint_transactions(&self) -> Option<&dyn seam::JointTransactions> {
        self.tables.joint_commits().map(|_| self as &dyn seam::JointTransactions)
    }
}

impl seam::JointTransactions for IcebergCatalog {
    fn begin(&self) -> Result<Box<dyn seam::JointTransaction>> {
        Ok(Box::new(JointIcebergTransaction::begin(&self.tables)?))
    }
}

impl IcebergCatalog {
    /// The commit that creates a table, and the location that the caller or the catalog chose.
    fn first_commit(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<(MetadataCommit, Option<String>)> {
        if format.id != ICEBERG.id {
            return Err(seam::other_format(self, format));
        }
        self.tables.check_parent(&ident.namespace)?;
        let chosen = match &request.location {
            Some(location) => Some(store::location::absolute(location.trim_end_matches('/'))?),
            None => self.tables.new_location(ident)?,
        };
        let location = chosen.as_deref().unwrap_or(DECIDED_LATER);
        let Replacement { schema, spec, sort_order, properties } = self.definition(schema, request)?;
        let now = now_ms();
        let metadata = new_table(&schema, &spec, &sort_order, location, &properties, DEFAULT_FORMAT_VERSION, now)?;
        Ok((MetadataCommit::creating(&metadata)?, chosen))
    }

    /// The transaction that replaces a table.
    fn replacing(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<IcebergTransaction> {
        if format.id != ICEBERG.id {
            return Err(seam::other_format(self, format));
        }
        let table = IcebergTable::of_catalog(self.tables.load(ident)?)?.whole()?;
        if let Some(location) = &request.location {
            let location = store::location::absolute(location.trim_end_matches('/'))?;
            if location != table.location().trim_end_matches('/') {
                return Err(Error::unsupported("a table that is replaced stays at its location")
                    .with("table", ident)
                    .with("location", table.location())
                    .hint("Leave out location=, or drop the table and create it there"));
            }
        }
        IcebergTransaction::replacing(&table, self.definition(schema, request)?).with("table", ident)
    }

    /// What a request says about a table, with its columns as its spec and order name them.
    fn definition(&self, schema: &Schema, request: NewTable) -> Result<Replacement> {
        let schema = match &request.identifier_fields {
            None => schema.clone(),
            Some(names) => with_identifiers(schema, names)?,
        };
        let spec = parse_partition_by(&request.partition_by, &schema)?;
        if let Some(name) = request.declared_types.keys().next() {
            return Err(ICEBERG
                .lacks("declared types of columns")
                .with("column", name)
                .hint("Leave out declared_types="));
        }
        let sort_order = parse_sort_by(&request.sort_by, &schema)?;
        let properties = self.properties_of_new("table", request.properties)?;
        check_values(&properties, &BTreeMap::new())?;
        Ok(Replacement { schema, spec, sort_order, properties })
    }

    /// The properties of a new table or view: the catalog's defaults, the given ones, and those that the catalog sets
    /// in any case. The names are those of Java.
    fn properties_of_new(&self, kind: &str, given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
        let all = self.tables.server_properties()?.unwrap_or(&self.properties);
        let below = |prefix: String| {
            let found = all.iter().filter_map(move |(name, value)| Some((name.strip_prefix(&prefix)?, value)));
            found.filter(|(name, _)| !name.is_empty()).map(|(name, value)| (name.to_owned(), value.clone()))
        };
        let mut properties: BTreeMap<String, String> = below(format!("{kind}-default.")).collect();
        properties.extend(given);
        properties.extend(below(format!("{kind}-override.")));
        Ok(properties)
    }

    fn of_views(&self) -> Result<&dyn ViewCatalog> {
        self.tables.views().ok_or_else(|| Error::unsupported("this catalog has no views").with("catalog", &self.name))
    }
}

impl seam::Views for IcebergCatalog {
    fn list_views(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        self.of_views()?.list(namespace)
    }

    fn load_view(&self, ident: &TableIdent) -> Result<ViewInfo> {
        self.of_views()?.load_view(ident)
    }

    fn view_exists(&self, ident: &TableIdent) -> Result<bool> {
        self.of_views()?.has_view(ident)
    }

    fn create_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo> {
        let views = self.of_views()?;
        let properties = self.properties_of_new("view", new.properties.clone())?;
        views.create_view(ident, &NewView { properties, ..new.clone() })
    }

    fn replace_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo> {
        self.of_views()?.replace_view(ident, new)
    }

    fn register_view(&self, ident: &TableIdent, metadata_location: &str) -> Result<ViewInfo> {
        self.of_views()?.register_view(ident, &store::location::absolute(metadata_location)?)
    }

    fn rename_view(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.of_views()?.rename_view(from, to)
    }

    fn drop_view(&self, ident: &TableIdent) -> Result<()> {
        self.of_views()?.drop_view(ident)
    }
}

impl seam::NamespaceProperties for IcebergCatalog {
    fn get(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        self.tables.namespace_properties(namespace)
    }

    fn update(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()> {
        self.tables.update_namespace_properties(namespace, removed, set)
    }
}

impl seam::Registration for IcebergCatalog {
    fn register_table(
        &self,
        ident: &TableIdent,
        metadata_location: &str,
        overwrite: bool,
    ) -> Result<Arc<dyn seam::Table>> {
        self.tables.check_parent(&ident.namespace)?;
        let opened = self.tables.register(ident, &store::location::absolute(metadata_location)?, overwrite)?;
        Ok(Arc::new(IcebergTable::of_catalog(opened)?))
    }

    fn unregister_table(&self, ident: &TableIdent) -> Result<String> {
        self.tables.unregister(ident)
    }
}

impl seam::Creations for IcebergCatalog {
    fn begin_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Box<dyn seam::Transaction>> {
        let (commit, chosen) = self.first_commit(ident, schema, request, format)?;
        let staged = self.tables.stage(ident, commit, chosen.as_deref())?;
        let (pointer, staged) = CreatingPointer::of(ident, staged);
        Ok(Box::new(IcebergTransaction::creating(&IcebergTable::of_catalog(staged)?, pointer)?))
    }

    fn replace_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
        or_create: bool,
    ) -> Result<Arc<dyn seam::Table>> {
        let replaced = || -> Result<Arc<dyn seam::Table>> {
            Ok(Arc::new(self.replacing(ident, schema, request.clone(), format)?.commit()?))
        };
        match replaced() {
            Err(e) if or_create && e.kind() == ErrorKind::NotFound => {
                match seam::Catalog::create_table(self, ident, schema, request.clone(), format) {
                    // Another client created it meanwhile.
                    Err(e) if e.kind() == ErrorKind::AlreadyExists && self.tables.exists(ident)? => replaced(),
                    created => created,
                }
            }
            done => done,
        }
    }

    fn begin_replacement(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
        or_create: bool,
    ) -> Result<Box<dyn seam::Transaction>> {
        match self.replacing(ident, schema, request.clone(), format) {
            Ok(transaction) => Ok(Box::new(transaction)),
            Err(e) if or_create && e.kind() == ErrorKind::NotFound => self.begin_table(ident, schema, request, format),
            Err(e) => Err(e),
        }
    }
}

impl seam::Renames for IcebergCatalog {
    /// A file-system catalog can't rename: the name is the folder, and metadata records paths. Files stay where they
    /// are.
    fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.tables.rename(from, to)
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

#[cfg(test)]
#[path = "rest_catalog_tests.rs"]
mod rest_tests;
