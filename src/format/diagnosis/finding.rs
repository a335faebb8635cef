//! Findings about a table, and their collection from several threads.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::code::Code;
use super::table_codes;
use crate::error::{Error, ErrorKind, Result, public_text};
use crate::parallel::{check_cancelled, locked};

/// The options of an examination.
#[derive(Clone, Debug)]
pub struct DoctorOptions {
    /// Read the rows of data files too, and all footers.
    pub deep: bool,
    /// The most files with a footer that is read; they are spread over the table. Other files are only measured.
    pub footers: u64,
    /// List the table's folder to find files that nothing leads to.
    pub outside: bool,
    /// The most findings of one code that are kept. All are counted.
    pub most: usize,
}

/// What a remedy would save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gain {
    /// Stored bytes, or bytes that each scan reads.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Requests of a full scan.
    pub requests: u64,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFinding {
    /// Its kind.
    pub code: &'static Code,
    /// The file, snapshot, reference or column that it is about.
    pub object: String,
    /// The values that contradict each other.
    pub evidence: String,
    /// The estimated gain, for findings about the table's health.
    pub gain: Option<Gain>,
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// Snapshots.
    pub snapshots: u64,
    /// Manifests, each once.
    pub manifests: u64,
    /// Data files, delete files and other files that were measured, each once.
    pub files: u64,
    /// Files whose footer was read.
    pub footers: u64,
    /// Files whose rows were read.
    pub deep: u64,
}

/// The result of an examination.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The findings: errors first, then by code and object.
    pub findings: Vec<TableFinding>,
    /// The number of findings of each code, those that were not kept included.
    pub counts: BTreeMap<&'static str, u64>,
    /// What was looked at.
    pub examined: Examined,
}

/// The longest evidence, in bytes.
const MOST_EVIDENCE: usize = 400;

/// Findings of several threads.
#[derive(Debug)]
pub struct Findings {
    most: usize,
    found: Mutex<BTreeMap<&'static str, (u64, Vec<TableFinding>)>>,
    examined: [AtomicU64; 5],
}

/// Something that is counted.
#[derive(Clone, Copy, Debug)]
pub enum Looked {
    /// At a snapshot.
    Snapshot,
    /// At a manifest.
    Manifest,
    /// At the size of a file.
    File,
    /// At the footer of a file.
    Footer,
    /// At the rows of a file.
    Rows,
}

impl Findings {
    /// Keeps at most this number of findings of a code.
    pub fn new(most: usize) -> Findings {
        Findings { most, found: Mutex::default(), examined: Default::default() }
    }

    /// Adds a finding.
    pub fn add(&self, code: &'static Code, object: impl Display, evidence: impl Display) {
        self.push(code, object, evidence, None);
    }

    /// Adds a finding about the table's health.
    pub fn gain(&self, code: &'static Code, object: impl Display, evidence: impl Display, gain: Gain) {
        self.push(code, object, evidence, Some(gain));
    }

    fn push(&self, code: &'static Code, object: impl Display, evidence: impl Display, gain: Option<Gain>) {
        let mut found = locked(&self.found);
        let (count, kept) = found.entry(code.id).or_default();
        *count += 1;
        if kept.len() < self.most {
            let evidence = public_text(&evidence.to_string(), MOST_EVIDENCE).into_owned();
            kept.push(TableFinding { code, object: object.to_string(), evidence, gain });
        }
    }

    /// Adds a finding for a check that failed: `missing` for a missing file, `damaged` for content that is wrong. A
    /// store that refuses or stays silent proves neither, nor does content that Frazil can't read.
    ///
    /// # Errors
    /// The error itself, if the call was cancelled.
    pub fn failed(&self, missing: &'static Code, damaged: &'static Code, object: &str, e: &Error) -> Result<()> {
        check_cancelled()?;
        let code = match e.kind() {
            ErrorKind::NotFound => missing,
            ErrorKind::CorruptTable => damaged,
            ErrorKind::Unsupported => &table_codes::FILE_UNSUPPORTED,
            _ => &table_codes::FILE_UNREADABLE,
        };
        self.add(code, object, reason(e));
        Ok(())
    }

    /// Whether there is a finding of this code.
    pub fn has(&self, code: &'static Code) -> bool {
        locked(&self.found).contains_key(code.id)
    }

    /// Whether there is a finding that is an error.
    pub fn has_errors(&self) -> bool {
        let is_error = |f: &TableFinding| f.code.severity == super::code::Severity::Error;
        locked(&self.found).values().any(|(_, kept)| kept.iter().any(is_error))
    }

    /// Counts what was looked at.
    pub fn looked(&self, at: Looked) {
        if let Some(count) = self.examined.get(at as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All findings in order.
    pub fn finish(self) -> Diagnosis {
        let found = self.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let counts = found.iter().map(|(id, (count, _))| (*id, *count)).collect();
        let mut findings: Vec<TableFinding> = found.into_values().flat_map(|(_, kept)| kept).collect();
        let key = |f: &TableFinding| (f.code.severity, f.code.id, f.object.clone(), f.evidence.clone());
        findings.sort_by_cached_key(key);
        let [snapshots, manifests, files, footers, deep] = self.examined.map(AtomicU64::into_inner);
        Diagnosis { findings, counts, examined: Examined { snapshots, manifests, files, footers, deep } }
    }
}

/// An error in one line, with its causes.
pub fn reason(e: &Error) -> String {
    let mut text = e.message().to_owned();
    let mut cause = std::error::Error::source(e);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
