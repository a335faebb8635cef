//! The result of examining a table: findings, each with a code, and what was looked at.
//!
//! - `code`: codes of findings: their severity, their meaning and the remedy
//! - `file_order`: how much the bounds of a column overlap from file to file
//! - `finding`: findings, and their collection from several threads
//! - `health`: what makes a table of any format slow or large
//! - `table_codes`: the codes of tables of every format
//! - `repair`: the request for repairs, and their results

pub mod code;
pub(crate) mod file_order;
pub mod finding;
pub(crate) mod health;
pub mod repair;
pub mod table_codes;
