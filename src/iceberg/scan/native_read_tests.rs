use std::collections::{BTreeMap, HashMap};

use arrow::array::{AsArray, Int64Array, RecordBatchIterator, StringArray};
use tempfile::TempDir;

use super::*;
use crate::expr::{BoundLeaf, parse};
use crate::format::catalog::NewTable;
use crate::format::ident::TableIdent;
use crate::format::request::ScanRequest;
use crate::iceberg::catalog_tables::IcebergCatalog;
use crate::iceberg::state::{ICEBERG, IcebergTable};
use crate::rows::native_read::NativeFilter;
use crate::rows::seam::Catalog as _;
use crate::types::{PrimitiveType as P, Value};

fn create(catalog: &IcebergCatalog, schema: &Schema, request: NewTable) -> IcebergTable {
    let created = catalog.create_table(&TableIdent::parse("db.t").unwrap(), schema, request, &ICEBERG).unwrap();
    IcebergTable::open(created.location(), BTreeMap::new(), false).unwrap()
}

fn table(dir: &TempDir) -> IcebergTable {
    let warehouse = dir.path().to_str().unwrap().to_owned();
    let catalog = IcebergCatalog::open("c", BTreeMap::from([("warehouse".to_owned(), warehouse)])).unwrap();
    catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
    let schema =
        Schema::new(0, vec![Field::new(1, "id", false, P::Long), Field::new(2, "p", false, P::String)], vec![]);
    let request = NewTable { partition_by: vec!["p".to_owned()], ..NewTable::default() };
    let table = create(&catalog, &schema, request);
    let arrow = crate::data::arrow::schema::to_arrow(table.schema()).unwrap();
    let (ids, parts) = (Int64Array::from(vec![1, 2, 3]), StringArray::from(vec!["a", "b", "b"]));
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(ids), Arc::new(parts)]).unwrap();
    table.append(Box::new(RecordBatchIterator::new([Ok(batch)], arrow))).unwrap()
}

fn request() -> NativeReadRequest {
    NativeReadRequest {
        schemes: vec!["file".into()],
        refused: HashMap::new(),
        most_files: 10,
        most_positions: 10,
        pack_from: usize::MAX,
    }
}

fn read(table: &IcebergTable, filter: &str, request: &NativeReadRequest) -> NativeRead {
    let filter = Some(parse(filter).unwrap());
    let scan = table.scan(ScanRequest { filter, ..ScanRequest::default() }).unwrap();
    scan.native_read(request, SplitRequest::default()).unwrap()
}

fn each(found: &NativeRead) -> &[crate::format::task::Split] {
    let Splits::Each(splits) = &found.rest else { panic!("they are packed") };
    splits
}

/// The reason of the first file of the scan that does not go to the engine.
fn reason(found: &NativeRead) -> String {
    match &found.reasons {
        Reasons::Everywhere(reason) => reason.clone(),
        Reasons::Each(files) => files.column(1).as_string::<i64>().value(0).to_owned(),
    }
}

#[test]
fn files_go_where_they_may() {
    let dir = TempDir::new().unwrap();
    let table = table(&dir);
    let all = read(&table, "true", &request());
    assert_eq!((all.groups.len(), each(&all).len(), all.deleted.num_rows()), (1, 0, 0));
    assert_eq!(all.groups[0].files.len(), 2);
    assert!(!all.groups[0].is_filtered);
    // Where partitions answer the filter, rows need not be asked.
    assert!(!read(&table, "p = 'a'", &request()).groups[0].is_filtered);
    assert!(read(&table, "id > 1", &request()).groups.iter().all(|g| g.is_filtered));
    assert!(read(&table, "bucket(4, id) = 1 or id = 2", &request()).groups.is_empty());

    let path = all.groups[0].files[0].path.clone();
    let others = [
        (NativeReadRequest { schemes: vec![], ..request() }, 2, "not configured to read from 'file:'"),
        (NativeReadRequest { most_files: 1, ..request() }, 2, "more than 1"),
        (
            NativeReadRequest { refused: HashMap::from([(path, "not asked for".into())]), ..request() },
            1,
            "not asked for",
        ),
    ];
    for (request, refused, reason) in others {
        let found = read(&table, "true", &request);
        assert!(self::reason(&found).contains(reason), "{:?}", found.reasons);
        if let Reasons::Each(files) = &found.reasons {
            assert_eq!(files.num_rows(), refused);
        }
        assert_eq!(each(&found).iter().map(|s| s.tasks.len()).sum::<usize>(), refused);
    }
}

#[test]
fn filters_are_said_with_names_and_types() {
    let dir = TempDir::new().unwrap();
    let table = table(&dir);
    let found = read(&table, "id in (1, 7) and (p is null or p >= 'b')", &request());
    let leaf = |op, name: &str, type_name: &str, values| NativeFilter::Leaf {
        op,
        path: vec![name.to_owned()],
        type_name: type_name.to_owned(),
        values,
    };
    let numbers = vec![NativeValue::Integer(1), NativeValue::Integer(7)];
    let either = NativeFilter::Or(vec![
        leaf("is-null", "p", "string", vec![]),
        leaf("gt-eq", "p", "string", vec![NativeValue::Text("b".to_owned())]),
    ]);
    let expected = NativeFilter::And(vec![leaf("in", "id", "long", numbers), either]);
    assert_eq!(NativeFilter::new(&found.filter), Some(expected));
    let leaf = BoundPredicate::Leaf(BoundLeaf {
        term: crate::expr::BoundTerm::of_column(&[&Field::new(1, "d", false, P::Date)]).unwrap(),
        op: Op::Eq,
        values: vec![Value::Int(-800_000)],
    });
    assert!(unsayable(&leaf).is_some(), "the year before 0");
}

#[test]
fn columns_with_names_of_our_own_stay_here() {
    let dir = TempDir::new().unwrap();
    let warehouse = dir.path().to_str().unwrap().to_owned();
    let catalog = IcebergCatalog::open("c", BTreeMap::from([("warehouse".to_owned(), warehouse)])).unwrap();
    catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
    let schema = Schema::new(0, vec![Field::new(1, "__FRAZIL_bit", false, P::Long)], vec![]);
    let table = create(&catalog, &schema, NewTable::default());
    let arrow = crate::data::arrow::schema::to_arrow(table.schema()).unwrap();
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(Int64Array::from(vec![1]))]).unwrap();
    let rows = Box::new(RecordBatchIterator::new([Ok(batch)], arrow));
    let table = table.append(rows).unwrap();
    let found = read(&table, "true", &request());
    assert!(found.groups.is_empty());
    assert!(reason(&found).contains("Frazil's own"), "{:?}", found.reasons);
}

#[test]
fn paths_that_engines_change_are_told() {
    for plain in ["/a/b.parquet", "file:/a/b", "file:///a/b", "s3://bucket/a/b c", "s3://bucket:9/a", "/a:b/c"] {
        assert!(is_plain_path(plain), "{plain}");
    }
    for odd in ["//a/b", "file://localhost/a/b", "file:////a/b", "file:/", "/"] {
        assert!(!is_plain_path(odd), "{odd}");
    }
    for odd in ["/a//b", "file:/a//b", "file:/a/./b", "s3://bucket//a", "s3://bucket/a/../b", "/a/b:c", "/a/", "/a/."] {
        assert!(!is_plain_path(odd), "{odd}");
    }
}
