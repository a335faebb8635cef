//! Tables that Java's Paimon wrote, against the rows that it reads of them.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::paimon_testing::{Described, expected, printed};
use super::read::read_task;
use crate::data::delete_files::DeleteCache;
use crate::error::Result;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::task::{ReadContext, ScanTask};

fn lines(context: &Arc<ReadContext>, tasks: &[ScanTask]) -> Result<Vec<String>> {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let cache = DeleteCache::default();
    let mut out = Vec::new();
    for task in tasks {
        for batch in read_task(&store, context, task, &cache)? {
            let batch = batch?;
            let fields = &context.projection.fields;
            for row in 0..batch.num_rows() {
                let values = fields.iter().zip(batch.columns()).map(|(f, c)| printed(c, row, &f.ty));
                out.push(Json::Array(values.collect()).to_string());
            }
        }
    }
    out.sort();
    Ok(out)
}

/// What is wrong with the reads of a table; empty if nothing is.
fn wrong_reads(said: &Json, root: &Path) -> Vec<String> {
    let table = Described { said, root };
    let mut wrong = Vec::new();
    for read in said["reads"].as_array().unwrap() {
        let is_plain = |split: &Json| split["files"].is_array();
        let (Some(rows), Some(splits)) = (read["rows"].as_array(), read["splits"].as_array()) else { continue };
        if read["options"].as_object().is_some_and(|o| o.contains_key("incremental-between"))
            || !splits.iter().all(is_plain)
            || !read["branch"].is_null()
        {
            continue;
        }
        let context = table.context(read);
        let fields = &context.projection.fields;
        let row = |row: &Json| {
            let values = row.as_array().unwrap().iter().skip(1).zip(fields.iter()).map(|(j, f)| expected(j, &f.ty));
            Json::Array(values.collect()).to_string()
        };
        let mut wanted: Vec<String> = rows.iter().map(row).collect();
        wanted.sort();
        let name = format!("{}/{}", said["table"].as_str().unwrap(), read["name"].as_str().unwrap());
        match lines(&context, &table.tasks(&context, read)) {
            Err(e) => wrong.push(format!("{name}: {e}")),
            Ok(got) if got != wanted => {
                let extra = got.iter().find(|l| !wanted.contains(l));
                let missing = wanted.iter().find(|l| !got.contains(l));
                wrong.push(format!("{name}: {} rows instead of {}; {extra:?} {missing:?}", got.len(), wanted.len()));
            }
            Ok(_) => {}
        }
    }
    wrong
}

#[test]
fn corpus() {
    let Ok(root) = std::env::var("FRAZIL_PAIMON_CORPUS") else { return };
    let only = std::env::var("FRAZIL_ONLY").unwrap_or_default();
    let mut count = 0;
    let mut wrong = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(format!("{root}/expected")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files {
        let said: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        if !said["reads"].is_array() || !path.display().to_string().contains(&only) {
            continue;
        }
        count += 1;
        wrong.extend(wrong_reads(&said, &Path::new(&root).join("warehouse")));
    }
    println!("{count} tables");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
