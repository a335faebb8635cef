//! The result of examining a table: findings, each with a code, and what was looked at.
//!
//! - `code`: codes of findings: their severity, their meaning and the remedy
//! - `finding`: findings, and their collection from several threads
//! - `table_codes`: the codes of tables of every format
//! - `repair`: the request for repairs, and their results

pub mod code;
pub mod finding;
pub mod repair;
pub mod table_codes;
