//! Where an object is: service, account, bucket and key, from the URI that a table records.

use object_store::path::Path;

use super::location::{authority_and_path, scheme};
use crate::error::{Error, Result};

/// A kind of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Service {
    /// Amazon S3 and compatible stores.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage and Data Lake Storage.
    Azure,
    /// A web server, which is only read.
    Web,
}

impl Service {
    /// Those with options.
    pub(super) const ALL: [Service; 3] = [Service::S3, Service::Gcs, Service::Azure];

    /// How the names of the environment variables begin that set its options.
    pub(super) fn environment_prefix(self) -> &'static str {
        match self {
            Service::S3 => "AWS_",
            Service::Gcs => "GOOGLE_",
            Service::Azure => "AZURE_",
            Service::Web => "HTTP_",
        }
    }

    /// The service of a URI's scheme, in any case.
    pub(super) fn of_scheme(scheme: &str) -> Option<Service> {
        Some(match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" | "s3n" => Service::S3,
            "gs" | "gcs" => Service::Gcs,
            "abfs" | "abfss" | "wasb" | "wasbs" | "az" | "azure" => Service::Azure,
            "http" | "https" => Service::Web,
            _ => return None,
        })
    }
}

/// A bucket (S3, GCS) or container (Azure).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StoreBucket {
    pub service: Service,
    /// Azure's storage account, where the URI names it.
    pub account: Option<String>,
    pub name: String,
}

impl StoreBucket {
    /// The URI of the whole bucket.
    pub(super) fn uri(&self) -> String {
        let scheme = match self.service {
            Service::S3 => "s3",
            Service::Gcs => "gs",
            Service::Azure => "abfss",
            // The name begins with the scheme.
            Service::Web => return format!("{}/", self.name),
        };
        match &self.account {
            Some(account) => format!("{scheme}://{}@{account}.dfs.core.windows.net/", self.name),
            None => format!("{scheme}://{}/", self.name),
        }
    }
}

/// An object, or a folder of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub bucket: StoreBucket,
    /// Its key, exactly as recorded.
    pub key: Path,
}

/// The place of `scheme://bucket/key`, or with Azure's accounts `abfss://container@account.dfs.core.windows.net/key`.
///
/// # Errors
/// `InvalidInput` for other texts; `Unsupported` for keys that can't be requested: with empty parts, `.` or `..`.
pub(super) fn place(uri: &str) -> Result<Place> {
    let wrong = |why: &str| Error::invalid(format!("the URI {why}")).with("path", uri);
    let known = scheme(uri).and_then(|scheme| Some((scheme, Service::of_scheme(scheme)?)));
    let (scheme, service) = known.ok_or_else(|| wrong("is not one of an object store"))?;
    let (authority, path) = authority_and_path(uri).ok_or_else(|| wrong("lacks '//' after its scheme"))?;
    let key = path.strip_prefix('/').unwrap_or_default();
    if service == Service::Web {
        return web_place(scheme, authority, key).map_err(|e| e.with("path", uri));
    }
    let (name, account) = match authority.split_once('@') {
        Some((container, host)) if service == Service::Azure => {
            let account = host.split_once('.').map_or(host, |(account, _)| account);
            (container, Some(account.to_owned()))
        }
        _ => (authority, None),
    };
    // They become part of a host name or path, so that nothing else may be in them.
    let plain = |name: &str| {
        let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'$');
        !name.is_empty() && name.bytes().all(ok) && !name.starts_with('.')
    };
    if !plain(name) || account.as_deref().is_some_and(|account| !plain(account)) {
        return Err(wrong("has no bucket"));
    }
    let key = Path::parse(key).map_err(|e| {
        Error::unsupported("the key of an object has an empty part, '.', '..' or a control character")
            .with("path", uri.escape_debug())
            .because(e)
    })?;
    Ok(Place { bucket: StoreBucket { service, account, name: name.to_owned() }, key })
}

/// The place of a URL of a web server. Its path is encoded, unlike keys of object stores.
fn web_place(scheme: &str, authority: &str, key: &str) -> Result<Place> {
    let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'[' | b']');
    if authority.is_empty() || !authority.bytes().all(ok) {
        return Err(Error::invalid("the URL has no plain host")
            .hint("Write https://host/path, without a user's name; credentials in URLs are not supported"));
    }
    if key.contains(['?', '#']) {
        return Err(Error::invalid("the URL has a query or a fragment, which is no part of a file's path")
            .hint("Signed URLs are valid for one file; give the table's location in its store, with credentials"));
    }
    let key = Path::from_url_path(key).map_err(|_| Error::invalid("the path of the URL is not well encoded"))?;
    let name = format!("{}://{authority}", scheme.to_ascii_lowercase());
    Ok(Place { bucket: StoreBucket { service: Service::Web, account: None, name }, key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn parts(uri: &str) -> (Service, Option<String>, String, String) {
        let Place { bucket, key } = place(uri).unwrap();
        (bucket.service, bucket.account, bucket.name, key.to_string())
    }

    #[test]
    fn uris_of_all_services() {
        let s3 = |key: &str| (Service::S3, None, "b-1.x".to_owned(), key.to_owned());
        for scheme in ["s3", "s3a", "s3n"] {
            assert_eq!(parts(&format!("{scheme}://b-1.x/a/k=1 %2F+/x?#~.parquet")), s3("a/k=1 %2F+/x?#~.parquet"));
        }
        assert_eq!(parts("s3://b-1.x"), s3(""));
        assert_eq!(parts("s3://b-1.x/a/"), s3("a"));
        assert_eq!(parts("gs://b/k"), (Service::Gcs, None, "b".into(), "k".into()));
        let azure = (Service::Azure, Some("acct".to_owned()), "c".to_owned(), "k".to_owned());
        assert_eq!(parts("abfss://c@acct.dfs.core.windows.net/k"), azure);
        assert_eq!(parts("wasbs://c@acct.blob.core.windows.net/k"), azure);
        assert_eq!(parts("az://c/k"), (Service::Azure, None, "c".into(), "k".into()));
    }

    #[test]
    fn urls_of_web_servers() {
        let web = |name: &str, key: &str| (Service::Web, None, name.to_owned(), key.to_owned());
        assert_eq!(parts("https://h.example/a/k%20x.parquet"), web("https://h.example", "a/k x.parquet"));
        assert_eq!(parts("HTTP://[::1]:8000/a"), web("http://[::1]:8000", "a"));
        for bad in ["https:///a", "https://u:p@h/a", "https://h/a?x=1", "https://h/a#x"] {
            assert_eq!(place(bad).unwrap_err().kind(), ErrorKind::InvalidInput, "{bad}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in
            ["s3:/b/k", "s3://", "s3:///k", "s3://b@c/k", "s3://b:80/k", "s3://b#/k", "s3://.b/k", "/a/b", "hdfs://a/b"]
        {
            assert_eq!(place(bad).unwrap_err().kind(), ErrorKind::InvalidInput, "{bad}");
        }
        for bad in ["s3://b/a//k", "s3://b/a/../k", "s3://b/a/./k", "s3://b/a\nk"] {
            assert_eq!(place(bad).unwrap_err().kind(), ErrorKind::Unsupported, "{bad}");
        }
    }
}
