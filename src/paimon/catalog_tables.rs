//! Tables of Paimon in a file-system catalog, behind the seam ([`seam::Catalog`]).
//!
//! They are in folders `<warehouse>/<database>.db/<table>`, as in Java's catalog.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::NewTable;
use crate::format::deletion::OutsideLocations;
use crate::format::ident::TableIdent;
use crate::format::table_format::TableFormat;
use crate::paimon::catalog::new_schema::first_schema;
use crate::paimon::catalog::warehouse::Warehouse;
use crate::paimon::evolve::option_checks::check_new;
use crate::paimon::spec::data_type::DataField;
use crate::paimon::spec::data_type_text::parse_type_text;
use crate::paimon::spec::from_types::data_field;
use crate::paimon::spec::schema::SchemaParts;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::rows::seam;
use crate::store::{self, Store, StoreOptions};
use crate::types::Schema;
use crate::types::temporal::now_ms;

/// The tables of Paimon in a warehouse.
#[derive(Clone)]
pub(crate) struct PaimonCatalog {
    name: String,
    properties: BTreeMap<String, String>,
    warehouse: Warehouse,
    store: Arc<dyn Store>,
    storage_options: BTreeMap<String, String>,
}

impl fmt::Debug for PaimonCatalog {
    /// Leaves out the properties, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PaimonCatalog({:?})", self.name)
    }
}

impl PaimonCatalog {
    /// The tables in the folder that the property `warehouse` names.
    ///
    /// # Errors
    /// `InvalidInput` for an empty folder; `Unsupported` for other storage.
    pub(crate) fn open(name: &str, properties: BTreeMap<String, String>) -> Result<PaimonCatalog> {
        let root = properties.get("warehouse").map_or("", String::as_str);
        let options = StoreOptions::of_catalog(&properties).with("catalog", name)?;
        let store = store::open_store(root, options.as_map())?;
        let warehouse = Warehouse::new(store.clone(), &store::location::absolute(root)?)?;
        let storage_options = options.as_map().clone();
        Ok(PaimonCatalog { name: name.to_owned(), properties, warehouse, store, storage_options })
    }

    /// Opens a table.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; as [`PaimonTable::find`].
    pub(crate) fn load(&self, ident: &TableIdent) -> Result<PaimonTable> {
        let none = || Error::not_found(format!("there is no table {ident}"));
        let [database] = &ident.namespace[..] else { return Err(none()) };
        let root = self.warehouse.table_location(database, &ident.name)?;
        PaimonTable::find(&self.store, &root, &self.storage_options)?.ok_or_else(none)
    }

    /// Gives a table another definition and no rows.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `Unsupported` for other partition columns; as [`PaimonCatalog::create`].
    pub(crate) fn replace(&self, ident: &TableIdent, schema: &Schema, request: &NewTable) -> Result<PaimonTable> {
        let table = self.load(ident)?;
        table.folder().replace_definition(parts_of(schema, request)?, &check_new).with("table", ident)?;
        table.refresh()
    }

    /// Creates a table, and the folder of its database if it does not exist.
    ///
    /// # Errors
    /// `InvalidInput` for a schema or partitions that Paimon does not have; `AlreadyExists`; those of the store.
    pub(crate) fn create(&self, ident: &TableIdent, schema: &Schema, request: &NewTable) -> Result<PaimonTable> {
        let [database] = &ident.namespace[..] else {
            return Err(Error::invalid("Paimon's databases don't nest").with("table", ident.to_string()));
        };
        let parts = parts_of(schema, request)?;
        check_new(&first_schema(parts.clone(), now_ms())?)?;
        match self.warehouse.create_database(database) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        self.warehouse.create_table(database, &ident.name, parts)?;
        self.load(ident)
    }
}

/// The parts of the schema of a table.
fn parts_of(schema: &Schema, request: &NewTable) -> Result<SchemaParts> {
    if request.location.is_some() {
        return Err(Error::invalid("a file-system catalog chooses the location of Paimon tables itself")
            .hint("Leave out the location"));
    }
    if !request.sort_by.is_empty() {
        return Err(
            Error::unsupported("tables of Paimon have no sort order other than their key").hint("Leave out sort_by")
        );
    }
    let primary_keys = match &request.identifier_fields {
        Some(names) => names.clone(),
        None => schema.identifier_field_ids.iter().filter_map(|id| schema.name_of(*id)).collect(),
    };
    let fields = schema.fields.iter().map(|f| data_field(f).with("column", &f.name)).collect::<Result<_>>()?;
    let fields = with_declared(fields, &request.declared_types)?;
    Ok(SchemaParts {
        fields,
        partition_keys: request.partition_by.clone(),
        primary_keys,
        options: request.properties.clone(),
        ..SchemaParts::default()
    })
}

/// The columns with their exact types.
fn with_declared(mut fields: Vec<DataField>, declared: &BTreeMap<String, String>) -> Result<Vec<DataField>> {
    for (name, text) in declared {
        let none = || Error::invalid("a declared type is that of no column").with("column", name);
        let field = fields.iter_mut().find(|f| f.name == *name).ok_or_else(none)?;
        let ty = parse_type_text(text).map_err(|e| Error::invalid(e.message()).with("column", name))?;
        if ty.to_primitive().is_none() || ty.to_primitive() != field.ty.to_primitive() {
            let (now, given) = (&field.ty, &ty);
            return Err(
                Error::invalid(format!("a column of type {now} can't be declared as {given}")).with("column", name)
            );
        }
        if !ty.nullable {
            let what = "a declared type says nothing about nulls; the schema does";
            return Err(Error::invalid(what)
                .with("column", name)
                .with("type", text)
                .hint("Leave out NOT NULL, and make the column required in the schema"));
        }
        field.ty.kind = ty.kind;
    }
    Ok(fields)
}

/// The only level of a namespace.
fn database(namespace: &[String]) -> Result<&String> {
    match namespace {
        [database] => Ok(database),
        _ => Err(Error::not_found(format!("there is no namespace {}", namespace.join(".")))
            .hint("Databases of Apache Paimon don't nest")),
    }
}

impl seam::Catalog for PaimonCatalog {
    fn name(&self) -> &str {
        &self.name
    }

    fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }

    fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        let database = database(namespace)?;
        match self.warehouse.databases()?.contains(database) {
            true => Ok(()),
            false => Err(Error::not_found(format!("there is no namespace {database}"))),
        }
    }

    /// Databases that have a folder.
    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        match parent {
            [] => Ok(self.warehouse.databases()?.into_iter().map(|name| vec![name]).collect()),
            _ => Ok(Vec::new()),
        }
    }

    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        match properties.is_empty() {
            true => self.warehouse.create_database(database(namespace)?).map(drop),
            false => Err(PAIMON.lacks("properties of namespaces")),
        }
    }

    /// Removes the folder of a database, if there is one.
    fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        match self.warehouse.drop_database(database(namespace)?) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let names = self.warehouse.tables(database(namespace)?)?;
        Ok(names.into_iter().map(|name| TableIdent { namespace: namespace.to_vec(), name }).collect())
    }

    fn load_table(&self, ident: &TableIdent) -> Result<Arc<dyn seam::Table>> {
        Ok(Arc::new(self.load(ident)?))
    }

    fn create_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Arc<dyn seam::Table>> {
        match format.id == PAIMON.id {
            true => Ok(Arc::new(self.create(ident, schema, &request)?)),
            false => Err(seam::other_format(self, format)),
        }
    }

    /// Removes a table with all its files.
    fn drop_table(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()> {
        self.load(ident)?;
        if purge.is_some_and(|outside| outside.iter().next().is_some()) {
            return Err(PAIMON.lacks("outside_locations= of drop_table").with("table", ident));
        }
        self.warehouse.drop_table(database(&ident.namespace)?, &ident.name)
    }

    fn renames(&self) -> Option<&dyn seam::Renames> {
        Some(self)
    }
}

impl seam::Renames for PaimonCatalog {
    /// Renames the folder of the table.
    fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.load(from)?;
        match (&from.namespace[..], &to.namespace[..]) {
            ([database], [other]) => self.warehouse.rename_table((database, &from.name), (other, &to.name)),
            _ => Err(Error::invalid("Paimon's databases don't nest").with("table", to.to_string())),
        }
    }
}
