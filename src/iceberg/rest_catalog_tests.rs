//! Tables of a REST catalog: requests, outcomes and unusual servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, RecordBatchIterator};
use arrow::record_batch::RecordBatchReader;
use serde_json::json;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::error::ErrorKind;
use crate::format::evolution::Evolution;
use crate::iceberg::catalog::metadata_pointer::Publication;
use crate::iceberg::rest_testing::{FakeCatalog, doubtful_answers};
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::rows::seam::{Catalog as _, Creations as _};
use crate::store::http::testing::TestAnswer;
use crate::types::{Field, PrimitiveType};

const TABLE: &str = "/v1/namespaces/db/tables/t";

struct Setup {
    fake: FakeCatalog,
    catalog: IcebergCatalog,
    table: IcebergTable,
}

fn ident(text: &str) -> TableIdent {
    TableIdent::parse(text).unwrap()
}

fn schema() -> Schema {
    Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![])
}

fn rows(table: &IcebergTable, id: i64) -> Box<dyn RecordBatchReader + Send> {
    let arrow = to_arrow(table.schema()).unwrap();
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(Int64Array::from(vec![id]))]).unwrap();
    Box::new(RecordBatchIterator::new([Ok(batch)], arrow))
}

fn loaded(catalog: &IcebergCatalog, name: &str) -> IcebergTable {
    IcebergTable::of_catalog(catalog.tables.load(&ident(name)).unwrap()).unwrap()
}

fn set(name: &str, value: &str) -> [Evolution; 1] {
    [Evolution::SetProperties(BTreeMap::from([(name.to_owned(), value.to_owned())]))]
}

impl Setup {
    fn with(change: impl FnOnce(&FakeCatalog)) -> Setup {
        let fake = FakeCatalog::start();
        change(&fake);
        let mut properties = fake.properties();
        properties.insert("rest.client.socket-timeout-ms".to_owned(), "150".to_owned());
        let catalog = IcebergCatalog::open("c", properties).unwrap();
        catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
        catalog.create_table(&ident("db.t"), &schema(), NewTable::default(), &ICEBERG).unwrap();
        let table = loaded(&catalog, "db.t");
        fake.server.take_lines();
        Setup { fake, catalog, table }
    }

    fn new() -> Setup {
        Setup::with(|_| {})
    }

    /// The data files of the newest version, by its snapshot's summary.
    fn total(&self) -> String {
        let table = self.fake.metadata("db.t");
        table.current_snapshot().map_or("0".to_owned(), |s| s.summary["total-data-files"].clone())
    }

    /// Data files in the table's folder.
    fn files(&self) -> usize {
        let folder = std::path::Path::new(self.table.location()).join("data");
        std::fs::read_dir(folder).map_or(0, |files| files.count())
    }
}

#[test]
fn each_operation_takes_few_requests() {
    let Setup { fake, catalog, table } = Setup::with(|fake| fake.state.lock().unwrap().has_etags = true);
    let lines = || fake.server.take_lines();
    let get = format!("GET {TABLE}?snapshots=all");
    loaded(&catalog, "db.t");
    assert_eq!(lines(), [get.as_str()]);
    // The load of a commit is answered without a body if nothing changed.
    let table = table.append(rows(&table, 1)).unwrap();
    assert_eq!(lines(), [get.as_str(), &format!("POST {TABLE}")]);
    table.evolve(&set("a", "b")).unwrap();
    assert_eq!(lines(), [get.as_str(), &format!("POST {TABLE}")]);
    assert!(catalog.table_exists(&ident("db.t")).unwrap() && !catalog.table_exists(&ident("db.u")).unwrap());
    assert_eq!(
        lines(),
        [format!("GET {TABLE}?snapshots=refs"), "GET /v1/namespaces/db/tables/u?snapshots=refs".into()]
    );
    catalog.create_table(&ident("db.u"), &schema(), NewTable::default(), &ICEBERG).unwrap();
    assert_eq!(lines(), ["POST /v1/namespaces/db/tables"]);
    catalog.drop_table(&ident("db.u"), None).unwrap();
    assert_eq!(lines(), ["DELETE /v1/namespaces/db/tables/u?purgeRequested=false"]);
    let json = table.to_json();
    assert!(json.contains("\"type\":\"rest\"") && lines().is_empty());
    let again = IcebergTable::from_json(&serde_json::from_str(&json).unwrap()).unwrap();
    assert_eq!(lines(), Vec::<String>::new());
    again.append(rows(&again, 2)).unwrap();
    assert_eq!(lines(), ["GET /v1/config", get.as_str(), &format!("POST {TABLE}")]);
    assert_eq!(fake.metadata("db.t").snapshots.len(), 2);
}

#[test]
fn names_tables_and_namespaces() {
    let Setup { fake, catalog, .. } = Setup::with(|fake| fake.state.lock().unwrap().page_size = 2);
    for name in ["a", "b", "c"] {
        catalog.create_namespace(&[name.to_owned(), "x".to_owned()], &BTreeMap::new()).unwrap();
        catalog.create_table(&ident(&format!("db.{name}")), &schema(), NewTable::default(), &ICEBERG).unwrap();
    }
    fake.server.take_lines();
    // Pages are followed, even if the client did not ask for pages.
    let names: Vec<String> = catalog.list_tables(&["db".to_owned()]).unwrap().iter().map(|t| t.name.clone()).collect();
    assert_eq!(names, ["a", "b", "c", "t"]);
    assert_eq!(catalog.list_namespaces(&[]).unwrap().len(), 4);
    catalog.list_namespaces(&["a".to_owned(), "x".to_owned()]).unwrap();
    let lines = fake.server.take_lines();
    assert_eq!(lines[..2], ["GET /v1/namespaces/db/tables?pageToken=", "GET /v1/namespaces/db/tables?pageToken=2"]);
    assert_eq!(lines[4], "GET /v1/namespaces?pageToken=&parent=a%1Fx");
    let kind = |result: Result<()>| result.unwrap_err().kind();
    let db = ["db".to_owned()];
    assert_eq!(kind(catalog.create_namespace(&db, &BTreeMap::new())), ErrorKind::AlreadyExists);
    assert_eq!(kind(catalog.drop_namespace(&db)), ErrorKind::InvalidInput);
    assert_eq!(kind(catalog.check_namespace(&["no".to_owned()])), ErrorKind::NotFound);
    assert_eq!(kind(catalog.tables.rename(&ident("db.no"), &ident("db.z"))), ErrorKind::NotFound);
    assert_eq!(kind(catalog.tables.rename(&ident("db.a"), &ident("db.b"))), ErrorKind::AlreadyExists);
    catalog.tables.rename(&ident("db.a"), &ident("db.z")).unwrap();
    assert_eq!(catalog.load_table(&ident("db.a")).unwrap_err().kind(), ErrorKind::NotFound);
    let missing = catalog.create_table(&ident("no.t"), &schema(), NewTable::default(), &ICEBERG);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    let taken = catalog.create_table(&ident("db.b"), &schema(), NewTable::default(), &ICEBERG);
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);
    let set = BTreeMap::from([("owner".to_owned(), "me".to_owned())]);
    catalog.tables.update_namespace_properties(&db, &[], &set).unwrap();
    assert_eq!(catalog.tables.namespace_properties(&db).unwrap(), set);
    let path = loaded(&catalog, "db.b").metadata_location().to_owned();
    catalog.drop_table(&ident("db.b"), None).unwrap();
    let registered = catalog.tables.register(&ident("db.r"), &path, false).unwrap();
    assert_eq!(registered.found.metadata_location, path);
    catalog.create_namespace(&["empty".to_owned()], &BTreeMap::new()).unwrap();
    catalog.drop_namespace(&["empty".to_owned()]).unwrap();
}

#[test]
fn a_new_table_is_what_was_asked_for() {
    let Setup { fake, catalog, .. } = Setup::new();
    let request = NewTable {
        partition_by: vec!["bucket(4, id)".to_owned()],
        sort_by: vec!["id desc".to_owned()],
        properties: BTreeMap::from([("format-version".to_owned(), "3".to_owned())]),
        location: Some(format!("{}/elsewhere/", fake.folder.path().display())),
        ..NewTable::default()
    };
    catalog.create_table(&ident("db.p"), &schema(), request, &ICEBERG).unwrap();
    let body = fake.server.seen().pop().unwrap().json();
    assert_eq!(body["stage-create"], false);
    assert!(body["location"].as_str().unwrap().ends_with("/elsewhere"), "{body}");
    let table = fake.metadata("db.p");
    assert_eq!((table.format_version, table.spec().unwrap().fields.len()), (3, 1));
    assert_eq!(table.sort_order().unwrap().fields.len(), 1);
    let seen = fake.server.seen();
    assert_eq!(seen.last().unwrap().headers["x-iceberg-access-delegation"], "vended-credentials,remote-signing");
}

#[test]
fn a_location_is_sent_where_a_server_needs_one() {
    let Setup { fake, catalog, .. } = Setup::new();
    fake.state.lock().unwrap().needs_location = true;
    let create = |name: &str| catalog.create_table(&ident(name), &schema(), NewTable::default(), &ICEBERG);
    let e = create("db.n").unwrap_err();
    assert!(e.kind() == ErrorKind::InvalidInput && e.to_string().contains("location="), "{e}");
    let folder = format!("{}/namespace", fake.folder.path().display());
    let properties = BTreeMap::from([("location".to_owned(), folder.clone() + "/")]);
    catalog.create_namespace(&["l".to_owned()], &properties).unwrap();
    create("l.n").unwrap();
    assert_eq!(fake.metadata("l.n").location, folder + "/n");
}

#[test]
fn a_commit_that_was_made_is_found() {
    for (name, answer) in doubtful_answers() {
        let setup = Setup::new();
        setup.fake.fail(&format!("POST {TABLE}"), true, answer.clone());
        let table = setup.table.append(rows(&setup.table, 1)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((setup.total().as_str(), setup.files()), ("1", 1), "{name}");
        setup.fake.fail(&format!("POST {TABLE}"), true, answer);
        let table = table.evolve(&set("a", name)).unwrap();
        assert_eq!(table.properties()["a"], name);
    }
}

#[test]
fn a_commit_that_may_be_lost_stays_unknown() {
    for (name, answer) in doubtful_answers() {
        let setup = Setup::new();
        setup.fake.fail(&format!("POST {TABLE}"), false, answer);
        let e = setup.table.append(rows(&setup.table, 1)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CommitStateUnknown, "{name}: {e}");
        // Nothing is deleted.
        assert_eq!((setup.total().as_str(), setup.files()), ("0", 1), "{name}");
    }
}

#[test]
fn a_refusal_is_certain() {
    for (status, kind, expected) in [
        (400, "BadRequestException", ErrorKind::InvalidInput),
        (403, "ForbiddenException", ErrorKind::PermissionDenied),
        (404, "NoSuchTableException", ErrorKind::NotFound),
        (422, "ValidationException", ErrorKind::InvalidInput),
        (501, "X", ErrorKind::Unsupported),
        (302, "", ErrorKind::Store),
    ] {
        let setup = Setup::new();
        setup.fake.fail(&format!("POST {TABLE}"), false, TestAnswer::error(status, kind, "no"));
        let e = setup.table.append(rows(&setup.table, 1)).unwrap_err();
        assert_eq!(e.kind(), expected, "{status}: {e}");
        assert!(e.to_string().contains("POST /v1/{prefix}/namespaces/{namespace}/tables/{table}"), "{e}");
        assert_eq!(setup.files(), 0, "{status}");
    }
}

#[test]
fn a_conflict_is_looked_into_before_the_next_attempt() {
    let answers = [
        TestAnswer::error(409, "CommitFailedException", "branch main has changed"),
        TestAnswer::error(429, "TooManyRequests", "slow").with("retry-after", "0"),
        TestAnswer::error(419, "AuthenticationTimeoutException", "old token"),
        TestAnswer::error(400, "BadRequestException", "sequence number 1 older than last sequence number 1"),
    ];
    for answer in answers {
        for is_made in [true, false] {
            let setup = Setup::new();
            setup.fake.fail(&format!("POST {TABLE}"), is_made, answer.clone());
            setup.table.append(rows(&setup.table, 1)).unwrap();
            let posts = setup.fake.server.take_lines().iter().filter(|l| l.starts_with("POST")).count();
            assert_eq!((setup.total().as_str(), setup.files()), ("1", 1), "{answer:?}");
            assert_eq!(posts, if is_made { 1 } else { 2 }, "{answer:?}");
        }
    }
}

#[test]
fn hidden_history_proves_nothing() {
    let other = |setup: &Setup| {
        let state = &setup.fake.state;
        state.lock().unwrap().hides_history = false;
        for id in 10..13 {
            let table = loaded(&setup.catalog, "db.t");
            table.append(rows(&table, id)).unwrap();
        }
        state.lock().unwrap().hides_history = true;
    };
    // The commit is made. Others come after it, so the server no longer shows it.
    for answer in [TestAnswer::error(429, "", ""), TestAnswer::error(503, "", "")] {
        let setup = Setup::new();
        setup.fake.state.lock().unwrap().hides_history = true;
        let table = setup.table.append(rows(&setup.table, 0)).unwrap();
        let pointer = table.inner.versions.clone();
        let base = pointer.load().unwrap();
        let mut changes: Vec<Box<dyn crate::iceberg::table_changes::TableChange>> = Vec::new();
        let files = table.write(rows(&table, 1), 0).unwrap().files;
        changes.push(Box::new(crate::iceberg::commit::producer::SnapshotProducer::append(
            table.inner.store.clone(),
            files,
        )));
        let next = crate::iceberg::table_changes::apply_all(&mut changes, &base).unwrap();
        let commit = MetadataCommit::between(&base.metadata, next);
        setup.fake.fail(&format!("POST {TABLE}"), true, TestAnswer::Reset);
        assert!(matches!(pointer.publish(&base, &commit), Publication::Unknown(_)));
        other(&setup);
        setup.fake.fail(&format!("POST {TABLE}"), false, answer);
        match pointer.publish(&base, &commit) {
            // The outcome is not a conflict. After a conflict the rows would be added again.
            Publication::Unknown(e) => assert_eq!(e.kind(), ErrorKind::Store, "{e}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_repetition_that_the_server_recognises_is_sent() {
    let setup = Setup::with(|fake| {
        fake.state.lock().unwrap().config =
            json!({"defaults": {}, "overrides": {}, "idempotency-key-lifetime": "PT30M"});
    });
    for is_made in [true, false] {
        setup.fake.fail(&format!("POST {TABLE}"), is_made, TestAnswer::error(503, "", "busy"));
        let before = setup.fake.metadata("db.t").snapshots.len();
        let table = setup.table.refresh().unwrap();
        setup.fake.server.take_lines();
        table.append(rows(&table, 1)).unwrap();
        assert_eq!(setup.fake.metadata("db.t").snapshots.len(), before + 1);
        let keys = setup.fake.server.seen().into_iter().filter_map(|r| r.headers.get("idempotency-key").cloned());
        let keys: Vec<String> = keys.collect();
        assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
        assert_eq!(uuid::Uuid::parse_str(&keys[0]).unwrap().get_version_num(), 7);
    }
}

#[test]
fn several_writers_lose_and_double_nothing() {
    let setup = Setup::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let setup = &setup;
            scope.spawn(move || {
                for i in 0..5 {
                    if i == 2 {
                        let answer = TestAnswer::error(409, "CommitFailedException", "late");
                        setup.fake.fail(&format!("POST {TABLE}"), writer % 2 == 0, answer);
                    }
                    setup.table.append(rows(&setup.table, writer * 10 + i)).unwrap();
                }
            });
        }
    });
    let table = setup.fake.metadata("db.t");
    assert_eq!((table.snapshots.len(), setup.total().as_str(), setup.files()), (20, "20", 20));
}

#[test]
fn every_kind_of_change_goes_through() {
    let setup = Setup::new();
    let table = setup.table.append(rows(&setup.table, 1)).unwrap();
    let table = table.evolve(&set("a", "b")).unwrap();
    let table = table.evolve(&[Evolution::RemoveProperties(vec!["a".to_owned()])]).unwrap();
    let table = table.evolve(&[Evolution::Upgrade(3)]).unwrap();
    let mut transaction = IcebergTransaction::begin(&table, None).unwrap();
    transaction.append(rows(&table, 2), &Default::default(), BTreeMap::new()).unwrap();
    transaction.evolve(&set("c", "d")).unwrap();
    let table = transaction.commit().unwrap();
    let metadata = setup.fake.metadata("db.t");
    assert_eq!((metadata.format_version, metadata.next_row_id), (3, Some(2)));
    assert_eq!((table.properties().get("a"), table.properties()["c"].as_str()), (None, "d"));
    assert_eq!(table.inner.metadata.as_ref(), &metadata);
}

#[test]
fn a_server_with_one_snapshot_a_commit_gets_no_more() {
    let setup = Setup::with(|fake| {
        let overrides = json!({"rest.one-snapshot-commits": "true"});
        fake.state.lock().unwrap().config = json!({"defaults": {}, "overrides": overrides});
    });
    let table = setup.table.append(rows(&setup.table, 1)).unwrap();
    let mut transaction = IcebergTransaction::begin(&table, None).unwrap();
    transaction.append(rows(&table, 2), &Default::default(), BTreeMap::new()).unwrap();
    let e = transaction.delete_files(&crate::expr::parse("id = 1").unwrap()).unwrap_err();
    assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("one snapshot"), "{e}");
    drop(transaction);
    assert_eq!((setup.total().as_str(), setup.files()), ("1", 1));
    let mut transaction = IcebergTransaction::begin(&table, None).unwrap();
    transaction.delete_files(&crate::expr::parse("id = 1").unwrap()).unwrap();
    transaction.append(rows(&table, 2), &Default::default(), BTreeMap::new()).unwrap();
    transaction.evolve(&set("a", "b")).unwrap();
    let table = transaction.commit().unwrap();
    let metadata = setup.fake.metadata("db.t");
    assert_eq!((metadata.snapshots.len(), table.properties()["a"].as_str()), (2, "b"));
    let summary = &metadata.current_snapshot().unwrap().summary;
    let count = |key: &str| summary.get(key).map(String::as_str);
    assert_eq!((count("added-data-files"), count("deleted-data-files")), (Some("1"), Some("1")));
    assert_eq!((count("total-records"), count("operation")), (Some("1"), Some("overwrite")));
}

#[test]
fn a_server_that_creates_staged_tables_loses_no_rows() {
    // The server of these tests does not know staged tables.
    let setup = Setup::new();
    let mut transaction = setup.catalog.begin_table(&ident("db.s"), &schema(), NewTable::default(), &ICEBERG).unwrap();
    assert!(setup.fake.metadata("db.s").snapshots.is_empty());
    transaction.append(rows(&setup.table, 1), &Default::default(), BTreeMap::new()).unwrap();
    transaction.commit().unwrap();
    let metadata = setup.fake.metadata("db.s");
    assert_eq!(metadata.snapshots.len(), 1);
    assert_eq!(metadata.current_snapshot().unwrap().summary["total-records"], "1");
}

#[test]
fn a_view_with_the_name_of_a_new_table_ends_the_commit() {
    let setup = Setup::with(|fake| {
        let overrides = json!({"view-endpoints-supported": "true"});
        fake.state.lock().unwrap().config = json!({"defaults": {}, "overrides": overrides});
    });
    let mut transaction = setup.catalog.begin_table(&ident("db.s"), &schema(), NewTable::default(), &ICEBERG).unwrap();
    transaction.append(rows(&setup.table, 1), &Default::default(), BTreeMap::new()).unwrap();
    setup.catalog.drop_table(&ident("db.s"), None).unwrap();
    setup.fake.state.lock().unwrap().views.push("db.s".to_owned());
    setup.fake.server.take_lines();
    let e = transaction.commit().unwrap_err();
    assert!(e.kind() == ErrorKind::AlreadyExists && e.to_string().contains("db.s"), "{e}");
    let lines = setup.fake.server.take_lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("POST ")).count(), 1, "{lines:?}");
}

#[test]
fn tables_have_the_servers_credentials() {
    let setup = Setup::new();
    let location = setup.table.location().to_owned();
    setup.fake.state.lock().unwrap().loaded = json!({
        "config": {"s3.endpoint": "http://localhost:1", "s3.access-key-id": "config", "s3.signer.uri": "x", "odd": 1},
        "storage-credentials": [
            {"prefix": &location[..3], "config": {"s3.access-key-id": "short"}},
            {"prefix": location, "config": {"s3.access-key-id": "long", "s3.secret-access-key": "hush"}},
            {"prefix": "s3://other", "config": {"s3.access-key-id": "other"}},
        ],
        "labels": {"x": 1},
    });
    // The store of a local table takes no options, so they are checked before.
    let server = crate::iceberg::catalog::kinds::of_type("c", &setup.fake.properties(), None).unwrap();
    assert!(server.load(&ident("db.t")).is_ok());
    setup.fake.state.lock().unwrap().loaded = json!({"config": {"s3.remote-signing-enabled": "true"}});
    assert!(server.load(&ident("db.t")).is_ok());
}

#[test]
fn mutated_answers_are_named() {
    let setup = Setup::new();
    let deep = "[".repeat(5_000);
    let bodies: [(&str, &str); 9] = [
        ("<!doctype html><p>Log in</p>", "web page"),
        ("", "not valid JSON"),
        ("{\"metadata\": {\"format-version\"", "not valid JSON"),
        (&deep, "levels"),
        ("[]", "not a JSON object"),
        ("{}", "'metadata'"),
        ("{\"metadata\": 5}", "not a JSON object"),
        ("{\"metadata\": {}}", "format-version"),
        ("{\"metadata\": null, \"config\": []}", "'metadata'"),
    ];
    for (body, said) in bodies {
        let answer = TestAnswer::Full { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
        setup.fake.fail(&format!("GET {TABLE}"), false, answer);
        let e = setup.catalog.load_table(&ident("db.t")).unwrap_err();
        let text = e.to_string();
        assert!(text.contains(said) && text.contains(&setup.fake.server.url()) && text.contains("GET /v1/"), "{text}");
    }
    for body in ["{\"namespaces\": 1}", "{}", "{\"namespaces\": [[1]]}", "{\"namespaces\": [], \"next-page-token\": 1}"]
    {
        let answer = TestAnswer::Full { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
        setup.fake.fail("GET /v1/namespaces", false, answer);
        assert_eq!(setup.catalog.list_namespaces(&[]).unwrap_err().kind(), ErrorKind::CorruptTable, "{body}");
    }
}

#[test]
fn the_configuration_decides() {
    let open = |config: serde_json::Value, given: &[(&str, &str)]| {
        let fake = FakeCatalog::start();
        fake.state.lock().unwrap().config = config;
        let mut properties = fake.properties();
        properties.extend(given.iter().map(|(k, v)| (k.to_string(), v.to_string())));
        let catalog = IcebergCatalog::open("c", properties);
        (fake, catalog)
    };
    let config = json!({
        "defaults": {"prefix": "default", "s3.made-up": "x"},
        "overrides": {"namespace-separator": "%2E", "prefix": "w/1"},
        "endpoints": ["GET /v1/{prefix}/namespaces/{namespace}/tables", "HEAD /v1/{prefix}/namespaces/{namespace}"],
        "new-member": [1],
    });
    let (fake, catalog) = open(config, &[("warehouse", "my wh"), ("prefix", "own"), ("header.X-Own", "1")]);
    let catalog = catalog.unwrap();
    catalog.list_tables(&["a".to_owned(), "b".to_owned()]).unwrap_err();
    catalog.check_namespace(&["a".to_owned(), "b".to_owned()]).unwrap_err();
    let e = catalog.load_table(&ident("db.t")).unwrap_err();
    assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("tables/{table}"), "{e}");
    assert!(fake.server.seen().iter().all(|request| request.headers["x-own"] == "1"));
    let expected = [
        "GET /v1/config?warehouse=my%20wh",
        "GET /v1/w/1/namespaces/a.b/tables?pageToken=",
        "HEAD /v1/w/1/namespaces/a.b",
    ];
    assert_eq!(fake.server.take_lines(), expected);
    // A misspelt option is an error, before any request.
    let (fake, e) = open(json!({}), &[("s3.made-up", "x")]);
    assert!(e.unwrap_err().to_string().contains("s3.made-up") && fake.server.seen().is_empty());
}

#[test]
fn a_server_chooses_no_login_of_this_machine() {
    let fake = FakeCatalog::start();
    let theirs = json!({
        "auth.type": "custom",
        "auth.impl": "subprocess.Popen",
        "auth.custom.args": "true",
        "rest.auth.type": "google",
        "gcp.auth.credentials-path": "/none",
        "ssl.cabundle": "/none",
        "rest.client.proxy.hostname": "h",
        "py-io-impl": "m.C",
        "frazil.executors-may-renew": "true",
        "header.X-Theirs": "1",
    });
    fake.state.lock().unwrap().config = json!({"defaults": theirs, "overrides": theirs});
    let catalog = IcebergCatalog::open("c", fake.properties()).unwrap();
    catalog.list_tables(&["a".to_owned()]).unwrap();
    let seen = fake.server.seen();
    let last = seen.last().unwrap();
    assert_eq!(last.headers["x-theirs"], "1");
    assert!(seen.iter().all(|request| !request.headers.contains_key("authorization")));
}

#[test]
fn an_unknown_warehouse_is_named() {
    let fake = FakeCatalog::start();
    fake.fail("GET /v1/config", false, TestAnswer::error(404, "NoSuchWarehouseException", "no wh"));
    let mut properties = fake.properties();
    properties.insert("warehouse".to_owned(), "wh".to_owned());
    let e = IcebergCatalog::open("c", properties.clone()).unwrap_err();
    assert!(e.kind() == ErrorKind::NotFound && e.to_string().contains("no warehouse 'wh'"), "{e}");
    let page = TestAnswer::Full { status: 404, headers: Vec::new(), body: b"<html>".to_vec() };
    fake.fail("GET /v1/config", false, page);
    let e = IcebergCatalog::open("c", properties).unwrap_err();
    assert!(e.kind() == ErrorKind::Store && e.to_string().contains("uri"), "{e}");
    let e = IcebergCatalog::open("c", BTreeMap::from([("type".to_owned(), "rest".to_owned())])).unwrap_err();
    assert!(e.to_string().contains("uri='https://"), "{e}");
}

#[test]
fn secrets_of_answers_are_not_shown() {
    let fake = FakeCatalog::start();
    fake.fail(
        "GET /v1/config",
        false,
        TestAnswer::error(403, "ForbiddenException", "token sesame-open is not allowed"),
    );
    let mut properties = fake.properties();
    properties.insert("token".to_owned(), "sesame-open".to_owned());
    let e = IcebergCatalog::open("c", properties.clone()).unwrap_err();
    assert!(e.kind() == ErrorKind::PermissionDenied && !e.to_string().contains("sesame"), "{e}");
    assert_eq!(fake.server.seen()[0].headers["authorization"], "Bearer sesame-open");
    let catalog = IcebergCatalog::open("c", properties).unwrap();
    assert!(!format!("{catalog:?} {:?}", catalog.tables).contains("sesame"));
}

#[test]
fn an_expired_token_is_renewed() {
    for status in [401, 419] {
        let fake = FakeCatalog::start();
        let state = fake.state.clone();
        let tokens = crate::store::http::testing::TestServer::start(move |_| {
            drop(state.lock());
            TestAnswer::json(200, json!({"access_token": uuid::Uuid::new_v4().to_string(), "expires_in": 3600}))
        });
        let mut properties = fake.properties();
        properties.insert("credential".to_owned(), "id:secret".to_owned());
        properties.insert("oauth2-server-uri".to_owned(), tokens.url() + "/t");
        let catalog = IcebergCatalog::open("c", properties).unwrap();
        catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
        fake.fail("GET /v1/namespaces", false, TestAnswer::error(status, "NotAuthorizedException", "expired"));
        assert_eq!(catalog.list_namespaces(&[]).unwrap().len(), 1);
        let used: Vec<String> = fake.server.seen().iter().map(|r| r.headers["authorization"].clone()).collect();
        assert!(used[0] == used[2] && used[2] != used[3], "{used:?}");
        assert_eq!(tokens.seen().len(), 2);
    }
}
