//! Writes an object of any size: in parts, several at the same time. The object becomes visible at the end.

use std::collections::VecDeque;
use std::io;

use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};

use super::StoreWriter;
use super::cleaning::clean_up;
use super::object_handle::Object;
use super::runtime::{PendingRequest, start, wait};
use crate::error::{Error, Result};

/// Bytes of a part. 10,000 parts at most make an object of 80 GB.
const PART_BYTES: usize = 8 << 20;

/// The most parts that are sent at once.
const PARTS_AT_ONCE: usize = 4;

/// An object being written.
pub(super) struct ObjectWriter {
    object: Object,
    part: Vec<u8>,
    /// Set once there is more than one part.
    upload: Option<Box<dyn MultipartUpload>>,
    under_way: VecDeque<PendingRequest<object_store::Result<()>>>,
    written: u64,
    process: u32,
}

impl ObjectWriter {
    /// Makes no request yet.
    pub(super) fn new(object: Object) -> ObjectWriter {
        let process = std::process::id();
        ObjectWriter { object, part: Vec::new(), upload: None, under_way: VecDeque::new(), written: 0, process }
    }

    /// Sends the part that is full.
    fn send(&mut self) -> Result<()> {
        let mut upload = match self.upload.take() {
            Some(upload) => upload,
            None => self.object.ask("write", |store, key| async move { store.put_multipart(&key).await })?,
        };
        let part = PutPayload::from(std::mem::take(&mut self.part));
        let sent = start(upload.put_part(part));
        self.upload = Some(upload);
        self.under_way.push_back(sent?);
        while self.under_way.len() > PARTS_AT_ONCE {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<()> {
        let Some(sent) = self.under_way.pop_front() else { return Ok(()) };
        sent.wait()?.map_err(|e| self.object.failed("write", e))
    }

    fn complete(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.part);
        if self.upload.is_none() {
            let payload = PutPayload::from(part);
            self.object.ask("write", |store, key| async move { store.put(&key, payload).await })?;
            return Ok(());
        }
        if !part.is_empty() {
            self.part = part;
            self.send()?;
        }
        while !self.under_way.is_empty() {
            self.wait_for_one()?;
        }
        let Some(mut upload) = self.upload.take() else { return Ok(()) };
        let (upload, completed) = wait(async move {
            let completed = upload.complete().await;
            (upload, completed)
        })?;
        completed.map(|_| ()).map_err(|e| {
            self.upload = Some(upload);
            self.object.failed("write", e)
        })
    }
}

impl io::Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_BYTES - self.part.len().min(PART_BYTES);
        let taken = bytes.len().min(room);
        let (now, _) = bytes.split_at(taken);
        self.part.extend_from_slice(now);
        self.written += taken as u64;
        if self.part.len() >= PART_BYTES {
            self.send().map_err(io::Error::other)?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StoreWriter for ObjectWriter {
    fn finish(mut self: Box<Self>) -> Result<u64> {
        if self.process != std::process::id() {
            return Err(Error::invalid("a file can't be continued in a forked process"));
        }
        self.complete()?;
        Ok(self.written)
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        if self.process != std::process::id() {
            // It belongs to the parent.
            std::mem::forget(upload);
            return;
        }
        self.under_way.clear();
        // What can't be removed stays as an unfinished upload, which nobody sees.
        clean_up(async move { drop(upload.abort().await) });
    }
}
