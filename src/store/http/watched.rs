//! Counts each request for the call that makes it, and shows it to a person who wants to see all requests.

use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};

use crate::error::public_text;
use crate::parallel::{CallCounts, counts_of_call};

/// The most bytes of a URL that are shown.
const MOST_SHOWN: usize = 1000;

static SHOWN: AtomicBool = AtomicBool::new(false);

tokio::task_local! {
    static CALL: Option<Arc<CallCounts>>;
}

/// Whether each request of this process is shown as a line of standard error.
pub fn show_requests(shown: bool) {
    SHOWN.store(shown, Relaxed);
}

/// Work of the call that this thread works for: its requests count there.
pub(in crate::store) fn of_call<T>(work: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
    CALL.scope(counts_of_call(), work)
}

/// A request that was sent.
pub(in crate::store) struct SentRequest {
    /// When, and what to show of it.
    shown: Option<(Instant, String)>,
}

impl SentRequest {
    /// A request that is sent now.
    pub(in crate::store) fn new(verb: &str, url: impl ToString) -> SentRequest {
        let shown = SHOWN.load(Relaxed).then(|| (Instant::now(), format!("{verb} {}", public_url(&url.to_string()))));
        SentRequest { shown }
    }

    /// It was answered.
    pub(in crate::store) fn answered(self, status: u16, bytes: u64) {
        count(is_failure(status), bytes);
        self.show(|| format!("{status} {bytes} bytes"));
    }

    /// No answer arrived.
    pub(in crate::store) fn lost(self) {
        count(true, 0);
        self.show(|| "no answer".to_owned());
    }

    fn show(self, outcome: impl FnOnce() -> String) {
        let Some((began, request)) = self.shown else { return };
        let milliseconds = began.elapsed().as_secs_f64() * 1e3;
        let line = format!("{request}: {}, {milliseconds:.1} ms\n", outcome());
        // Errors of a closed terminal are ignored.
        std::io::stderr().lock().write_all(line.as_bytes()).unwrap_or(());
    }
}

/// A URL without its query, which may sign the request, and without user and password.
fn public_url(url: &str) -> String {
    public_text(url.split(['?', '#']).next().unwrap_or_default(), MOST_SHOWN).into_owned()
}

fn is_failure(status: u16) -> bool {
    matches!(status, 408 | 425 | 429) || status >= 500
}

fn count(failed: bool, bytes: u64) {
    let counted = |call: &Option<Arc<CallCounts>>| {
        if let Some(counts) = call {
            counts.add(failed, bytes);
        }
    };
    // Requests outside of calls count nowhere.
    CALL.try_with(counted).unwrap_or(());
}

/// A client of an object store whose requests are watched.
#[derive(Debug)]
pub(in crate::store) struct WatchedService(pub(in crate::store) HttpClient);

impl WatchedService {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let sent = SentRequest::new(request.method().as_str(), request.uri());
        let is_head = request.method() == reqwest::Method::HEAD;
        let answer = self.0.execute(request).await;
        match &answer {
            Ok(answer) => {
                let length = answer.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
                sent.answered(answer.status().as_u16(), length.filter(|_| !is_head).unwrap_or(0));
            }
            Err(_) => sent.lost(),
        }
        answer
    }
}

impl HttpService for WatchedService {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::{Cancellation, SeenCounts};

    #[test]
    fn requests_count_for_their_call() {
        let counts = CallCounts::of_thread();
        let before = counts.seen();
        let work = async {
            SentRequest::new("GET", "http://host/a").answered(200, 70);
            SentRequest::new("GET", "http://host/b").answered(404, 7);
            SentRequest::new("GET", "http://host/c").answered(503, 3);
            SentRequest::new("GET", "http://host/c").lost();
        };
        Cancellation::none().counting(counts.clone()).scope(|| crate::store::runtime::wait(of_call(work))).unwrap();
        crate::store::runtime::wait(of_call(async { SentRequest::new("GET", "http://host/d").lost() })).unwrap();
        let seen = counts.seen().since(before);
        assert_eq!(seen, SeenCounts { sent: 4, failed: 2, received_bytes: 80, ..SeenCounts::default() });
    }

    #[test]
    fn urls_are_shown_without_secrets() {
        assert_eq!(public_url("https://b.example/a%20b/c?X-Amz-Signature=abc#d"), "https://b.example/a%20b/c");
        assert!(!public_url("https://user:secret@b.example/a").contains("secret"));
    }
}
