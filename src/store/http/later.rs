//! Requests whose answers matter to nobody.
//!
//! They are sent by a thread of the network's runtime. If too many are on their way, further ones are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use super::client::HttpClient;
use super::request::HttpRequest;
use crate::error::Result;
use crate::store::runtime::{PerProcess, detach};

/// The most requests on their way.
const MOST: usize = 8;

/// The requests of this process that are on their way.
static ON_THEIR_WAY: PerProcess<Arc<AtomicUsize>> = PerProcess::new();

/// A request that is on its way.
pub(crate) struct LaterAnswer(Option<Receiver<()>>);

impl LaterAnswer {
    /// Waits until the request was answered, but not longer than this.
    pub(crate) fn wait_at_most(self, time: Duration) {
        if let Some(answered) = self.0 {
            // It does not matter whether it was answered.
            answered.recv_timeout(time).unwrap_or_default();
        }
    }
}

/// One of the places for requests. Dropping it frees the place.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn place() -> Option<Place> {
    let count = ON_THEIR_WAY.get(|| Ok(Arc::default())).ok()?;
    let before = count.fetch_add(1, Ordering::Relaxed);
    let place = Place(count);
    (before < MOST).then_some(place)
}

impl HttpClient {
    /// Sends a request without waiting. Failures are ignored.
    pub(crate) fn send_later(self: &Arc<Self>, request: HttpRequest) -> LaterAnswer {
        LaterAnswer(self.sent_later(request).ok().flatten())
    }

    fn sent_later(self: &Arc<Self>, request: HttpRequest) -> Result<Option<Receiver<()>>> {
        let Some(place) = place() else { return Ok(None) };
        let of_caller = self.authorizer().filter(|authorizer| authorizer.is_of_caller());
        let proof = of_caller.map(|authorizer| authorizer.authorize(&request)).transpose()?;
        let (tell, told) = sync_channel(1);
        let client = Arc::clone(self);
        detach(move || {
            let answer = match proof {
                Some(proof) => client.once(&request, &proof),
                None => client.send(&request),
            };
            drop((answer, place));
            // Often nobody waits for it.
            tell.send(()).unwrap_or_default();
        })?;
        Ok(Some(told))
    }
}
