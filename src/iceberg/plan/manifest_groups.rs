//! The manifests that a plan would open, in groups for planners that work separately. Each group has data manifests and
//! the delete manifests that may apply to them.
//!
//! Only the manifest list is read. A group leaves out a delete manifest in these cases:
//! - Its sequence number is below those of all data files of the group.
//! - Its spec is partitioned, and the group has no data manifest of this spec with overlapping partitions.
//!
//! Delete manifests of an unpartitioned spec may hold equality deletes that apply to every partition.
//!
//! Source: Iceberg specification, "Scan Planning" and "Manifest Lists".

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::error::{Result, ResultExt};
use crate::iceberg::manifest::list::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::specs::{ScanSpecs, SpecContext};
use crate::parallel::check_cancelled;
use crate::types::value::decode_bound;
use crate::types::{PartitionField, PrimitiveType, Transform, ValueRef};

/// Manifests to plan together, as the manifest list describes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestGroup {
    /// Data manifests, oldest first.
    pub data: Vec<ManifestFile>,
    /// The delete manifests that may apply to their files, oldest first.
    pub deletes: Vec<ManifestFile>,
}

/// Reads and prunes the manifest list and groups the remaining manifests, oldest first. A group's data manifests have
/// about `group_bytes` together. If all of them have at most `whole_bytes`, they are one group. No group is empty.
///
/// # Errors
/// Errors of [`load_manifests`]; `CorruptTable` for a manifest of a spec that the table does not have.
pub fn group_manifests(input: &PlanInput, group_bytes: i64, whole_bytes: i64) -> Result<Vec<ManifestGroup>> {
    let Some(snapshot) = &input.snapshot else { return Ok(Vec::new()) };
    let loaded = load_manifests(input.store.as_ref(), &input.location, snapshot);
    let manifests = loaded.with("snapshot", snapshot.id)?;
    let specs = ScanSpecs::new(&input.metadata, &input.schema);
    let (mut data, mut deletes) = (Vec::new(), Vec::new());
    // Writers list the newest manifest first.
    for m in manifests.into_iter().rev() {
        check_cancelled()?;
        if EntryScope::Live.may_be_in(&m) && specs.summary_may_match(&m, &input.filter)? {
            if m.content == ManifestContent::Data { &mut data } else { &mut deletes }.push(m);
        }
    }
    let all: i64 = data.iter().map(bytes).fold(0, i64::saturating_add);
    let most = if all <= whole_bytes { i64::MAX } else { group_bytes };
    let groups = in_groups(data, most).into_iter();
    groups.map(|data| check_cancelled().and_then(|()| with_deletes(data, &deletes, &specs))).collect()
}

fn bytes(m: &ManifestFile) -> i64 {
    m.length_bytes.max(0)
}

/// Groups of neighbours with at most this many bytes together. A larger manifest is alone.
fn in_groups(manifests: Vec<ManifestFile>, most: i64) -> Vec<Vec<ManifestFile>> {
    let mut out: Vec<Vec<ManifestFile>> = Vec::new();
    let mut room = 0;
    for m in manifests {
        match out.last_mut().filter(|_| bytes(&m) <= room) {
            Some(group) => {
                room -= bytes(&m);
                group.push(m);
            }
            None => {
                room = most.saturating_sub(bytes(&m));
                out.push(vec![m]);
            }
        }
    }
    out
}

fn with_deletes(data: Vec<ManifestFile>, deletes: &[ManifestFile], specs: &ScanSpecs) -> Result<ManifestGroup> {
    if deletes.is_empty() {
        return Ok(ManifestGroup { data, deletes: Vec::new() });
    }
    let mut extents: BTreeMap<i32, Extent<'_>> = BTreeMap::new();
    for m in &data {
        let extent = Extent::of(m, specs.get(m.spec_id).with("path", &m.path)?);
        match extents.get_mut(&m.spec_id) {
            Some(known) => known.add(extent),
            None => drop(extents.insert(m.spec_id, extent)),
        }
    }
    let lowest = extents.values().map(|e| e.min_sequence_number).min().unwrap_or(0);
    let mut kept = Vec::new();
    for m in deletes {
        let spec = specs.get(m.spec_id).with("path", &m.path)?;
        // A list without sequence numbers proves nothing.
        let reaches = |sequence_number: i64| m.sequence_number == 0 || m.sequence_number >= sequence_number;
        let wanted = match extents.get(&m.spec_id) {
            _ if spec.spec.is_unpartitioned() => reaches(lowest),
            Some(extent) => reaches(extent.min_sequence_number) && extent.meets(&Extent::of(m, spec)),
            None => false,
        };
        if wanted {
            kept.push(m.clone());
        }
    }
    Ok(ManifestGroup { data, deletes: kept })
}

/// The partition values that manifests of one spec may hold.
struct Extent<'m> {
    min_sequence_number: i64,
    /// By partition field; `None` if not known.
    fields: Option<Vec<FieldExtent<'m>>>,
}

impl<'m> Extent<'m> {
    fn of(m: &'m ManifestFile, spec: &'m SpecContext) -> Extent<'m> {
        let summaries = m.partitions.as_ref().filter(|s| s.len() == spec.types.len());
        let types = || spec.spec.fields.iter().zip(&spec.types);
        let fields = summaries.map(|s| s.iter().zip(types()).map(|(s, (f, ty))| FieldExtent::of(s, f, ty)).collect());
        Extent { min_sequence_number: m.min_sequence_number, fields }
    }

    fn add(&mut self, other: Extent<'m>) {
        self.min_sequence_number = self.min_sequence_number.min(other.min_sequence_number);
        self.fields = match (self.fields.take(), other.fields) {
            (Some(a), Some(b)) => Some(a.into_iter().zip(b).map(|(a, b)| a.and(b)).collect()),
            _ => None,
        };
    }

    /// Whether both may hold files of the same partition.
    fn meets(&self, other: &Extent<'_>) -> bool {
        match (&self.fields, &other.fields) {
            (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| a.meets(b)),
            _ => true,
        }
    }
}

/// The values that one partition field may have.
#[derive(Clone, Copy)]
struct FieldExtent<'m> {
    nulls: bool,
    nans: bool,
    values: Values<'m>,
}

/// Values that are neither null nor NaN.
#[derive(Clone, Copy)]
enum Values<'m> {
    None,
    Between(ValueRef<'m>, ValueRef<'m>),
    Any,
}

impl<'m> FieldExtent<'m> {
    fn of(summary: &'m FieldSummary, field: &PartitionField, ty: &PrimitiveType) -> FieldExtent<'m> {
        let nulls = summary.contains_null;
        // The type is unknown for a dropped column or an unknown transform. Values may be of any kind, including NaN.
        if *ty == PrimitiveType::Unknown || matches!(field.transform, Transform::Unknown(_)) {
            return FieldExtent { nulls, nans: true, values: Values::Any };
        }
        let nans = ty.is_float() && summary.contains_nan != Some(false);
        let values = match (&summary.lower, &summary.upper) {
            // The bounds are missing exactly if there is no other value.
            (None, None) if nulls || nans => Values::None,
            (Some(lower), Some(upper)) => Values::between(lower, upper, ty),
            _ => Values::Any,
        };
        FieldExtent { nulls, nans, values }
    }

    fn and(self, other: FieldExtent<'m>) -> FieldExtent<'m> {
        let values = self.values.and(other.values);
        FieldExtent { nulls: self.nulls || other.nulls, nans: self.nans || other.nans, values }
    }

    fn meets(&self, other: &FieldExtent<'_>) -> bool {
        (self.nulls && other.nulls) || (self.nans && other.nans) || self.values.meet(&other.values)
    }
}

impl<'m> Values<'m> {
    fn between(lower: &'m [u8], upper: &'m [u8], ty: &PrimitiveType) -> Values<'m> {
        match (decode_bound(lower, ty), decode_bound(upper, ty)) {
            // Java orders uuids as two signed numbers, so only equal bounds prove something.
            (Ok(Some(low)), Ok(Some(high))) if *ty == PrimitiveType::Uuid && low != high => Values::Any,
            (Ok(Some(low)), Ok(Some(high))) if not_above(low, high) && !low.is_nan() && !high.is_nan() => {
                Values::Between(low, high)
            }
            _ => Values::Any,
        }
    }

    fn and(self, other: Values<'m>) -> Values<'m> {
        match (self, other) {
            (Values::None, values) | (values, Values::None) => values,
            (Values::Between(a, b), Values::Between(c, d)) => {
                Values::Between(if not_above(a, c) { a } else { c }, if not_above(b, d) { d } else { b })
            }
            _ => Values::Any,
        }
    }

    fn meet(&self, other: &Values<'_>) -> bool {
        match (self, other) {
            (Values::None, _) | (_, Values::None) => false,
            (Values::Between(a, b), Values::Between(c, d)) => not_above(*a, *d) && not_above(*c, *b),
            _ => true,
        }
    }
}

fn not_above(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    a.sql_cmp(b).is_none_or(Ordering::is_le)
}

#[cfg(test)]
#[path = "manifest_groups_tests.rs"]
mod tests;
