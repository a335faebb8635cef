//! Planning: manifest list → manifests → kept entries, column by column.
//!
//! Manifests that the counts or partition summaries exclude are not opened. The others are decoded directly into
//! columns, in parallel and in waves of a bounded size. Each distinct partition tuple is checked once, which gives its
//! residual filter. Then the metrics of each entry are checked against that residual. The same evaluator does all three
//! checks ([`crate::expr::bounds`]). No thread outlives a call: waves use scoped threads, so a process may fork between
//! two calls.
//!
//! Source: Iceberg specification, "Scan Planning".

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::codec::avro::Inflater;
use crate::error::{Error, Result, ResultExt};
use crate::format::manifest_count::ManifestCount;
use crate::format::task::FileContent;
use crate::iceberg::manifest::columns::{Manifest, assign_first_row_ids, clear_first_row_ids};
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::deletes::DeleteIndex;
use crate::iceberg::plan::input::{EntryScope, PlanInput, metric_fields};
use crate::iceberg::plan::judge::Judge;
use crate::iceberg::plan::kept_entries::KeptEntries;
use crate::iceberg::plan::planned::{PlanCounters, PlannedBatch, count_deletes};
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done, expect_more, expect_total, in_stages};
use crate::store::FilesAhead;
use crate::types::FieldId;
use crate::types::metadata_columns::DELETE_FILE_PATH;

/// Manifest bytes decoded in one wave. This bounds the memory of a streamed plan.
pub(crate) const WAVE_BYTES: i64 = 32 << 20;
/// The size of the first wave. It is smaller, so that the first tasks come soon.
const FIRST_WAVE_BYTES: i64 = 2 << 20;
/// Numbers of attached deletes that a wave, or a batch that was left over from one, holds: 4 MiB.
const MOST_ATTACHED: usize = 1 << 20;
/// The number of manifest blocks that one piece of work decodes.
const BLOCKS_PER_PIECE: usize = 32;

/// A running plan. It yields batches, oldest manifest first, with entries in the order of their manifest.
pub struct RunningPlan {
    judge: Judge,
    request: EntryRequest,
    queue: VecDeque<ManifestFile>,
    deletes: Option<Arc<DeleteIndex>>,
    ready: VecDeque<PlannedBatch>,
    counters: PlanCounters,
    /// The size of the next wave in bytes.
    wave_bytes: i64,
    failed: bool,
}

impl RunningPlan {
    /// Reads the manifest list and prunes it. If data manifests remain, reads the delete manifests that matter.
    ///
    /// # Errors
    /// `NotFound`, `CorruptTable` or `Unsupported`, with the file and snapshot.
    pub fn start(input: PlanInput) -> Result<RunningPlan> {
        let began = Instant::now();
        let manifests = match &input.snapshot {
            Some(s) => load_manifests(input.store.as_ref(), &input.location, s).with("snapshot", s.id)?,
            None => Vec::new(),
        };
        let snapshot = input.snapshot.as_ref().map_or(-1, |s| s.id);
        // Writers list the newest manifest first. Files are planned in the order of their commits.
        RunningPlan::over(input, manifests.into_iter().rev(), began).with("snapshot", snapshot)
    }

    /// Like [`RunningPlan::start`], but plans these manifests in this order instead of those of the snapshot. Delete
    /// manifests among them matter only for live entries.
    ///
    /// # Errors
    /// Errors of [`RunningPlan::start`].
    pub fn over(
        input: PlanInput,
        manifests: impl IntoIterator<Item = ManifestFile>,
        began: Instant,
    ) -> Result<RunningPlan> {
        let read_ms = began.elapsed().as_secs_f64() * 1e3;
        let deletes_too = matches!(input.entries, EntryScope::Live);
        let mut plan = RunningPlan::new(input);
        let mut delete_manifests = VecDeque::new();
        for m in manifests {
            let data = m.content == ManifestContent::Data;
            if (data || deletes_too) && plan.wants(&m)? {
                if data { &mut plan.queue } else { &mut delete_manifests }.push_back(m);
            }
        }
        plan.counters.read_ms = read_ms;
        plan.counters.list_ms = began.elapsed().as_secs_f64() * 1e3 - read_ms;
        plan.judge.input.budget.take(plan.counters.to_open())?;
        let _phase = begin_phase(Phase::Planning, plan.queue.len() + delete_manifests.len());
        if !plan.queue.is_empty() && !delete_manifests.is_empty() {
            plan.load_deletes(delete_manifests)?;
        }
        Ok(plan)
    }

    fn new(input: PlanInput) -> RunningPlan {
        RunningPlan {
            request: EntryRequest {
                metric_fields: metric_fields(&input),
                encoded_metrics: input.column_metrics,
                deleted_too: matches!(input.entries, EntryScope::RemovedBy(_) | EntryScope::Before(_)),
                ..Default::default()
            },
            judge: Judge::new(input),
            queue: VecDeque::new(),
            deletes: None,
            ready: VecDeque::new(),
            counters: PlanCounters::default(),
            wave_bytes: FIRST_WAVE_BYTES,
            failed: false,
        }
    }

    /// Indexes the delete files among these manifests that `input` asks for, and adds them to `counters`. `None` if
    /// no delete file is asked for.
    ///
    /// # Errors
    /// Errors of [`RunningPlan::start`].
    pub(crate) fn index_deletes<'m>(
        input: PlanInput,
        manifests: impl IntoIterator<Item = &'m ManifestFile>,
        counters: &mut PlanCounters,
    ) -> Result<Option<Arc<DeleteIndex>>> {
        let mut plan = RunningPlan::new(input);
        let mut wanted = VecDeque::new();
        for m in manifests.into_iter().filter(|m| m.content == ManifestContent::Deletes) {
            if plan.wants(m)? {
                wanted.push_back(m.clone());
            }
        }
        plan.judge.input.budget.take([ManifestCount::default(), plan.counters.matching_delete_manifests])?;
        let _phase = begin_phase(Phase::Planning, wanted.len());
        if !wanted.is_empty() {
            plan.load_deletes(wanted)?;
        }
        counters.add_deletes(&plan.counters);
        Ok(plan.deletes)
    }

    /// Also keeps the metrics of these columns, for callers that attach deletes with these key columns.
    pub(crate) fn keep_metrics(&mut self, fields: impl IntoIterator<Item = FieldId>) {
        self.request.metric_fields.extend(fields);
        self.request.metric_fields.sort_unstable();
        self.request.metric_fields.dedup();
    }

    /// Whether a manifest must be opened, according to the manifest list.
    fn wants(&mut self, m: &ManifestFile) -> Result<bool> {
        let c = &mut self.counters;
        let [listed, live, matching] = match m.content {
            ManifestContent::Data => [&mut c.data_manifests, &mut c.live_manifests, &mut c.matching_manifests],
            ManifestContent::Deletes => {
                [&mut c.delete_manifests, &mut c.live_delete_manifests, &mut c.matching_delete_manifests]
            }
        };
        listed.add(m.length_bytes);
        if !self.judge.input.entries.may_be_in(m) {
            return Ok(false);
        }
        live.add(m.length_bytes);
        if !self.judge.specs.summary_may_match(m, &self.judge.input.filter)? {
            return Ok(false);
        }
        matching.add(m.length_bytes);
        Ok(true)
    }

    /// The next batch, oldest manifest first; `None` at the end. Checks for cancellation between manifests. After an
    /// error the plan yields nothing more.
    ///
    /// # Errors
    /// Errors of [`RunningPlan::start`]; cancellation.
    pub fn next_batch(&mut self) -> Result<Option<PlannedBatch>> {
        while self.ready.is_empty() && !self.queue.is_empty() && !self.failed {
            if let Err(e) = self.run_wave() {
                self.failed = true;
                let snapshot = self.judge.input.snapshot.as_ref().map_or(-1, |s| s.id);
                return Err(e.with("snapshot", snapshot));
            }
        }
        expect_total(Phase::Reading, || self.expected_bytes());
        let Some(batch) = self.ready.pop_front() else { return Ok(None) };
        let snapshot = self.judge.input.snapshot.as_ref().map_or(-1, |s| s.id);
        let batch = self.attach_now(batch).with("snapshot", snapshot).inspect_err(|_| {
            self.failed = true;
            self.ready.clear();
        })?;
        self.counters.deletes_attached += batch.deletes.total() as u64;
        Ok(Some(batch))
    }

    /// The bytes of the files to read: those planned so far, and as many for each other manifest.
    fn expected_bytes(&self) -> u64 {
        let (all, left) = (self.counters.matching_manifests.manifests, self.queue.len() as u64);
        match all.saturating_sub(left) {
            0 => 0,
            planned => (u128::from(self.counters.bytes_kept) * u128::from(all) / u128::from(planned)) as u64,
        }
    }

    /// Attaches deletes to a batch if there were too many to attach them during decoding. If there are still too many,
    /// attaches them to the first files only; the other files become the next batch.
    fn attach_now(&mut self, mut batch: PlannedBatch) -> Result<PlannedBatch> {
        let Some(index) = self.deletes.as_ref().filter(|_| !batch.is_attached) else { return Ok(batch) };
        batch.deletes = index.attach_some(&batch, MOST_ATTACHED)?;
        batch.is_attached = true;
        let attached = batch.deletes.len();
        let rows = batch.entries.rows.split_off(attached);
        if !rows.is_empty() {
            let (columns, groups) = (batch.columns.clone(), batch.groups.clone());
            self.ready.push_front(PlannedBatch::of(KeptEntries { columns, groups, rows }));
        }
        Ok(batch)
    }

    /// The counters so far. They are complete when the plan has ended.
    pub fn counters(&self) -> &PlanCounters {
        &self.counters
    }

    fn load_deletes(&mut self, mut manifests: VecDeque<ManifestFile>) -> Result<()> {
        let began = Instant::now();
        let wave: Vec<ManifestFile> = manifests.drain(..).collect();
        let mut request = self.request.clone();
        request.metric_fields.push(DELETE_FILE_PATH);
        let mut batches = self.decode_wave(&wave, &request, None)?;
        // Equality deletes are matched by the metrics of their key columns. The first pass finds these columns.
        let keys = key_fields(&batches);
        if keys.iter().any(|key| request.metric_fields.binary_search(key).is_err()) {
            request.metric_fields.extend(keys);
            request.metric_fields.sort_unstable();
            request.metric_fields.dedup();
            expect_more(Unit::Manifests, wave.len());
            batches = self.decode_wave(&wave, &request, None)?;
        }
        batches.iter().for_each(|batch| count_deletes(batch, &mut self.counters));
        let batches: Vec<KeptEntries> = batches.into_iter().map(|b| b.entries).collect();
        let index = DeleteIndex::new(batches, &self.judge.input.schema, &self.judge.input.metadata)?;
        self.keep_metrics(index.key_fields());
        self.deletes = Some(Arc::new(index)).filter(|i| !i.is_empty());
        self.counters.deletes_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    /// Takes the next manifests, up to the size of a wave and at least one.
    fn take_wave(&mut self) -> Vec<ManifestFile> {
        let (mut wave, mut bytes) = (Vec::new(), 0i64);
        while let Some(m) = self.queue.front() {
            bytes = bytes.saturating_add(m.length_bytes.max(0));
            if !wave.is_empty() && bytes > self.wave_bytes {
                break;
            }
            wave.extend(self.queue.pop_front());
        }
        // Between two waves nothing is on its way. That costs a round trip to a remote store, so it gets fewer waves.
        let growth = if self.judge.input.store.is_remote() { WAVE_BYTES / FIRST_WAVE_BYTES } else { 4 };
        self.wave_bytes = (self.wave_bytes * growth).min(WAVE_BYTES);
        wave
    }

    fn run_wave(&mut self) -> Result<()> {
        let (began, _phase) = (Instant::now(), begin_phase(Phase::Planning, 0));
        let wave = self.take_wave();
        let room = AtomicUsize::new(MOST_ATTACHED);
        let batches = self.decode_wave(&wave, &self.request, Some(&room))?;
        let mut seen = PlanCounters::default();
        for batch in batches {
            seen.add_files(&batch.seen);
            if !batch.rows.is_empty() {
                self.ready.push_back(batch);
            }
        }
        self.counters.add_files(&seen);
        // Trim now, because a caller that stops early never reaches the last wave.
        if let Some(cache) = &self.judge.input.cache {
            cache.trim();
        }
        self.counters.entries_ms += began.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    /// Reads, decodes and prunes manifests in parallel. Batches keep the order of the manifests. Deletes are attached
    /// while there is room for their numbers.
    fn decode_wave(
        &self,
        wave: &[ManifestFile],
        request: &EntryRequest,
        room: Option<&AtomicUsize>,
    ) -> Result<Vec<PlannedBatch>> {
        let loaded: Vec<OnceLock<Vec<u8>>> = wave.iter().map(|_| OnceLock::new()).collect();
        let parsed: Vec<OnceLock<Manifest<'_>>> = wave.iter().map(|_| OnceLock::new()).collect();
        let found = |path| self.judge.input.location.found(path);
        let input = &self.judge.input;
        let ahead = |m: &ManifestFile| {
            let size = u64::try_from(m.length_bytes).unwrap_or_default();
            // The cached plan itself reads what it needs.
            input.location.resolve(&m.path).ok().filter(|_| input.cache.is_none()).map(|path| (path, size))
        };
        let files = FilesAhead::new(input.store.as_ref(), wave.iter().map(ahead).collect());
        let prepare = |i: usize| -> Result<Vec<Range<usize>>> {
            check_cancelled()?;
            if self.judge.input.cache.is_some() {
                // One piece, because the cached plan itself finds out which parts to read.
                return Ok(even_pieces(1));
            }
            let path = &wave[i].path;
            input.location.resolve(path)?;
            let bytes = files.get(i).with("manifest", path)?;
            let bytes = loaded[i].get_or_init(|| bytes);
            // Most manifests of a table have the same header. They share the layout that the first one compiled.
            let manifest = Manifest::parse_listed(bytes, wave[i].size(), self.judge.layout.get());
            let manifest = manifest.with("path", found(path))?;
            self.judge.layout.get_or_init(|| manifest.layout().clone());
            count_done(Unit::Manifests, 1);
            let blocks = parsed[i].get_or_init(|| manifest).block_count();
            Ok(even_pieces(blocks))
        };
        let decode = |inflater: &mut Inflater, i: usize, blocks: Range<usize>| -> Result<PlannedBatch> {
            check_cancelled()?;
            if let Some(cache) = &self.judge.input.cache {
                let batch = self.judge.cached_batch(&wave[i], cache, request, inflater);
                let batch = batch.with("path", found(&wave[i].path))?;
                count_done(Unit::Manifests, 1);
                return self.attached(batch, room);
            }
            let manifest = parsed[i].get().ok_or_else(|| Error::internal("a manifest was not prepared"))?;
            let batch = self.judge.decode_piece(&wave[i], manifest, blocks, request, inflater);
            self.attached(batch.with("path", found(&wave[i].path))?, room)
        };
        let mut batches = in_stages(self.judge.input.store.at_once(), wave.len(), prepare, Inflater::default, decode)?;
        if self.judge.input.cache.is_none() {
            for (m, batches) in wave.iter().zip(&mut batches) {
                number_rows(m, batches)?;
            }
        }
        Ok(batches.into_iter().flatten().collect())
    }

    fn attached(&self, mut batch: PlannedBatch, room: Option<&AtomicUsize>) -> Result<PlannedBatch> {
        let Some((index, room)) = self.deletes.as_ref().zip(room) else { return Ok(batch) };
        let left = room.load(Ordering::Relaxed);
        if left == 0 {
            return Ok(batch);
        }
        let deletes = index.attach_some(&batch, left)?;
        batch.is_attached = deletes.len() == batch.rows.len();
        let taken = if batch.is_attached { deletes.held().min(left) } else { left };
        // Threads in a race may take the same room, so a wave may hold a few times as much.
        room.store(left - taken, Ordering::Relaxed);
        if batch.is_attached {
            batch.deletes = deletes;
        }
        Ok(batch)
    }
}

/// The key columns of the equality deletes among the kept files, ascending.
fn key_fields(batches: &[PlannedBatch]) -> Vec<FieldId> {
    let rows = batches.iter().flat_map(|b| b.rows.iter().map(move |row| (&b.columns, *row as usize)));
    let equality = rows.filter(|(c, row)| c.content.get(*row) == Some(&FileContent::EqualityDeletes));
    let ids = equality.flat_map(|(c, row)| c.equality_ids.get(row).unwrap_or_default());
    let ids: std::collections::BTreeSet<FieldId> = ids.filter_map(|id| FieldId::try_from(*id).ok()).collect();
    ids.into_iter().collect()
}

/// Assigns row ids (v3). They count over a whole manifest, so its pieces must be in order again.
fn number_rows(manifest: &ManifestFile, batches: &mut [PlannedBatch]) -> Result<()> {
    let batches = batches.iter_mut().map(|b| &mut b.entries.columns);
    match manifest.first_row_id {
        Some(first) => assign_first_row_ids(batches, first).with("path", &manifest.path)?,
        None => clear_first_row_ids(batches),
    }
    Ok(())
}

/// Splits blocks into pieces of about equal size.
fn even_pieces(blocks: usize) -> Vec<Range<usize>> {
    let pieces = blocks.div_ceil(BLOCKS_PER_PIECE);
    (0..pieces).map(|p| p * blocks / pieces..(p + 1) * blocks / pieces).collect()
}

#[cfg(test)]
#[path = "planner_property_tests.rs"]
mod property_tests;
