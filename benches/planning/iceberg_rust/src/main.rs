//! Cold plans by the `iceberg` crate: reads lines `METADATA_FILE FILTER`, answers each with a line of JSON (seconds, tasks,
//! deletes attached). The metadata file is opened again for each.

use std::error::Error;
use std::io::BufRead;
use std::time::Instant;

use futures::TryStreamExt;
use iceberg::TableIdent;
use iceberg::expr::{Predicate, Reference};
use iceberg::io::FileIO;
use iceberg::spec::Datum;
use iceberg::table::StaticTable;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The filters of the benchmark, by the names that `filters.py` gives them.
fn filter(name: &str) -> Result<Option<Predicate>> {
    let instant = |text: &str| Datum::timestamptz_from_str(text);
    Ok(match name {
        "none" => None,
        "day" => {
            let ts = Reference::new("ts");
            let from = ts.clone().greater_than_or_equal_to(instant("2023-01-10T00:00:00+00:00")?);
            Some(from.and(ts.less_than(instant("2023-01-11T00:00:00+00:00")?)))
        }
        "metrics" => Some(Reference::new("price").greater_than(Datum::double(1450.0))),
        "mixed" => {
            let country = Reference::new("country").is_in([Datum::string("NO"), Datum::string("SE")]);
            let ts = Reference::new("ts").greater_than_or_equal_to(instant("2023-01-01T00:00:00+00:00")?);
            Some(country.and(ts).and(Reference::new("status").equal_to(Datum::int(404))))
        }
        other => return Err(format!("there is no filter named {other}").into()),
    })
}

/// One plan: tasks and deletes attached to them.
async fn plan(metadata: &str, filter: Option<Predicate>) -> Result<(usize, usize)> {
    let name = TableIdent::from_strs(["bench", "planning"])?;
    let table = StaticTable::from_metadata_file(metadata, name, FileIO::new_with_fs()).await?;
    let scan = table.scan();
    let scan = match filter {
        Some(filter) => scan.with_filter(filter),
        None => scan,
    };
    let tasks = scan.build()?.plan_files().await?;
    let count = |(tasks, deletes), task: iceberg::scan::FileScanTask| async move {
        Ok((tasks + 1, deletes + task.deletes.len()))
    };
    Ok(tasks.try_fold((0, 0), count).await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (metadata, name) = line.split_once(' ').ok_or("write METADATA_FILE FILTER")?;
        let started = Instant::now();
        match plan(metadata, filter(name)?).await {
            Ok((tasks, deletes)) => {
                let seconds = started.elapsed().as_secs_f64();
                println!("{{\"seconds\": {seconds}, \"tasks\": {tasks}, \"deletes\": {deletes}}}");
            }
            Err(error) => println!("{{\"error\": {:?}}}", error.to_string().lines().next().unwrap_or_default()),
        }
    }
    Ok(())
}
