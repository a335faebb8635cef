//! Makes credential providers, file systems and headers from the texts that `frazil.foreign` reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;

use super::calls::attached;
use super::files::PythonFiles;
use crate::error::{Error, Result};
use crate::store::credentials::{CredentialSource, TemporaryCredentials};
use crate::store::{ForeignMakers, GivenHeaders, Store};

/// The module with the Python half.
const MODULE: &str = "frazil.foreign";

/// Makes what texts describe.
pub(in crate::py) struct PythonMakers;

impl ForeignMakers for PythonMakers {
    fn source(&self, text: &str) -> Result<Arc<dyn CredentialSource>> {
        let lend = attached(|py| Ok(py.import(MODULE)?.call_method1("lender", (text,))?.unbind()))?;
        Ok(Arc::new(PythonCredentialSource { lend }))
    }

    fn files(&self, text: &str) -> Result<Arc<dyn Store>> {
        let files = attached(|py| Ok(py.import(MODULE)?.call_method1("files", (text,))?.unbind()))?;
        Ok(Arc::new(PythonFiles::new(files, text)))
    }

    fn headers(&self, class: &str, settings: &BTreeMap<String, String>) -> Result<GivenHeaders> {
        let made =
            |py: Python<'_>| Ok(py.import(MODULE)?.call_method1("auth_manager", (class, settings.clone()))?.unbind());
        Ok(headers_of(attached(made)?))
    }
}

/// The headers that a Python callable returns.
pub(in crate::py) fn headers_of(callable: Py<PyAny>) -> GivenHeaders {
    Arc::new(move || {
        let headers: BTreeMap<String, String> = attached(|py| callable.bind(py).call0()?.extract()).map_err(|e| {
            let hint = e.hint_text().unwrap_or("It must return a mapping from names to texts").to_owned();
            Error::denied("the callable for headers failed").because(e).hint(hint)
        })?;
        Ok(headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    })
}

/// A credential provider of the user.
struct PythonCredentialSource {
    lend: Py<PyAny>,
}

impl std::fmt::Debug for PythonCredentialSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PythonCredentialSource")
    }
}

impl CredentialSource for PythonCredentialSource {
    fn load(&self) -> Result<TemporaryCredentials> {
        let config: BTreeMap<String, String> = attached(|py| self.lend.bind(py).call0()?.extract())
            .map_err(|e| Error::new(e.kind(), "the credential provider failed").because(e))?;
        TemporaryCredentials::provided(config)
    }
}
