//! The options of a scan, as texts under the formats' names.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::store::location;

/// Options that a scan takes.
const NAMES: [&str; 8] = [
    "batch-rows",
    "case-sensitive",
    "split-size",
    "lookback",
    "file-open-cost",
    "max-plan-bytes",
    "plan-cache",
    "plan-cache-bytes",
];

/// The default of the option `batch-rows`.
const BATCH_ROWS: usize = 32_768;

/// The default of the option `plan-cache-bytes`: the maximum size of the plan cache.
const PLAN_CACHE_BYTES: u64 = 1 << 30;

/// The parsed options, without those of splits, which apply when splits are made.
pub(crate) struct ScanOptions {
    pub case_sensitive: bool,
    /// Most rows of a batch.
    pub batch_rows: usize,
    /// Most bytes of manifests to read.
    pub max_plan_bytes: Option<u64>,
    /// The folder of the cache of decoded manifests, and its maximum size in bytes.
    pub plan_cache: Option<(String, u64)>,
}

impl ScanOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown option or an invalid value; `Unsupported` for a cache that is not local.
    pub(crate) fn parse(options: &BTreeMap<String, String>) -> Result<ScanOptions> {
        if let Some(odd) = options.keys().find(|key| !NAMES.contains(&key.as_str())) {
            return Err(Error::invalid(format!("there is no scan option '{odd}'"))
                .hint(format!("The options are {}", NAMES.join(", "))));
        }
        let bytes = |key: &str| -> Result<Option<u64>> {
            let Some(text) = options.get(key) else { return Ok(None) };
            let wrong = |_| Error::invalid(format!("option {key} is '{text}', not a number of bytes"));
            text.parse().map(Some).map_err(wrong)
        };
        let batch_rows = match options.get("batch-rows") {
            None => BATCH_ROWS,
            Some(text) => text.parse().ok().filter(|n| (1..=1 << 24).contains(n)).ok_or_else(|| {
                Error::invalid(format!("option batch-rows is '{text}', not a number from 1 to {}", 1 << 24))
            })?,
        };
        let case_sensitive = match options.get("case-sensitive").map(String::as_str) {
            None | Some("true") => true,
            Some("false") => false,
            Some(text) => {
                return Err(Error::invalid(format!("option case-sensitive is '{text}', not true or false")));
            }
        };
        let most_bytes = bytes("plan-cache-bytes")?.unwrap_or(PLAN_CACHE_BYTES);
        let plan_cache = |folder: &String| -> Result<(String, u64)> {
            let folder = location::absolute(folder)?;
            if location::scheme(&folder).is_some_and(|scheme| !location::is_file(scheme)) {
                return Err(Error::unsupported("the plan cache is kept in local files only").with("path", &folder));
            }
            Ok((folder, most_bytes))
        };
        Ok(ScanOptions {
            case_sensitive,
            batch_rows,
            max_plan_bytes: bytes("max-plan-bytes")?,
            plan_cache: options.get("plan-cache").map(plan_cache).transpose()?,
        })
    }
}
