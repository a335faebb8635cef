use arrow::array::{ListArray, MapArray, RecordBatch, new_null_array};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};
use parquet::file::properties::WriterProperties;
use parquet::variant::{Variant, VariantArray, VariantMetadata, json_to_variant, shred_variant, unshred_variant};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::*;
use crate::codec::variant::tests::{any_json, text_of};
use crate::data::arrow::schema::{FIELD_ID_KEY, to_arrow};
use crate::data::testing::{context, field, leaf, list, read, required, schema, structure, task, write_batch};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::types::{PrimitiveType as P, Schema, Type};

/// Variants as another implementation makes them of JSON; `None` is null.
fn variants(rows: &[Option<Json>]) -> VariantArray {
    let text: ArrayRef = Arc::new(rows.iter().map(|r| r.as_ref().map(Json::to_string)).collect::<StringArray>());
    json_to_variant(&text).unwrap()
}

/// The same, as that implementation shreds them.
fn shredded(rows: &[Option<Json>], ty: &DataType) -> ArrayRef {
    Arc::new(shred_variant(&variants(rows), ty).unwrap().into_inner())
}

fn id(field: ArrowField, id: i32) -> ArrowField {
    field.with_metadata(HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())]))
}

/// A file with these arrays as columns 1, 2 and so on.
fn file(dir: &TempDir, columns: Vec<ArrayRef>) -> String {
    let field =
        |(i, c): (usize, &ArrayRef)| id(ArrowField::new(format!("c{i}"), c.data_type().clone(), true), i as i32 + 1);
    let fields: Vec<ArrowField> = columns.iter().enumerate().map(field).collect();
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap();
    write_batch(dir, &batch, WriterProperties::default())
}

fn one_column() -> Schema {
    schema(vec![field(1, "v", P::Variant)])
}

fn json_of(array: &ArrayRef) -> Vec<Option<Json>> {
    let schema = Arc::new(ArrowSchema::new(vec![ArrowField::new("v", array.data_type().clone(), true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
    let (_, batches) = to_json(arrow::record_batch::RecordBatchIterator::new([Ok(batch)], schema)).unwrap();
    let text = batches[0].column(0).as_string::<i32>();
    text.iter().map(|t| t.map(|t| serde_json::from_str(t).unwrap())).collect()
}

fn read_json(schema: &Schema, path: &str, filter: BoundPredicate) -> Vec<Option<Json>> {
    let batches = read(&context(schema), &task(path, filter)).unwrap();
    batches.iter().flat_map(|b| json_of(b.column(0))).collect()
}

fn kinds() -> Vec<DataType> {
    let field = |name: &str, ty: DataType| ArrowField::new(name, ty, true);
    let inner = DataType::Struct(vec![field("a", DataType::Boolean), field("s", DataType::Utf8)].into());
    let items = DataType::List(Arc::new(field("element", DataType::Int64)));
    vec![
        DataType::Int64,
        DataType::Utf8,
        items.clone(),
        inner.clone(),
        DataType::Struct(vec![field("a", DataType::Int64), field("o", inner.clone()), field("l", items)].into()),
        DataType::List(Arc::new(field("element", inner))),
    ]
}

fn any_row() -> impl Strategy<Value = Option<Json>> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "[a-z]{0,70}".prop_map(Json::from),
    ];
    let value = leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(prop::sample::select(&["a", "l", "o", "s", "x"][..]), inner, 0..5)
                .prop_map(|m| Json::Object(m.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    });
    prop::option::weighted(0.9, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_another_implementation_shreds_is_read(rows in prop::collection::vec(any_row(), 1..20)) {
        let dir = tempfile::tempdir().unwrap();
        for ty in kinds() {
            let stored = shredded(&rows, &ty);
            // That implementation turns some values into the type it shreds to.
            let whole = unshred_variant(&VariantArray::try_new(&stored).unwrap()).unwrap();
            let whole: ArrayRef = Arc::new(whole.into_inner());
            let path = file(&dir, vec![stored]);
            prop_assert_eq!(read_json(&one_column(), &path, BoundPredicate::True), json_of(&whole));
        }
        let path = file(&dir, vec![Arc::new(variants(&rows).into_inner())]);
        prop_assert_eq!(&read_json(&one_column(), &path, BoundPredicate::True), &rows);
        for (op, null) in [(Op::IsNull, true), (Op::NotNull, false)] {
            let kept: Vec<_> = rows.iter().filter(|r| r.is_none() == null).cloned().collect();
            let filter = leaf(&one_column(), 1, op, vec![]);
            prop_assert_eq!(&read_json(&one_column(), &path, filter), &kept);
        }
    }
}

#[test]
fn variants_are_read_inside_of_everything() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [Some(json!({"a": 1})), None, Some(json!([2])), Some(json!({"a": "x", "b": null}))];
    let ty = DataType::Struct(vec![ArrowField::new("a", DataType::Int64, true)].into());
    let stored = shredded(&rows, &ty);
    let member =
        |number: i32, name: &str| Arc::new(id(ArrowField::new(name, stored.data_type().clone(), true), number));
    let nulls = NullBuffer::from(vec![true, true, false, true]);
    let within = StructArray::new(vec![member(11, "v")].into(), vec![stored.clone()], Some(nulls));
    let offsets = OffsetBuffer::new(vec![0, 2, 2, 4].into());
    let valid = NullBuffer::from(vec![true, false, true]);
    let lists = ListArray::new(member(21, "element"), offsets.clone(), stored.clone(), Some(valid));
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["p", "q", "r", "s"]));
    let entry =
        Fields::from(vec![id(ArrowField::new("key", DataType::Utf8, false), 31), member(32, "value").as_ref().clone()]);
    let entries = StructArray::new(entry.clone(), vec![keys, stored.clone()], None);
    let maps = MapArray::new(
        Arc::new(ArrowField::new("key_value", DataType::Struct(entry), false)),
        offsets,
        entries,
        None,
        false,
    );

    let s = schema(vec![field(1, "s", structure(vec![field(11, "v", P::Variant), field(12, "later", P::Variant)]))]);
    let batches = read(&context(&s), &task(&file(&dir, vec![Arc::new(within)]), BoundPredicate::True)).unwrap();
    let structs = batches[0].column(0).as_struct();
    assert_eq!(json_of(structs.column(0)), [rows[0].clone(), None, None, rows[3].clone()]);
    assert!(structs.is_null(2) && structs.column(1).null_count() == 4);

    let map = Type::Map(Arc::new(required(31, "key", P::String)), Arc::new(field(32, "value", P::Variant)));
    let s = schema(vec![field(1, "l", list(field(21, "element", P::Variant))), field(2, "m", map)]);
    let path = file(&dir, vec![Arc::new(lists), Arc::new(maps)]);
    let batches = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap();
    assert_eq!(batches[0].schema(), to_arrow(&s).unwrap());
    assert_eq!(json_of(batches[0].column(0).as_list::<i32>().values()), rows);
    assert_eq!(json_of(batches[0].column(1).as_map().values()), rows);
    let present = leaf(&s, 1, Op::NotNull, vec![]);
    assert_eq!(read(&context(&s), &task(&path, present)).unwrap()[0].num_rows(), 2);
}

/// A struct of optional columns.
fn group(columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let fields: Fields = columns.iter().map(|(n, c)| ArrowField::new(*n, c.data_type().clone(), true)).collect();
    Arc::new(StructArray::new(fields, columns.into_iter().map(|(_, c)| c).collect(), None))
}

fn bytes(rows: &[Option<&[u8]>]) -> ArrayRef {
    Arc::new(BinaryArray::from(rows.to_vec()))
}

const NO_NAMES: &[u8] = &[1, 0, 0];
const NAME_A: &[u8] = &[1, 1, 0, 1, b'a'];

fn refusal(array: ArrayRef) -> (ErrorKind, String) {
    let e = unshred(&array).unwrap_err();
    (e.kind(), e.to_string())
}

#[test]
fn contradictions_are_refused() {
    let int: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![1]));
    let one = |value: Option<&[u8]>, typed: &ArrayRef| {
        group(vec![("metadata", bytes(&[Some(NO_NAMES)])), ("value", bytes(&[value])), ("typed_value", typed.clone())])
    };
    let (kind, text) = refusal(one(Some(&[0]), &int));
    assert!(kind == ErrorKind::CorruptTable && text.contains("as well"), "{text}");
    let field = group(vec![("value", bytes(&[None])), ("typed_value", int.clone())]);
    let object = group(vec![("a", field)]);
    assert!(refusal(one(None, &object)).1.contains("lacks the name"));
    let missing = group(vec![("a", group(vec![("value", bytes(&[None]))]))]);
    assert!(refusal(one(Some(&[0]), &missing)).1.contains("not an object"));
    assert!(refusal(one(None, &group(vec![("a", int.clone())]))).1.contains("not a group"));
    let odd: ArrayRef = Arc::new(arrow::array::UInt32Array::from(vec![1]));
    assert_eq!(refusal(one(None, &odd)).0, ErrorKind::Unsupported);
    let none = group(vec![("metadata", bytes(&[None])), ("value", bytes(&[Some(&[0])]))]);
    assert!(refusal(none).1.contains("no metadata"));
    assert_eq!(refusal(group(vec![("value", bytes(&[None]))])).0, ErrorKind::CorruptTable);
    let wide =
        arrow::array::Decimal128Array::from(vec![i128::from(i32::MAX) + 1]).with_precision_and_scale(9, 0).unwrap();
    assert!(refusal(one(None, &(Arc::new(wide) as ArrayRef))).1.contains("digits"));
    assert_eq!(parts(&int).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_shredded_field_goes_before_the_same_in_the_value() {
    let int: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![Some(7), None]));
    let object = group(vec![("a", group(vec![("value", bytes(&[None, None])), ("typed_value", int)]))]);
    let value: &[u8] = &[2, 1, 0, 0, 1, 4];
    let both = group(vec![
        ("metadata", bytes(&[Some(NAME_A), Some(NAME_A)])),
        ("value", bytes(&[Some(value), Some(value)])),
        ("typed_value", object),
    ]);
    assert_eq!(json_of(&unshred(&both).unwrap()), [Some(json!({"a": 7})), Some(json!({}))]);
}

#[test]
fn a_missing_value_is_a_variant_null() {
    let missing = group(vec![("metadata", bytes(&[Some(NO_NAMES)])), ("value", bytes(&[None]))]);
    assert_eq!(json_of(&unshred(&missing).unwrap()), [Some(Json::Null)]);
    let ints = new_null_array(&DataType::Int32, 1);
    let missing = group(vec![("metadata", bytes(&[Some(NO_NAMES)])), ("typed_value", ints)]);
    assert_eq!(json_of(&unshred(&missing).unwrap()), [Some(Json::Null)]);
}

#[test]
fn damaged_variants_name_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let stored = variants(&[Some(json!({"key": [1, "text", null], "other": {"key": true}}))]);
    let (metadata, value) = parts(stored.inner()).unwrap();
    let (metadata, value) = (metadata.value(0).to_vec(), value.value(0).to_vec());
    let mut refused = 0;
    for (at, bit) in (0..metadata.len() + value.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = [metadata.clone(), value.clone()].concat();
        damaged[at] ^= 1 << bit;
        let (m, v) = damaged.split_at(metadata.len());
        let array = group(vec![("metadata", bytes(&[Some(m)])), ("value", bytes(&[Some(v)]))]);
        let path = file(&dir, vec![array]);
        match read(&context(&one_column()), &task(&path, BoundPredicate::True)) {
            Ok(batches) => drop(json_of(batches[0].column(0))),
            Err(e) => {
                assert!(matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported), "{e:?}");
                assert!(e.to_string().contains(&path), "{e}");
                refused += 1;
            }
        }
        std::fs::remove_file(path).unwrap();
    }
    assert!(refused > 50, "{refused}");
}

/// A column of the Parquet project's test files: metadata and value one after the other.
fn expected(folder: &std::path::Path, name: &str) -> (Vec<u8>, Vec<u8>) {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let size = VariantMetadata::try_new(&bytes).unwrap().size();
    (bytes[..size].to_vec(), bytes[size..].to_vec())
}

/// Reads `shredded_variant` of github.com/apache/parquet-testing, if `FRAZIL_PARQUET_TESTING` says where a copy is.
#[test]
fn the_parquet_projects_files_are_read() {
    let Some(root) = std::env::var_os("FRAZIL_PARQUET_TESTING") else { return };
    let folder = std::path::Path::new(&root).join("shredded_variant");
    let cases: Vec<Json> = serde_json::from_slice(&std::fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let s = schema(vec![field(2, "var", P::Variant)]);
    let (mut right, mut wrong) = (0, Vec::new());
    for case in &cases {
        let Some(name) = case["parquet_file"].as_str() else { continue };
        let path = folder.join(name).display().to_string();
        let result = read(&context(&s), &task(&path, BoundPredicate::True));
        let files: Vec<Option<&str>> = match (&case["variant_file"], &case["variant_files"]) {
            (Json::String(one), _) => vec![Some(one)],
            (_, Json::Array(many)) => many.iter().map(Json::as_str).collect(),
            _ => vec![],
        };
        let outcome = match result {
            Err(_) if case["error_message"].is_string() => Ok(()),
            Err(e) => Err(e.to_string()),
            Ok(_) if case["error_message"].is_string() => Err("no error".into()),
            Ok(batches) => {
                let arrays: Vec<&StructArray> = batches.iter().map(|b| b.column(0).as_struct()).collect();
                let got = arrays.iter().flat_map(|a| (0..a.len()).map(move |i| (a, i))).map(|(a, i)| {
                    let part = |c: usize| a.column(c).as_binary::<i32>().value(i).to_vec();
                    a.is_valid(i).then(|| (part(0), part(1)))
                });
                let got: Vec<_> = got.collect();
                let same = got.len() == files.len()
                    && got.iter().zip(&files).all(|(got, file)| match (got, file) {
                        (None, None) => true,
                        (Some((m, v)), Some(file)) => {
                            let (em, ev) = expected(&folder, file);
                            Variant::try_new(m, v).unwrap() == Variant::try_new(&em, &ev).unwrap()
                        }
                        _ => false,
                    });
                if same { Ok(()) } else { Err("other values".into()) }
            }
        };
        match outcome {
            Ok(()) => right += 1,
            Err(why) => wrong.push(format!("{name} {}: {why}", case["test"])),
        }
    }
    println!("{right} cases right");
    assert!(wrong.is_empty(), "{right} right, {} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Reads `variant` of the same repository: values with their JSON.
#[test]
fn the_parquet_projects_values_are_read() {
    let Some(root) = std::env::var_os("FRAZIL_PARQUET_TESTING") else { return };
    let folder = std::path::Path::new(&root).join("variant");
    let known = std::fs::read_to_string(folder.join("data_dictionary.json")).unwrap();
    // The file ends with a superfluous comma.
    let known: Json = serde_json::from_str(&known.replace(",\n}", "}")).unwrap();
    let mut other = Vec::new();
    for (name, expected) in known.as_object().unwrap() {
        let part = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}"))).unwrap();
        let (metadata, value) = (part("metadata"), part("value"));
        let text = json::to_text(&Metadata::parse(&metadata).unwrap(), &value).unwrap();
        if serde_json::from_str::<Json>(&text).unwrap() != *expected {
            other.push(name.as_str());
        }
    }
    // Spark's text has other digits of 32-bit floats, other separators, and its own zone.
    assert_eq!(other, ["primitive_float", "primitive_time", "primitive_timestamp", "primitive_timestampntz"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_the_oracle_encodes_is_read(value in any_json()) {
        let array = variants(&[Some(value.clone())]).into_inner();
        let (metadata, bytes) = parts(&array).unwrap();
        let read: Json = serde_json::from_str(&text_of(metadata.value(0), bytes.value(0)).unwrap()).unwrap();
        // That implementation reads fractions as decimals if it can.
        prop_assert!(same(&read, &value), "{read} {value}");
    }
}

fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x.as_f64() == y.as_f64(),
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}
