//! The rows that a commit brings, by the options of a schema.
//!
//! Source: Java's `CoreOptions`. `docs/guide/paimon.md` describes the effects.

use super::schema::TableSchema;
use crate::format::commit_rows::CommitRows;
use crate::types::options::Options;

impl TableSchema {
    /// The rows that the commits with this schema bring. An unknown value is not an error here.
    pub fn commit_rows(&self) -> CommitRows {
        let options = Options(&self.options);
        let text = |key: &str| options.get(key).map(str::to_lowercase);
        let is = |key: &str, value: &str| text(key).as_deref() == Some(value);
        let has_key = !self.primary_keys.is_empty();
        let hiding = is("deletion-vectors.enabled", "true") || is("merge-engine", "first-row");
        let postponed = is("bucket", "-2");
        CommitRows {
            has_key,
            changelog_producer: text("changelog-producer").unwrap_or_else(|| "none".to_owned()),
            merged: is("merge-engine", "partial-update") || is("merge-engine", "aggregation"),
            hidden_until_compacted: has_key && (hiding || postponed),
            buckets_postponed: has_key && postponed,
            columns_apart: is("data-evolution.enabled", "true"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::format::commit_rows::CommitRows;
    use crate::paimon::spec::data_type::{DataField, TypeKind};
    use crate::paimon::spec::schema::{SchemaParts, TableSchema};

    fn rows(has_key: bool, options: &[(&str, &str)]) -> CommitRows {
        let parts = SchemaParts {
            fields: vec![DataField::new(0, "id", TypeKind::Int.not_null())],
            primary_keys: if has_key { vec!["id".to_owned()] } else { Vec::new() },
            options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            ..SchemaParts::default()
        };
        TableSchema::new(parts).unwrap().commit_rows()
    }

    #[test]
    fn options_say_which_rows_a_commit_brings() {
        let plain = rows(false, &[]);
        assert_eq!(plain.changelog_producer, "none");
        assert!(!plain.has_key && !plain.merged && !plain.hidden_until_compacted && !plain.reported_by_compactions());
        assert!(rows(false, &[("data-evolution.enabled", "TRUE")]).columns_apart);
        assert!(rows(true, &[("merge-engine", "Aggregation")]).merged);
        assert!(rows(true, &[("merge-engine", "partial-update")]).merged);
        for hiding in [("merge-engine", "first-row"), ("deletion-vectors.enabled", "true"), ("bucket", "-2")] {
            assert!(rows(true, &[hiding]).hidden_until_compacted, "{hiding:?}");
            assert!(!rows(false, &[hiding]).hidden_until_compacted, "{hiding:?}");
        }
        assert!(rows(true, &[("bucket", "-2")]).buckets_postponed);
        for (producer, by_compactions) in [("input", false), ("Lookup", true), ("full-compaction", true)] {
            let rows = rows(true, &[("changelog-producer", producer)]);
            assert_eq!(rows.reported_by_compactions(), by_compactions, "{producer}");
        }
    }
}
