//! Tokens of Microsoft Entra, for the account of given or environment settings.

use object_store::azure::{AzureConfigKey, AzureCredential, AzureCredentialProvider, MicrosoftAzureBuilder};

use super::super::request::HttpRequest;
use super::traits::{AUTHORIZATION, Authorizer};
use crate::error::{Error, Result};
use crate::store::failure::failure;
use crate::store::options::Secrets;
use crate::store::runtime::{self, PerProcess};

/// Tokens of Entra for Azure's storage. They are renewed before they expire.
pub(crate) struct EntraTokens {
    /// The tenant's id, the client's id and the client's secret.
    client: Option<[String; 3]>,
    provider: PerProcess<AzureCredentialProvider>,
}

impl std::fmt::Debug for EntraTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntraTokens")
    }
}

impl EntraTokens {
    /// Tokens for a client: the tenant's id, the client's id and its secret. Without one, for that of the environment.
    pub(crate) fn new(client: Option<[String; 3]>) -> EntraTokens {
        EntraTokens { client, provider: PerProcess::new() }
    }
}

impl Authorizer for EntraTokens {
    fn authorize(&self, _: &HttpRequest) -> Result<Vec<(String, String)>> {
        let none = |e| {
            Error::denied("Microsoft Entra gives no token")
                .because(failure("ask for a token", "", e, &Secrets::new(self.secrets())))
                .hint("Give auth.entra.tenant_id, auth.entra.client_id and auth.entra.client_secret, or set AZURE_*")
        };
        let provider = self.provider.get(|| {
            rustls::crypto::ring::default_provider().install_default().unwrap_or(());
            let mut builder = MicrosoftAzureBuilder::from_env().with_account("catalog").with_container_name("catalog");
            if let Some([tenant, id, secret]) = &self.client {
                builder = builder
                    .with_config(AzureConfigKey::AuthorityId, tenant)
                    .with_config(AzureConfigKey::ClientId, id)
                    .with_config(AzureConfigKey::ClientSecret, secret);
            }
            Ok(builder.build().map_err(none)?.credentials().clone())
        })?;
        match runtime::wait(async move { provider.get_credential().await })?.map_err(none)?.as_ref() {
            AzureCredential::BearerToken(token) => Ok(vec![(AUTHORIZATION.to_owned(), format!("Bearer {token}"))]),
            _ => Err(Error::denied("the environment has a key of a storage account, but no login of Microsoft Entra")
                .hint("Give auth.entra.tenant_id, auth.entra.client_id and auth.entra.client_secret")),
        }
    }

    fn secrets(&self) -> Vec<String> {
        self.client.iter().map(|[.., secret]| secret.clone()).collect()
    }
}
