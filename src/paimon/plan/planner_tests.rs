//! Plans of tables that Java Paimon 1.4.2 wrote (metadata alone), compared with Java's plans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::*;
use crate::expr::{Literal, Op, Predicate, Term, bind};
use crate::format::task::ScanTask;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::metadata::PaimonTableMetadata;
use crate::paimon::plan::changes::plan_changes;
use crate::paimon::plan::files::PruneStage;
use crate::paimon::plan::travel::{ChangeMode, End, between, place};
use crate::paimon::plan::why::verdicts;
use crate::paimon::spec::schema::TableSchema;
use crate::store::open_store;
use crate::types::{PrimitiveType, Transform};

fn corpus() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/paimon/plan"))
}

/// The tables with their expected results.
fn tables() -> Vec<(String, Json)> {
    let files = std::fs::read_dir(corpus().join("expected")).unwrap().map(|f| f.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|f| !f.ends_with("index.json")).collect();
    files.sort();
    let read = |f: &PathBuf| {
        let json: Json = serde_json::from_str(&std::fs::read_to_string(f).unwrap()).unwrap();
        (json["table"].as_str().unwrap().to_owned(), json)
    };
    files.iter().map(read).collect()
}

/// A corpus filter as a predicate.
fn predicate(json: &Json, schema: &TableSchema) -> Predicate {
    if json.is_null() {
        return Predicate::True;
    }
    let op = json[0].as_str().unwrap();
    let parts = || json.as_array().unwrap()[1..].iter().map(|p| predicate(p, schema)).collect();
    match op {
        "and" => return Predicate::And(parts()),
        "or" => return Predicate::Or(parts()),
        _ => {}
    }
    let name = json[1].as_str().unwrap();
    let ty = schema.field(name).and_then(|f| f.ty.to_primitive());
    let term = Term { path: vec![name.to_owned()], transform: Transform::Identity };
    let one = |v: &Json| literal(v, ty.as_ref());
    let leaf = |op, values: Vec<Literal>| Predicate::Leaf(term.clone(), op, values);
    let list = |v: &Json| v.as_array().unwrap().iter().map(one).collect::<Vec<_>>();
    match op {
        "eq" => leaf(Op::Eq, vec![one(&json[2])]),
        "ne" => leaf(Op::NotEq, vec![one(&json[2])]),
        "lt" => leaf(Op::Lt, vec![one(&json[2])]),
        "le" => leaf(Op::LtEq, vec![one(&json[2])]),
        "gt" => leaf(Op::Gt, vec![one(&json[2])]),
        "ge" => leaf(Op::GtEq, vec![one(&json[2])]),
        "null" => leaf(Op::IsNull, vec![]),
        "notnull" => leaf(Op::NotNull, vec![]),
        "in" => leaf(Op::In, list(&json[2])),
        "notin" => leaf(Op::NotIn, list(&json[2])),
        "between" => leaf(Op::GtEq, vec![one(&json[2])]).and(leaf(Op::LtEq, vec![one(&json[3])])),
        "startswith" => leaf(Op::StartsWith, vec![one(&json[2])]),
        // Bounds don't show whether a text contains another.
        "contains" => leaf(Op::NotNull, vec![]),
        other => panic!("{other}"),
    }
}

fn literal(json: &Json, ty: Option<&PrimitiveType>) -> Literal {
    match (json, ty) {
        (Json::Bool(v), _) => Literal::Boolean(*v),
        (Json::Number(v), _) => Literal::Number(v.to_string()),
        (Json::String(v), Some(PrimitiveType::Binary)) => Literal::Bytes(crate::types::value::unhex(v).unwrap()),
        (Json::String(v), _) => Literal::String(v.clone()),
        other => panic!("{other:?}"),
    }
}

/// Plans a read as the corpus describes it.
fn input_of(table: &str, read: &Json) -> Result<(PaimonPlanInput, TableFolder)> {
    let root = corpus().join("warehouse").join(table).to_str().unwrap().to_owned();
    let mut folder = TableFolder::open(open_store(&root, &BTreeMap::new())?, &root)?;
    if let Some(branch) = read["branch"].as_str() {
        folder = folder.branch(branch)?;
    }
    let metadata = PaimonTableMetadata::load(folder)?;
    let mut options = metadata.schema()?.options.clone();
    for (key, value) in read["options"].as_object().unwrap() {
        options.insert(key.clone(), value.as_str().unwrap().to_owned());
    }
    let place = place(&metadata.folder, metadata.snapshot.clone(), &options)?;
    let schema = match place.snapshot.as_ref().filter(|_| place.own_schema) {
        Some(snapshot) => metadata.schema_by_id(snapshot.schema_id)?.clone(),
        None => metadata.schema()?.clone(),
    };
    let names: Vec<&str> = read["projection"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let projection = names.iter().filter_map(|n| schema.field(n)).map(|f| f.id).collect();
    let input = PaimonPlanInput {
        store: metadata.folder.store().clone(),
        root: metadata.folder.root().to_owned(),
        kept: Arc::default(),
        schemas: Arc::new(metadata.schemas.clone()),
        snapshot: place.snapshot,
        filter: Arc::new(bind(&predicate(&read["filter"], &schema), schema.columns(), true)?),
        schema,
        options: Arc::new(options),
        projection: Some(projection).filter(|_| !names.is_empty()),
        files_since_ms: place.files_since_ms,
        every_level: false,
    };
    Ok((input, metadata.folder))
}

fn name(path: &str) -> String {
    Path::new(path).file_name().unwrap().to_str().unwrap().to_owned()
}

/// A file with its level, rows and deletion vector.
fn shape_of(task: &ScanTask) -> Json {
    let file = &task.data_file;
    let deletion = task.deletes.first().map(|d| {
        let f = &d.file;
        assert_eq!(f.referenced_data_file.as_deref(), Some(file.path.as_str()));
        serde_json::json!([name(&f.path), f.content_offset, f.content_size_bytes, f.record_count])
    });
    let bucket_file = file.bucket_file.as_ref().unwrap();
    serde_json::json!([
        name(&file.path),
        bucket_file.level,
        file.record_count,
        file.size_bytes,
        bucket_file.schema_id,
        deletion
    ])
}

fn java_shape(file: &Json) -> Json {
    let d = &file["deletion"];
    let deletion = match d {
        Json::Null => Json::Null,
        d => serde_json::json!([name(d["path"].as_str().unwrap()), d["offset"], d["length"], d["cardinality"]]),
    };
    serde_json::json!([file["fileName"], file["level"], file["rowCount"], file["fileSize"], file["schemaId"], deletion])
}

fn sorted(mut shapes: Vec<Json>) -> Vec<String> {
    shapes.sort_by_key(|s| s.to_string());
    shapes.iter().map(Json::to_string).collect()
}

/// Bucket, number of buckets, whether files are read alone, and the files.
type Shape = (i32, i32, bool, Vec<String>);

fn shapes(splits: &[PlannedSplit]) -> Vec<Shape> {
    let one =
        |s: &PlannedSplit| (s.bucket, s.total_buckets, s.raw_convertible, sorted(s.files().map(shape_of).collect()));
    splits.iter().map(one).collect()
}

fn java_shapes(splits: &Json) -> Vec<Shape> {
    let one = |s: &Json| {
        let int = |key: &str| s[key].as_i64().unwrap() as i32;
        let files = s["files"].as_array().unwrap().iter().map(java_shape).collect();
        (int("bucket"), int("totalBuckets"), s["rawConvertible"].as_bool().unwrap(), sorted(files))
    };
    splits.as_array().unwrap().iter().map(one).collect()
}

#[test]
fn changes_are_of_javas_files() {
    let mut seen = 0;
    for (table, expected) in tables() {
        for read in expected["reads"].as_array().unwrap() {
            let Some(ends) = read["options"]["incremental-between"].as_str() else { continue };
            let (start, end) = ends.split_once(',').unwrap();
            let (input, folder) = input_of(&table, read).unwrap();
            seen += 1;
            let tags = folder.tag_names().unwrap();
            let both = [start, end].iter().all(|name| tags.contains(&(*name).to_owned()));
            let end_of = |name: &str| if both { End::Tag(name.into()) } else { End::Snapshot(name.parse().unwrap()) };
            let [start, end] = [start, end].map(end_of);
            let between = between(&folder, &input.options, &start, &end).unwrap().unwrap();
            let planned = plan_changes(&input, &folder, &between).unwrap();
            let at = format!("{table} {}", read["name"]);
            let tasks = || planned.splits.iter().flat_map(|s| &s.tasks);
            assert!(tasks().all(|t| t.change.is_some()), "{at}");
            if between.mode == ChangeMode::Diff {
                assert!(tasks().count() > 0, "{at}");
                let keyed = !input.schema.primary_keys.is_empty();
                assert!(tasks().all(|t| t.merge.as_ref().is_some_and(|m| m.before.is_some()) == keyed), "{at}");
                continue;
            }
            assert!(tasks().all(|t| t.merge.is_none()), "{at}");
            assert_eq!(shapes(&planned.splits), java_shapes(&read["splits"]), "{at}");
            let (first, last) = (between.start, between.end.id);
            assert!(
                tasks().all(|t| (first + 1..=last).contains(&t.change.as_ref().unwrap().commit_snapshot_id)),
                "{at}"
            );
        }
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn splits_are_javas_but_for_files_that_only_java_keeps() {
    let (mut reads, mut fewer, mut bad) = (0, Vec::new(), Vec::new());
    for (table, expected) in tables() {
        for read in expected["reads"].as_array().unwrap() {
            let at = format!("{table} {}", read["name"]);
            if read["options"].as_object().unwrap().keys().any(|k| k.starts_with("incremental")) {
                continue;
            }
            reads += 1;
            let planned = input_of(&table, read).and_then(|(input, _)| plan(&input));
            if read["error"].is_string() {
                assert!(planned.is_err(), "{at}");
                continue;
            }
            let planned = match planned {
                Ok(planned) => planned,
                Err(e) => {
                    bad.push(format!("{at}: {e:?}"));
                    continue;
                }
            };
            let (ours, java) = (shapes(&planned.splits), java_shapes(&read["splits"]));
            if ours == java {
                continue;
            }
            let files = |splits: &[Shape]| splits.iter().flat_map(|s| s.3.clone()).collect::<BTreeSet<String>>();
            let (ours_files, java_files) = (files(&ours), files(&java));
            if ours_files == java_files || !ours_files.is_subset(&java_files) {
                bad.push(format!("{at}: {}\n  ours {ours:?}\n  java {java:?}", read["filter"]));
            } else {
                fewer.push(format!("{at} {}: {} of {} files", read["filter"], ours_files.len(), java_files.len()));
            }
        }
    }
    assert!(reads >= 60 && (3..9).contains(&fewer.len()), "{reads} reads; fewer files:\n{}", fewer.join("\n"));
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Every live file has a verdict: those of the plan are kept, all others have a reason.
#[test]
fn each_file_is_explained() {
    let mut stages = BTreeSet::new();
    for (table, expected) in tables() {
        for read in expected["reads"].as_array().unwrap() {
            if read["error"].is_string() || read["options"].get("incremental-between").is_some() {
                continue;
            }
            let (input, _) = input_of(&table, read).unwrap();
            let planned = plan(&input).unwrap();
            let kept: BTreeSet<String> =
                planned.splits.iter().flat_map(|s| s.files()).map(|t| t.data_file.path.clone()).collect();
            let verdicts = verdicts(&input, &planned).unwrap();
            let explained =
                verdicts.iter().filter(|v| v.stage == PruneStage::Kept).map(|v| v.file.path.clone()).collect();
            assert_eq!(kept, explained, "{table} {}", read["name"]);
            for v in &verdicts {
                assert_eq!(v.stage == PruneStage::Kept, v.reason.is_empty(), "{table} {}: {v:?}", read["name"]);
                stages.insert(v.stage.as_str());
            }
            assert_eq!(planned.counters.files_kept, kept.len() as u64);
            assert!(planned.counters.files_listed >= planned.counters.files_in_buckets, "{table}");
        }
    }
    assert!(stages.len() >= 7, "{stages:?}");
}
