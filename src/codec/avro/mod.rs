//! Avro object containers: the format of manifests and manifest lists.
//!
//! ```
//! use frazil::codec::avro::{AvroCodec, Container, ContainerWriter, Cursor, Inflater, encode};
//!
//! let schema = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}"#;
//! let mut writer = ContainerWriter::new(schema, &[], AvroCodec::Deflate);
//! writer.record(|out| encode::put_long(out, 7));
//! let bytes = writer.finish()?;
//!
//! let container = Container::parse(&bytes)?;
//! let mut inflater = Inflater::default();
//! let mut cursor = Cursor::new(inflater.inflate(container.codec, container.block_data(0)?)?);
//! assert_eq!(cursor.long()?, 7);
//! # Ok::<(), frazil::error::Error>(())
//! ```
//!
//! [`Container`] finds the blocks, [`Inflater`] decompresses one, [`Cursor`] reads primitives, [`Skip`] skips unwanted
//! values, [`Node`] is a parsed schema. There is no generic value tree: users decode into their own columns.
//!
//! [`ContainerWriter`] writes blocks. The crate `apache-avro` encodes the records of manifests and lists
//! (`serialize`), by schemas that are values of that crate (`declare`). Members that this crate does not know survive
//! when records are written again (`unknown`).
//!
//! Source: Apache Avro 1.12 specification.

pub mod compiled;
pub mod container;
pub(crate) mod declare;
pub mod decode;
pub mod encode;
pub mod open_file;
pub(crate) mod primitive;
pub mod record;
pub mod schema;
pub(crate) mod serialize;
pub mod unknown;

pub use compiled::Compiled;
pub use container::{AvroCodec, Block, Container, Inflater};
pub use decode::{Budget, Cursor, Skip, SkipRun};
pub use encode::ContainerWriter;
pub use open_file::{ManifestCache, OpenFile};
pub use record::{RecordStep, compile};
pub use schema::{Logical, Member, Node, Optional, Shape};
pub(crate) use serialize::{AvroBytes, AvroItems, RecordEncoder};
pub use unknown::UnknownValues;
pub(crate) use unknown::{ExtendedSchema, UnknownMembers};
