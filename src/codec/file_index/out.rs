//! Writes big-endian numbers one after the other.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// Bytes that are being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Out(pub Vec<u8>);

impl Out {
    pub(super) fn byte(&mut self, v: u8) {
        self.0.push(v);
    }

    pub(super) fn int(&mut self, v: i32) {
        self.0.extend(v.to_be_bytes());
    }

    pub(super) fn long(&mut self, v: i64) {
        self.0.extend(v.to_be_bytes());
    }

    pub(super) fn bytes(&mut self, v: &[u8]) {
        self.0.extend_from_slice(v);
    }

    /// A length, count or offset.
    ///
    /// # Errors
    /// `Unsupported` beyond 2 GiB.
    pub(super) fn size(&mut self, v: usize) -> Result<()> {
        self.int(i32::try_from(v).map_err(|_| Error::unsupported("file indexes of 2 GiB and more"))?);
        Ok(())
    }

    /// The number of bytes, then the bytes.
    ///
    /// # Errors
    /// As [`Out::size`].
    pub(super) fn block(&mut self, v: &[u8]) -> Result<()> {
        self.size(v.len())?;
        self.bytes(v);
        Ok(())
    }
}

/// A set of rows in the portable form.
///
/// # Errors
/// Writing to memory does not fail.
pub(super) fn serialized(rows: &RoaringBitmap) -> Result<Vec<u8>> {
    let mut rows = rows.clone();
    rows.optimize();
    let mut out = Vec::with_capacity(rows.serialized_size());
    rows.serialize_into(&mut out).map_err(|e| Error::internal("a bitmap can't be written to memory").because(e))?;
    Ok(out)
}
