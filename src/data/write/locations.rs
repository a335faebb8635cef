//! The places where a table's new files are written.
//!
//! Files lie under `data` of the table, or under property `write.data.path`, in a folder for each partition. With
//! property `write.object-storage.enabled` a hash of the name comes first. So object stores spread files over their
//! servers:
//!
//! ```text
//! <table>/data/day=2024-01-01/00000-0-<uuid>-00001.parquet
//! <table>/data/0101/1110/0011/01010110/day=2024-01-01/00000-0-<uuid>-00001.parquet
//! <table>/data/0101/1110/0011/01010110-00000-0-<uuid>-00001.parquet  write.object-storage.partitioned-paths=false
//! <write.data.path>/0101/1110/0011/01010110/<db>/<table>/00000-0-<uuid>-00001.parquet
//! ```
//!
//! Source: Java Iceberg's `LocationProviders`, with whose paths these agree for the same file names.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::format::task::Partition;
use crate::store::location::{self, without_slashes};
use crate::types::Transform;
use crate::types::hash::murmur3_bytes;

const DATA_PATH: &str = "write.data.path";
const OBJECT_STORAGE: &str = "write.object-storage.enabled";
const PARTITIONED_PATHS: &str = "write.object-storage.partitioned-paths";
const PROVIDER: &str = "write.location-provider.impl";
/// Old names of [`DATA_PATH`]. The first one only counts with object storage.
const OLD_PATHS: [&str; 2] = ["write.object-storage.path", "write.folder-storage.path"];

/// Bits of the hash in a path: three folders of four, and the rest.
const HASH_BITS: usize = 20;
const FOLDER_BITS: usize = 4;
const FOLDERS: usize = 3;

/// The prefix of the names of job folders. The job's own name follows.
const JOB_FOLDER: &str = "frazil-job-";

/// Whether a folder of this name belongs to a job ([`FileLocations::job_folder`]). All its files are Frazil's, hidden
/// files too.
pub fn is_job_folder(name: &str) -> bool {
    name.strip_prefix(JOB_FOLDER).is_some_and(|id| !id.is_empty())
}

/// The rule by which a table's new files get their paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocations {
    /// The folder, without a slash at the end.
    folder: String,
    hashed: Option<Hashed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hashed {
    /// The last two parts of the table's location, if files lie outside it.
    table: Option<String>,
    /// Whether partitions have folders.
    partitioned: bool,
}

impl FileLocations {
    /// The folder that holds all new files.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The rule for a table at `location` with these properties.
    ///
    /// # Errors
    /// `Unsupported` for a Java class that gives the paths; `InvalidInput` for properties that Java Iceberg 1.12
    /// refuses as outdated.
    pub fn new(location: &str, properties: &BTreeMap<String, String>) -> Result<FileLocations> {
        if let Some(class) = properties.get(PROVIDER) {
            return Err(Error::unsupported(format!("the paths of new files come from the Java class {class}"))
                .with("property", PROVIDER)
                .hint("Remove the property to write files to the table's own folders"));
        }
        let location = without_slashes(location);
        let is = |key: &str, default: bool| properties.get(key).map_or(default, |v| v.eq_ignore_ascii_case("true"));
        let hashed = is(OBJECT_STORAGE, false);
        let folder = match properties.get(DATA_PATH) {
            Some(path) => without_slashes(path).to_owned(),
            None => {
                let outdated = OLD_PATHS.iter().skip(usize::from(!hashed)).find(|key| properties.contains_key(**key));
                if let Some(key) = outdated {
                    return Err(Error::invalid("the property is outdated: it no longer sets the location of files")
                        .with("property", key)
                        .hint(format!("Set {DATA_PATH} instead")));
                }
                location::join(location, "data")
            }
        };
        let hashed = hashed.then(|| Hashed {
            table: (!folder.starts_with(location)).then(|| last_two_parts(location)),
            partitioned: is(PARTITIONED_PATHS, true),
        });
        Ok(FileLocations { folder, hashed })
    }

    /// All files directly in one folder or in partition folders below it.
    pub fn in_folder(folder: &str) -> FileLocations {
        FileLocations { folder: without_slashes(folder).to_owned(), hashed: None }
    }

    /// The folder for the files of one job of an engine that names files itself. `None` if paths begin with hashes.
    pub fn job_folder(&self, id: &str) -> Option<String> {
        self.hashed.is_none().then(|| format!("{}/{JOB_FOLDER}{id}", self.folder))
    }

    /// The path of a new file. `partition` is `None` for a file that belongs to no single partition.
    pub fn path(&self, partition: Option<&Partition>, name: &str) -> String {
        let parts = partition.filter(|p| p.values.iter().any(|v| v.transform != Transform::Void)).map(Partition::path);
        let with_parts = || match &parts {
            Some(parts) => format!("{parts}/{name}"),
            None => name.to_owned(),
        };
        let folder = &self.folder;
        let Some(hashed) = &self.hashed else { return format!("{folder}/{}", with_parts()) };
        let name = if hashed.partitioned { with_parts() } else { name.to_owned() };
        let hash = hash_folders(&name);
        match &hashed.table {
            Some(table) => format!("{folder}/{hash}/{table}/{name}"),
            None if hashed.partitioned => format!("{folder}/{hash}/{name}"),
            None => format!("{folder}/{hash}-{name}"),
        }
    }
}

/// `db/table` of `s3://bucket/warehouse/db/table`.
fn last_two_parts(location: &str) -> String {
    let path = match location::authority_and_path(location) {
        Some((_, path)) => path,
        None => location.strip_prefix("file:").unwrap_or(location),
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.get(parts.len().saturating_sub(2)..).unwrap_or_default().join("/")
}

/// The last bits of the name's hash as folders: `0101/1110/0011/01010110`.
fn hash_folders(name: &str) -> String {
    let hash = murmur3_bytes(name.as_bytes());
    let mut out = String::with_capacity(HASH_BITS + FOLDERS);
    for bit in 0..HASH_BITS {
        if bit > 0 && bit % FOLDER_BITS == 0 && bit <= FOLDERS * FOLDER_BITS {
            out.push('/');
        }
        out.push(if hash >> (HASH_BITS - 1 - bit) & 1 == 1 { '1' } else { '0' });
    }
    out
}

#[cfg(test)]
#[path = "locations_tests.rs"]
mod tests;
