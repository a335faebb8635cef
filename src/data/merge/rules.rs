//! How rows with one key are merged, by the options of a Paimon table.
//!
//! Source: Paimon documentation, "Merge Engine" and "Sequence & Rowkind"; Java's `CoreOptions`.

use std::collections::BTreeSet;

use super::function::{FUNCTIONS, Function, no_function};
use crate::error::{Error, Result, ResultExt};
use crate::types::options::{Options, split_names};
use crate::types::{Field, FieldId, Schema};

/// How the rows of a key become one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Engine {
    /// The last one stays.
    Deduplicate,
    /// The first one stays.
    FirstRow,
    /// Columns get their last values.
    PartialUpdate(PartialUpdate),
    /// Columns are aggregated.
    Aggregation,
}

/// The settings of partial updates, which differ from table to table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PartialUpdate {
    /// Whether a delete row deletes the merged row.
    pub remove_on_delete: bool,
    /// Columns that are updated together if their sequence columns show that the row is newer.
    pub groups: Vec<SequenceGroup>,
}

/// A group of columns with its own order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SequenceGroup {
    pub sequence: Vec<FieldId>,
    pub columns: Vec<FieldId>,
    /// Whether a delete row that is newer in this group deletes the merged row.
    pub removes: bool,
}

/// The options of a table that control how its rows are merged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MergeRules {
    pub engine: Engine,
    /// Whether rows that delete others are ignored.
    pub ignore_delete: bool,
    /// With aggregation: whether a delete row deletes the merged row.
    pub remove_on_delete: bool,
    /// The columns that order the rows with the same key.
    pub order: Vec<FieldId>,
    pub descending: bool,
}

fn column(schema: &Schema, name: &str) -> Result<FieldId> {
    let found = schema.fields.iter().find(|f| f.name == name);
    found.map(|f| f.id).ok_or_else(|| Error::invalid(format!("the table has no column '{name}' that its options name")))
}

/// Options that leave out rows of kinds `-D` and `-U`. The first that is set counts.
const IGNORE_DELETE: [&str; 4] =
    ["ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"];

/// The option of the table that leaves out rows that delete others; `None` if no option does.
///
/// # Errors
/// `InvalidInput` for a value other than true and false.
pub(crate) fn ignores_deletes(options: &Options<'_>) -> Result<Option<&'static str>> {
    let said = IGNORE_DELETE.into_iter().find(|key| options.get(key).is_some());
    said.map_or(Ok(None), |key| Ok(options.boolean(key, false)?.then_some(key)))
}

impl MergeRules {
    /// Reads them for a table with the columns of `schema`.
    ///
    /// # Errors
    /// `InvalidInput` for options with unknown values, that contradict each other, or that name columns that do not
    /// exist; `Unsupported` for merge engines that are not known.
    pub(crate) fn new(options: &Options<'_>, schema: &Schema) -> Result<MergeRules> {
        let ignore_delete = ignores_deletes(options)?.is_some();
        let order =
            options.list("sequence.field").into_iter().map(|name| column(schema, name)).collect::<Result<_>>()?;
        let descending = match options.get("sequence.field.sort-order").map(str::to_lowercase).as_deref() {
            None | Some("ascending") => false,
            Some("descending") => true,
            Some(other) => return Err(Error::invalid(format!("'sequence.field.sort-order' cannot be '{other}'"))),
        };
        let engine = match options.get("merge-engine").map(str::to_lowercase).as_deref() {
            None | Some("deduplicate") => Engine::Deduplicate,
            Some("first-row") => Engine::FirstRow,
            Some("aggregation") => Engine::Aggregation,
            Some("partial-update") => Engine::PartialUpdate(PartialUpdate::new(options, schema, ignore_delete)?),
            Some(other) => return Err(Error::unsupported(format!("the merge engine '{other}' is not known"))),
        };
        let remove_on_delete = options.boolean("aggregation.remove-record-on-delete", false)?;
        Ok(MergeRules { engine, ignore_delete, remove_on_delete, order, descending })
    }

    /// Whether a row above level 0 was merged from all older rows of its key, of all levels. Tables that look rows up
    /// are compacted in this way.
    ///
    /// # Errors
    /// `InvalidInput` for an option that is neither true nor false.
    pub(crate) fn by_level(&self, options: &Options<'_>) -> Result<bool> {
        Ok(options.looks_up()? && self.engine != Engine::FirstRow)
    }

    /// The columns that must be read to merge these.
    pub(crate) fn needed(&self, columns: &BTreeSet<FieldId>) -> BTreeSet<FieldId> {
        let mut needed: BTreeSet<FieldId> = self.order.iter().copied().collect();
        if let Engine::PartialUpdate(partial) = &self.engine {
            for group in &partial.groups {
                if group.removes || group.columns.iter().chain(&group.sequence).any(|id| columns.contains(id)) {
                    needed.extend(&group.sequence);
                }
            }
        }
        needed
    }

    /// The function that merges each of these columns; `key` are the columns of the primary key.
    ///
    /// # Errors
    /// The errors of [`Function::new`]; `InvalidInput` for a function that needs a sequence group and has none.
    pub(crate) fn functions(
        &self,
        options: &Options<'_>,
        fields: &[Field],
        key: &[FieldId],
    ) -> Result<Vec<Option<Function>>> {
        fields.iter().map(|f| self.function(options, f, key).map_err(|e| e.with("column", &f.name))).collect()
    }

    fn function(&self, options: &Options<'_>, field: &Field, key: &[FieldId]) -> Result<Option<Function>> {
        let asked =
            options.of_column(&field.name, "aggregate-function").or(options.get("fields.default-aggregate-function"));
        let name = match &self.engine {
            Engine::Aggregation if self.order.contains(&field.id) => "last_value",
            Engine::PartialUpdate(partial) if partial.groups.iter().any(|g| g.sequence.contains(&field.id)) => {
                return Ok(None);
            }
            _ if key.contains(&field.id) => "primary-key",
            Engine::Aggregation => asked.unwrap_or("last_non_null_value"),
            Engine::PartialUpdate(partial) => {
                let Some(name) = asked else { return Ok(None) };
                let is_grouped = partial.groups.iter().any(|g| g.columns.contains(&field.id));
                if name != "last_non_null_value" && !is_grouped {
                    return Err(Error::invalid(format!("the aggregate function '{name}' needs a sequence group"))
                        .hint("Name the column in an option 'fields.<column that orders it>.sequence-group'"));
                }
                name
            }
            Engine::Deduplicate | Engine::FirstRow => return Ok(None),
        };
        Function::new(name, field, options).map(Some)
    }
}

/// The faults in the options that control how the rows of a table are merged. `fixed` are the columns in which all rows
/// of a key have the same values.
pub(crate) fn merge_faults(options: &Options<'_>, schema: &Schema, fixed: &[FieldId]) -> Vec<Error> {
    const DEFAULT: &str = "fields.default-aggregate-function";
    let rules = match MergeRules::new(options, schema) {
        Ok(rules) => rules,
        Err(e) => return vec![e],
    };
    let mut out = Vec::new();
    // Only these engines use functions.
    if matches!(rules.engine, Engine::Aggregation | Engine::PartialUpdate(_)) {
        let named = options
            .0
            .iter()
            .filter(|(key, _)| *key == DEFAULT || key.starts_with("fields.") && key.ends_with(".aggregate-function"));
        let unknown = named.filter(|(_, name)| !FUNCTIONS.contains(&name.as_str()));
        out.extend(unknown.map(|(key, name)| no_function(name).with("option", key)));
    }
    for field in schema.fields.iter() {
        let own = format!("fields.{}.aggregate-function", field.name);
        let option = if options.get(&own).is_some() { &own } else { DEFAULT };
        let wrong = rules.function(options, field, fixed).err();
        out.extend(wrong.map(|e| e.with("column", &field.name).with("option", option)));
    }
    out
}

impl PartialUpdate {
    fn new(options: &Options<'_>, schema: &Schema, ignore_delete: bool) -> Result<PartialUpdate> {
        let removing = options.list("partial-update.remove-record-on-sequence-group");
        let mut groups = Vec::new();
        let mut grouped = BTreeSet::new();
        for (key, value) in options.0 {
            let names = key.strip_prefix("fields.").and_then(|k| k.strip_suffix(".sequence-group"));
            let Some(names) = names.map(split_names) else { continue };
            let of = |name: &&str| column(schema, name).with("option", key);
            let sequence = names.iter().map(of).collect::<Result<Vec<_>>>()?;
            let columns = split_names(value).iter().map(of).collect::<Result<Vec<_>>>()?;
            if let Some(twice) = columns.iter().find(|id| !grouped.insert(**id)) {
                let name = schema.name_of(*twice).unwrap_or_default();
                return Err(Error::invalid(format!("the column '{name}' is in two sequence groups"))
                    .with("option", key)
                    .with("value", value));
            }
            groups.push(SequenceGroup { sequence, columns, removes: names.iter().any(|n| removing.contains(n)) });
        }
        let remove_on_delete = options.boolean("partial-update.remove-record-on-delete", false)?;
        let known = |name: &&str| {
            column(schema, name).is_ok_and(|id| groups.iter().any(|g: &SequenceGroup| g.sequence.contains(&id)))
        };
        let wrong = match (remove_on_delete, ignore_delete) {
            (true, true) => Some("'partial-update.remove-record-on-delete' contradicts 'ignore-delete'"),
            (false, true) if !removing.is_empty() => {
                Some("'partial-update.remove-record-on-sequence-group' contradicts 'ignore-delete'")
            }
            (true, false) if !groups.is_empty() => {
                Some("'partial-update.remove-record-on-delete' contradicts sequence groups")
            }
            _ if !removing.iter().all(known) => {
                Some("'partial-update.remove-record-on-sequence-group' names a column that orders no group")
            }
            _ => None,
        };
        match wrong {
            Some(wrong) => Err(Error::invalid(wrong)),
            None => Ok(PartialUpdate { remove_on_delete, groups }),
        }
    }
}
