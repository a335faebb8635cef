//! Keys, and roles that give keys.

/// Keys, possibly for a time.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
    pub(super) expires_at_ms: Option<i64>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// A role that is assumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AwsRole {
    pub(super) arn: String,
    pub(super) session: Option<String>,
    pub(super) external_id: Option<String>,
    /// How long the keys are valid.
    pub(super) seconds: Option<String>,
}

/// A role of single sign-on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignOn {
    pub(super) start_url: String,
    pub(super) region: String,
    pub(super) account: String,
    pub(super) role: String,
}
