//! Records as the crate `apache-avro` takes them: serde's values in the order of the schema.

use apache_avro::Schema as AvroSchema;
use apache_avro::writer::datum::GenericDatumWriter;
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};

/// Encodes records of one schema.
pub(crate) struct RecordEncoder<'s>(GenericDatumWriter<'s>);

impl<'s> RecordEncoder<'s> {
    /// An encoder of records of `schema`.
    ///
    /// # Errors
    /// `Internal` if the schema names types that it does not define.
    pub(crate) fn new(schema: &'s AvroSchema) -> Result<RecordEncoder<'s>> {
        let writer = GenericDatumWriter::builder(schema).human_readable(false).build();
        writer.map(RecordEncoder).map_err(|e| Error::internal("no records can be written by the schema").because(e))
    }

    /// Appends a record: a tuple of its fields, or anything that serialises as one.
    ///
    /// # Errors
    /// `Internal` if the record does not fit the schema. The part that was written stays in `out`.
    pub(crate) fn put(&self, out: &mut Vec<u8>, record: &impl Serialize) -> Result<()> {
        let written = self.0.write_ser(out, record);
        written.map(drop).map_err(|e| Error::internal("a record is unlike the schema of its Avro file").because(e))
    }
}

/// A value of type `bytes` or `fixed`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AvroBytes<'a>(pub &'a [u8]);

impl Serialize for AvroBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// The items of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AvroItems<I>(pub I);

impl<I> Serialize for AvroItems<I>
where
    I: ExactSizeIterator + Clone,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}
