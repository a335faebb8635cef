//! What each clause of a filter can do: at which stages it can prune, and what keeps it from others.

use std::sync::Arc;

use crate::expr::{BoundLeaf, BoundPredicate, Op};
use crate::iceberg::entries::MISSING;
use crate::iceberg::plan::PlannedBatch;
use crate::types::{FieldId, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform};

/// A top-level clause of the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clause {
    /// As text.
    pub text: String,
    /// Stages that can use it: `manifest list`, `partitions`, `column metrics`. None: it is only asked of rows.
    pub stages: Vec<&'static str>,
    /// What keeps it from the other stages, or limits it; empty if nothing.
    pub limits: Vec<String>,
}

/// Whether the files seen have any metrics of the filter's columns.
pub(super) struct MetricsSeen {
    files: bool,
    fields: Vec<(FieldId, bool)>,
}

impl MetricsSeen {
    pub(super) fn new(filter: &BoundPredicate) -> MetricsSeen {
        MetricsSeen { files: false, fields: filter.field_ids().into_iter().map(|id| (id, false)).collect() }
    }

    pub(super) fn look(&mut self, batch: &PlannedBatch) {
        self.files |= !batch.rows.is_empty();
        for (id, seen) in self.fields.iter_mut().filter(|(_, seen)| !seen) {
            let Some(m) = batch.columns.metrics.iter().find(|m| m.field_id == *id) else { continue };
            let known = |counts: &[i64], row: usize| counts.get(row).is_some_and(|c| *c != MISSING);
            *seen = batch.columns.rows().any(|row| {
                m.lower.get(row).is_some()
                    || m.upper.get(row).is_some()
                    || known(&m.null_count, row)
                    || known(&m.nan_count, row)
            });
        }
    }

    /// Whether files were seen and none has metrics of the column.
    fn lacks(&self, id: FieldId) -> bool {
        self.files && self.fields.contains(&(id, false))
    }
}

/// The clauses of a filter over tables of these partition specs.
pub(super) fn of(filter: &BoundPredicate, specs: &[&Arc<PartitionSpec>], metrics: &MetricsSeen) -> Vec<Clause> {
    let clause = |part: &BoundPredicate| {
        let mut out = Clause { text: part.to_string(), ..Clause::default() };
        match by(part, &|leaf| by_partition(leaf, specs)) {
            Ok(()) => out.stages.extend(["manifest list", "partitions"]),
            Err(why) => out.limits.push(why),
        }
        match by(part, &|leaf| by_metrics(leaf, metrics)) {
            Ok(()) => out.stages.push("column metrics"),
            Err(why) => out.limits.push(why),
        }
        part.for_each_leaf(&mut |leaf| {
            if let Some(limit) = limit_of(leaf).filter(|l| !out.limits.contains(l)) {
                out.limits.push(limit);
            }
        });
        out
    };
    match filter {
        BoundPredicate::True => Vec::new(),
        BoundPredicate::And(parts) => parts.iter().map(clause).collect(),
        one => vec![clause(one)],
    }
}

/// Whether a stage can drop rows by a clause: by any part of a conjunction, by all parts of a disjunction.
fn by(part: &BoundPredicate, can: &dyn Fn(&BoundLeaf) -> Result<(), String>) -> Result<(), String> {
    match part {
        BoundPredicate::True | BoundPredicate::False => Ok(()),
        BoundPredicate::Or(parts) => parts.iter().try_for_each(|p| by(p, can)),
        BoundPredicate::And(parts) => {
            let mut tried = parts.iter().map(|p| by(p, can));
            let first = tried.next().unwrap_or(Ok(()));
            if tried.any(|t| t.is_ok()) { Ok(()) } else { first }
        }
        BoundPredicate::Leaf(leaf) => can(leaf),
    }
}

fn by_partition(leaf: &BoundLeaf, specs: &[&Arc<PartitionSpec>]) -> Result<(), String> {
    let fields = || specs.iter().flat_map(|s| &s.fields).filter(|f| f.source_id == leaf.term.field_id);
    if fields().any(|f| tells(leaf, f)) {
        return Ok(());
    }
    let column = leaf.term.path.join(".");
    Err(match fields().find(|f| f.transform != Transform::Void) {
        None => format!("no partition field of {column}"),
        Some(f) => format!("partition field {} ({}) can't tell {}", f.name, f.transform, asked(leaf)),
    })
}

/// What a leaf asks, in a word.
fn asked(leaf: &BoundLeaf) -> &'static str {
    match leaf.op {
        Op::NotEq => "!=",
        Op::NotIn => "not in",
        Op::NotStartsWith => "not starts_with",
        Op::StartsWith => "starts_with",
        Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => "ranges",
        Op::IsNan | Op::NotNan => "NaN",
        Op::Eq | Op::In => "equality",
        Op::IsNull | Op::NotNull => "nulls",
    }
}

/// Whether values of a partition field can exclude a leaf about the same column.
fn tells(leaf: &BoundLeaf, field: &PartitionField) -> bool {
    use Transform as T;
    let time = |t: &T| matches!(t, T::Year | T::Month | T::Day | T::Hour);
    let op = leaf.op;
    if leaf.term.transform != T::Identity {
        return match (&field.transform, &leaf.term.transform) {
            (T::Void | T::Unknown(_), _) => false,
            (T::Identity, asked) => !matches!(asked, T::Void | T::Unknown(_)),
            (T::Truncate(_), T::Truncate(_)) => true,
            (a, b) => a == b || time(a) && time(b),
        };
    }
    match &field.transform {
        T::Identity => true,
        T::Void | T::Unknown(_) => false,
        T::Bucket(_) => matches!(op, Op::Eq | Op::In | Op::IsNull | Op::NotNull),
        T::Truncate(_) => !matches!(op, Op::NotEq | Op::NotIn | Op::IsNan | Op::NotNan),
        T::Day if leaf.term.source_primitive() == Some(&PrimitiveType::Date) => true,
        T::Year | T::Month | T::Day | T::Hour => !matches!(op, Op::NotEq | Op::NotIn),
    }
}

fn by_metrics(leaf: &BoundLeaf, seen: &MetricsSeen) -> Result<(), String> {
    let column = leaf.term.path.join(".");
    if seen.lacks(leaf.term.field_id) {
        return Err(match leaf.term.source_primitive() {
            Some(_) => format!("no metrics for column {column}"),
            None => format!("{column} is nested: files have no metrics for it as a whole"),
        });
    }
    match leaf.term.source_primitive() {
        Some(PrimitiveType::Variant | PrimitiveType::Geometry { .. } | PrimitiveType::Geography { .. })
            if !matches!(leaf.op, Op::IsNull | Op::NotNull) =>
        {
            Err(format!("bounds of column {column} have no order"))
        }
        _ if matches!(leaf.term.transform, Transform::Unknown(_) | Transform::Void) => {
            Err(format!("{} has no order", leaf.term.transform))
        }
        _ => Ok(()),
    }
}

/// What a leaf can do only now and then.
fn limit_of(leaf: &BoundLeaf) -> Option<String> {
    let alike = "excludes only files whose values are all alike";
    match leaf.op {
        Op::NotEq | Op::NotIn => Some(format!("{} {alike}", asked(leaf))),
        Op::NotStartsWith => Some("not starts_with excludes only files whose values all begin so".to_owned()),
        _ if matches!(leaf.term.transform, Transform::Bucket(_)) => {
            Some(format!("by metrics, {} {alike}", leaf.term.transform))
        }
        _ => None,
    }
}

/// A spec as people write it: `day(ts), bucket[16](id)`.
pub(super) fn spec_text(spec: &PartitionSpec, schema: &Schema) -> String {
    let field = |f: &PartitionField| {
        let column = schema.name_of(f.source_id).unwrap_or_else(|| f.name.clone());
        match &f.transform {
            Transform::Identity => column,
            Transform::Bucket(n) => format!("bucket({n}, {column})"),
            Transform::Truncate(w) => format!("truncate({w}, {column})"),
            transform => format!("{transform}({column})"),
        }
    };
    let fields: Vec<String> = spec.fields.iter().map(field).collect();
    if fields.is_empty() { "unpartitioned".to_owned() } else { fields.join(", ") }
}
