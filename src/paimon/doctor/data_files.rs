//! Data files: existence and size, footer, rows.

use std::collections::HashSet;
use std::sync::Arc;

use super::live::LiveFile;
use crate::data::verify::compare::against_footer;
use crate::data::verify::footer::file_facts;
use crate::data::verify::row_check::check_rows;
use crate::error::{ErrorKind, Result};
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::finding::{DoctorOptions, Findings, Looked, reason};
use crate::format::diagnosis::table_codes as shared;
use crate::format::task::ReadContext;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done, in_parallel_on};
use crate::store::Store;

/// How files are checked.
pub(super) struct FileChecks<'a> {
    pub store: &'a Arc<dyn Store>,
    pub findings: &'a Findings,
    pub options: &'a DoctorOptions,
    /// How files are read; none for a table that can't be opened.
    pub context: Option<Arc<ReadContext>>,
    /// The code of a file that is missing, damaged or too short.
    pub broken: Option<&'static Code>,
}

impl FileChecks<'_> {
    /// Checks files that were not checked before. Footers of `footers` of them are read, spread over all.
    ///
    /// # Errors
    /// A cancellation. Anything else becomes a finding.
    pub(super) fn check(&self, files: &[LiveFile], checked: &mut HashSet<String>) -> Result<()> {
        let new: Vec<&LiveFile> = files.iter().filter(|f| checked.insert(f.file.path.clone())).collect();
        let _phase = begin_phase(Phase::CheckingFiles, new.len());
        let most =
            if self.options.deep { usize::MAX } else { usize::try_from(self.options.footers).unwrap_or(usize::MAX) };
        let stride = if most == 0 { usize::MAX } else { new.len().div_ceil(most).max(1) };
        in_parallel_on(self.store.at_once(), new.len(), |i| {
            check_cancelled()?;
            let wants_footer = most > 0 && i % stride == 0;
            self.one(new[i], wants_footer)?;
            count_done(Unit::Files, 1);
            Ok(())
        })?;
        let extra: Vec<&String> =
            new.iter().flat_map(|f| &f.extra).filter(|path| checked.insert((*path).clone())).collect();
        in_parallel_on(self.store.at_once(), extra.len(), |i| {
            check_cancelled()?;
            self.findings.looked(Looked::File);
            if let Err(e) = self.store.size(extra[i])
                && e.kind() == ErrorKind::NotFound
            {
                self.add(&shared::FILE_MISSING, extra[i], reason(&e));
            }
            Ok(())
        })?;
        Ok(())
    }

    fn add(&self, code: &'static Code, path: &str, evidence: String) {
        self.findings.add(self.broken.unwrap_or(code), path, evidence);
    }

    fn one(&self, live: &LiveFile, wants_footer: bool) -> Result<()> {
        let (file, path) = (&live.file, live.file.path.as_str());
        self.findings.looked(Looked::File);
        let Some(context) = self.context.as_ref().filter(|_| wants_footer && live.has_schema) else {
            return self.size(live).map(drop);
        };
        self.findings.looked(Looked::Footer);
        let facts = match file_facts(self.store, context, file, path) {
            Ok(facts) => facts,
            Err(e) => {
                check_cancelled()?;
                match e.kind() {
                    ErrorKind::NotFound => self.add(&shared::FILE_MISSING, path, reason(&e)),
                    ErrorKind::Unsupported => self.findings.add(&shared::FILE_UNSUPPORTED, path, reason(&e)),
                    ErrorKind::CorruptTable if !self.size(live)? => {}
                    ErrorKind::CorruptTable => self.add(&shared::FILE_DAMAGED, path, reason(&e)),
                    _ => self.findings.add(&shared::FILE_UNREADABLE, path, reason(&e)),
                }
                return Ok(());
            }
        };
        match facts.bytes {
            Some(found) => drop(self.compare_size(live, found, true)),
            None => drop(self.size(live)?),
        }
        let mut out = Vec::new();
        against_footer(&context.schema, file, &live.recorded, &facts, &mut out);
        if self.options.deep && facts.misfit.is_none() {
            self.findings.looked(Looked::Rows);
            if let Err(e) = check_rows(self.store, context, file, &live.recorded, None, &mut out) {
                check_cancelled()?;
                let code =
                    if e.kind() == ErrorKind::Unsupported { &shared::FILE_UNSUPPORTED } else { &shared::FILE_DAMAGED };
                self.findings.add(code, path, reason(&e));
            }
        }
        out.sort_by_key(|d| d.code.id);
        out.dedup_by_key(|d| (d.code.id, d.evidence.clone()));
        out.into_iter().for_each(|d| self.findings.add(d.code, path, d.evidence));
        Ok(())
    }

    /// Compares the length. `false` if the file is missing or too short.
    fn size(&self, live: &LiveFile) -> Result<bool> {
        match self.store.size(&live.file.path) {
            Ok(found) => Ok(self.compare_size(live, found, false)),
            Err(e) => {
                check_cancelled()?;
                match e.kind() {
                    ErrorKind::NotFound => self.add(&shared::FILE_MISSING, &live.file.path, reason(&e)),
                    _ => self.findings.add(&shared::FILE_UNREADABLE, &live.file.path, reason(&e)),
                }
                Ok(false)
            }
        }
    }

    /// Compares the length. `is_whole`: whether the end of the file was read.
    fn compare_size(&self, live: &LiveFile, found: u64, is_whole: bool) -> bool {
        let recorded = u64::try_from(live.file.size_bytes).unwrap_or(0);
        if found != recorded {
            let evidence = format!("{recorded} bytes are recorded, the file has {found}");
            match found < recorded {
                true if is_whole => self.findings.add(&shared::FILE_SHORTER, &live.file.path, evidence),
                true => self.add(&shared::FILE_TRUNCATED, &live.file.path, evidence),
                false => self.findings.add(&shared::FILE_LONGER, &live.file.path, evidence),
            }
        }
        found >= recorded
    }
}
