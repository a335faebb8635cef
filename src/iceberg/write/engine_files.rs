//! Files that an engine's own Parquet writer made for a table, in the folder of one job, as a message.
//!
//! The engine does not know the table. It gets names, field ids and the folder, and puts the rows of a partition below
//! folders `frazil_0=vNO`, one for each partition field. The files' footers are checked. Each column must have the
//! field id and stored type that Iceberg's writers use, and bounds and null counts must fit the partition. So engine
//! settings that change the files can't damage the table.

use crate::data::parquet::import::importer::Importer;
use crate::data::write::locations::{FileLocations, is_job_folder};
use crate::error::{Error, Result, ResultExt};
use crate::format::task::CommitMessage;
use crate::iceberg::state::IcebergTable;
use crate::parallel::check_cancelled;
use crate::store::location::join;
use crate::store::{Store, in_parallel};
use crate::types::value::unhex;
use crate::types::{PrimitiveType, Transform, Value};

/// The prefix of partition folders, followed by the number of the partition field.
const PARTITION_FOLDER: &str = "frazil_";
/// How such a folder writes null.
pub(crate) const NULL_PARTITION: &str = "null";

impl IcebergTable {
    /// The folder for the files of a job, which [`IcebergTable::remove_orphan_files`] knows; `None` if the table's
    /// files have no common folder (`write.object-storage.enabled`).
    ///
    /// # Errors
    /// As [`IcebergTable::write`].
    pub fn job_folder(&self, id: &str) -> Result<Option<String>> {
        self.writable_location()?;
        let metadata = &self.inner.metadata;
        Ok(FileLocations::new(&metadata.location, &metadata.properties)?.job_folder(id))
    }

    /// The Parquet files in the folder of a successful job, as one message. With `sorted`, each file's rows have the
    /// table's sort order. Files without rows, and other files than Parquet, are deleted.
    ///
    /// # Errors
    /// `InvalidInput` for files that differ from those of Iceberg's writers, belong to another partition than their
    /// folder, or have null in a required column. `NotFound` if the job of an unpartitioned table left no file, since
    /// engines write one even without rows. Errors of [`IcebergTable::write`].
    pub fn collect_job(&self, folder: &str, sorted: bool) -> Result<CommitMessage> {
        self.writable_location()?;
        check_folder(folder)?;
        let store = &self.inner.store;
        let found = self.found_below(folder)?;
        if found.is_empty() && self.partition_spec().is_unpartitioned() {
            return Err(Error::not_found(
                "the job has written its files, but they are not where this process looks for them",
            )
            .with("path", folder)
            .hint("Executors must write to storage that the driver sees, not to disks of their own"));
        }
        let metadata = &self.inner.metadata;
        let order = self.sort_order();
        let importer = Importer::new(
            store.clone(),
            self.schema().clone(),
            self.partition_spec(),
            &metadata.properties,
            &order.ordered_columns(),
            None,
            &metadata.schemas,
        )?;
        let mut files = in_parallel(store.as_ref(), found.len(), |i| {
            check_cancelled()?;
            let (path, partition) = &found[i];
            importer.import_own(path, partition)
        })?;
        for empty in files.extract_if(.., |f| f.record_count == 0) {
            store.delete(&empty.path)?;
        }
        files.iter_mut().for_each(|f| f.sort_order_id = Some(if sorted { order.id } else { 0 }));
        Ok(CommitMessage::new(self.uuid(), files, Some(self.written_now())))
    }

    /// Deletes the folder of a job with all its files.
    ///
    /// # Errors
    /// `InvalidInput` for another folder; errors of the store.
    pub fn sweep_job(&self, folder: &str) -> Result<()> {
        self.writable_location()?;
        check_folder(folder)?;
        sweep(self.inner.store.as_ref(), folder)
    }

    /// The files with their partition values.
    fn found_below(&self, folder: &str) -> Result<Vec<(String, Vec<Option<Value>>)>> {
        let spec = self.partition_spec();
        let store = self.inner.store.as_ref();
        let mut level = vec![(folder.to_owned(), Vec::new())];
        for (i, field) in spec.fields.iter().enumerate() {
            if field.transform == Transform::Void {
                level.iter_mut().for_each(|(_, values): &mut (_, Vec<Option<Value>>)| values.push(None));
                continue;
            }
            let (ty, begins) = (field.result_type(self.schema()), format!("{PARTITION_FOLDER}{i}="));
            let below = in_parallel(store, level.len(), |k| {
                check_cancelled()?;
                let (above, values) = &level[k];
                let names = store.list_folders(above)?;
                let of_field = names.iter().filter_map(|name| Some((name, name.strip_prefix(&begins)?)));
                let one = |(name, text): (&String, &str)| -> Result<_> {
                    let path = join(above, name);
                    let value = partition_value(text, &ty).with("path", &path)?;
                    Ok((path, [values.as_slice(), &[value]].concat()))
                };
                of_field.map(one).collect::<Result<Vec<_>>>()
            })?;
            level = below.into_iter().flatten().collect();
        }
        let listed = in_parallel(store, level.len(), |k| {
            check_cancelled()?;
            store.list(&level[k].0)
        })?;
        let mut out = Vec::new();
        for ((_, values), files) in level.into_iter().zip(listed) {
            for file in files {
                let name = file.path.rsplit('/').next().unwrap_or_default();
                match name.ends_with(".parquet") && !name.starts_with(['_', '.']) {
                    true => out.push((file.path, values.clone())),
                    false => store.delete(&file.path)?,
                }
            }
        }
        out.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(out)
    }
}

/// Other folders than a job's may hold files in use.
fn check_folder(folder: &str) -> Result<()> {
    match is_job_folder(folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default()) {
        true => Ok(()),
        false => Err(Error::internal("this is not a folder of a job").with("path", folder)),
    }
}

fn sweep(store: &dyn Store, folder: &str) -> Result<()> {
    for name in store.list_folders(folder)? {
        let below = join(folder, &name);
        if !store.is_link(&below)? {
            sweep(store, &below)?;
        }
    }
    for file in store.list(folder)? {
        store.delete(&file.path)?;
    }
    store.delete_folder(folder)
}

/// A partition value from its folder's name: `v` and numbers unchanged, texts as their bytes in hexadecimal.
fn partition_value(text: &str, ty: &PrimitiveType) -> Result<Option<Value>> {
    if text == NULL_PARTITION {
        return Ok(None);
    }
    let said = text.strip_prefix('v');
    let value = match ty {
        PrimitiveType::Boolean => said.and_then(|t| t.parse().ok()).map(Value::Boolean),
        PrimitiveType::Int | PrimitiveType::Date => said.and_then(|t| t.parse().ok()).map(Value::Int),
        PrimitiveType::Long => said.and_then(|t| t.parse().ok()).map(Value::Long),
        PrimitiveType::String => {
            said.and_then(unhex).and_then(|bytes| String::from_utf8(bytes).ok()).map(Value::String)
        }
        _ => None,
    };
    let wrong = || Error::invalid(format!("a folder of the job names no value of type {ty}"));
    value.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
#[path = "engine_files_tests.rs"]
mod tests;
