//! The options of the store of a plan's files.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::super::credentials::{Reloaded, renewed_at};
use super::super::session::SharedSession;
use crate::error::Result;
use crate::format::ident::TableIdent;
use crate::parallel::lock_in_any_process;
use crate::store::credentials::{
    CarriedLogin, CredentialGrant, CredentialSource, EndpointSource, PrefixConfig, TemporaryCredentials, forget, grant,
};

/// The number of plans whose credentials this process renews.
const MOST_RENEWED: usize = 100;

/// The names of their sources, oldest first.
static RENEWED: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// The options of the store of a plan's files. The plan's credentials come before what the server says about the table
/// (`config`), and that before the catalog's properties.
///
/// # Errors
/// As [`super::super::session::RestSession::server`].
pub(super) fn plan_options(
    session: &SharedSession,
    ident: &TableIdent,
    location: &str,
    config: &BTreeMap<String, String>,
    plan_id: Option<&str>,
    prefixes: Vec<PrefixConfig>,
) -> Result<BTreeMap<String, String>> {
    let server = session.server()?;
    let unnamed = || uuid::Uuid::new_v4().to_string();
    let name = format!("{} {ident} {}", session.id, plan_id.map_or_else(unnamed, str::to_owned));
    let login = CarriedLogin::of(&session.given)?;
    let (source, elsewhere): (Arc<dyn CredentialSource>, _) = match renewed_at(server, ident, config, plan_id)? {
        Some(url) => {
            let (client, headers) = server.connection();
            let source = EndpointSource::new(client, url.clone(), headers);
            (Arc::new(source), server.elsewhere(url, login)?)
        }
        None => (Arc::new(Reloaded { session: session.clone(), ident: ident.clone() }), None),
    };
    remember(&name);
    let granted = TemporaryCredentials { config: config.clone(), prefixes };
    let trusted = session.trusted.clone();
    let options =
        grant(server.storage.clone(), location, CredentialGrant { name, granted, source, elsewhere, trusted });
    Ok(options.as_map().clone())
}

/// Keeps the number of sources bounded. Files of older plans are read with the credentials that they have.
fn remember(name: &str) {
    let Some(mut renewed) = lock_in_any_process(&RENEWED) else { return };
    renewed.retain(|known| known != name);
    renewed.push_back(name.to_owned());
    while renewed.len() > MOST_RENEWED {
        if let Some(oldest) = renewed.pop_front() {
            forget(&oldest);
        }
    }
}
