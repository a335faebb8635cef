//! The Python face: converts arguments, detaches from the interpreter, calls the crate, converts back. No logic lives
//! here; words, types and documentation for users are in `python/frazil`.
//!
//! [`module`] lists the names that Python sees. [`call`] is the only way into the crate, [`arrow`] the only place
//! with `unsafe`, [`errors`] the map to exceptions.

mod arrow;
mod call;
mod catalog;
mod commit_message;
mod errors;
mod foreign;
mod lock;
mod maintenance_parts;
mod module;
mod pickle;
mod plan_part;
mod requests;
mod results;
mod scan;
mod schema;
mod split;
mod table;
mod task;
mod transaction;
mod transforms;
mod variant;
mod watch;
