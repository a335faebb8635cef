//! Random data and delete files, planned, against a model that walks over all their rows.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::expr::{bind, parse};
use crate::format::task::{ColumnMetrics, DataFile, FieldMap};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::testing::{TestTable, added, file, partition};
use crate::types::value::encode_bound;
use crate::types::{PartitionField, PartitionSpec, PrimitiveType, Transform, Type};

const K: FieldId = 1;
const F: FieldId = 2;
const P: FieldId = 3;
const IN_STRUCT: FieldId = 5;

/// A long key, a float key, the partition column and a required member of an optional struct.
fn schema() -> Schema {
    let members = vec![Field::new(IN_STRUCT, "m", true, PrimitiveType::Int)];
    Schema::new(
        0,
        vec![
            Field::new(K, "k", false, PrimitiveType::Long),
            Field::new(F, "f", false, PrimitiveType::Double),
            Field::new(P, "p", false, PrimitiveType::Int),
            Field::new(4, "st", false, Type::Struct(members.into())),
        ],
        vec![],
    )
}

fn specs() -> Vec<PartitionSpec> {
    let field =
        |field_id, transform| PartitionField { source_id: P, field_id, name: format!("p{field_id}"), transform };
    vec![
        PartitionSpec { id: 0, fields: vec![field(1000, Transform::Identity)] },
        PartitionSpec { id: 1, fields: vec![] },
        PartitionSpec { id: 2, fields: vec![field(1000, Transform::Identity), field(1001, Transform::Bucket(2))] },
        PartitionSpec { id: 3, fields: vec![field(1000, Transform::Void)] },
    ]
}

/// `k`, `f` and the struct's member of a row.
type Row = [Option<Value>; 3];

fn row() -> impl Strategy<Value = Row> {
    let k = prop::option::weighted(0.8, (0i64..6).prop_map(Value::Long));
    let f = select(vec![None, Some(0.0), Some(-0.0), Some(1.5), Some(f64::NAN), Some(7.0)]);
    let m = prop::option::weighted(0.8, (0i32..4).prop_map(Value::Int));
    (k, f.prop_map(|f| f.map(Value::Double)), m).prop_map(|(k, f, m)| [k, f, m])
}

fn place(id: FieldId) -> usize {
    match id {
        K => 0,
        F => 1,
        _ => 2,
    }
}

#[derive(Clone, Debug)]
struct Common {
    spec: usize,
    p: Option<i32>,
    sequence_number: i64,
    /// Counts, NaN counts, bounds.
    known: [bool; 3],
    /// Rows with a null struct are not counted (ORC).
    uncounted: bool,
}

fn common() -> impl Strategy<Value = Common> {
    let p = prop::option::weighted(0.8, 0i32..2);
    let known = prop::array::uniform3(prop::bool::weighted(0.85));
    (0usize..4, p, 1i64..5, known, any::<bool>()).prop_map(|(spec, p, sequence_number, known, uncounted)| Common {
        spec,
        p,
        sequence_number,
        known,
        uncounted,
    })
}

#[derive(Clone, Debug)]
enum Kind {
    /// Deletes rows of these data files, if they are of its partition. Its paths are known by name, by bounds, by cut
    /// bounds, or not at all.
    Positions(Vec<usize>, u8),
    Vector(usize),
    Equality(Vec<FieldId>, Vec<Row>),
}

#[derive(Clone, Debug)]
struct Delete {
    common: Common,
    kind: Kind,
}

fn delete() -> impl Strategy<Value = Delete> {
    let keys = prop::sample::subsequence(vec![K, F, IN_STRUCT], 1..=3);
    let kind = prop_oneof![
        3 => (prop::collection::vec(0usize..8, 1..3), 0u8..5).prop_map(|(of, form)| Kind::Positions(of, form)),
        1 => (0usize..8).prop_map(Kind::Vector),
        4 => (keys, prop::collection::vec(row(), 1..4)).prop_map(|(keys, rows)| Kind::Equality(keys, rows)),
    ];
    (common(), kind).prop_map(|(common, kind)| Delete { common, kind })
}

fn tuple(c: &Common) -> Vec<Option<Value>> {
    let apply = |f: &PartitionField| f.transform.apply(ValueRef::Int(c.p?), &PrimitiveType::Int);
    specs()[c.spec].fields.iter().map(apply).collect()
}

fn metrics(rows: &[Row], ids: &[FieldId], c: &Common) -> ColumnMetrics {
    let mut m = ColumnMetrics::default();
    let [counts, nans, bounds] = c.known;
    let count = |map: &mut Option<FieldMap<i64>>, id: FieldId, n: usize| {
        map.get_or_insert_default().insert(id, n as i64);
    };
    for id in ids {
        let counted = |v: &&Option<Value>| !(*id == IN_STRUCT && c.uncounted && v.is_none());
        let cells: Vec<&Option<Value>> = rows.iter().map(|r| &r[place(*id)]).filter(counted).collect();
        let some: Vec<&Value> = cells.iter().filter_map(|v| v.as_ref()).collect();
        let mut ordinary: Vec<&Value> = some.iter().copied().filter(|v| !v.as_ref().is_nan()).collect();
        ordinary.sort_by(|a, b| a.sql_cmp(b).unwrap());
        if counts {
            count(&mut m.value_counts, *id, cells.len());
            count(&mut m.null_value_counts, *id, cells.len() - some.len());
        }
        if nans && *id == F {
            count(&mut m.nan_value_counts, *id, some.len() - ordinary.len());
        }
        if let (Some(low), Some(high), true) = (ordinary.first(), ordinary.last(), bounds) {
            m.lower_bounds.get_or_insert_default().insert(*id, encode_bound(low.as_ref()));
            m.upper_bounds.get_or_insert_default().insert(*id, encode_bound(high.as_ref()));
        }
    }
    m
}

fn path(n: usize) -> String {
    format!("/t/data/{n}.parquet")
}

fn same(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.sql_cmp(b).is_some_and(|o| o.is_eq()),
        _ => false,
    }
}

/// The same partition of the same spec.
fn together(a: &Common, b: &Common) -> bool {
    a.spec == b.spec && tuple(a) == tuple(b)
}

/// The recorded paths of a position delete file: one name, or a range.
enum Paths {
    One(String),
    Range(Option<String>, Option<String>),
}

fn paths(of: &[usize], form: u8) -> Paths {
    let mut all: Vec<String> = of.iter().map(|n| path(*n)).collect();
    all.sort();
    all.dedup();
    let (first, last) = (all[0].clone(), all[all.len() - 1].clone());
    match form {
        0 | 1 if all.len() == 1 => Paths::One(first),
        // Cut after the last common letter and rounded up.
        2 => Paths::Range(Some("/t/data/".into()), Some("/t/data0".into())),
        3 => Paths::Range(None, None),
        4 => Paths::Range(Some(first), None),
        _ => Paths::Range(Some(first), Some(last)),
    }
}

fn delete_file(n: usize, d: &Delete) -> DataFile {
    let partition = partition(&specs()[d.common.spec], &schema(), &tuple(&d.common));
    let mut out = file(&format!("/t/deletes/{n}"), &partition);
    match &d.kind {
        Kind::Positions(of, form) => {
            out.content = FileContent::PositionDeletes;
            let mut m = ColumnMetrics::default();
            let bound = |path: &str| Some(FieldMap::from([(DELETE_FILE_PATH, path.as_bytes().to_vec())]));
            match paths(of, *form) {
                Paths::One(path) if *form == 0 => out.referenced_data_file = Some(path),
                Paths::One(path) => (m.lower_bounds, m.upper_bounds) = (bound(&path), bound(&path)),
                Paths::Range(low, high) => {
                    m.lower_bounds = low.as_deref().and_then(bound);
                    m.upper_bounds = high.as_deref().and_then(bound);
                }
            }
            out.metrics = Some(m.into());
        }
        Kind::Vector(of) => {
            out.content = FileContent::PositionDeletes;
            out.format = FileFormat::Puffin;
            out.referenced_data_file = Some(path(*of));
            (out.content_offset, out.content_size_bytes) = (Some(4), Some(40));
        }
        Kind::Equality(keys, rows) => {
            out.content = FileContent::EqualityDeletes;
            out.equality_ids = Some(keys.clone());
            out.record_count = rows.len() as i64;
            out.metrics = Some(metrics(rows, keys, &d.common).into());
        }
    }
    out
}

/// The deletes that must be attached and those that may be, by the specification alone.
fn model(
    n: usize,
    data: &[(Common, Vec<Row>)],
    deletes: &[Delete],
    kept: &[bool],
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (c, rows) = &data[n];
    let (mut must, mut may) = (BTreeSet::new(), BTreeSet::new());
    let vector = |d: &Delete| matches!(d.kind, Kind::Vector(of) if of == n);
    let has_vector = deletes.iter().any(vector);
    for (i, d) in deletes.iter().enumerate() {
        match &d.kind {
            Kind::Vector(_) => {
                if vector(d) {
                    must.insert(i);
                }
            }
            Kind::Positions(of, form) => {
                let named = match paths(of, *form) {
                    Paths::One(p) => p == path(n),
                    // Ranges are not used, as in Java.
                    Paths::Range(..) => true,
                };
                // Exactly the deletes in scope.
                if named && !has_vector && together(c, &d.common) && c.sequence_number <= d.common.sequence_number {
                    must.insert(i);
                }
            }
            Kind::Equality(keys, gone) => {
                let global = specs()[d.common.spec].is_unpartitioned();
                if c.sequence_number < d.common.sequence_number && (global || together(c, &d.common)) {
                    may.insert(i);
                    let hit = |r: &Row| gone.iter().any(|g| keys.iter().all(|k| same(&r[place(*k)], &g[place(*k)])));
                    if rows.iter().zip(kept).any(|(r, kept)| *kept && hit(r)) {
                        must.insert(i);
                    }
                }
            }
        }
    }
    may.extend(&must);
    (must, may)
}

type Case = (Vec<(Common, Vec<Row>)>, Vec<Delete>, usize, bool);

fn cases() -> impl Strategy<Value = Case> {
    let data = prop::collection::vec((common(), prop::collection::vec(row(), 1..4)), 1..8);
    let deletes = prop::collection::vec(delete(), 0..12);
    (data, deletes, 0..FILTERS.len(), any::<bool>()).prop_map(|(data, mut deletes, filter, split)| {
        // Broken metadata is refused, which other tests check: deletes that name a file have its partition.
        let mut vectors = BTreeSet::new();
        deletes.retain_mut(|d| {
            let named: Option<usize> = match &d.kind {
                Kind::Vector(of) => Some(*of),
                Kind::Positions(of, form) => match paths(of, *form) {
                    Paths::One(_) => Some(of[0]),
                    Paths::Range(..) => None,
                },
                Kind::Equality(..) => None,
            };
            if let Some((c, _)) = named.and_then(|n| data.get(n)) {
                (d.common.spec, d.common.p) = (c.spec, c.p);
                if matches!(d.kind, Kind::Vector(_)) {
                    d.common.sequence_number = d.common.sequence_number.max(c.sequence_number);
                }
            }
            !matches!(d.kind, Kind::Vector(of) if !vectors.insert(of))
        });
        (data, deletes, filter, split)
    })
}

/// Whether a filter is true on a row.
type Holds = fn(&Row) -> bool;

const FILTERS: [(&str, Holds); 6] = [
    ("true", |_| true),
    ("k = 3", |r| r[0] == Some(Value::Long(3))),
    ("k is null", |r| r[0].is_none()),
    ("st.m is null or k >= 4", |r| r[2].is_none() || matches!(r[0], Some(Value::Long(4..)))),
    ("f is nan", |r| matches!(r[1], Some(Value::Double(d)) if d.is_nan())),
    (
        "f = 0 and k < 3",
        |r| matches!((&r[0], &r[1]), (Some(Value::Long(k)), Some(Value::Double(d))) if *k < 3 && *d == 0.0),
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn attached_deletes_are_the_models((data, deletes, filter, split) in cases()) {
        let mut table = TestTable::new(3, &[schema()], &specs());
        let (text, holds) = FILTERS[filter];
        for spec in 0..specs().len() {
            let of_spec = |c: &Common| c.spec == spec;
            let entries: Vec<_> = (0..data.len()).filter(|n| of_spec(&data[*n].0)).map(|n| {
                let (c, rows) = &data[n];
                let mut f = file(&path(n), &partition(&specs()[spec], &schema(), &tuple(c)));
                f.record_count = rows.len() as i64;
                f.metrics = Some(metrics(rows, &[K, F, IN_STRUCT], c).into());
                added(f, c.sequence_number)
            }).collect();
            if !entries.is_empty() {
                table.add(ManifestContent::Data, &schema(), spec as i32, &entries);
            }
            let entries: Vec<_> = (0..deletes.len()).filter(|n| of_spec(&deletes[*n].common))
                .map(|n| added(delete_file(n, &deletes[n]), deletes[n].common.sequence_number)).collect();
            let middle = if split { entries.len() / 2 } else { 0 };
            for part in [&entries[..middle], &entries[middle..]].into_iter().filter(|p| !p.is_empty()) {
                table.add(ManifestContent::Deletes, &schema(), spec as i32, part);
            }
        }
        let filter = bind(&parse(text).unwrap(), &schema(), true).unwrap();
        let tasks = table.tasks(filter).unwrap();
        for n in 0..data.len() {
            let kept: Vec<bool> = data[n].1.iter().map(holds).collect();
            let Some(task) = tasks.iter().find(|t| t.data_file.path == path(n)) else {
                prop_assert!(!kept.contains(&true), "{text} loses {n}");
                continue;
            };
            let number = |d: &DeleteRef| d.file.path.rsplit('/').next().unwrap().parse::<usize>().unwrap();
            let listed: Vec<usize> = task.deletes.iter().map(number).collect();
            let attached: BTreeSet<usize> = listed.iter().copied().collect();
            prop_assert_eq!(attached.len(), listed.len(), "one twice");
            let (must, may) = model(n, &data, &deletes, &kept);
            prop_assert!(must.is_subset(&attached), "{} on {}: {:?} lacks some of {:?}", text, n, attached, must);
            prop_assert!(attached.is_subset(&may), "{} on {}: {:?} has more than {:?}", text, n, attached, may);
        }
    }
}
