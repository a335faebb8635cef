//! Which rows of a file may match.

use roaring::RoaringBitmap;

/// The rows that may match, as an index knows them. They are never fewer than those that do match.
#[derive(Clone, Debug, PartialEq)]
pub enum MatchingRows {
    /// The index knows nothing: all rows may match.
    Unknown,
    /// At most these.
    Only(RoaringBitmap),
    /// At most the rows of the file that are not among these.
    AllBut {
        /// Rows in the file.
        count: u32,
        /// Rows that don't match.
        except: RoaringBitmap,
    },
}

impl MatchingRows {
    /// No row matches.
    pub fn none() -> MatchingRows {
        MatchingRows::Only(RoaringBitmap::new())
    }

    /// Whether some row may match.
    pub fn any(&self) -> bool {
        match self {
            MatchingRows::Unknown => true,
            MatchingRows::Only(rows) => !rows.is_empty(),
            MatchingRows::AllBut { count, except } => except.range_cardinality(..count) < u64::from(*count),
        }
    }

    /// Rows that may match both questions.
    pub fn and(self, other: MatchingRows) -> MatchingRows {
        match (self, other) {
            (MatchingRows::Unknown, rows) | (rows, MatchingRows::Unknown) => rows,
            (MatchingRows::Only(a), MatchingRows::Only(b)) => MatchingRows::Only(a & b),
            (MatchingRows::Only(rows), MatchingRows::AllBut { except, .. })
            | (MatchingRows::AllBut { except, .. }, MatchingRows::Only(rows)) => MatchingRows::Only(rows - except),
            (MatchingRows::AllBut { count: n, except: a }, MatchingRows::AllBut { count: m, except: b }) => {
                MatchingRows::AllBut { count: n.max(m), except: a | b }
            }
        }
    }

    /// Rows that may match one of two questions.
    pub fn or(self, other: MatchingRows) -> MatchingRows {
        match (self, other) {
            (MatchingRows::Unknown, _) | (_, MatchingRows::Unknown) => MatchingRows::Unknown,
            (MatchingRows::Only(a), MatchingRows::Only(b)) => MatchingRows::Only(a | b),
            (MatchingRows::Only(rows), MatchingRows::AllBut { count, except })
            | (MatchingRows::AllBut { count, except }, MatchingRows::Only(rows)) => {
                MatchingRows::AllBut { count, except: except - rows }
            }
            (MatchingRows::AllBut { count: n, except: a }, MatchingRows::AllBut { count: m, except: b }) => {
                MatchingRows::AllBut { count: n.max(m), except: a & b }
            }
        }
    }
}
