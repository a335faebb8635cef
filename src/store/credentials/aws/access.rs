//! Which keys the options and the environment ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::super::options::StoreOptions;
use super::super::super::place::Service;
use super::super::registry::shared;
use super::super::renewal::Renewal;
use super::files::{AwsFiles, AwsPlaces};
use super::keys::{AwsRole, Keys};
use super::origin::{AwsSource, Origin};
use super::profile;
use crate::error::Result;

/// The region of requests that nobody gave one for.
const REGION: &str = "us-east-1";

/// Variables of the environment by which the clients find keys themselves.
const OTHERS: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// The keys that a profile or a role gives, and the region of the profile.
#[derive(Debug, Default)]
pub(crate) struct AwsAccess {
    pub(crate) renewal: Option<Arc<Renewal>>,
    pub(crate) region: Option<String>,
    /// Whether the keys only sign requests: there is no token of a session, which would be sent.
    pub(crate) only_signs: bool,
}

/// What the options and the environment say.
///
/// # Errors
/// `NotFound` for a profile that does not exist; `InvalidInput` for one that is incomplete.
pub(crate) fn access(options: &StoreOptions) -> Result<AwsAccess> {
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some((source, region)) = source(options, &AwsPlaces::of_environment(), &environment)? else {
        return Ok(AwsAccess::default());
    };
    // The name stays in this process. It tells apart all that differs.
    let name = format!("aws {:?} {:?}", source, options.as_map());
    let only_signs = matches!(&source.origin, Origin::Keys(keys) if keys.token.is_none());
    let renewal = shared(&name, None, || Ok(Arc::new(Renewal::new(None, Some(Arc::new(source))))))?;
    Ok(AwsAccess { renewal: Some(renewal), region, only_signs })
}

/// Where the keys come from, and the profile's region. `None` leaves the keys to the client.
fn source(
    options: &StoreOptions,
    places: &AwsPlaces,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<(AwsSource, Option<String>)>> {
    let map = options.as_map();
    let first = |names: &[&str]| names.iter().find_map(|name| map.get(*name).filter(|v| !v.is_empty()).cloned());
    let role = first(&["s3.role-arn", "client.role-arn", "client.assume-role.arn"]).map(|arn| AwsRole {
        arn,
        session: first(&["s3.role-session-name", "client.role-session-name", "client.assume-role.session-name"]),
        external_id: first(&["client.assume-role.external-id"]),
        seconds: None,
    });
    let given = given_keys(options)?;
    let has_given = options.has_credentials_of(Service::S3);
    let named = first(&["s3.profile-name", "client.profile-name"]);
    let by_environment = !has_given && !OTHERS.iter().any(|name| environment(name).is_some());
    let wanted = named.clone().or_else(|| environment("AWS_PROFILE").filter(|_| by_environment));
    let mut region = None;
    let from_profile = match (&wanted, by_environment) {
        (Some(name), _) => {
            let files = AwsFiles::read(places)?;
            let found = profile::origin(&files, name)?;
            region = files.profiles.get(name).and_then(|p| p.get("region").cloned());
            found
        }
        (None, true) => {
            let files = AwsFiles::read(places)?;
            let known = files.profiles.get("default");
            region = known.and_then(|p| p.get("region").cloned());
            known.map(|_| profile::origin(&files, "default")).transpose()?.flatten()
        }
        (None, false) => None,
    };
    let origin = match (given, from_profile, named.is_some()) {
        (Some(keys), _, false) => Some(Origin::Keys(keys)),
        (_, from, _) => from,
    };
    let origin = match (role, origin) {
        (Some(role), origin) => Origin::Role(role, Box::new(origin.unwrap_or(Origin::Environment))),
        // The client uses given keys itself.
        (None, Some(Origin::Keys(_))) if has_given && named.is_none() => return Ok(None),
        (None, Some(origin)) => origin,
        (None, None) => return Ok(None),
    };
    let own_region = first(&["client.assume-role.region", "s3.region", "client.region", "aws_region"]);
    let of_region = own_region.or_else(|| environment("AWS_REGION")).or_else(|| environment("AWS_DEFAULT_REGION"));
    let source = AwsSource {
        origin,
        region: of_region.or_else(|| region.clone()).unwrap_or_else(|| REGION.to_owned()),
        sts_endpoint: first(&["aws_endpoint_url_sts"]).or_else(|| environment("AWS_ENDPOINT_URL_STS")),
        sign_on_endpoint: environment("AWS_ENDPOINT_URL_SSO"),
        sign_on_folder: places.sign_on.clone(),
    };
    Ok(Some((source, region)))
}

/// The keys among the options.
fn given_keys(options: &StoreOptions) -> Result<Option<Keys>> {
    let settings: BTreeMap<String, String> = options.settings(Service::S3, None)?.into_iter().collect();
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| settings.get(name).cloned());
    let id = text(["aws_access_key_id", "access_key_id"]);
    let secret = text(["aws_secret_access_key", "secret_access_key"]);
    let token = text(["aws_session_token", "session_token"]);
    Ok(id.zip(secret).map(|(id, secret)| Keys { id, secret, token, expires_at_ms: None }))
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
