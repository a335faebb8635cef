//! What the thread of a call does while it waits for the work: it listens for signals and shows the progress.
//! Its requests, commits and plans are counted.

mod exit;
mod requests;
mod showing;
mod signals;

pub(super) use exit::clean_before_exit;
pub(super) use requests::{PyCallCounter, py_show_requests};
pub(super) use showing::set_process;
pub(super) use signals::Watch;
