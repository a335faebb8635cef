//! ORC data files to Arrow and back.
//!
//! `read` streams the stripes of a file: `file` opens it, `schema` gives its columns, and `columns` decodes them.
//! `write` writes files: `types` maps table types, `stripe` encodes the rows of a stripe, and `metrics` has the metrics
//! of the written rows. `values`, `strings`, `time` and `bloom` encode the columns of a stripe.
//!
//! `arrays` gives the values of an array that are not null. `parts` holds the finished columns when a stripe ends.

pub(crate) mod arrays;
pub(crate) mod bloom;
pub(crate) mod columns;
pub(crate) mod file;
pub(crate) mod metrics;
pub(crate) mod parts;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod strings;
pub(crate) mod stripe;
pub(crate) mod time;
pub(crate) mod types;
pub(crate) mod values;
pub(crate) mod write;
