//! The effect of each clause of a filter: the stages at which it can prune, and why it can't at others.

use std::sync::Arc;

use crate::expr::formula::has_bounds;
use crate::expr::{BoundLeaf, BoundPredicate, BoundTest, Op};
use crate::iceberg::manifest::entries::MISSING;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::rows::explanation::Clause;
use crate::types::metadata_columns::{FILE, PARTITION, SPEC_ID, is_metadata};
use crate::types::{Field, FieldId, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform};

/// Whether the files seen have any metrics of the filter's columns.
pub(crate) struct MetricsSeen {
    files: bool,
    fields: Vec<(FieldId, bool)>,
}

impl MetricsSeen {
    pub(crate) fn new(filter: &BoundPredicate) -> MetricsSeen {
        MetricsSeen { files: false, fields: filter.field_ids().into_iter().map(|id| (id, false)).collect() }
    }

    pub(crate) fn look(&mut self, batch: &PlannedBatch) {
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

    /// Whether files were seen, but none with metrics of the column.
    fn lacks(&self, id: FieldId) -> bool {
        self.files && self.fields.contains(&(id, false))
    }
}

/// Where planning gets the value of a column that no file stores.
#[derive(Clone, Copy, PartialEq)]
enum KnownBy {
    /// The manifest: `_spec_id`.
    Manifest,
    /// The partition tuple: a member of `_partition`.
    Tuple,
    /// The entry: `_file`.
    File,
    /// Nowhere: it differs from row to row.
    Rows,
}

/// The source for the column that a leaf asks about, if it is a metadata column.
fn known(leaf: &BoundLeaf, schema: &Schema) -> Option<KnownBy> {
    let is_member = |f: &Field| f.id == PARTITION && f.ty.children().iter().any(|m| m.id == leaf.term.field_id);
    match leaf.term.field_id {
        SPEC_ID => Some(KnownBy::Manifest),
        FILE => Some(KnownBy::File),
        _ if schema.fields.iter().any(is_member) => Some(KnownBy::Tuple),
        id => is_metadata(id).then_some(KnownBy::Rows),
    }
}

/// Whether a filter uses the metadata columns that manifests and entries have: `_spec_id` and `_file`.
pub(crate) fn asks_of_place(filter: &BoundPredicate) -> [bool; 2] {
    let ids = filter.field_ids();
    [ids.contains(&SPEC_ID), ids.contains(&FILE)]
}

/// The clauses of a filter over tables of these partition specs.
pub(crate) fn of(
    filter: &BoundPredicate,
    schema: &Schema,
    specs: &[&Arc<PartitionSpec>],
    metrics: &MetricsSeen,
) -> Vec<Clause> {
    let clause = |part: &BoundPredicate| {
        let mut out = Clause { text: part.to_string(), ..Clause::default() };
        let mut limit = |why: String| {
            if !why.is_empty() && !out.limits.contains(&why) {
                out.limits.push(why);
            }
        };
        let of = |leaf: &BoundLeaf| known(leaf, schema);
        match by(part, &|leaf| {
            of(leaf).map_or_else(|| by_partition(leaf, specs), |k| known_to(leaf, k, KnownBy::Manifest))
        }) {
            Ok(()) => out.stages.push("manifest list"),
            Err(why) => limit(why),
        }
        match by(part, &|leaf| {
            of(leaf).map_or_else(|| by_partition(leaf, specs), |k| known_to(leaf, k, KnownBy::Tuple))
        }) {
            Ok(()) => out.stages.push("partitions"),
            Err(why) => limit(why),
        }
        match by(part, &|leaf| of(leaf).map_or_else(|| by_metrics(leaf, metrics), |k| known_to(leaf, k, KnownBy::File)))
        {
            Ok(()) if leaves_any(part, &|leaf| !matches!(of(leaf), Some(KnownBy::Manifest | KnownBy::Tuple))) => {
                out.stages.push("column metrics");
            }
            Ok(()) => {}
            Err(why) => limit(why),
        }
        if leaves_any(part, &|leaf| of(leaf) == Some(KnownBy::File)) {
            limit("_file by the paths of files".to_owned());
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
        BoundPredicate::Test(test) => match has_bounds(test) {
            true => leaves_of(test).iter().try_for_each(can),
            false => Err(format!("bounds of columns say nothing about {}", test.left)),
        },
    }
}

/// The columns of a test as leaves that ask for ranges of them.
fn leaves_of(test: &BoundTest) -> Vec<BoundLeaf> {
    let mut out = Vec::new();
    test.for_each_term(&mut |term| out.push(BoundLeaf { term: term.clone(), op: Op::Lt, values: Vec::new() }));
    out
}

/// Whether any leaf meets the condition.
fn leaves_any(part: &BoundPredicate, is_so: &dyn Fn(&BoundLeaf) -> bool) -> bool {
    let mut any = false;
    part.for_each_leaf(&mut |leaf| any |= is_so(leaf));
    part.for_each_test(&mut |test| any |= leaves_of(test).iter().any(is_so));
    any
}

/// Whether a metadata column is known at a stage. A column that only becomes known later is no limit worth reporting.
fn known_to(leaf: &BoundLeaf, known: KnownBy, stage: KnownBy) -> Result<(), String> {
    match (known, stage) {
        (KnownBy::Rows, _) => Err(format!("{} is known of rows alone", leaf.term.path.join("."))),
        (KnownBy::Tuple, KnownBy::Manifest) | (KnownBy::File, KnownBy::Manifest | KnownBy::Tuple) => Err(String::new()),
        _ => Ok(()),
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

/// The operation of a leaf, in a word.
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

/// The limits of a leaf that can prune only in some cases.
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

/// A spec in readable form: `day(ts), bucket[16](id)`.
pub(crate) fn spec_text(spec: &PartitionSpec, schema: &Schema) -> String {
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
