//! A register in a SQL database. It uses the two tables that Java Iceberg's and PyIceberg's SQL catalogs share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::format::register::{JointSwaps, TableRegister, TableSwap};
use crate::store::database::{Database, Statement, TextRow};

const TABLES: &str = "iceberg_tables";
const PROPERTIES: &str = "iceberg_namespace_properties";

const CREATE_TABLES: &str = "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL, \
     table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), \
     previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5), \
     PRIMARY KEY (catalog_name, table_namespace, table_name))";

const CREATE_PROPERTIES: &str = "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (\
     catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, \
     property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))";

const INSERT_PROPERTY: &str = "INSERT INTO iceberg_namespace_properties \
     (catalog_name, namespace, property_key, property_value) VALUES (?1, ?2, ?3, ?4)";

/// How opening a register creates or changes the database's tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SqlLayout {
    /// Create missing tables.
    pub create: bool,
    /// Add the column that distinguishes tables from views if an old catalog does not have it.
    pub upgrade: bool,
}

/// The rows of one catalog in a database.
#[derive(Debug)]
pub struct SqlRegister {
    database: Arc<dyn Database>,
    catalog: String,
    layout: SqlLayout,
    only_tables: OnceLock<&'static str>,
}

impl SqlRegister {
    /// Creates the register of the catalog `name`. The database is opened at the first use.
    pub fn new(database: Arc<dyn Database>, name: &str, layout: SqlLayout) -> SqlRegister {
        SqlRegister { database, catalog: name.to_owned(), layout, only_tables: OnceLock::new() }
    }

    /// The SQL condition that a row is a table, not a view. Empty for databases of the first layout, which has no
    /// views.
    ///
    /// # Errors
    /// Errors of the database; `NotFound` if its tables are missing and must not be created.
    fn only_tables(&self) -> Result<&'static str> {
        if let Some(condition) = self.only_tables.get() {
            return Ok(condition);
        }
        let condition = match self.ensure_tables()? {
            true => " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)",
            false => "",
        };
        Ok(self.only_tables.get_or_init(|| condition))
    }

    /// Creates missing tables if asked to. Returns whether rows have types.
    fn ensure_tables(&self) -> Result<bool> {
        let mut columns = self.database.columns(TABLES)?;
        if columns.is_empty() || self.database.columns(PROPERTIES)?.is_empty() {
            if !self.layout.create {
                return Err(Error::not_found("the database has no tables of an Iceberg catalog")
                    .with("catalog", &self.catalog)
                    .hint("Open it with init_catalog_tables='true' to create them"));
            }
            let make = [Statement::new(CREATE_TABLES, &[]), Statement::new(CREATE_PROPERTIES, &[])];
            // Another process may create them at the same time. It is enough that they exist afterwards.
            if let Err(e) = self.database.execute(&make)
                && self.database.columns(PROPERTIES)?.is_empty()
            {
                return Err(e);
            }
            columns = self.database.columns(TABLES)?;
        }
        let typed = |columns: &[String]| columns.iter().any(|c| c.eq_ignore_ascii_case("iceberg_type"));
        if typed(&columns) || !self.layout.upgrade {
            return Ok(typed(&columns));
        }
        let upgrade = Statement::new("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)", &[]);
        match self.database.execute(&[upgrade]) {
            Err(e) if !typed(&self.database.columns(TABLES)?) => Err(e),
            _ => Ok(true),
        }
    }

    fn run(&self, text: impl Into<String>, values: &[&str]) -> Result<u64> {
        let counts = self.database.execute(&[Statement::new(text, values)])?;
        Ok(counts.into_iter().sum())
    }

    fn rows(&self, text: impl Into<String>, values: &[&str]) -> Result<Vec<TextRow>> {
        self.database.query(&Statement::new(text, values))
    }
}

impl SqlRegister {
    /// Changes one row if the table's current file is the expected one.
    fn switch(&self, swap: TableSwap<'_>) -> Result<Statement> {
        let only_tables = self.only_tables()?;
        let namespace = dotted(&swap.table.namespace);
        let name = [self.catalog.as_str(), &namespace, &swap.table.name, swap.from];
        let row = "WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3 AND metadata_location = ?4";
        Ok(match swap.to {
            Some(to) => {
                let set = "SET metadata_location = ?5, previous_metadata_location = ?6";
                let values: Vec<&str> = name.into_iter().chain([to, swap.from]).collect();
                Statement::new(format!("UPDATE iceberg_tables {set} {row}{only_tables}"), &values)
            }
            // The row stays the same, and is locked until the transaction ends.
            None => {
                let set = "SET metadata_location = metadata_location";
                Statement::new(format!("UPDATE iceberg_tables {set} {row}{only_tables}"), &name)
            }
        })
    }
}

impl JointSwaps for SqlRegister {
    /// All transactions take the rows in the same order, so they don't wait for each other in a circle.
    fn swap_all(&self, swaps: &[TableSwap<'_>]) -> Result<bool> {
        let mut swaps = swaps.to_vec();
        swaps.sort_unstable_by_key(|swap| swap.table);
        let statements = swaps.into_iter().map(|swap| self.switch(swap)).collect::<Result<Vec<_>>>()?;
        self.database.execute_if_each_changes(&statements)
    }
}

/// A namespace as one text, with dots between its levels.
fn dotted(namespace: &[String]) -> String {
    namespace.join(".")
}

/// The first text of a row, or an empty text if it is null.
fn first(row: TextRow) -> String {
    row.into_iter().next().flatten().unwrap_or_default()
}

impl TableRegister for SqlRegister {
    fn location(&self, table: &TableIdent) -> Result<Option<String>> {
        let text = format!(
            "SELECT metadata_location FROM iceberg_tables \
             WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3{}",
            self.only_tables()?
        );
        let rows = self.rows(text, &[&self.catalog, &dotted(&table.namespace), &table.name])?;
        match rows.into_iter().next().map(|row| row.into_iter().next().flatten()) {
            None => Ok(None),
            Some(Some(location)) => Ok(Some(location)),
            Some(None) => Err(Error::corrupt("the catalog has no metadata file for the table").with("table", table)),
        }
    }

    fn others_with(&self, table: &TableIdent) -> Result<Vec<String>> {
        let text = "SELECT DISTINCT catalog_name FROM iceberg_tables WHERE table_namespace = ?1 AND table_name = ?2 \
                    AND catalog_name <> ?3 ORDER BY catalog_name";
        let rows = self.rows(text, &[&dotted(&table.namespace), &table.name, &self.catalog])?;
        Ok(rows.into_iter().map(first).collect())
    }

    fn prepare(&self) -> Result<()> {
        self.only_tables().map(drop)
    }

    fn insert(&self, table: &TableIdent, location: &str) -> Result<()> {
        let (column, value) = if self.only_tables()?.is_empty() { ("", "") } else { (", iceberg_type", ", 'TABLE'") };
        let text = format!(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, \
             previous_metadata_location{column}) VALUES (?1, ?2, ?3, ?4, NULL{value})"
        );
        self.run(text, &[&self.catalog, &dotted(&table.namespace), &table.name, location]).map(drop)
    }

    fn swap(&self, table: &TableIdent, from: &str, to: &str) -> Result<bool> {
        let counts = self.database.execute(&[self.switch(TableSwap { table, from, to: Some(to) })?])?;
        Ok(counts.into_iter().sum::<u64>() > 0)
    }

    fn joint_swaps(&self) -> Option<&dyn JointSwaps> {
        Some(self)
    }

    fn remove(&self, table: &TableIdent) -> Result<bool> {
        let text = format!(
            "DELETE FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3{}",
            self.only_tables()?
        );
        Ok(self.run(text, &[&self.catalog, &dotted(&table.namespace), &table.name])? > 0)
    }

    fn remove_at(&self, table: &TableIdent, at: &str) -> Result<bool> {
        let text = format!(
            "DELETE FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3 \
             AND metadata_location = ?4{}",
            self.only_tables()?
        );
        Ok(self.run(text, &[&self.catalog, &dotted(&table.namespace), &table.name, at])? > 0)
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<bool> {
        let text = format!(
            "UPDATE iceberg_tables SET table_namespace = ?1, table_name = ?2 \
             WHERE catalog_name = ?3 AND table_namespace = ?4 AND table_name = ?5{}",
            self.only_tables()?
        );
        let (new, old) = (dotted(&to.namespace), dotted(&from.namespace));
        Ok(self.run(text, &[&new, &to.name, &self.catalog, &old, &from.name])? > 0)
    }

    fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let text = format!(
            "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2{} ORDER BY table_name",
            self.only_tables()?
        );
        let rows = self.rows(text, &[&self.catalog, &dotted(namespace)])?;
        let ident = |row| TableIdent { namespace: namespace.to_vec(), name: first(row) };
        Ok(rows.into_iter().map(ident).collect())
    }

    fn namespaces(&self, below: &[String]) -> Result<BTreeSet<Vec<String>>> {
        let mut out = BTreeSet::new();
        for (column, table) in [("table_namespace", TABLES), ("namespace", PROPERTIES)] {
            let all = format!("SELECT DISTINCT {column} FROM {table} WHERE catalog_name = ?1");
            let rows = match below {
                [] => self.rows(all, &[&self.catalog])?,
                _ => {
                    let own = dotted(below);
                    let escaped = own.replace('!', "!!").replace('_', "!_").replace('%', "!%") + ".%";
                    let text = format!("{all} AND ({column} = ?2 OR {column} LIKE ?3 ESCAPE '!')");
                    self.rows(text, &[&self.catalog, &own, &escaped])?
                }
            };
            let levels = rows.into_iter().map(|row| first(row).split('.').map(str::to_owned).collect::<Vec<_>>());
            // LIKE ignores case in some databases, so the levels are compared again.
            out.extend(levels.filter(|l| l.starts_with(below)));
        }
        Ok(out)
    }

    fn is_used(&self, namespace: &[String]) -> Result<bool> {
        let text = "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 LIMIT 1";
        Ok(!self.rows(text, &[&self.catalog, &dotted(namespace)])?.is_empty())
    }

    fn properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        let text = "SELECT property_key, property_value FROM iceberg_namespace_properties \
                    WHERE catalog_name = ?1 AND namespace = ?2";
        let rows = self.rows(text, &[&self.catalog, &dotted(namespace)])?;
        let pair = |row: TextRow| {
            let mut texts = row.into_iter();
            Some((texts.next().flatten()?, texts.next().flatten().unwrap_or_default()))
        };
        Ok(rows.into_iter().filter_map(pair).collect())
    }

    fn create(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        self.only_tables()?;
        let own = dotted(namespace);
        let row =
            |(key, value): (&String, &String)| Statement::new(INSERT_PROPERTY, &[&self.catalog, &own, key, value]);
        self.database.execute(&properties.iter().map(row).collect::<Vec<_>>()).map(drop)
    }

    fn set_properties(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()> {
        let own = dotted(namespace);
        let delete = "DELETE FROM iceberg_namespace_properties \
                      WHERE catalog_name = ?1 AND namespace = ?2 AND property_key = ?3";
        let gone = removed.iter().chain(set.keys()).map(|key| Statement::new(delete, &[&self.catalog, &own, key]));
        let new = set.iter().map(|(key, value)| Statement::new(INSERT_PROPERTY, &[&self.catalog, &own, key, value]));
        self.database.execute(&gone.chain(new).collect::<Vec<_>>()).map(drop)
    }

    fn clear_properties(&self, namespace: &[String]) -> Result<()> {
        let text = "DELETE FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2";
        self.run(text, &[&self.catalog, &dotted(namespace)]).map(drop)
    }

    fn is_of_this_process(&self) -> bool {
        false
    }
}
