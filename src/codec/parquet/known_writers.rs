//! Writers with known faults, by the text `created_by` of a Parquet footer. The one place for such rules.
//!
//! A fault that the file itself shows needs no rule. Examples are statistics that contradict each other, and floats
//! with NaN as a bound (PARQUET-1246). Other examples are counts of all values as nulls although a least value is
//! given, and bytes ordered as signed numbers (PARQUET-686). Files with the last fault state no order.

/// The possible faults in files of one writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriterFaults {
    /// Least and greatest values of bytes and text are wrong.
    pub byte_bounds: bool,
    /// Null counts are too high.
    pub null_counts: bool,
    /// The size of a column chunk lacks the header of its dictionary.
    pub chunk_sizes: bool,
    /// Pages v2 say that they are not compressed, though they are.
    pub hidden_compression: bool,
}

/// A fault of one writer.
struct WriterRule {
    /// The name at the start of `created_by`.
    writer: &'static str,
    /// The first version without the fault; `None` if no version is known to be right.
    fixed_in: Option<[u32; 3]>,
    faults: WriterFaults,
}

const NO_FAULTS: WriterFaults =
    WriterFaults { byte_bounds: false, null_counts: false, chunk_sizes: false, hidden_compression: false };

const RULES: [WriterRule; 5] = [
    // PARQUET-251: the buffer of the greatest value was used again while the statistics pointed to it.
    WriterRule {
        writer: "parquet-mr",
        fixed_in: Some([1, 8, 0]),
        faults: WriterFaults { byte_bounds: true, ..NO_FAULTS },
    },
    // PARQUET-816; `parquet-testing/data/nation.dict-malformed.parquet`.
    WriterRule {
        writer: "parquet-mr",
        fixed_in: Some([1, 2, 9]),
        faults: WriterFaults { chunk_sizes: true, ..NO_FAULTS },
    },
    // PARQUET-1025: least and greatest values of bytes of fixed length were compared as signed numbers.
    WriterRule {
        writer: "parquet-cpp",
        fixed_in: Some([1, 3, 0]),
        faults: WriterFaults { byte_bounds: true, ..NO_FAULTS },
    },
    // ARROW-10353: Arrow C++ had this name before its version 3, and versions below 2.
    WriterRule {
        writer: "parquet-cpp",
        fixed_in: Some([2, 0, 0]),
        faults: WriterFaults { hidden_compression: true, ..NO_FAULTS },
    },
    // pola-rs/polars#29321: nulls are counted once for each page. Its files name no version.
    WriterRule { writer: "Polars", fixed_in: None, faults: WriterFaults { null_counts: true, ..NO_FAULTS } },
];

impl WriterFaults {
    /// The known faults of the writer with this text. A text without a version counts as an old version.
    pub(crate) fn of(created_by: Option<&str>) -> WriterFaults {
        let Some(text) = created_by else { return WriterFaults::default() };
        let name = text.split(' ').next().unwrap_or_default();
        let version = version_in(text);
        let is_faulty = |rule: &&WriterRule| {
            rule.writer == name && rule.fixed_in.is_none_or(|fixed| version.is_none_or(|version| version < fixed))
        };
        RULES.iter().filter(is_faulty).fold(WriterFaults::default(), |all, rule| WriterFaults {
            byte_bounds: all.byte_bounds || rule.faults.byte_bounds,
            null_counts: all.null_counts || rule.faults.null_counts,
            chunk_sizes: all.chunk_sizes || rule.faults.chunk_sizes,
            hidden_compression: all.hidden_compression || rule.faults.hidden_compression,
        })
    }
}

/// The numbers after the word `version`.
fn version_in(text: &str) -> Option<[u32; 3]> {
    let (_, rest) = text.split_once("version ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let mut parts = rest.get(..end)?.split('.').map(|part| part.parse().ok());
    let first = parts.next()??;
    Some([first, parts.next().flatten().unwrap_or(0), parts.next().flatten().unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_end_with_the_version_that_mends_them() {
        let faults = |text: &str| {
            let f = WriterFaults::of(Some(text));
            (f.byte_bounds, f.null_counts, f.chunk_sizes)
        };
        assert_eq!(faults("parquet-mr"), (true, false, true));
        assert_eq!(faults("parquet-mr version 1.2.8 (build abc)"), (true, false, true));
        assert_eq!(faults("parquet-mr version 1.5.0-cdh5.4.2 (build ${buildNumber})"), (true, false, false));
        assert_eq!(faults("parquet-mr version 1.8.0"), (false, false, false));
        assert_eq!(faults("parquet-mr version 1.13.1 (build 4f0b)"), (false, false, false));
        assert_eq!(faults("parquet-cpp version 1.2.1-SNAPSHOT"), (true, false, false));
        assert_eq!(faults("parquet-cpp-arrow version 0.9.0"), (false, false, false));
        assert_eq!(faults("Polars"), (false, true, false));
        assert_eq!(faults("somebody version 0.0.1"), (false, false, false));
        let hides = |text: &str| WriterFaults::of(Some(text)).hidden_compression;
        assert!(hides("parquet-cpp version 1.5.1-SNAPSHOT") && !hides("parquet-cpp-arrow version 1.0.0"));
        assert_eq!(WriterFaults::of(None), WriterFaults::default());
    }
}
