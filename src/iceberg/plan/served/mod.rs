//! Plans that a catalog's server makes.
//!
//! The server says which files to read, with the delete files of each. Everything else stays as with own plans: files
//! get the rest of the filter by their partition, and readers check the filter on each row.
//!
//! - `content_file`: files in the JSON of the REST API
//! - `pages`: one page of a plan as planned files
//! - `plan`: the running plan
//! - `planner`: what a server is asked, and its answer

mod content_file;
mod pages;
pub(crate) mod plan;
pub mod planner;
