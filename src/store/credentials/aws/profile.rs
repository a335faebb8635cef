//! What a profile says about its keys.

use std::path::PathBuf;

use super::files::{AwsFiles, Settings};
use super::keys::{AwsRole, Keys, SignOn};
use super::origin::Origin;
use crate::error::{Error, Result};

/// The most profiles that lead to each other.
const MOST_PROFILES: usize = 10;

/// The keys of a profile. `None` if it says nothing about keys.
///
/// # Errors
/// `NotFound` for an unknown profile; `InvalidInput` for one that is incomplete or leads back to itself.
pub(super) fn origin(files: &AwsFiles, name: &str) -> Result<Option<Origin>> {
    resolved(files, name, MOST_PROFILES).map_err(|e| e.with("profile", name))
}

fn resolved(files: &AwsFiles, name: &str, left: usize) -> Result<Option<Origin>> {
    if left == 0 {
        return Err(Error::invalid("source_profile leads from profile to profile without an end"));
    }
    let profile = files.profiles.get(name).ok_or_else(|| {
        Error::not_found(format!("there is no AWS profile '{name}'"))
            .hint("Check ~/.aws/config and ~/.aws/credentials, or AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE")
    })?;
    let text = |key: &str| profile.get(key).filter(|value| !value.is_empty()).cloned();
    if let Some(arn) = text("role_arn") {
        let (session, external_id) = (text("role_session_name"), text("external_id"));
        let role = AwsRole { arn, session, external_id, seconds: text("duration_seconds") };
        if text("mfa_serial").is_some() {
            return Err(Error::unsupported("a role that needs a code of a device (mfa_serial) can't be assumed here")
                .hint("Use single sign-on, credential_process, or keys of a session"));
        }
        if let Some(path) = text("web_identity_token_file") {
            return Ok(Some(Origin::TokenFile(role, PathBuf::from(path))));
        }
        let from = match (text("source_profile"), text("credential_source")) {
            // The profile's own keys.
            (Some(source), _) if source == name => keys(profile),
            (Some(source), _) => resolved(files, &source, left - 1)?,
            (None, Some(_)) => Some(Origin::Environment),
            (None, None) => keys(profile),
        };
        let lacks = || Error::invalid("the profile's role has no source_profile with keys, and no credential_source");
        return Ok(Some(Origin::Role(role, Box::new(from.ok_or_else(lacks)?))));
    }
    match keys(profile) {
        Some(keys) => Ok(Some(keys)),
        None => Ok(sign_on(files, profile)?.or_else(|| text("credential_process").map(Origin::Program))),
    }
}

fn keys(profile: &Settings) -> Option<Origin> {
    let text = |key: &str| profile.get(key).filter(|value| !value.is_empty()).cloned();
    let (id, secret) = (text("aws_access_key_id")?, text("aws_secret_access_key")?);
    Some(Origin::Keys(Keys { id, secret, token: text("aws_session_token"), expires_at_ms: None }))
}

fn sign_on(files: &AwsFiles, profile: &Settings) -> Result<Option<Origin>> {
    let (Some(account), Some(role)) = (profile.get("sso_account_id"), profile.get("sso_role_name")) else {
        return Ok(None);
    };
    let session = match profile.get("sso_session") {
        Some(name) => files
            .sessions
            .get(name)
            .ok_or_else(|| Error::not_found(format!("~/.aws/config has no section [sso-session {name}]")))?,
        None => profile,
    };
    match (session.get("sso_start_url"), session.get("sso_region")) {
        (Some(start_url), Some(region)) => Ok(Some(Origin::SignOn(SignOn {
            start_url: start_url.clone(),
            region: region.clone(),
            account: account.clone(),
            role: role.clone(),
        }))),
        _ => Err(Error::invalid("the profile's single sign-on lacks sso_start_url or sso_region")),
    }
}
