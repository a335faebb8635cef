//! Runs a program that prints keys (`credential_process`).

use std::process::{Command, Stdio};

use serde_json::Value as Json;

use super::keys::Keys;
use crate::error::{Error, Result};
use crate::types::temporal::parse_timestamp;

/// Runs a program and reads the keys that it prints.
///
/// # Errors
/// `PermissionDenied` if it fails or prints something else. The output is not repeated.
pub(super) fn keys_of(command: &str) -> Result<Keys> {
    let words = words(command);
    let program = words.first().cloned().unwrap_or_default();
    let failed = |why: String| {
        Error::denied("the program of credential_process gave no keys").with("program", &program).because(why)
    };
    let ran = Command::new(&program).args(words.iter().skip(1)).stdin(Stdio::null()).output();
    let output = ran.map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("it ended with {}", output.status)));
    }
    let json: Json = serde_json::from_slice(&output.stdout).map_err(|_| failed("its output is not JSON".to_owned()))?;
    let text = |name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    match (json.get("Version").and_then(Json::as_i64), text("AccessKeyId"), text("SecretAccessKey")) {
        (Some(1), Some(id), Some(secret)) => {
            let expires_at_ms = text("Expiration").map(|at| parse_timestamp(&at, 1000).map(|(ms, _)| ms));
            let wrong = || failed("its Expiration is not a time".to_owned());
            let expires_at_ms = expires_at_ms.map(|at| at.ok_or_else(wrong)).transpose()?;
            Ok(Keys { id, secret, token: text("SessionToken"), expires_at_ms })
        }
        (Some(1), ..) => Err(failed("its output lacks AccessKeyId or SecretAccessKey".to_owned())),
        _ => Err(failed("its output has another version than 1".to_owned())),
    }
}

/// The words of a command, as a shell without expansion splits them.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None::<char>);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_prints_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out put.json");
        let print = format!("cat '{}'", path.display());
        let out = r#"{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "hush", "SessionToken": "t",
                      "Expiration": "2030-01-02T03:04:05Z"}"#;
        std::fs::write(&path, out).unwrap();
        let keys = keys_of(&print).unwrap();
        assert_eq!(
            (keys.id.as_str(), keys.token.as_deref(), keys.expires_at_ms),
            ("A", Some("t"), Some(1_893_553_445_000))
        );
        for bad in ["hush", r#"{"Version": 2}"#, r#"{"Version": 1, "AccessKeyId": "hush"}"#] {
            std::fs::write(&path, bad).unwrap();
            let e = keys_of(&print).unwrap_err();
            assert!(!format!("{e:?} {e}").contains("hush"), "{e}");
        }
        assert!(keys_of("false").is_err() && keys_of("/no/such/program").is_err() && keys_of("").is_err());
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(words(r#"/a/b  --x "c d" 'e"f' g\ h """#), ["/a/b", "--x", "c d", "e\"f", "g h", ""]);
    }
}
