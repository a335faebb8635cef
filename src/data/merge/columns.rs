//! Merges column by column: partial updates and aggregation.
//!
//! If only one row has a key, that row stays as it is, without any function. Java does the same.
//!
//! Source: Paimon documentation, "Partial Update" and "Aggregation"; where it is silent, Java's
//! `PartialUpdateMergeFunction` and `AggregateMergeFunction`.

use std::cmp::Ordering;

use super::column::MergedColumn;
use super::function::{Function, Memory, compare};
use super::picks::{MergedValue, RowPlace};
use super::runs::{DELETE, LoadedBatch, is_added};
use crate::error::{Error, Result};
use crate::types::Type;

/// How the columns of a table are merged.
#[derive(Clone, Debug)]
pub(crate) struct ColumnMerge {
    /// The function of each column of the batches that is a column of the table.
    pub functions: Vec<Option<Function>>,
    pub types: Vec<Type>,
    pub rules: ColumnRules,
}

#[derive(Clone, Debug)]
pub(crate) enum ColumnRules {
    Aggregation { remove_on_delete: bool },
    PartialUpdate { ignore_delete: bool, remove_on_delete: bool, has_groups: bool, groups: Vec<GroupPlaces> },
}

/// A sequence group, by the places of its columns.
#[derive(Clone, Debug)]
pub(crate) struct GroupPlaces {
    pub sequence: Vec<usize>,
    pub columns: Vec<usize>,
    pub removes: bool,
}

/// The rows of one key so far.
struct Merged<'a> {
    plan: &'a ColumnMerge,
    live: &'a [LoadedBatch],
    row: Vec<MergedValue>,
    memory: Vec<Memory>,
    /// Whether the last row deleted the merged row.
    is_deleted: bool,
    has_added: bool,
    is_filled: bool,
}

/// The merged row of a key.
#[derive(Clone, Debug)]
pub(crate) struct MergedRow {
    pub columns: Vec<MergedValue>,
    /// Whether it is an added row, not a delete row.
    pub is_added: bool,
    /// The last row that counted. It gives the sequence number.
    pub latest: Option<RowPlace>,
}

impl ColumnMerge {
    /// Merges the rows of a key, the oldest first.
    ///
    /// # Errors
    /// The errors of [`Function::add`] and of [`Function::retract`]; `InvalidInput` for deletes in a table that allows
    /// none.
    pub(crate) fn merge_row(&self, members: &[(usize, RowPlace)], live: &[LoadedBatch]) -> Result<MergedRow> {
        let columns = self.types.len();
        let mut merged = Merged {
            plan: self,
            live,
            row: vec![MergedValue::Null; columns],
            memory: vec![Memory::default(); columns],
            is_deleted: false,
            has_added: false,
            is_filled: false,
        };
        let mut latest = None;
        for (_, place) in members {
            let kind = live.get(place.slot as usize).map_or(0, |batch| batch.kind(place.row));
            let counts =
                is_added(kind) || !matches!(self.rules, ColumnRules::PartialUpdate { ignore_delete: true, .. });
            latest = if counts { Some(*place) } else { latest };
            match &self.rules {
                ColumnRules::Aggregation { remove_on_delete } => merged.aggregate(*place, kind, *remove_on_delete)?,
                ColumnRules::PartialUpdate { groups, .. } if is_added(kind) => merged.update(*place, groups)?,
                ColumnRules::PartialUpdate { ignore_delete, remove_on_delete, has_groups, groups } => {
                    merged.fill(*place);
                    match (ignore_delete, has_groups, remove_on_delete) {
                        (true, _, _) => {}
                        (_, true, _) => merged.take_back(*place, kind, groups)?,
                        (_, _, true) => merged.remove(*place, kind),
                        _ => return Err(no_deletes()),
                    }
                }
            }
        }
        let is_added = match &self.rules {
            ColumnRules::Aggregation { .. } => !merged.is_deleted,
            ColumnRules::PartialUpdate { .. } => !merged.is_deleted && merged.has_added,
        };
        Ok(MergedRow { columns: merged.row, is_added, latest })
    }
}

fn no_deletes() -> Error {
    Error::invalid("a row was deleted, but a table with partial updates keeps all rows")
        .hint("Set 'ignore-delete' or 'partial-update.remove-record-on-delete' for the table, or have sequence groups")
}

impl<'a> Merged<'a> {
    fn column(&self, index: usize) -> Option<MergedColumn<'a>> {
        Some(MergedColumn { live: self.live, index, ty: self.plan.types.get(index)? })
    }

    fn held(&self, place: RowPlace, index: usize) -> MergedValue {
        self.column(index).map_or(MergedValue::Null, |column| column.held(place))
    }

    fn kept(&mut self, index: usize) -> MergedValue {
        self.row.get_mut(index).map_or(MergedValue::Null, |held| std::mem::replace(held, MergedValue::Null))
    }

    fn set(&mut self, index: usize, held: MergedValue) {
        if let Some(kept) = self.row.get_mut(index) {
            *kept = held;
        }
    }

    /// Replaces all columns by the row at `place`.
    fn set_all(&mut self, place: RowPlace) {
        self.row = (0..self.plan.types.len()).map(|index| self.held(place, index)).collect();
    }

    fn function(&self, index: usize) -> Option<&'a Function> {
        self.plan.functions.get(index)?.as_ref()
    }

    /// Replaces the kept value by the result of `with` for it and the new value.
    fn apply(
        &mut self,
        index: usize,
        place: RowPlace,
        with: impl FnOnce(&Function, MergedColumn<'a>, &mut Memory, MergedValue, MergedValue) -> Result<MergedValue>,
    ) -> Result<()> {
        let (Some(function), Some(column)) = (self.function(index), self.column(index)) else { return Ok(()) };
        let (kept, next) = (self.kept(index), column.held(place));
        let mut memory = self.memory.get(index).copied().unwrap_or_default();
        let held = with(function, column, &mut memory, kept, next)?;
        if let Some(known) = self.memory.get_mut(index) {
            *known = memory;
        }
        self.set(index, held);
        Ok(())
    }

    fn aggregate(&mut self, place: RowPlace, kind: i32, remove_on_delete: bool) -> Result<()> {
        self.is_deleted = remove_on_delete && kind == DELETE;
        if self.is_deleted {
            self.set_all(place);
            return Ok(());
        }
        for index in 0..self.row.len() {
            match is_added(kind) {
                true => self.apply(index, place, |f, c, m, kept, next| f.add(c, m, kept, next))?,
                false => self.apply(index, place, |f, c, _, kept, next| f.retract(c, kept, next))?,
            }
        }
        Ok(())
    }

    /// Makes a delete row the merged row, if there was no row before.
    fn fill(&mut self, place: RowPlace) {
        if !std::mem::replace(&mut self.is_filled, true) {
            self.set_all(place);
        }
        self.is_deleted = false;
    }

    fn remove(&mut self, place: RowPlace, kind: i32) {
        if kind == DELETE {
            self.is_deleted = true;
            self.set_all(place);
        }
    }

    fn update(&mut self, place: RowPlace, groups: &[GroupPlaces]) -> Result<()> {
        self.is_deleted = false;
        let mut grouped = vec![false; self.row.len()];
        for group in groups {
            for index in group.columns.iter().chain(&group.sequence) {
                if let Some(flag) = grouped.get_mut(*index) {
                    *flag = true;
                }
            }
        }
        for index in (0..self.row.len()).filter(|index| grouped.get(*index) == Some(&false)) {
            if !groups.is_empty() && self.function(index).is_some() {
                self.apply(index, place, |f, c, m, kept, next| f.add(c, m, kept, next))?;
            } else if let held @ MergedValue::At(_) = self.held(place, index) {
                self.set(index, held);
            }
        }
        for group in groups {
            self.update_group(place, group)?;
        }
        self.has_added = true;
        self.is_filled = true;
        Ok(())
    }

    /// Compares a row to the merged one in the order of a group. `None` if the row has no value in the group's sequence
    /// columns.
    fn age(&self, place: RowPlace, group: &GroupPlaces) -> Option<Ordering> {
        let mut is_empty = true;
        let mut order = Ordering::Equal;
        for index in &group.sequence {
            let column = self.column(*index)?;
            let next = column.held(place);
            is_empty &= next.is_null();
            let kept = self.row.get(*index)?;
            order = order.then_with(|| compare(column.value(&next), column.value(kept)));
        }
        (!is_empty).then_some(order)
    }

    fn is_sequence(group: &GroupPlaces, index: usize) -> bool {
        group.sequence.contains(&index)
    }

    /// Columns are updated from the first to the last. Those after the first sequence column see its new value.
    fn update_group(&mut self, place: RowPlace, group: &GroupPlaces) -> Result<()> {
        for index in in_order(group) {
            let Some(age) = self.age(place, group) else { return Ok(()) };
            if Merged::is_sequence(group, index) {
                if age.is_ge() {
                    group.sequence.iter().for_each(|sequence| self.set(*sequence, self.held(place, *sequence)));
                }
                continue;
            }
            match (age.is_ge(), self.function(index).is_some()) {
                (true, false) => self.set(index, self.held(place, index)),
                (true, true) => self.apply(index, place, |f, c, m, kept, next| f.add(c, m, kept, next))?,
                (false, true) => self.apply(index, place, |f, c, m, kept, next| f.add_older(c, m, kept, next))?,
                (false, false) => {}
            }
        }
        Ok(())
    }

    fn take_back(&mut self, place: RowPlace, kind: i32, groups: &[GroupPlaces]) -> Result<()> {
        for group in groups {
            for index in in_order(group) {
                let Some(age) = self.age(place, group) else { break };
                let is_newer = age.is_ge();
                if Merged::is_sequence(group, index) {
                    if is_newer && kind == DELETE && group.removes {
                        self.is_deleted = true;
                        self.set_all(place);
                        return Ok(());
                    }
                    if is_newer {
                        group.sequence.iter().for_each(|sequence| self.set(*sequence, self.held(place, *sequence)));
                    }
                    continue;
                }
                match self.function(index) {
                    Some(_) => self.apply(index, place, |f, c, _, kept, next| f.retract(c, kept, next))?,
                    None if is_newer => self.set(index, MergedValue::Null),
                    None => {}
                }
            }
        }
        Ok(())
    }
}

/// The columns of a group in the order of the table.
fn in_order(group: &GroupPlaces) -> Vec<usize> {
    let mut columns: Vec<usize> = group.columns.iter().chain(&group.sequence).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
