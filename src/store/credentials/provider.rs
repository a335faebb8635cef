//! Temporary credentials for the clients of `object_store`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use object_store::aws::{AmazonS3ConfigKey, AwsCredential};
use object_store::azure::{AzureAccessKey, AzureConfigKey, AzureCredential, split_sas};
use object_store::gcp::{GcpCredential, GoogleConfigKey};
use object_store::{CredentialProvider, Error as StoreError, Result as StoreResult};

use super::super::options::StoreOptions;
use super::super::place::StoreBucket;
use super::renewal::Renewal;
use crate::error::{Error, Result};

/// What the trait's method returns.
type Answer<'a, T> = Pin<Box<dyn Future<Output = StoreResult<Arc<T>>> + Send + 'a>>;

/// Temporary credentials for a bucket.
#[derive(Debug)]
pub(crate) struct TemporaryProvider {
    renewal: Arc<Renewal>,
    bucket: StoreBucket,
    /// A path that the credentials are for.
    path: String,
}

/// Those of S3.
#[derive(Debug)]
pub(crate) struct TemporaryAwsKeys(pub(crate) TemporaryProvider);

/// Those of Google Cloud Storage.
#[derive(Debug)]
pub(crate) struct TemporaryGoogleToken(pub(crate) TemporaryProvider);

/// Those of Azure.
#[derive(Debug)]
pub(crate) struct TemporaryAzureKey(pub(crate) TemporaryProvider);

/// An error that `object_store` passes through.
pub(crate) fn carried(e: Error) -> StoreError {
    StoreError::Generic { store: "credentials", source: Box::new(e) }
}

impl TemporaryProvider {
    pub(crate) fn new(renewal: Arc<Renewal>, bucket: &StoreBucket, path: String) -> TemporaryProvider {
        TemporaryProvider { renewal, bucket: bucket.clone(), path }
    }

    /// The settings of the bucket with the credentials that are valid now.
    async fn settings(&self) -> Result<Vec<(String, String)>> {
        let granted = match self.renewal.ready() {
            Some(ready) => ready,
            None => {
                // It waits for a server, which needs the threads of the runtime.
                let renewal = self.renewal.clone();
                let asked = tokio::task::spawn_blocking(move || renewal.current()).await;
                asked.map_err(|_| Error::internal("the renewal of credentials ended without a result"))??
            }
        };
        let options = StoreOptions::of_grant(&granted.at(&self.path));
        options.settings(self.bucket.service, self.bucket.account.as_deref())
    }

    fn none(&self) -> Error {
        Error::denied("the granted credentials have none for this store")
            .with("bucket", &self.bucket.name)
            .hint("Check the options that the catalog's server or the provider gives")
    }
}

impl CredentialProvider for TemporaryAwsKeys {
    type Credential = AwsCredential;

    fn get_credential<'a, 'b>(&'a self) -> Answer<'b, AwsCredential>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let (mut id, mut secret, mut token) = (None, None, None);
            for (name, value) in self.0.settings().await.map_err(carried)? {
                match name.parse() {
                    Ok(AmazonS3ConfigKey::AccessKeyId) => id = Some(value),
                    Ok(AmazonS3ConfigKey::SecretAccessKey) => secret = Some(value),
                    Ok(AmazonS3ConfigKey::Token) => token = Some(value),
                    _ => {}
                }
            }
            match (id, secret) {
                (Some(key_id), Some(secret_key)) => Ok(Arc::new(AwsCredential { key_id, secret_key, token })),
                _ => Err(carried(self.0.none())),
            }
        })
    }
}

impl CredentialProvider for TemporaryGoogleToken {
    type Credential = GcpCredential;

    fn get_credential<'a, 'b>(&'a self) -> Answer<'b, GcpCredential>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let settings = self.0.settings().await.map_err(carried)?;
            let is_token = |name: &str| matches!(name.parse(), Ok(GoogleConfigKey::BearerToken));
            match settings.into_iter().find(|(name, _)| is_token(name)) {
                Some((_, bearer)) => Ok(Arc::new(GcpCredential { bearer })),
                None => Err(carried(self.0.none())),
            }
        })
    }
}

impl CredentialProvider for TemporaryAzureKey {
    type Credential = AzureCredential;

    fn get_credential<'a, 'b>(&'a self) -> Answer<'b, AzureCredential>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let settings = self.0.settings().await.map_err(carried)?;
            let (mut sas, mut key) = (None, None);
            for (name, value) in settings {
                match name.parse() {
                    Ok(AzureConfigKey::Token) => return Ok(Arc::new(AzureCredential::BearerToken(value))),
                    Ok(AzureConfigKey::SasKey) => sas = Some(value),
                    Ok(AzureConfigKey::AccessKey) => key = Some(value),
                    _ => {}
                }
            }
            // An error of these would show the value.
            let wrong = |what: &str| carried(Error::denied(format!("the granted {what} of Azure is not valid")));
            match (sas, key) {
                (Some(sas), _) => {
                    let pairs = split_sas(&sas).map_err(|_| wrong("SAS token"))?;
                    Ok(Arc::new(AzureCredential::SASToken(pairs)))
                }
                (None, Some(key)) => {
                    let key = AzureAccessKey::try_new(&key).map_err(|_| wrong("account key"))?;
                    Ok(Arc::new(AzureCredential::AccessKey(key)))
                }
                (None, None) => Err(carried(self.0.none())),
            }
        })
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
