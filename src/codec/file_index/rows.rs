//! Which rows of a file may match.

use roaring::RoaringBitmap;

/// What an index knows of the rows that may match; never less than those that do.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// Nothing: all of them.
    Unknown,
    /// At most these.
    Only(RoaringBitmap),
    /// At most those of the file that are not among these.
    AllBut {
        /// Rows in the file.
        count: u32,
        /// Rows that don't match.
        except: RoaringBitmap,
    },
}

impl Rows {
    /// No row matches.
    pub fn none() -> Rows {
        Rows::Only(RoaringBitmap::new())
    }

    /// Whether some row may match.
    pub fn any(&self) -> bool {
        match self {
            Rows::Unknown => true,
            Rows::Only(rows) => !rows.is_empty(),
            Rows::AllBut { count, except } => except.range_cardinality(..count) < u64::from(*count),
        }
    }

    /// Rows that may match both questions.
    pub fn and(self, other: Rows) -> Rows {
        match (self, other) {
            (Rows::Unknown, rows) | (rows, Rows::Unknown) => rows,
            (Rows::Only(a), Rows::Only(b)) => Rows::Only(a & b),
            (Rows::Only(rows), Rows::AllBut { except, .. }) | (Rows::AllBut { except, .. }, Rows::Only(rows)) => {
                Rows::Only(rows - except)
            }
            (Rows::AllBut { count: n, except: a }, Rows::AllBut { count: m, except: b }) => {
                Rows::AllBut { count: n.max(m), except: a | b }
            }
        }
    }

    /// Rows that may match one of two questions.
    pub fn or(self, other: Rows) -> Rows {
        match (self, other) {
            (Rows::Unknown, _) | (_, Rows::Unknown) => Rows::Unknown,
            (Rows::Only(a), Rows::Only(b)) => Rows::Only(a | b),
            (Rows::Only(rows), Rows::AllBut { count, except }) | (Rows::AllBut { count, except }, Rows::Only(rows)) => {
                Rows::AllBut { count, except: except - rows }
            }
            (Rows::AllBut { count: n, except: a }, Rows::AllBut { count: m, except: b }) => {
                Rows::AllBut { count: n.max(m), except: a & b }
            }
        }
    }
}
