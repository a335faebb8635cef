//! Any bytes as each answer of a server, for programs that try bad input.

use super::answers::DescribedTable;
use super::errors::ServerError;
use super::pages;
use super::planning::read_any_plan;
use super::server::ServerConfig;
use super::views;
use crate::error::Result;
use crate::store::credentials::read_any_endpoint;
use crate::store::http::HttpAnswer;

/// Reads an answer with this status and body as each kind of answer, and as a refusal. Returns how many kinds could
/// read it.
pub fn read_any_answer(status: u16, body: &[u8]) -> usize {
    let answer = HttpAnswer { status, headers: Vec::new(), body: body.to_vec(), is_repetition: false, proxy: None };
    let refusal = ServerError::of(&answer);
    let refused = refusal.error("answer", refusal.text());
    let kinds: [Result<()>; 5] = [
        ServerConfig::of(&answer).map(drop),
        DescribedTable::of(&answer).map(drop),
        pages::page_of(&answer, "identifiers").and_then(|(entries, _)| pages::idents(entries)).map(drop),
        pages::page_of(&answer, "namespaces").and_then(|(entries, _)| pages::namespaces(&entries)).map(drop),
        views::view(&answer).map(drop),
    ];
    let read = kinds.iter().filter(|kind| kind.is_ok()).count();
    // Errors show parts of an answer.
    drop(refused.to_string());
    kinds.into_iter().filter_map(Result::err).for_each(|e| drop(e.to_string()));
    read + read_any_plan(&answer) + read_any_endpoint(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read() {
        for (body, expected) in [
            (r#"{"defaults": {}, "overrides": {}}"#, 2),
            (r#"{"identifiers": [{"namespace": ["a"], "name": "t"}]}"#, 3),
            (r#"{"namespaces": [["a", "b"]], "next-page-token": "x"}"#, 3),
            (r#"{"storage-credentials": [{"prefix": "s3", "config": {"s3.region": "r"}}]}"#, 3),
            (r#"{"uri": "http://h/k", "headers": {"x": ["1"]}}"#, 3),
            (r#"{"plan-id": "p", "status": "submitted"}"#, 3),
            (r#"{"error": {"message": "m", "type": "t", "code": 404}}"#, 2),
            ("<html>", 0),
            ("[[[[", 0),
            ("", 0),
        ] {
            assert_eq!(read_any_answer(200, body.as_bytes()), expected, "{body}");
        }
    }
}
