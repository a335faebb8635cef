//! Reads tasks on several threads, ahead of the thread that takes their batches.
//!
//! Tasks are planned when threads become free. Each task is read by one thread at a time, until a few of its batches
//! wait to be taken. So memory depends on the threads and the size of batches, not on the number of files.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow::record_batch::RecordBatch;

use super::rows::Batches;
use super::task::{CountedBytes, bytes_of as bytes_of_task, read_task};
use crate::data::deletes::cache::DeleteCache;
use crate::data::parquet::file::REMOTE_TAIL_BYTES;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{FileFormat, ReadContext, ScanTask};
use crate::parallel;
use crate::parallel::{Cancellation, POLL_INTERVAL, Phase, check_cancelled, expect_total};
use crate::store::{SmallFiles, Store};

/// Gives the next task; `None` at the end.
pub type TaskSource = Box<dyn FnMut() -> Result<Option<ScanTask>> + Send>;

/// Gives these tasks.
pub(crate) fn source_of(tasks: Vec<ScanTask>) -> TaskSource {
    let (mut tasks, mut is_told) = (tasks.into_iter(), false);
    Box::new(move || {
        if !std::mem::replace(&mut is_told, true) {
            let bytes = tasks.as_slice().iter().map(bytes_of_task);
            expect_total(Phase::Reading, || bytes.fold(0, u64::saturating_add));
        }
        Ok(tasks.next())
    })
}

/// Bytes that one thread reads as one piece. A larger file is cut at its split offsets, if it has any.
const PIECE_BYTES: i64 = 32 << 20;
/// Batches of a task that wait to be taken, at most.
const BATCHES_AHEAD: usize = 3;
/// The limit of bytes in a task's batches. Above it, no further batch is read before they are taken.
const BYTES_AHEAD: usize = 32 << 20;
/// Additional threads for a remote store, because most of them wait for it.
const WAITING_THREADS: usize = 4;
/// Planned tasks that no thread reads yet, at most. Their small files are requested.
const TASKS_AHEAD: usize = 64;
/// How far threads read ahead.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// Whether batches come in the order of the tasks. Otherwise they come as soon as they are ready.
    pub ordered: bool,
    /// Whether it is likely that only some of the first batches are wanted.
    pub few: bool,
    /// Whether all batches are going to be kept. Then waiting until they are taken has no use.
    pub all: bool,
}

/// Reads the rows of a scan's tasks.
#[derive(Clone)]
pub struct ScanReader {
    /// The table's files.
    pub store: Arc<dyn Store>,
    /// How their rows are read.
    pub context: Arc<ReadContext>,
    /// Deletes that tasks share.
    pub deletes: Arc<DeleteCache>,
}

impl ScanReader {
    /// The rows of a task.
    ///
    /// # Errors
    /// The errors of [`read_task`].
    pub fn read(&self, task: &ScanTask) -> Result<Batches> {
        read_task(&self.store, &self.context, task, &self.deletes)
    }
}

/// Batches of tasks, read ahead. Threads start with the first batch and end with the value.
pub struct ReadAhead {
    shared: Arc<AheadShared>,
    /// The process that owns the threads. A fork has a copy of this value, but no threads.
    process: u32,
}

struct AheadShared {
    reader: ScanReader,
    /// The reader's store, if small files are requested before they are read.
    small_files: Option<Arc<SmallFiles>>,
    ahead: Ahead,
    threads: usize,
    /// Set when no further batch will be taken.
    closed: AtomicBool,
    state: Mutex<AheadState>,
    /// Signals that there may be work.
    work: Condvar,
    /// Signals that there may be a batch to take.
    ready: Condvar,
}

struct AheadState {
    /// `None` while a thread uses it, and after its end.
    source: Option<TaskSource>,
    /// Whether there are no more tasks.
    ended: bool,
    /// Tasks that were planned early, and the error that ended the planning.
    planned: VecDeque<Result<ScanTask>>,
    pieces: VecDeque<TaskPiece>,
    /// Pieces that are worked on at once.
    window: usize,
    /// The largest size of the window.
    widest: usize,
    next_number: u64,
    idle: usize,
    threads: Vec<JoinHandle<()>>,
}

/// One task, or a part of it.
struct TaskPiece {
    number: u64,
    /// `None` while a thread works on it, and after its end.
    rest: Option<Rest>,
    ended: bool,
    ready: VecDeque<Result<RecordBatch>>,
    ready_bytes: usize,
    counted: CountedBytes,
}

/// The rest of a piece.
enum Rest {
    Unopened(Box<ScanTask>),
    Open(Batches),
}

enum AheadStep {
    Plan(TaskSource),
    Read(u64, Rest),
}

impl ReadAhead {
    /// Reads the tasks of `source` on at most `threads` threads (0: as many as there are cores, and a few more for a
    /// remote store).
    pub fn new(mut reader: ScanReader, source: TaskSource, ahead: Ahead, threads: usize) -> ReadAhead {
        let threads = match threads {
            0 if reader.store.is_remote() => parallel::threads(usize::MAX) + WAITING_THREADS,
            0 => parallel::threads(usize::MAX),
            most if reader.store.is_remote() => most.min(reader.store.at_once()),
            most => parallel::threads(most),
        };
        let small_files =
            (reader.store.is_remote() && !ahead.few).then(|| Arc::new(SmallFiles::new(reader.store.clone())));
        if let Some(store) = &small_files {
            reader.store = store.clone();
        }
        let state = AheadState {
            source: Some(source),
            ended: false,
            planned: VecDeque::new(),
            pieces: VecDeque::new(),
            window: if ahead.few { 1 } else { threads + 1 },
            widest: threads + 1,
            next_number: 0,
            idle: 0,
            threads: Vec::new(),
        };
        let shared = AheadShared {
            reader,
            small_files,
            ahead,
            threads,
            closed: AtomicBool::new(false),
            state: Mutex::new(state),
            work: Condvar::new(),
            ready: Condvar::new(),
        };
        ReadAhead { shared: Arc::new(shared), process: std::process::id() }
    }

    /// Waits for the next batch. There are no more after an error or the end.
    ///
    /// # Errors
    /// The errors of planning and of [`read_task`]; a cancellation; `InvalidInput` in a fork of the process that
    /// started to read.
    pub fn next_batch(&self) -> Result<Option<RecordBatch>> {
        if self.process != std::process::id() {
            return Err(Error::invalid("a stream of rows can't be continued in a forked process")
                .hint("Make a new stream from the scan in the new process"));
        }
        let taken = self.take();
        if !matches!(taken, Ok(Some(_))) {
            self.close();
        }
        taken
    }

    fn take(&self) -> Result<Option<RecordBatch>> {
        let shared = &self.shared;
        let mut state = shared.lock();
        if shared.is_closed() {
            return Ok(None);
        }
        if state.threads.is_empty() {
            shared.hire(&mut state)?;
        }
        loop {
            if let Some(batch) = state.pop(shared.ahead.ordered) {
                shared.work.notify_one();
                return batch.map(Some);
            }
            if state.ended && state.planned.is_empty() && state.pieces.is_empty() {
                return Ok(None);
            }
            shared.work.notify_one();
            state = shared.ready.wait_timeout(state, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
            check_cancelled()?;
        }
    }

    /// Ends the threads. Each ends after its current batch.
    fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        let (threads, pieces, source) = {
            let mut state = self.shared.lock();
            self.shared.work.notify_all();
            (std::mem::take(&mut state.threads), std::mem::take(&mut state.pieces), state.source.take())
        };
        for thread in threads {
            // A thread never panics, because its work is guarded.
            thread.join().unwrap_or(());
        }
        if let Some(small_files) = &self.shared.small_files {
            small_files.forget_all();
        }
        drop((pieces, source));
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.close();
        } else {
            // The threads and the locks that they may have held belong to another process.
            std::mem::forget(self.shared.clone());
        }
    }
}

impl AheadState {
    /// The next batch or error that is ready.
    fn pop(&mut self, ordered: bool) -> Option<Result<RecordBatch>> {
        loop {
            let at = match ordered {
                true => 0,
                false => self.pieces.iter().position(|p| p.ended || !p.ready.is_empty())?,
            };
            let piece = self.pieces.get_mut(at)?;
            if let Some(batch) = piece.ready.pop_front() {
                piece.ready_bytes -= bytes_of(&batch);
                return Some(batch);
            }
            if !piece.ended {
                return None;
            }
            self.pieces.remove(at);
        }
    }

    /// The next step: plan early if `plans_early`, else read on in the first piece that is needed, else plan.
    fn next_step(&mut self, ahead: Ahead, plans_early: bool) -> Option<AheadStep> {
        if plans_early && let Some(source) = self.source.take() {
            return Some(AheadStep::Plan(source));
        }
        loop {
            if let Some(step) = self.reading_step(ahead) {
                return Some(step);
            }
            let open = self.pieces.iter().filter(|p| !p.ended).count();
            let has_room = open < self.window && (ahead.all || self.pieces.len() < 2 * self.window);
            if !has_room {
                return None;
            }
            match self.planned.pop_front() {
                Some(Ok(task)) => self.add(task),
                Some(Err(e)) => self.add_error(e),
                None => return self.source.take().map(AheadStep::Plan),
            }
        }
    }

    /// Reads on in the first piece that is needed.
    fn reading_step(&mut self, ahead: Ahead) -> Option<AheadStep> {
        let wants = |p: &&mut TaskPiece| {
            let has_room = p.ready.len() < BATCHES_AHEAD && p.ready_bytes < BYTES_AHEAD;
            p.rest.is_some() && (ahead.all || has_room)
        };
        let mut at_once = self.pieces.iter_mut().filter(|p| !p.ended).take(self.window);
        let piece = at_once.find(wants)?;
        piece.rest.take().map(|rest| AheadStep::Read(piece.number, rest))
    }

    fn add(&mut self, task: ScanTask) {
        for task in cut(task) {
            let counted = CountedBytes::of([&task]);
            let (rest, ready) = (Some(Rest::Unopened(Box::new(task))), VecDeque::new());
            let number = self.next_number;
            self.pieces.push_back(TaskPiece { number, rest, ended: false, ready, ready_bytes: 0, counted });
            self.next_number += 1;
        }
    }

    fn add_error(&mut self, error: Error) {
        let ready = VecDeque::from([Err(error)]);
        let (number, counted) = (self.next_number, CountedBytes::default());
        self.pieces.push_back(TaskPiece { number, rest: None, ended: true, ready, ready_bytes: 0, counted });
        self.next_number += 1;
        self.ended = true;
    }

    /// Adds the batch that a thread read from a piece.
    fn put(&mut self, number: u64, found: Result<Option<(RecordBatch, Batches)>>) {
        let Some(piece) = self.pieces.iter_mut().find(|p| p.number == number) else { return };
        match found {
            Ok(Some((batch, rest))) => {
                piece.counted.add(batch.num_rows());
                let batch = Ok(batch);
                piece.ready_bytes += bytes_of(&batch);
                piece.ready.push_back(batch);
                piece.rest = Some(Rest::Open(rest));
            }
            Ok(None) => {
                piece.counted.end();
                piece.ended = true;
            }
            Err(e) => {
                piece.ready.push_back(Err(e));
                piece.ended = true;
            }
        }
        if piece.ended {
            self.window = (self.window * 2).min(self.widest).max(self.window);
        }
    }
}

fn bytes_of(batch: &Result<RecordBatch>) -> usize {
    batch.as_ref().map_or(0, RecordBatch::get_array_memory_size)
}

impl AheadShared {
    fn lock(&self) -> MutexGuard<'_, AheadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Starts one more thread.
    fn hire(self: &Arc<Self>, state: &mut AheadState) -> Result<()> {
        let (shared, stream) = (self.clone(), self.clone());
        // The thread outlives the call that starts it. A cancelled call closes the stream, which ends the thread.
        let cancellation = Cancellation::new(move || if stream.is_closed() { Err(closed()) } else { Ok(()) });
        let cancellation = cancellation.counting_for_call();
        let started = std::thread::Builder::new().name("frazil-read".into()).spawn(move || {
            cancellation.scope(|| shared.run());
        });
        match started {
            Ok(thread) => state.threads.push(thread),
            Err(e) if state.threads.is_empty() => {
                return Err(Error::internal("no thread can be started to read rows").because(e));
            }
            // The existing threads do the work.
            Err(_) => {}
        }
        Ok(())
    }

    /// The work of each thread.
    fn run(self: &Arc<Self>) {
        let mut state = self.lock();
        while !self.is_closed() {
            let plans_early = self.plans_early(&state);
            let Some(step) = state.next_step(self.ahead, plans_early) else {
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            // There may be more work.
            if state.idle > 0 {
                self.work.notify_one();
            } else if state.threads.len() < self.threads
                && (!matches!(step, AheadStep::Plan(_)) || !state.planned.is_empty())
            {
                self.hire(&mut state).unwrap_or(());
            }
            drop(state);
            match step {
                AheadStep::Plan(source) => {
                    let (found, source) = self.plan(source);
                    state = self.lock();
                    match found {
                        Ok(Some(task)) => {
                            state.planned.push_back(Ok(task));
                            state.source = Some(source);
                        }
                        Ok(None) => state.ended = true,
                        Err(e) => {
                            state.planned.push_back(Err(e));
                            state.ended = true;
                        }
                    }
                }
                AheadStep::Read(number, rest) => {
                    let found = guarded(|| self.advance(rest));
                    state = self.lock();
                    state.put(number, found);
                }
            }
            self.ready.notify_one();
        }
    }

    /// Whether to plan before there is a thread to read: the last planned file is a small one, so more may follow.
    fn plans_early(&self, state: &AheadState) -> bool {
        let is_small = |task: &Result<ScanTask>| task.as_ref().is_ok_and(|task| small_file(task).is_some());
        self.threads > 1
            && self.small_files.as_ref().is_some_and(|small| small.has_room())
            && state.planned.len() < TASKS_AHEAD
            && state.planned.back().is_none_or(is_small)
    }

    /// Plans a task, and requests its file if it is small.
    fn plan(&self, mut source: TaskSource) -> (Result<Option<ScanTask>>, TaskSource) {
        let found = guarded(|| {
            let found = source()?;
            if let (Some(task), Some(small)) = (&found, &self.small_files)
                && let Some((path, size)) = small_file(task)
                && let Ok(path) = self.reader.context.location.resolve(path)
            {
                small.request(&path, REMOTE_TAIL_BYTES, size);
            }
            Ok(found)
        });
        (found, source)
    }

    fn advance(&self, rest: Rest) -> Result<Option<(RecordBatch, Batches)>> {
        let mut batches = match rest {
            Rest::Unopened(task) => self.open(&task)?,
            Rest::Open(batches) => batches,
        };
        Ok(batches.next().transpose()?.map(|batch| (batch, batches)))
    }

    fn open(&self, task: &ScanTask) -> Result<Batches> {
        let opened = self.reader.read(task);
        if let (Some(small), Some((path, _))) = (&self.small_files, small_file(task))
            && let Ok(path) = self.reader.context.location.resolve(path)
        {
            // Its partition may have told that no row is wanted.
            small.forget(&path);
        }
        opened
    }
}

/// The path and size of a task's file, if one request can read it.
fn small_file(task: &ScanTask) -> Option<(&str, u64)> {
    let file = &task.data_file;
    let size = u64::try_from(file.size_bytes).ok().filter(|size| *size <= REMOTE_TAIL_BYTES)?;
    let is_read = file.format == FileFormat::Parquet
        && task.change.is_none()
        && task.merge.is_none()
        && *task.residual != BoundPredicate::False;
    is_read.then_some((file.path.as_str(), size))
}

/// The error that ends the work of a stream that nobody reads any more.
fn closed() -> Error {
    Error::internal("the stream was closed")
}

/// Turns a panic into an error, so that the waiting thread gets it.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::internal("a thread that read rows panicked")))
}

/// Cuts a large task at its file's split offsets, so that several threads read it. Rows keep their order.
fn cut(task: ScanTask) -> Vec<ScanTask> {
    let end = task.start.saturating_add(task.length);
    let inside = |o: &i64| *o > task.start && *o < end;
    let offsets = match task.data_file.split_offsets.as_deref() {
        Some(offsets) if task.length > PIECE_BYTES && task.change.is_none() && offsets.is_sorted() => offsets,
        _ => return vec![task],
    };
    let mut starts = vec![task.start];
    for offset in offsets.iter().copied().filter(inside) {
        if starts.last().is_some_and(|last| offset - last >= PIECE_BYTES) {
            starts.push(offset);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([end]).collect::<Vec<_>>();
    let piece = |(start, end): (i64, i64)| ScanTask { start, length: end - start, ..task.clone() };
    starts.into_iter().zip(ends).map(piece).collect()
}

#[cfg(test)]
#[path = "read_ahead_tests.rs"]
mod tests;
