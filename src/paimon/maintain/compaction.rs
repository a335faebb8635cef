//! The tables and options that a compaction takes, and the counts of its result.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::expr::bind::bind;
use crate::expr::{BoundPredicate, Predicate};
use crate::format::maintenance::Compacted;
use crate::paimon::commit::changes::Changes;
use crate::paimon::spec::data_type::TypeKind;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::types::options::Options;

impl Compacted {
    pub(crate) fn count(&mut self, changes: &Changes) {
        let bytes = |sizes: &mut dyn Iterator<Item = i64>| {
            sizes.map(|n| u64::try_from(n).unwrap_or(0)).fold(0, u64::saturating_add)
        };
        self.rewritten_files = changes.removed.len();
        self.rewritten_bytes = bytes(&mut changes.removed.iter().map(|f| f.size_bytes));
        self.added_files = changes.added.len();
        self.added_bytes = bytes(&mut changes.added.iter().map(|f| f.file.size_bytes));
        self.upgraded_files = changes.moved.len();
        self.changelog_files = changes.changelog.len();
    }

    /// Result of this step of a compaction and the next one together.
    pub(crate) fn and(&self, next: &Compacted) -> Compacted {
        Compacted {
            groups: self.groups + next.groups,
            rewritten_files: self.rewritten_files + next.rewritten_files,
            rewritten_bytes: self.rewritten_bytes.saturating_add(next.rewritten_bytes),
            added_files: self.added_files + next.added_files,
            added_bytes: self.added_bytes.saturating_add(next.added_bytes),
            upgraded_files: self.upgraded_files + next.upgraded_files,
            changelog_files: self.changelog_files + next.changelog_files,
            commits: self.commits + next.commits,
            failed: [self.failed.as_slice(), next.failed.as_slice()].concat(),
        }
    }
}

/// The prefixes of options that a compaction may have of its own. They say which files are compacted and how they are
/// written. They do not change the meaning of rows.
const OWN_OPTIONS: [&str; 14] = [
    "avro.",
    "changelog-file.",
    "changelog-producer.row-deduplicate",
    "compaction.",
    "file-index.",
    "file.",
    "lookup-compact",
    "metadata.stats-",
    "num-levels",
    "num-sorted-run.",
    "orc.",
    "parquet.",
    "source.split.open-file-cost",
    "target-file-size",
];

/// The options of a table, overridden by those of a compaction.
pub(crate) fn merged(table: &PaimonTable, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let is_own = |key: &str| OWN_OPTIONS.iter().any(|start| key.starts_with(start));
    if let Some(other) = given.keys().find(|key| !is_own(key)) {
        return Err(Error::invalid(format!("a compaction has no option '{other}'"))
            .with("table", table.location())
            .hint(format!("Its options begin with {}", OWN_OPTIONS.join(", "))));
    }
    let mut options = table.table_schema().options.clone();
    options.extend(given.iter().map(|(k, v)| (k.clone(), v.clone())));
    Ok(options)
}

/// Refuses tables that are not compacted here.
pub(super) fn check_compacted(schema: &TableSchema, options: &Options<'_>) -> Result<()> {
    let no = |what: &str, hint: &str| Err(Error::unsupported(format!("{what} are not compacted yet")).hint(hint));
    let java = "Use Java Paimon's compaction job";
    let flag = |key| options.boolean(key, false);
    if flag("pk-clustering-override")? || options.get("clustering.columns").is_some_and(|c| !c.trim().is_empty()) {
        return no("clustered tables", java);
    }
    if !schema.has_primary_key() && options.data_evolution()? {
        return no("tables whose columns are in several files ('data-evolution.enabled')", java);
    }
    if schema.fields.iter().any(|f| f.ty.kind == TypeKind::Blob) {
        return no("tables with columns of type BLOB", java);
    }
    if options.get("data-file.external-paths").is_some_and(|p| !p.trim().is_empty()) {
        return no("tables with files outside of the table", java);
    }
    Ok(())
}

/// The filter, bound to partition columns.
pub(crate) fn partition_filter(table: &PaimonTable, filter: Option<&Predicate>) -> Result<BoundPredicate> {
    let Some(filter) = filter else { return Ok(BoundPredicate::True) };
    let bound = bind(filter, table.schema(), true)?;
    let schema = table.table_schema();
    let of_partition = |id: &i32| schema.partition_fields().any(|f| f.id == *id);
    match bound.field_ids().into_iter().find(|id| !of_partition(id)) {
        None => Ok(bound),
        Some(other) => {
            let name = table.schema().name_of(other).unwrap_or_default().to_owned();
            Err(Error::invalid(
                "the filter of a compaction can use partition columns only, because it compacts whole partitions",
            )
            .with("column", name)
            .with("table", table.location()))
        }
    }
}
