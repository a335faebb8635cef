//! Statistics and lists of names from Avro bytes, for manifests and manifest lists.

use super::stats::{SimpleStats, UNKNOWN_NULLS};
use crate::codec::avro::{Budget, Cursor, Node, Optional, RecordStep, Shape, compile};
use crate::error::{Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum StatsMember {
    Min,
    Max,
    NullCounts,
}

const STATS_MEMBERS: &[(i32, &str, StatsMember)] = &[
    (0, "_MIN_VALUES", StatsMember::Min),
    (0, "_MAX_VALUES", StatsMember::Max),
    (0, "_NULL_COUNTS", StatsMember::NullCounts),
];

/// The walk over a record of statistics.
#[derive(Default)]
pub(crate) struct StatsSteps {
    steps: Vec<RecordStep<StatsMember>>,
    count: Optional,
}

/// Statistics as they are in a block.
#[derive(Default)]
pub(crate) struct RawStats<'a> {
    pub(crate) min: Option<&'a [u8]>,
    pub(crate) max: Option<&'a [u8]>,
    pub(crate) null_counts: Vec<i64>,
    pub(crate) has_null_counts: bool,
}

impl<'a> RawStats<'a> {
    /// Clears them.
    pub(crate) fn clear(&mut self) {
        (self.min, self.max, self.has_null_counts) = (None, None, false);
        self.null_counts.clear();
    }

    pub(crate) fn counts(&self) -> Option<&[i64]> {
        self.has_null_counts.then_some(&self.null_counts)
    }

    pub(crate) fn to_stats(&self) -> SimpleStats {
        let bytes = |b: Option<&[u8]>| b.unwrap_or_default().to_vec();
        SimpleStats { min: bytes(self.min), max: bytes(self.max), null_counts: self.counts().map(<[i64]>::to_vec) }
    }
}

/// Whether a type is a record of statistics.
pub(crate) fn is_stats(node: &Node) -> bool {
    let members = node.members().unwrap_or_default();
    STATS_MEMBERS.iter().all(|(_, name, _)| members.iter().any(|m| m.name == *name))
}

/// Whether a type is a list of texts.
pub(crate) fn is_text_list(node: &Node) -> bool {
    matches!(&node.shape, Shape::Array(items) if items.is_prefixed())
}

impl StatsSteps {
    pub(crate) fn new(node: &Node, budget: &mut Budget) -> Result<StatsSteps> {
        let members = node.members().unwrap_or_default();
        let mut count = Optional::Always;
        for member in members {
            if let (Some(StatsMember::NullCounts), Shape::Array(items)) =
                (member.pick(STATS_MEMBERS), &member.node.optional().1.shape)
            {
                count = items.optional().0;
            }
        }
        let steps = compile(members, STATS_MEMBERS, budget, |member, node| match (member, &node.shape) {
            (StatsMember::NullCounts, Shape::Array(items)) => items.optional().1.is_integer(),
            (StatsMember::NullCounts, _) => false,
            _ => node.is_prefixed(),
        })?;
        Ok(StatsSteps { steps, count })
    }

    pub(crate) fn read<'a>(&self, mut cursor: Cursor<'a>, out: &mut RawStats<'a>) -> Result<Cursor<'a>> {
        for step in &self.steps {
            match step {
                RecordStep::Skip(skip) => cursor = skip.run(cursor)?,
                RecordStep::Read(optional, _) if !cursor.present(*optional)? => {}
                RecordStep::Read(_, StatsMember::Min) => out.min = Some(cursor.bytes()?),
                RecordStep::Read(_, StatsMember::Max) => out.max = Some(cursor.bytes()?),
                RecordStep::Read(_, StatsMember::NullCounts) => {
                    out.has_null_counts = true;
                    cursor = self.counts(cursor, &mut out.null_counts)?;
                }
            }
        }
        Ok(cursor)
    }

    fn counts<'a>(&self, mut cursor: Cursor<'a>, out: &mut Vec<i64>) -> Result<Cursor<'a>> {
        while let Some(run) = cursor.run()? {
            let before = cursor.rest().len();
            for _ in 0..run.count {
                out.push(match cursor.present(self.count)? {
                    true => cursor.long()?.max(UNKNOWN_NULLS),
                    false => UNKNOWN_NULLS,
                });
            }
            run.check(before, &cursor)?;
        }
        Ok(cursor)
    }
}

/// Reads a list of texts.
pub(crate) fn read_texts<'a>(mut cursor: Cursor<'a>, out: &mut Vec<&'a str>) -> Result<Cursor<'a>> {
    while let Some(run) = cursor.run()? {
        let before = cursor.rest().len();
        for _ in 0..run.count {
            out.push(cursor.string()?);
        }
        run.check(before, &cursor)?;
    }
    Ok(cursor)
}

/// Checks that some columns exist.
pub(crate) fn require<T: Copy + PartialEq>(steps: &[RecordStep<T>], table: &[(i32, &str, T)], of: &str) -> Result<()> {
    for (_, name, wanted) in table {
        if !steps.iter().any(|s| matches!(s, RecordStep::Read(o, c) if c == wanted && *o != Optional::Never)) {
            return Err(Error::corrupt(format!("the schema of the {of} lacks '{name}'")));
        }
    }
    Ok(())
}
