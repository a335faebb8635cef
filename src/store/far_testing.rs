//! A store for tests that is far away: local files, each answer late. It notes the requests and their round trips.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::local::LocalStore;
use super::{Fetching, FileInfo, Store, StoreWriter};
use crate::error::Result;

/// How late answers come. Threads that ask at once need less time to begin.
const LATENCY: Duration = Duration::from_millis(100);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FarRequest {
    /// What is asked, and the last part of the path.
    pub(crate) what: String,
    /// 1 for a request that was made before any answer came, 2 for one that may follow from such an answer, and so on.
    pub(crate) turn: usize,
    /// The number of earlier requests that had no answer yet.
    pub(crate) unanswered: usize,
}

#[derive(Default)]
struct Log {
    requests: Vec<FarRequest>,
    answers: usize,
    /// The latest turn that has an answer.
    turn: usize,
    /// The end of a request, and what another client does before its answer.
    meanwhile: Option<(String, Box<dyn FnOnce() + Send>)>,
}

impl Log {
    fn begin(&mut self, what: &str, path: &str) -> usize {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let (turn, unanswered) = (self.turn + 1, self.requests.len() - self.answers);
        self.requests.push(FarRequest { what: format!("{what} {name}"), turn, unanswered });
        turn
    }

    fn end(&mut self, turn: usize) {
        self.answers += 1;
        self.turn = self.turn.max(turn);
    }
}

/// The store.
#[derive(Clone, Default)]
pub(crate) struct FarStore {
    log: Arc<Mutex<Log>>,
    /// How much longer a listing takes.
    listing: Duration,
}

impl fmt::Debug for FarStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FarStore")
    }
}

impl FarStore {
    /// A store whose listings take three times as long as other requests.
    pub(crate) fn with_slow_listings() -> FarStore {
        FarStore { listing: 2 * LATENCY, ..FarStore::default() }
    }

    /// The requests so far. Forgets them.
    pub(crate) fn requests(&self) -> Vec<FarRequest> {
        std::mem::take(&mut *self.log.lock().unwrap()).requests
    }

    /// The requests so far with their turns, sorted. Forgets them.
    pub(crate) fn turns(&self) -> Vec<(usize, String)> {
        let mut turns: Vec<_> = self.requests().into_iter().map(|request| (request.turn, request.what)).collect();
        turns.sort_unstable();
        turns
    }

    /// Lets another client do something before the answer to the first request that ends like this.
    pub(crate) fn meanwhile(&self, request: &str, work: impl FnOnce() + Send + 'static) {
        self.log.lock().unwrap().meanwhile = Some((request.to_owned(), Box::new(work)));
    }

    fn ask<T>(&self, what: &str, path: &str, answer: impl FnOnce() -> T) -> T {
        let turn = self.log.lock().unwrap().begin(what, path);
        std::thread::sleep(LATENCY + if what == "list" { self.listing } else { Duration::ZERO });
        self.work_meanwhile(what, path);
        let answer = answer();
        self.log.lock().unwrap().end(turn);
        answer
    }

    /// Makes a request that nobody waits for yet.
    fn begin<T>(&self, path: &str, answer: impl FnOnce() -> Result<T>) -> Box<FarAnswer<T>> {
        let turn = self.log.lock().unwrap().begin("get", path);
        Box::new(FarAnswer { log: self.log.clone(), answer: answer(), turn, due: Instant::now() + LATENCY })
    }

    fn work_meanwhile(&self, what: &str, path: &str) {
        let is_it = |(end, _): &mut (String, _)| format!("{what} {path}").ends_with(end.as_str());
        let work = self.log.lock().unwrap().meanwhile.take_if(is_it);
        if let Some((_, work)) = work {
            work();
        }
    }
}

/// An answer on its way.
struct FarAnswer<T> {
    log: Arc<Mutex<Log>>,
    answer: Result<T>,
    turn: usize,
    due: Instant,
}

impl<T: Send> Fetching<T> for FarAnswer<T> {
    fn finish(self: Box<Self>) -> Result<T> {
        std::thread::sleep(self.due.saturating_duration_since(Instant::now()));
        self.log.lock().unwrap().end(self.turn);
        self.answer
    }
}

impl Store for FarStore {
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.ask("get", path, || LocalStore.get(path))
    }

    fn get_at_most(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        self.ask("get", path, || LocalStore.get_at_most(path, most))
    }

    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.ask("get", path, || LocalStore.get_range(path, offset, length))
    }

    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.ask("get", path, || LocalStore.get_ranges(path, ranges))
    }

    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        self.ask("get", path, || LocalStore.get_tail(path, length))
    }

    fn fetch_whole_ahead(&self, path: &str) -> Option<Box<dyn Fetching>> {
        Some(self.begin(path, || LocalStore.get(path).map(|bytes| vec![bytes])))
    }

    fn fetch_tail_ahead(&self, path: &str, length: u64) -> Option<Box<dyn Fetching<(Vec<u8>, u64)>>> {
        Some(self.begin(path, || LocalStore.get_tail(path, length)))
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.ask("head", path, || LocalStore.size(path))
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.ask("put", path, || LocalStore.put_if_absent(path, bytes))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.ask("put", path, || LocalStore.put(path, bytes))
    }

    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        self.ask("put", path, || LocalStore.create(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        self.ask("list", folder, || LocalStore.list(folder))
    }

    fn list_folders(&self, folder: &str) -> Result<Vec<String>> {
        self.ask("list", folder, || LocalStore.list_folders(folder))
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        self.ask("put", folder, || LocalStore.make_folder(folder))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.ask("delete", path, || LocalStore.delete(path))
    }

    fn delete_folder(&self, folder: &str) -> Result<()> {
        self.ask("delete", folder, || LocalStore.delete_folder(folder))
    }
}
