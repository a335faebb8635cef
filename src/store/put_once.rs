//! Makes an object only if nobody else has made it: the atomic publish of a commit.
//!
//! A request whose answer was lost may have been carried out. If it is made again, it may be refused because of the
//! first one. So requests are made one by one, with knowledge of how the earlier ones ended. If one of them is in
//! doubt, the stored object is compared with what was sent. Metadata holds random ids, so only our own object is equal.

use std::time::{Duration, Instant};

use object_store::{Error as StoreError, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use super::failure::{is_refusal, is_unsent, status};
use super::object_handle::{Object, collect};
use super::runtime::wait;
use crate::error::{Error, ErrorKind, Result};

/// The first wait before a request is made again; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest such wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// Makes the object if nobody has.
///
/// # Errors
/// `AlreadyExists` if somebody has. A refusal ([`is_refusal`]) proves that it was not made. After other errors it may
/// exist.
pub(super) fn put_once(object: &Object, bytes: &[u8]) -> Result<()> {
    let payload = PutPayload::from(bytes.to_vec());
    let (retries, time) = object.options.retries()?;
    let (began, mut pause, mut in_doubt) = (Instant::now(), FIRST_PAUSE, false);
    for attempt in 0.. {
        let error = match put(object, payload.clone())? {
            Ok(()) => return Ok(()),
            Err(e @ StoreError::AlreadyExists { .. }) => {
                // 409 may also say that others try at the same time: they may all fail.
                let is_certain = status(&e) != Some(409);
                if is_certain && !in_doubt {
                    return Err(taken(object));
                }
                match read_existing(object)? {
                    Some(found) if in_doubt && found == bytes => return Ok(()),
                    Some(_) => return Err(taken(object)),
                    None => {
                        let error = Error::store("another writer writes the object at the same time")
                            .with("path", &object.path);
                        error.because(object.failed("write", e))
                    }
                }
            }
            Err(e) => {
                let is_throttled = status(&e) == Some(429);
                let error = object.failed("write", e);
                if is_refusal(&error) && !is_unsent(&error) && !is_throttled {
                    return Err(doubted(error, in_doubt));
                }
                in_doubt |= !is_unsent(&error) && !is_throttled;
                error
            }
        };
        if attempt >= retries || began.elapsed() >= time {
            return Err(doubted(error, in_doubt));
        }
        wait(async move { tokio::time::sleep(pause).await })?;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Err(Error::internal("the attempts to make an object ended"))
}

/// One request. The outer error comes from waiting for it.
fn put(object: &Object, payload: PutPayload) -> Result<Result<(), StoreError>> {
    let (store, key) = (object.client.once.clone(), object.key.clone());
    let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    wait(async move {
        use object_store::ObjectStore;
        store.put_opts(&key, payload, options).await.map(|_| ())
    })
}

/// The object that is stored.
fn read_existing(object: &Object) -> Result<Option<Vec<u8>>> {
    match object.ask("read", |store, key| async move { collect(store.get(&key).await?).await }) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        // It proves nothing about the object that was to be made.
        Err(e) => Err(unknown(object, e)),
    }
}

fn taken(object: &Object) -> Error {
    Error::already_exists("the object exists already").with("path", &object.path)
}

/// The last error. It does not count as a refusal if an earlier request may have been carried out.
fn doubted(error: Error, in_doubt: bool) -> Error {
    match in_doubt && is_refusal(&error) {
        true => Error::store("the object may have been written: the first answer was lost").because(error),
        false => error,
    }
}

fn unknown(object: &Object, e: Error) -> Error {
    Error::store("it is unknown whether the object was written").with("path", &object.path).because(e)
}
