//! One object of an object store, and the requests for it.

use std::future::Future;
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error as StoreError, GetResult, ObjectStore, ObjectStoreExt};

use super::connect::Client;
use super::failure::failure;
use super::limits::FIRST_BYTES;
use super::options::{Secrets, StoreOptions};
use super::place::Service;
use super::runtime::wait;
use crate::error::{Error, ErrorKind, Result};

/// An object, and the client for its requests.
#[derive(Clone)]
pub(super) struct Object {
    /// The path as the caller gave it.
    pub path: String,
    pub key: Path,
    pub client: Client,
    pub options: Arc<StoreOptions>,
    pub service: Service,
}

impl Object {
    /// The crate's error for an error of the store.
    pub(super) fn failed(&self, action: &str, e: StoreError) -> Error {
        failure(action, &self.path, e, &self.secrets())
    }

    /// Texts that no error may show.
    fn secrets(&self) -> Secrets {
        match &self.client.renewal {
            Some(renewal) => self.client.secrets.and(renewal.secrets()),
            None => self.client.secrets.clone(),
        }
    }

    /// Its length.
    pub(super) fn size(&self) -> Result<u64> {
        self.ask("look at", |store, key| async move { Ok(store.head(&key).await?.size) })
    }

    /// The answer to a request for its end, with its length.
    pub(super) fn tail(&self, answer: Result<(Vec<u8>, u64)>) -> Result<(Vec<u8>, u64)> {
        match answer {
            // An empty object has no end to ask for.
            Err(e) if e.kind() == ErrorKind::Store && self.size()? == 0 => Ok((Vec::new(), 0)),
            answer => answer,
        }
    }

    /// Makes a request and waits for the answer.
    pub(super) fn ask<T, F>(&self, action: &str, request: impl FnOnce(Arc<dyn ObjectStore>, Path) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let asked = wait(request(self.client.patient.clone(), self.key.clone()));
        asked.map_err(|e| e.with("path", &self.path))?.map_err(|e| self.failed(action, e))
    }
}

/// The bytes of an answer. Memory grows with the bytes that arrive.
pub(super) async fn collect(got: GetResult) -> object_store::Result<Vec<u8>> {
    let expected = usize::try_from(got.range.end.saturating_sub(got.range.start)).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(expected.min(FIRST_BYTES));
    let mut chunks = got.into_stream();
    while let Some(chunk) = chunks.try_next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
