//! Requests to services over HTTP, such as catalogs.
//!
//! [`HttpClient`] sends a request and waits for the whole answer. The answer's size is limited, Ctrl-C ends the wait,
//! and connections belong to one process. Requests that change nothing are repeated after a passing failure. A request
//! that changes something is sent once, unless the server recognises a repetition.
//!
//! - `answer`: an answer, with its status, headers and body
//! - `auth`: proofs of who sends a request
//! - `client`: sends requests
//! - `encode`: names and values as parts of a URL
//! - `later`: requests whose answers matter to nobody
//! - `proxy`: which proxy a request goes through. Errors name it
//! - `request`: a request, before a proof of who sends it is added
//! - `settings`: limits of time and size, certificates, proxies
//! - `testing`: a server for tests, on this machine
//! - `tls`: which servers are trusted, and the client's own certificate
//! - `watched`: counts requests for the call that makes them, and shows them

mod answer;
pub(crate) mod auth;
mod client;
mod encode;
mod later;
mod proxy;
mod request;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
mod tls;
mod watched;

pub(crate) use answer::HttpAnswer;
pub(crate) use client::{HttpClient, is_unsent, wait};
pub(crate) use encode::{decoded, encoded, encoded_path, pairs};
pub(crate) use later::LaterAnswer;
pub(super) use proxy::proxy_of_environment;
pub(crate) use request::{HttpRequest, HttpVerb};
pub(crate) use settings::HttpSettings;
pub use watched::show_requests;
pub(super) use watched::{WatchedService, of_call};
