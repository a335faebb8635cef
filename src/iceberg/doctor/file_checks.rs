//! Data and delete files: existence and size, footer, rows.

use std::sync::Arc;

use super::codes;
use super::examination::Examination;
use super::seen::{FileToCheck, path_hash};
use crate::codec::puffin::{Footer, TAIL_BYTES, footer_bytes};
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::files::{read_all_positions, read_vector};
use crate::data::verify::compare::{Difference, RecordedColumn, against_footer};
use crate::data::verify::footer::file_facts;
use crate::data::verify::partition::against_bounds;
use crate::data::verify::row_check::check_rows;
use crate::error::{Error, ErrorKind, Result};
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::finding::{Looked, reason};
use crate::format::diagnosis::table_codes as shared;
use crate::format::task::{DataFile, FieldMap, FileContent, FileFormat};
use crate::parallel::{check_cancelled, locked};

/// Bytes that are read first from the end of a Puffin file.
const PUFFIN_TAIL: u64 = 64 << 10;

/// What a thread keeps between files.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The last file of vectors.
    vectors: Option<(String, VectorFile)>,
}

/// A file of deletion vectors.
#[derive(Debug)]
enum VectorFile {
    /// It is a Puffin file.
    Puffin(Footer),
    /// It has no footer, for this reason.
    Bare(String),
    /// A finding says why nothing of it is checked.
    Reported,
}

/// Checks a file.
///
/// # Errors
/// A cancellation. Anything else becomes a finding.
pub(super) fn check(of: &Examination<'_>, scratch: &mut Scratch, file: &FileToCheck) -> Result<()> {
    check_cancelled()?;
    if file.is_first_of_file {
        of.findings.looked(Looked::File);
    }
    let Ok(real) = of.location.resolve(&file.path) else {
        of.findings.add(&shared::FILE_MISSING, &file.path, "it is outside of the table's recorded location");
        return Ok(());
    };
    let is_delete = file.file.as_deref().is_some_and(|f| f.content != FileContent::Data);
    let missing = if is_delete { &codes::DELETE_FILE_MISSING } else { &shared::FILE_MISSING };
    let Some(entry) = file.file.as_deref() else {
        return size(of, &file.path, &real, file.bytes, missing).map(drop);
    };
    if entry.key_metadata.is_some() {
        of.findings.add(&shared::FILE_UNSUPPORTED, &file.path, "it is encrypted");
        return size(of, &file.path, &real, file.bytes, missing).map(drop);
    }
    match entry.format {
        FileFormat::Puffin => vector(of, scratch, entry, &real, file.is_first_of_file),
        _ => rows(of, entry, &real, missing),
    }
}

/// Compares the length of a file with the recorded one. `false` if the file is missing or too short.
fn size(of: &Examination<'_>, path: &str, real: &str, recorded: i64, missing: &'static Code) -> Result<bool> {
    match of.store.size(real) {
        Ok(found) => Ok(compare_size(of, path, found, recorded, false)),
        Err(e) => {
            check_cancelled()?;
            let code = if e.kind() == ErrorKind::NotFound { missing } else { &shared::FILE_UNREADABLE };
            of.findings.add(code, path, reason(&e));
            Ok(false)
        }
    }
}

/// Compares a length with the recorded one. `is_whole`: whether the end of the file was read.
fn compare_size(of: &Examination<'_>, path: &str, found: u64, recorded: i64, is_whole: bool) -> bool {
    let wanted = u64::try_from(recorded).unwrap_or(0);
    if found == wanted {
        return true;
    }
    let code = match found < wanted {
        true if is_whole => &shared::FILE_SHORTER,
        true => &shared::FILE_TRUNCATED,
        false => &shared::FILE_LONGER,
    };
    of.findings.add(code, path, format!("{recorded} bytes are recorded, the file has {found}"));
    found > wanted
}

/// Checks a file of rows by its footer, and its rows if that is wanted.
fn rows(of: &Examination<'_>, file: &DataFile, real: &str, missing: &'static Code) -> Result<()> {
    let is_data = file.content == FileContent::Data;
    let context = if is_data { &of.context } else { &of.delete_context };
    of.findings.looked(Looked::Footer);
    let facts = match file_facts(of.store, context, file, real) {
        Ok(facts) => facts,
        Err(e) => return unreadable(of, file, real, &e, missing),
    };
    match facts.bytes {
        Some(found) => drop(compare_size(of, &file.path, found, file.size_bytes, true)),
        None => drop(size(of, &file.path, real, file.size_bytes, missing)?),
    }
    let mut out = Vec::new();
    let empty = Default::default();
    let recorded = match file.metrics.as_ref().map(|m| m.get()) {
        Some(Ok(metrics)) => metrics,
        Some(Err(e)) => {
            of.findings.add(&codes::MANIFEST_DAMAGED, &file.path, reason(&e));
            &empty
        }
        None => &empty,
    };
    against_footer(&context.schema, file, recorded, &facts, &mut out);
    if is_data {
        let get = |map: &Option<FieldMap<i64>>, id| map.as_ref().and_then(|m| m.get(&id)).copied();
        for value in &file.partition.values {
            let (found, id) = (&facts.metrics, value.source_id);
            let bound = |map: &Option<FieldMap<Vec<u8>>>| map.as_ref().and_then(|m| m.get(&id)).cloned();
            let (lower, upper) = (bound(&found.lower_bounds), bound(&found.upper_bounds));
            let (values, nulls) = (get(&found.value_counts, id), get(&found.null_value_counts, id));
            let column = RecordedColumn { values, nulls, lower: lower.as_deref(), upper: upper.as_deref() };
            against_bounds(&context.schema, value, column, &mut out);
        }
        if !facts.has_ids && of.context.name_mapping.is_none() {
            out.push(Difference::new(&codes::FIELD_IDS_MISSING, "no column has a field id"));
        }
        if let Some(id) = facts.twice.first() {
            out.push(Difference::new(&codes::FIELD_IDS_TWICE, format!("field id {id}")));
        }
    }
    offsets(file, facts.group_starts.as_deref(), &mut out);
    if of.options.deep && out.iter().all(|d| d.code != &shared::COLUMN_TYPE) {
        deep(of, file, recorded, &mut out)?;
    }
    // Footer and rows may show the same difference.
    out.sort_by_key(|d| d.code.id);
    out.dedup_by_key(|d| (d.code.id, d.evidence.clone()));
    out.into_iter().for_each(|d| of.findings.add(d.code, &file.path, d.evidence));
    Ok(())
}

/// The finding for a footer that can't be read.
fn unreadable(of: &Examination<'_>, file: &DataFile, real: &str, e: &Error, missing: &'static Code) -> Result<()> {
    check_cancelled()?;
    let findings = of.findings;
    match e.kind() {
        ErrorKind::NotFound => findings.add(missing, &file.path, reason(e)),
        ErrorKind::Unsupported => findings.add(&shared::FILE_UNSUPPORTED, &file.path, reason(e)),
        ErrorKind::CorruptTable => {
            if size(of, &file.path, real, file.size_bytes, missing)? {
                findings.add(&shared::FILE_DAMAGED, &file.path, reason(e));
            }
        }
        _ => findings.add(&shared::FILE_UNREADABLE, &file.path, reason(e)),
    }
    Ok(())
}

/// Recorded split offsets must be ascending, and row groups must begin there.
fn offsets(file: &DataFile, starts: Option<&[i64]>, out: &mut Vec<Difference>) {
    let Some(recorded) = file.split_offsets.as_deref().filter(|r| !r.is_empty()) else { return };
    let ascends = recorded.windows(2).all(|pair| pair.first() < pair.get(1));
    let known = starts.is_none_or(|starts| recorded.iter().all(|offset| starts.contains(offset)));
    if !ascends || !known {
        let evidence = format!("{recorded:?} are recorded, row groups begin at {:?}", starts.unwrap_or_default());
        out.push(Difference::new(&codes::SPLIT_OFFSETS, evidence));
    }
}

/// Reads the rows of a file.
fn deep(
    of: &Examination<'_>,
    file: &DataFile,
    recorded: &crate::format::task::ColumnMetrics,
    out: &mut Vec<Difference>,
) -> Result<()> {
    of.findings.looked(Looked::Rows);
    let done = match file.content {
        FileContent::Data => {
            let spec = of.metadata.spec_by_id(file.partition.spec_id).ok();
            check_rows(of.store, &of.context, file, recorded, spec.map(Arc::as_ref), out)
        }
        FileContent::PositionDeletes => read_all_positions(of.store, &of.context, file).map(|by_file| {
            for (path, set) in by_file {
                if let Some(last) = set.iter().last() {
                    locked(&of.positions).push((path_hash(&path), last, file.path.clone()));
                }
            }
        }),
        FileContent::EqualityDeletes => Ok(()),
    };
    if let Err(e) = done {
        check_cancelled()?;
        let code = match e.kind() {
            ErrorKind::Unsupported => &shared::FILE_UNSUPPORTED,
            ErrorKind::CorruptTable => &shared::FILE_DAMAGED,
            _ => &shared::FILE_UNREADABLE,
        };
        out.push(Difference::new(code, reason(&e)));
    }
    Ok(())
}

/// Checks a deletion vector: its blob in the footer of its file, and its positions if that is wanted.
fn vector(of: &Examination<'_>, scratch: &mut Scratch, file: &DataFile, real: &str, is_first: bool) -> Result<()> {
    let known = scratch.vectors.take().filter(|(path, _)| *path == file.path);
    let (path, found) = match known {
        Some(known) => known,
        None => (file.path.clone(), vector_file(of, file, real, is_first)?),
    };
    match &found {
        VectorFile::Puffin(footer) => vector_in(of, footer, file)?,
        VectorFile::Bare(why) => match positions(of, file)? {
            Ok(()) if is_first => of.findings.add(&codes::VECTOR_BARE, &file.path, why.as_str()),
            Ok(()) => {}
            Err(_) => of.findings.add(&codes::VECTOR_DAMAGED, &file.path, why.as_str()),
        },
        VectorFile::Reported => {}
    }
    scratch.vectors = Some((path, found));
    Ok(())
}

/// Opens the file of a vector.
fn vector_file(of: &Examination<'_>, file: &DataFile, real: &str, is_first: bool) -> Result<VectorFile> {
    if is_first && !size(of, &file.path, real, file.size_bytes, &codes::DELETE_FILE_MISSING)? {
        return Ok(VectorFile::Reported);
    }
    of.findings.looked(Looked::Footer);
    puffin_footer(of, real).map(VectorFile::Puffin).or_else(|e| {
        check_cancelled()?;
        if e.kind() == ErrorKind::CorruptTable {
            return Ok(VectorFile::Bare(reason(&e)));
        }
        of.findings.add(&codes::VECTOR_DAMAGED, &file.path, reason(&e));
        Ok(VectorFile::Reported)
    })
}

/// Checks a deletion vector of a Puffin file.
fn vector_in(of: &Examination<'_>, footer: &Footer, file: &DataFile) -> Result<()> {
    let (Some(offset), Some(length)) = (file.content_offset, file.content_size_bytes) else { return Ok(()) };
    let at = |blob: &&crate::codec::puffin::Blob| {
        i64::try_from(blob.offset) == Ok(offset) && i64::try_from(blob.length) == Ok(length)
    };
    let wrong = |evidence: String| of.findings.add(&codes::VECTOR_DAMAGED, &file.path, evidence);
    let Some(blob) = footer.blobs.iter().find(at) else {
        wrong(format!("the file has no blob of {length} bytes at byte {offset}"));
        return Ok(());
    };
    if let Some(of_file) = blob.properties.get("referenced-data-file")
        && file.referenced_data_file.as_ref().is_some_and(|named| named != of_file)
    {
        wrong(format!(
            "it is recorded for {}, its file says {of_file}",
            file.referenced_data_file.as_deref().unwrap_or("")
        ));
    }
    let rows = blob.properties.get("cardinality").and_then(|n| n.parse::<i64>().ok());
    if let Some(rows) = rows.filter(|rows| *rows != file.record_count) {
        wrong(format!("{} positions are recorded, its file says {rows}", file.record_count));
    }
    if of.options.deep
        && let Err(why) = positions(of, file)?
    {
        wrong(why);
    }
    Ok(())
}

/// Reads the positions of a deletion vector by its recorded place. The inner error says why they can't be read.
fn positions(of: &Examination<'_>, file: &DataFile) -> Result<std::result::Result<(), String>> {
    let Some(named) = &file.referenced_data_file else { return Ok(Ok(())) };
    of.findings.looked(Looked::Rows);
    let data_file = DataFile { path: named.clone(), ..file.clone() };
    match read_vector(of.store, &of.context, &data_file, file, &DeleteCache::new(0)) {
        Ok((set, _)) => {
            if let Some(last) = set.iter().last() {
                locked(&of.positions).push((path_hash(named), last, file.path.clone()));
            }
            Ok(Ok(()))
        }
        Err(e) => {
            check_cancelled()?;
            Ok(Err(reason(&e)))
        }
    }
}

/// The footer of a Puffin file.
pub(super) fn puffin_footer(of: &Examination<'_>, real: &str) -> Result<Footer> {
    let (mut tail, size) = of.store.get_tail(real, PUFFIN_TAIL)?;
    let short = || Error::corrupt(format!("a file of {size} bytes is too short to be Puffin"));
    let length = footer_bytes(tail.last_chunk::<TAIL_BYTES>().ok_or_else(short)?)?;
    if length > size {
        return Err(Error::corrupt(format!("the Puffin footer claims {length} bytes in a file of {size}")));
    }
    if length > tail.len() as u64 {
        tail = of.store.get_tail(real, length)?.0;
    }
    let start = tail.len().checked_sub(length as usize).ok_or_else(short)?;
    Footer::parse(tail.get(start..).unwrap_or_default(), size)
}
