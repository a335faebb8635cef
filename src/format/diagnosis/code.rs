//! Codes of findings. A code is a stable name, which users may look up in the documentation and filter by.

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Readers fail, or see wrong rows.
    Error,
    /// The metadata contradict themselves, but readers see the right rows today.
    Warning,
    /// The table could be faster or smaller.
    Info,
}

impl Severity {
    /// The name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// A kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Its stable name, such as `file-missing`.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, in one sentence.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// Defines codes, and the list `ALL` of them.
macro_rules! codes {
    ($($name:ident $severity:ident $id:literal: $meaning:literal; $remedy:literal;)+) => {
        $(
            #[doc = $meaning]
            pub static $name: Code = Code {
                id: $id,
                severity: Severity::$severity,
                meaning: $meaning,
                remedy: $remedy,
            };
        )+
        /// All codes of this list.
        pub static ALL: &[&Code] = &[$(&$name),+];
    };
}
pub(crate) use codes;
