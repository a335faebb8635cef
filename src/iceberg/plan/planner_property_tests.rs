//! Random tables, planned and compared with a walk over their rows. They have columns of all types, promoted and
//! inside structs, and several specs. Metrics and summaries are as writers make them. Filters use several columns.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::expr::bounds::{Verdict, evaluate, promote};
use crate::expr::oracle;
use crate::expr::{BoundLeaf, BoundPredicate};
use crate::format::task::{ColumnMetrics, FieldMap, FileFormat};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::file_bounds::MetricsBounds;
use crate::iceberg::plan::plan_cache::cache::PlanCache;
use crate::iceberg::plan::testing::*;
use crate::types::value::encode_bound;
use crate::types::{Field, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform, Type, Value};

/// A column: its type when old files were written, its type now, and whether it lies in the struct.
#[derive(Clone, Debug)]
struct Col {
    old: PrimitiveType,
    now: PrimitiveType,
    nested: bool,
}

const STRUCT: FieldId = 100;

fn id(column: usize) -> FieldId {
    column as FieldId + 1
}

fn schema(id_: i32, cols: &[Col], ty: fn(&Col) -> &PrimitiveType) -> Schema {
    let fields = |nested: bool| {
        let of = cols.iter().enumerate().filter(move |(_, c)| c.nested == nested);
        of.map(|(i, c)| Field::new(id(i), format!("c{i}"), false, ty(c).clone())).collect::<Vec<_>>()
    };
    let (mut all, mut members) = (fields(false), fields(true));
    members.push(Field::new(STRUCT + 1, "other", false, PrimitiveType::Int));
    all.push(Field::new(STRUCT, "st", false, Type::Struct(members.into())));
    Schema::new(id_, all, vec![])
}

fn cols() -> impl Strategy<Value = Vec<Col>> {
    use PrimitiveType as P;
    let decimal = |precision| P::Decimal { precision, scale: 2 };
    let promoted = vec![
        (P::Int, P::Long),
        (P::Float, P::Double),
        (P::Date, P::Timestamp),
        (P::Date, P::TimestampNs),
        (decimal(9), decimal(38)),
    ];
    let types = prop_oneof![3 => oracle::types().prop_map(|t| (t.clone(), t)), 2 => select(promoted)];
    let col = (types, prop::bool::weighted(0.3)).prop_map(|((old, now), nested)| Col { old, now, nested });
    prop::collection::vec(col, 1..4)
}

fn specs(cols: &[Col]) -> BoxedStrategy<Vec<PartitionSpec>> {
    let cols = cols.to_vec();
    let field = (any::<Index>(), any::<Index>()).prop_map(move |(column, which)| {
        let i = column.index(cols.len());
        let all = [
            Transform::Identity,
            Transform::Bucket(3),
            Transform::Truncate(1),
            Transform::Truncate(10),
            Transform::Year,
            Transform::Month,
            Transform::Day,
            Transform::Hour,
            Transform::Void,
        ];
        // The bucket of a date differs from that of its midnight, so promotion is not allowed then. A decimal near the
        // limit of its precision is cut to a number beyond it, which can't be written.
        let fits = |t: &&Transform| match (t, &cols[i].old) {
            (Transform::Bucket(_), PrimitiveType::Date) => false,
            (Transform::Truncate(width), PrimitiveType::Decimal { .. }) => *width == 1,
            (t, ty) => t.accepts(ty),
        };
        let fit: Vec<&Transform> = all.iter().filter(fits).collect();
        (i, fit[which.index(fit.len())].clone())
    });
    prop::collection::vec(prop::collection::vec(field, 0..3), 1..4)
        .prop_map(|specs| {
            // A field that a former spec had keeps its id, as in real writers.
            let mut ids: HashMap<(usize, String), i32> = HashMap::new();
            let spec = |(id_, fields): (usize, Vec<(usize, Transform)>)| {
                let mut out: Vec<PartitionField> = Vec::new();
                for (i, transform) in fields {
                    let next = 1000 + ids.len() as i32;
                    let field_id = *ids.entry((i, transform.to_string())).or_insert(next);
                    if out.iter().all(|f| f.field_id != field_id) {
                        out.push(PartitionField {
                            source_id: id(i),
                            field_id,
                            name: format!("p{field_id}"),
                            transform,
                        });
                    }
                }
                PartitionSpec { id: id_ as i32, fields: out }
            };
            specs.into_iter().enumerate().map(spec).collect()
        })
        .boxed()
}

/// A row has a cell for each column. Where the struct is null, its members are null too.
type Row = Vec<Option<Value>>;

/// How a file and its metrics are written.
#[derive(Clone, Debug)]
struct Style {
    spec: Index,
    old: bool,
    /// Bounds of text and bytes are cut to this length.
    cut: usize,
    /// Members of null structs are not counted (ORC).
    uncounted: bool,
    /// By column modulo ten: value count, null count, NaN count, lower, upper bound.
    known: [[bool; 5]; 3],
    zeros_widened: bool,
    manifest: u8,
}

fn style() -> impl Strategy<Value = Style> {
    let known = prop::array::uniform3(prop::array::uniform5(prop::bool::weighted(0.85)));
    (any::<Index>(), any::<bool>(), 1usize..4, any::<bool>(), known, any::<bool>(), 0u8..2).prop_map(
        |(spec, old, cut, uncounted, known, zeros_widened, manifest)| Style {
            spec,
            old,
            cut,
            uncounted,
            known,
            zeros_widened,
            manifest,
        },
    )
}

fn rows(cols: &[Col]) -> BoxedStrategy<(Vec<Row>, Vec<bool>)> {
    let pools: Vec<_> = cols.iter().map(|c| prop::collection::vec(oracle::cells(&c.old), 1..3)).collect();
    let picks =
        prop::collection::vec((prop::collection::vec(any::<Index>(), cols.len()), prop::bool::weighted(0.2)), 1..5);
    let nested: Vec<bool> = cols.iter().map(|c| c.nested).collect();
    (pools, picks)
        .prop_map(move |(pools, picks)| {
            let row = |(at, null): &(Vec<Index>, bool)| -> Row {
                let cell = |i: usize| pools[i][at[i].index(pools[i].len())].clone().filter(|_| !(*null && nested[i]));
                (0..pools.len()).map(cell).collect()
            };
            (picks.iter().map(row).collect(), picks.iter().map(|p| p.1).collect())
        })
        .boxed()
}

#[derive(Clone, Debug)]
struct File {
    style: Style,
    /// Rows as written, all of one partition.
    rows: Vec<Row>,
    /// The rows in which the struct is null.
    null_structs: Vec<bool>,
}

#[derive(Clone, Debug)]
struct Case {
    cols: Vec<Col>,
    specs: Vec<PartitionSpec>,
    files: Vec<File>,
    filter: BoundPredicate,
    list_knows: [bool; 3],
}

/// A filter on one column, made from one on the oracle's column.
fn on_column(p: &BoundPredicate, i: usize, col: &Col) -> BoundPredicate {
    let all = |parts: &[BoundPredicate]| parts.iter().map(|p| on_column(p, i, col)).collect::<Vec<_>>();
    match p {
        BoundPredicate::And(parts) => BoundPredicate::all(all(parts)),
        BoundPredicate::Or(parts) => BoundPredicate::any(all(parts)),
        BoundPredicate::Leaf(leaf) => {
            let mut leaf: BoundLeaf = leaf.clone();
            leaf.term.field_id = id(i);
            let name = format!("c{i}");
            leaf.term.path = if col.nested { vec!["st".into(), name] } else { vec![name] };
            BoundPredicate::Leaf(leaf)
        }
        constant => constant.clone(),
    }
}

fn filters(cols: &[Col]) -> BoxedStrategy<BoundPredicate> {
    let one = |(i, c): (usize, &Col)| {
        let col = c.clone();
        oracle::filters(&c.now).prop_map(move |p| on_column(&p, i, &col)).boxed()
    };
    let each: Vec<BoxedStrategy<BoundPredicate>> = cols.iter().enumerate().map(one).collect();
    let any_of = proptest::strategy::Union::new(each);
    (prop::collection::vec(any_of, 1..4), any::<bool>())
        .prop_map(|(parts, and)| if and { BoundPredicate::all(parts) } else { BoundPredicate::any(parts) })
        .boxed()
}

fn cases() -> impl Strategy<Value = Case> {
    cols().prop_flat_map(|cols| {
        let files = prop::collection::vec((style(), rows(&cols)), 1..6);
        (Just(cols.clone()), specs(&cols), files, filters(&cols), any::<[bool; 3]>()).prop_map(
            |(cols, specs, files, filter, list_knows)| {
                let file = |(style, (rows, nulls)): (Style, (Vec<Row>, Vec<bool>))| {
                    let spec = &specs[style.spec.index(specs.len())];
                    let first = tuple(spec, &cols, &rows[0], style.old);
                    let same: Vec<usize> =
                        (0..rows.len()).filter(|r| alike(&tuple(spec, &cols, &rows[*r], style.old), &first)).collect();
                    File {
                        rows: same.iter().map(|r| rows[*r].clone()).collect(),
                        null_structs: same.iter().map(|r| nulls[*r]).collect(),
                        style,
                    }
                };
                let files = files.into_iter().map(file).collect();
                Case { cols, specs, files, filter, list_knows }
            },
        )
    })
}

/// The value of a cell in a file of that age, as a reader sees it now.
fn now(col: &Col, cell: &Option<Value>) -> Option<Value> {
    cell.as_ref().map(|v| promote(v.as_ref(), &col.now).unwrap().to_owned())
}

fn in_file(col: &Col, cell: &Option<Value>, old: bool) -> Option<Value> {
    if old { cell.clone() } else { now(col, cell) }
}

fn tuple(spec: &PartitionSpec, cols: &[Col], row: &Row, old: bool) -> Vec<Option<Value>> {
    let value = |f: &PartitionField| {
        let i = f.source_id as usize - 1;
        let ty = if old { &cols[i].old } else { &cols[i].now };
        f.transform.apply(in_file(&cols[i], &row[i], old)?.as_ref(), ty)
    };
    spec.fields.iter().map(value).collect()
}

/// NaNs are equal. Zeros of either sign are two partitions.
fn alike(a: &[Option<Value>], b: &[Option<Value>]) -> bool {
    a.iter().zip(b).all(|(a, b)| format!("{a:?}") == format!("{b:?}"))
}

/// Cut text or bytes. An upper bound is the next text of at most that length, or missing.
fn cut(v: &Value, length: usize, upper: bool) -> Option<Value> {
    let raise = |c: &char| if *c == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(*c as u32 + 1) };
    match v {
        Value::String(s) if s.chars().count() > length => {
            let mut chars: Vec<char> = s.chars().take(length).collect();
            if upper {
                let at = chars.iter().rposition(|c| raise(c).is_some())?;
                chars.truncate(at + 1);
                chars[at] = raise(&chars[at])?;
            }
            Some(Value::String(chars.into_iter().collect()))
        }
        Value::Bytes(b) if b.len() > length => {
            let mut b = b[..length].to_vec();
            if upper {
                let at = b.iter().rposition(|b| *b < 255)?;
                b.truncate(at + 1);
                b[at] += 1;
            }
            Some(Value::Bytes(b))
        }
        v => Some(v.clone()),
    }
}

fn metrics(cols: &[Col], f: &File) -> ColumnMetrics {
    let mut m = ColumnMetrics::default();
    let counts = |map: &mut Option<FieldMap<i64>>, i: usize, n: usize| {
        map.get_or_insert_default().insert(id(i), n as i64);
    };
    for (i, col) in cols.iter().enumerate() {
        let [values, nulls, nans, lower, upper] = f.style.known[i];
        let counted = |r: &usize| !(col.nested && f.style.uncounted && f.null_structs[*r]);
        let cells: Vec<Option<Value>> =
            (0..f.rows.len()).filter(counted).map(|r| in_file(col, &f.rows[r][i], f.style.old)).collect();
        let some: Vec<&Value> = cells.iter().flatten().collect();
        let mut ordinary: Vec<&Value> = some.iter().copied().filter(|v| !v.as_ref().is_nan()).collect();
        ordinary.sort_by(|a, b| a.sql_cmp(b).unwrap());
        // A writer that leaves rows out records how many it counted.
        if values || (nulls && col.nested && f.style.uncounted) {
            counts(&mut m.value_counts, i, cells.len());
        }
        if nulls {
            counts(&mut m.null_value_counts, i, cells.len() - some.len());
        }
        if nans && col.old.is_float() {
            counts(&mut m.nan_value_counts, i, some.len() - ordinary.len());
        }
        let zero = |v: Value, negative: bool| match v {
            Value::Double(d) if d == 0.0 && f.style.zeros_widened => Value::Double(if negative { -0.0 } else { 0.0 }),
            v => v,
        };
        if let Some(v) = ordinary.first().filter(|_| lower).and_then(|v| cut(v, f.style.cut, false)) {
            m.lower_bounds.get_or_insert_default().insert(id(i), encode_bound(zero(v, true).as_ref()));
        }
        if let Some(v) = ordinary.last().filter(|_| upper).and_then(|v| cut(v, f.style.cut, true)) {
            m.upper_bounds.get_or_insert_default().insert(id(i), encode_bound(zero(v, false).as_ref()));
        }
    }
    m
}

fn holds(p: &BoundPredicate, row: &[Option<Value>]) -> Option<bool> {
    let junction = |parts: &[BoundPredicate], decisive: bool| {
        let all: Vec<Option<bool>> = parts.iter().map(|p| holds(p, row)).collect();
        match all.contains(&Some(decisive)) {
            true => Some(decisive),
            false if all.contains(&None) => None,
            false => Some(!decisive),
        }
    };
    match p {
        BoundPredicate::And(parts) => junction(parts, false),
        BoundPredicate::Or(parts) => junction(parts, true),
        BoundPredicate::Leaf(leaf) => oracle::holds(p, row[leaf.term.field_id as usize - 1].as_ref()),
        constant => oracle::holds(constant, None),
    }
}

fn build(case: &Case) -> TestTable {
    let schemas = [schema(0, &case.cols, |c| &c.old), schema(1, &case.cols, |c| &c.now)];
    let mut table = TestTable::new(3, &schemas, &case.specs);
    let mut manifests: Vec<((usize, bool, u8), Vec<_>)> = Vec::new();
    for (n, f) in case.files.iter().enumerate() {
        let spec = f.style.spec.index(case.specs.len());
        let schema = &schemas[usize::from(!f.style.old)];
        let partition =
            partition(&case.specs[spec], schema, &tuple(&case.specs[spec], &case.cols, &f.rows[0], f.style.old));
        let mut data = file(&format!("f{n}"), &partition);
        data.record_count = f.rows.len() as i64;
        data.metrics = Some(metrics(&case.cols, f).into());
        data.format = if f.style.uncounted { FileFormat::Orc } else { FileFormat::Parquet };
        data.split_offsets = Some(vec![4]);
        let key = (spec, f.style.old, f.style.manifest);
        let at = manifests.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
            manifests.push((key, vec![]));
            manifests.len() - 1
        });
        manifests[at].1.push(added(data, 3));
    }
    let [summaries, _, _] = case.list_knows;
    for ((spec, old, _), entries) in manifests {
        let m = table.add(ManifestContent::Data, &schemas[usize::from(!old)], spec as i32, &entries);
        if !summaries {
            m.partitions = None;
        }
        if let Some(list) = m.partitions.as_mut().filter(|_| !case.list_knows[1]) {
            list.iter_mut().for_each(|s| s.contains_nan = None);
        }
    }
    table
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn plans_lose_no_row_and_claim_nothing_false(case in cases()) {
        let table = build(&case);
        table.write_list(3);
        let batches = table.batches(case.filter.clone()).unwrap();
        let tasks = tasks_of(&batches).unwrap();
        let planned: HashMap<&str, &BoundPredicate> =
            tasks.iter().map(|t| (t.data_file.path.as_str(), &*t.residual)).collect();
        prop_assert_eq!(planned.len(), tasks.len());
        let rows_now = |n: usize| -> Vec<Row> {
            let row = |r: &Row| r.iter().zip(&case.cols).map(|(cell, col)| now(col, cell)).collect();
            case.files[n].rows.iter().map(row).collect()
        };
        for n in 0..case.files.len() {
            let rows = rows_now(n);
            let kept: Vec<bool> = rows.iter().map(|r| holds(&case.filter, r) == Some(true)).collect();
            match planned.get(format!("f{n}").as_str()) {
                None => prop_assert!(!kept.contains(&true), "{} loses a row of f{n}", case.filter),
                Some(left) => {
                    for (row, kept) in rows.iter().zip(&kept) {
                        prop_assert_eq!(holds(left, row) == Some(true), *kept, "{} {}", case.filter, left);
                    }
                    prop_assert!(**left != BoundPredicate::True || !kept.contains(&false));
                }
            }
        }
        // The metrics alone claim nothing false either.
        for batch in &batches {
            for row in batch.columns.rows() {
                let path = std::str::from_utf8(batch.columns.path.get(row).unwrap()).unwrap();
                let rows = rows_now(path[1..].parse().unwrap());
                let want = match evaluate(&case.filter, &MetricsBounds::new(&batch.columns, row)) {
                    Verdict::Always => Some(true),
                    Verdict::Never => Some(false),
                    Verdict::Maybe => continue,
                };
                for r in &rows {
                    prop_assert_eq!(Some(holds(&case.filter, r) == Some(true)), want, "{} {}", case.filter, path);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    /// A plan from the cache has the same tasks, with an empty cache and with a filled one.
    #[test]
    fn cached_plans_are_the_same(case in cases()) {
        let table = build(&case);
        table.write_list(3);
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(crate::store::local::LocalStore);
        let cache = Arc::new(PlanCache::new(store, folder.path().to_str().unwrap(), 1 << 30));
        let tasks = |cache: Option<&Arc<PlanCache>>| {
            let mut input = table.input(case.filter.clone());
            input.cache = cache.cloned();
            let found = tasks_of(&batches_of(input).unwrap()).unwrap();
            found.iter().map(|t| (format!("{:?}", t.data_file), t.residual.to_string())).collect::<Vec<_>>()
        };
        let plain = tasks(None);
        prop_assert_eq!(&tasks(Some(&cache)), &plain);
        prop_assert_eq!(&tasks(Some(&cache)), &plain);
    }
}
