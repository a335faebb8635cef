//! The retry loop of commits: prepare on the newest version, publish, and on a conflict prepare again.
//!
//! The verdict is typed. Committed: the new table. Conflict: [`ErrorKind::CommitConflict`] after the last retry, and what
//! the attempts wrote is removed. Unknown: [`ErrorKind::CommitStateUnknown`], and nothing is removed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::catalog::filesystem::{self, FoundMetadata};
use crate::iceberg::commit::AppendFiles;
use crate::iceberg::metadata::TableMetadata;
use crate::table::{Table, check_same_table};
use crate::task::DataFile;

/// How often and how long to retry: `commit.retry.*`, named and measured as Java does. The default number of retries is
/// higher than Java's 4, because an attempt on a file system costs milliseconds.
struct RetryPolicy {
    retries: u32,
    min_wait_ms: u64,
    max_wait_ms: u64,
    total_ms: u64,
}

impl RetryPolicy {
    fn of(properties: &BTreeMap<String, String>) -> RetryPolicy {
        let number = |key: &str, default| properties.get(key).and_then(|v| v.parse().ok()).unwrap_or(default);
        RetryPolicy {
            retries: number("commit.retry.num-retries", 20).min(10_000) as u32,
            min_wait_ms: number("commit.retry.min-wait-ms", 20),
            max_wait_ms: number("commit.retry.max-wait-ms", 60_000),
            total_ms: number("commit.retry.total-timeout-ms", 1_800_000),
        }
    }

    /// Doubling, capped, with half of it random, so that writers that collided part.
    fn wait(&self, attempt: u32) -> Duration {
        let full = self.min_wait_ms.saturating_mul(1 << attempt.min(20)).min(self.max_wait_ms).max(1);
        let random = uuid::Uuid::new_v4().as_u64_pair().1 % full;
        Duration::from_millis(full / 2 + random / 2)
    }
}

/// The version that an attempt starts from.
struct Base {
    metadata: TableMetadata,
    found: FoundMetadata,
}

/// Appends files in one commit; returns the table as it is then.
pub(crate) fn append(table: &Table, files: Vec<DataFile>, summary: BTreeMap<String, String>) -> Result<Table> {
    let inner = &table.inner;
    let policy = RetryPolicy::of(&inner.metadata.properties);
    let mut append = AppendFiles::new(inner.store.clone(), files, summary)?;
    let began = Instant::now();
    let mut attempt = 0;
    let mut base = Base { metadata: inner.metadata.as_ref().clone(), found: inner.found.clone() };
    loop {
        let error = match publish(table, &mut append, &base) {
            Ok(done) => return done,
            Err(e) => e,
        };
        let newest = reload(table).map_err(|e| unknown(&error, e))?;
        if newest.metadata.snapshot_by_id(append.snapshot_id()).is_some() {
            // The publish went through although its reply said otherwise.
            return reopened(table, newest);
        }
        if error.kind() != ErrorKind::CommitConflict {
            return Err(error);
        }
        let spent = began.elapsed().as_millis() as u64;
        if attempt >= policy.retries || spent >= policy.total_ms {
            append.clean_up();
            return Err(error.hint(format!(
                "Another writer won {} times in {spent} ms; nothing of this commit is in the table, so it is safe to \
                 try again (property commit.retry.num-retries)",
                attempt + 1
            )));
        }
        std::thread::sleep(policy.wait(attempt));
        attempt += 1;
        base = reload(table)?;
    }
}

/// One attempt. The outer error is that of publishing; the inner result is final.
fn publish(table: &Table, append: &mut AppendFiles, base: &Base) -> Result<Result<Table>> {
    let inner = &table.inner;
    let version = base.found.version.ok_or_else(|| {
        Error::unsupported("this table's versions are tracked by a catalog, so its folder can't be committed to")
            .with("path", &base.found.metadata_location)
            .hint("Commit through the catalog that the table belongs to")
    })?;
    let prepared = match append.prepare(&base.metadata, now_ms()) {
        Ok(p) => p,
        Err(e) => {
            // Nothing was published, so what the attempts wrote can't be live.
            append.clean_up();
            return Ok(Err(e));
        }
    };
    let metadata = prepared.metadata.with_metadata_log(&base.found.metadata_location, base.metadata.last_updated_ms)?;
    let path = filesystem::publish(inner.store.as_ref(), &inner.root, version + 1, &metadata, Some(&base.metadata))?;
    let found = FoundMetadata { metadata_location: path, version: Some(version + 1) };
    Ok(Table::of(inner.store.clone(), metadata, found, inner.storage_options.clone(), false))
}

fn reload(table: &Table) -> Result<Base> {
    let (metadata, found) = filesystem::load(table.inner.store.as_ref(), &table.inner.root)?;
    check_same_table(&table.inner.metadata, &metadata, &table.inner.root)?;
    Ok(Base { metadata, found })
}

fn reopened(table: &Table, base: Base) -> Result<Table> {
    let inner = &table.inner;
    Table::of(inner.store.clone(), base.metadata, base.found, inner.storage_options.clone(), false)
}

fn unknown(publish_error: &Error, reload_error: Error) -> Error {
    Error::state_unknown(format!("it is unknown whether the commit happened: {publish_error}"))
        .hint("Nothing was removed. Open the table again and look for the rows before trying again")
        .because(reload_error)
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}
