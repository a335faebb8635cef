//! The files of Amazon's tools, `~/.aws/config` and `~/.aws/credentials`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Where the files are.
#[derive(Clone, Debug)]
pub(super) struct AwsPlaces {
    pub(super) config: PathBuf,
    pub(super) credentials: PathBuf,
    /// The folder with tokens of single sign-on.
    pub(super) sign_on: PathBuf,
}

impl AwsPlaces {
    /// The places that the environment names.
    pub(super) fn of_environment() -> AwsPlaces {
        let path = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let folder = path("HOME").or_else(|| path("USERPROFILE")).unwrap_or_default().join(".aws");
        AwsPlaces {
            config: path("AWS_CONFIG_FILE").unwrap_or_else(|| folder.join("config")),
            credentials: path("AWS_SHARED_CREDENTIALS_FILE").unwrap_or_else(|| folder.join("credentials")),
            sign_on: folder.join("sso").join("cache"),
        }
    }
}

/// The settings of a section.
pub(super) type Settings = BTreeMap<String, String>;

/// The content of both files.
#[derive(Default)]
pub(super) struct AwsFiles {
    /// Profiles by name.
    pub(super) profiles: BTreeMap<String, Settings>,
    /// Sessions of single sign-on by name.
    pub(super) sessions: BTreeMap<String, Settings>,
}

impl AwsFiles {
    /// Reads both files. A file that does not exist is empty.
    ///
    /// # Errors
    /// `Store` for a file that can't be read.
    pub(super) fn read(places: &AwsPlaces) -> Result<AwsFiles> {
        let mut out = AwsFiles::default();
        for (header, settings) in sections(&content(&places.config)?) {
            match header.split_once(char::is_whitespace).map(|(kind, name)| (kind, name.trim())) {
                Some(("profile", name)) => out.profiles.entry(unquoted(name)).or_default().extend(settings),
                Some(("sso-session", name)) => out.sessions.entry(unquoted(name)).or_default().extend(settings),
                None if header == "default" => out.profiles.entry(header).or_default().extend(settings),
                _ => {}
            }
        }
        // Keys in the file of credentials come first.
        for (header, settings) in sections(&content(&places.credentials)?) {
            out.profiles.entry(header).or_default().extend(settings);
        }
        Ok(out)
    }
}

fn unquoted(name: &str) -> String {
    name.trim_matches(['"', '\'']).to_owned()
}

fn content(path: &Path) -> Result<String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(String::new()),
        Err(e) => Err(Error::store("the file with AWS profiles can't be read").with("path", path.display()).because(e)),
    }
}

/// The sections of a file: header and settings. Indented lines belong to services and are left out.
fn sections(text: &str) -> Vec<(String, Settings)> {
    let mut out: Vec<(String, Settings)> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let is_nested = line.starts_with(char::is_whitespace);
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) || is_nested {
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            let header = rest.split(']').next().unwrap_or_default().trim();
            out.push((header.to_owned(), Settings::new()));
        } else if let (Some((name, value)), Some((_, settings))) = (trimmed.split_once('='), out.last_mut()) {
            settings.insert(name.trim().to_ascii_lowercase(), without_comment(value).trim().to_owned());
        }
    }
    out
}

/// A comment after a value begins with a space.
fn without_comment(value: &str) -> &str {
    let ends = [" #", " ;", "\t#", "\t;"].into_iter().filter_map(|mark| value.find(mark));
    ends.min().map_or(value, |end| &value[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_make_a_profile() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let config = at(
            "config",
            "# comment\n[default]\nregion=us-west-2 # here\n[profile \"dev team\"]\nregion = eu-west-1\ns3 =\n  \
             max_concurrent_requests = 20\nAWS_ACCESS_KEY_ID = config\n[sso-session corp]\nsso_region = us-east-1\n",
        );
        let credentials = at("credentials", "[dev team]\naws_access_key_id=file\naws_secret_access_key=a=b#c\n");
        let places = AwsPlaces { config, credentials, sign_on: folder.path().join("none") };
        let files = AwsFiles::read(&places).unwrap();
        let dev = &files.profiles["dev team"];
        assert_eq!((dev["region"].as_str(), dev["aws_access_key_id"].as_str()), ("eu-west-1", "file"));
        assert_eq!(
            (dev["aws_secret_access_key"].as_str(), dev.contains_key("max_concurrent_requests")),
            ("a=b#c", false)
        );
        assert_eq!(files.profiles["default"]["region"], "us-west-2");
        assert_eq!(files.sessions["corp"]["sso_region"], "us-east-1");
        let none = AwsPlaces { config: "/none/a".into(), credentials: "/none/b".into(), sign_on: "/none".into() };
        assert!(AwsFiles::read(&none).unwrap().profiles.is_empty());
    }
}
