//! The course of an examination below the metadata file: lists, manifests with their files, relations, health.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use super::examination::Examination;
use super::file_checks::{self, Scratch};
use super::lists::Lists;
use super::order::has_order;
use super::seen::{CheckedColumn, FileToCheck, LiveData};
use super::{codes, health, manifests, outside, relations, statistics, summaries};
use crate::error::Result;
use crate::format::diagnosis::finding::{DoctorOptions, Findings};
use crate::format::request::ScanRequest;
use crate::format::task::ReadContext;
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{Phase, Unit, begin_phase, count_done, in_stages};
use crate::store::location::normalise;
use crate::types::{FieldId, Schema, Type};

/// The most columns with metrics that are compared without a footer.
const MOST_COLUMNS: usize = 32;

/// The most columns whose order of files is measured.
const MOST_ORDERS: usize = 4;

/// Files that one thread checks at a time.
const FILES: usize = 64;

impl<'a> Examination<'a> {
    /// Reads the manifest lists.
    ///
    /// # Errors
    /// A cancellation.
    pub(super) fn begin(
        table: &'a IcebergTable,
        options: &'a DoctorOptions,
        findings: &'a Findings,
    ) -> Result<Examination<'a>> {
        let inner = &table.inner;
        let (store, location, metadata) = (&inner.store, &inner.location, inner.metadata.as_ref());
        let lists = Lists::read(store.as_ref(), location, metadata, findings)?;
        let files = lists.manifests.iter().map(listed_files).sum();
        let most = if options.deep { u64::MAX } else { options.footers };
        let metric_columns = metric_columns(table);
        let mut metric_fields: Vec<FieldId> = metric_columns.iter().map(|c| c.id).collect();
        metric_fields.sort_unstable();
        let context = table.scan(ScanRequest::default())?.context().clone();
        let nothing = Arc::new(Schema::new(0, Vec::new(), Vec::new()));
        let delete_context = ReadContext { schema: nothing.clone(), projection: nothing, ..context.as_ref().clone() };
        Ok(Examination {
            table,
            store,
            location,
            metadata,
            findings,
            options,
            lists,
            metric_columns,
            metric_fields,
            context,
            delete_context: Arc::new(delete_context),
            root: format!("{}/", normalise(&metadata.location)),
            stride: stride(files, most),
            data_files: AtomicU64::new(0),
            seen: Mutex::default(),
            checked: Mutex::default(),
            positions: Mutex::default(),
        })
    }

    /// Runs all checks below the metadata file.
    ///
    /// # Errors
    /// A cancellation. Anything else becomes a finding.
    pub(super) fn run(self) -> Result<()> {
        let count = self.lists.manifests.len();
        let threads = self.store.at_once().max(1);
        let listed: u64 = self.lists.manifests.iter().map(listed_files).sum();
        let phase = begin_phase(Phase::CheckingFiles, usize::try_from(listed).unwrap_or(usize::MAX));
        let pieces = |place: usize| -> Result<Vec<Vec<FileToCheck>>> {
            let mut files = manifests::check(&self, place)?;
            // The others are checked by another manifest.
            let listed = self.lists.manifests.get(place).map_or(0, listed_files);
            count_done(Unit::Files, listed.saturating_sub(files.len() as u64));
            let mut pieces = Vec::with_capacity(files.len().div_ceil(FILES));
            while !files.is_empty() {
                let rest = files.split_off(files.len().min(FILES));
                pieces.push(std::mem::replace(&mut files, rest));
            }
            Ok(pieces)
        };
        let check = |scratch: &mut Scratch, _: usize, files: Vec<FileToCheck>| {
            files.iter().try_for_each(|file| {
                file_checks::check(&self, scratch, file)?;
                count_done(Unit::Files, 1);
                Ok(())
            })
        };
        in_stages(threads, count, pieces, Scratch::default, check)?;
        drop(phase);
        self.seen().kept.data.sort_unstable_by_key(|d: &LiveData| (d.key, d.manifest));
        let (examined, elsewhere) = (&self, std::mem::take(&mut self.seen().kept.elsewhere));
        if let (number, Some(first)) = elsewhere {
            self.findings.add(&codes::FILE_ELSEWHERE, first, format!("{number} files are outside of {}", self.root));
        }
        relations::check(examined)?;
        summaries::check(examined);
        statistics::check(examined)?;
        health::check(examined);
        if self.options.outside {
            outside::check(examined)?;
        }
        Ok(())
    }
}

/// The live files of a manifest, as the manifest list counts them.
fn listed_files(manifest: &ManifestFile) -> u64 {
    let count = |n: Option<i64>| n.unwrap_or(0).max(0).unsigned_abs();
    count(manifest.added_files_count).saturating_add(count(manifest.existing_files_count))
}

/// The number of data files for each one whose footer is read; 0 for none. A file in many manifests counts for each.
fn stride(files: u64, most: u64) -> u64 {
    match most {
        0 => 0,
        most => files.div_ceil(most).max(1),
    }
}

/// The columns with metrics that are compared: important ones first.
fn metric_columns(table: &IcebergTable) -> Vec<CheckedColumn> {
    let schema = &table.inner.schema;
    let mut important: BTreeSet<FieldId> = table.inner.sort_order.fields.iter().map(|f| f.source_id).collect();
    let sorted = important.clone();
    important.extend(table.inner.metadata.partition_specs.iter().flat_map(|s| &s.fields).map(|f| f.source_id));
    important.extend(&schema.identifier_field_ids);
    let mut out = Vec::new();
    add_columns(&schema.fields, false, &important, &mut out);
    out.sort_by_key(|c: &CheckedColumn| !c.is_important);
    out.truncate(MOST_COLUMNS);
    let is_candidate = |c: &CheckedColumn| sorted.is_empty() || sorted.contains(&c.id);
    let candidates = out.iter_mut().filter(|c| is_candidate(c) && !c.is_repeated && has_order(&c.ty));
    candidates.take(MOST_ORDERS).for_each(|c| c.orders = true);
    out
}

fn add_columns(
    fields: &[crate::types::Field],
    is_repeated: bool,
    important: &BTreeSet<FieldId>,
    out: &mut Vec<CheckedColumn>,
) {
    for field in fields {
        match &field.ty {
            Type::Primitive(ty) => {
                let (is_important, ty) = (important.contains(&field.id), ty.clone());
                out.push(CheckedColumn { id: field.id, ty, is_repeated, is_important, orders: false });
            }
            Type::Struct(members) => add_columns(members, is_repeated, important, out),
            other => {
                let children: Vec<crate::types::Field> = other.children().into_iter().cloned().collect();
                add_columns(&children, true, important, out);
            }
        }
    }
}
