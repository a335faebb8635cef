//! Columns of values of any length, without an object for each value.

use std::ops::Range;

/// Variable-length values back to back; any of them may be null. Nulls before the first value take no memory.
#[derive(Clone, Debug, Default)]
pub struct BytesColumn {
    data: Vec<u8>,
    spans: Spans,
}

/// Ranges of a buffer below 4 GiB; any of them may be null.
#[derive(Clone, Debug, Default)]
struct Spans {
    /// The number of nulls at the front.
    leading_nulls: usize,
    /// The start and end of each other value. A start above the end means null.
    spans: Vec<(u32, u32)>,
}

const NULL_SPAN: (u32, u32) = (u32::MAX, 0);

impl Spans {
    #[inline]
    fn push_null(&mut self) {
        if self.spans.is_empty() {
            self.leading_nulls += 1;
        } else {
            self.spans.push(NULL_SPAN);
        }
    }

    /// Returns false if the value does not fit.
    #[inline]
    fn push(&mut self, start: usize, length: usize) -> bool {
        match start.checked_add(length).filter(|end| *end < u32::MAX as usize) {
            Some(end) => {
                self.spans.push((start as u32, end as u32));
                true
            }
            None => false,
        }
    }

    /// Removes the last value. Returns its start, if it was not null.
    #[inline]
    fn pop(&mut self) -> Option<usize> {
        match self.spans.pop() {
            Some(NULL_SPAN) => None,
            Some((start, _)) => Some(start as usize),
            None => {
                self.leading_nulls = self.leading_nulls.saturating_sub(1);
                None
            }
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<Range<usize>> {
        let (start, end) = *self.spans.get(row.checked_sub(self.leading_nulls)?)?;
        Some(start as usize..end as usize)
    }

    fn len(&self) -> usize {
        self.leading_nulls + self.spans.len()
    }
}

impl BytesColumn {
    /// `rows` values of one length, one after the other in `data`. `None` if `data` has another length or is too
    /// large.
    pub fn of_length(data: &[u8], length: usize, rows: usize) -> Option<BytesColumn> {
        if length.checked_mul(rows)? != data.len() || data.len() >= u32::MAX as usize {
            return None;
        }
        let span = |row: usize| ((row * length) as u32, ((row + 1) * length) as u32);
        Some(BytesColumn {
            data: data.to_vec(),
            spans: Spans { leading_nulls: 0, spans: (0..rows).map(span).collect() },
        })
    }

    /// Adds a value or null. Returns false if the value does not fit: a batch holds less than 4 GiB of values.
    #[inline]
    #[must_use]
    pub fn push(&mut self, value: Option<&[u8]>) -> bool {
        let Some(value) = value else {
            self.spans.push_null();
            return true;
        };
        let fits = self.spans.push(self.data.len(), value.len());
        if fits {
            self.data.extend_from_slice(value);
        }
        fits
    }

    /// Removes the last value.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(start) = self.spans.pop() {
            self.data.truncate(start);
        }
    }

    /// The value of a row; `None` for null.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        self.data.get(self.spans.get(row)?)
    }

    /// Some rows. Rows that were part of a column always fit into another.
    pub fn take(&self, rows: &[u32]) -> BytesColumn {
        let mut out = BytesColumn::default();
        let all_fit = rows.iter().all(|row| out.push(self.get(*row as usize)));
        debug_assert!(all_fit);
        out
    }

    /// Makes room for `values` more values.
    pub fn reserve(&mut self, values: usize) {
        self.spans.spans.reserve(values);
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Lists of integers back to back; any of them may be null.
#[derive(Clone, Debug, Default)]
pub struct ListColumn {
    values: Vec<i64>,
    spans: Spans,
}

impl ListColumn {
    /// Adds a list or null. Returns false if the list does not fit: a batch holds less than 4 Gi values.
    #[inline]
    #[must_use]
    pub fn push(&mut self, list: Option<&[i64]>) -> bool {
        let Some(list) = list else {
            self.spans.push_null();
            return true;
        };
        let fits = self.spans.push(self.values.len(), list.len());
        if fits {
            self.values.extend_from_slice(list);
        }
        fits
    }

    /// Removes the last list.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(start) = self.spans.pop() {
            self.values.truncate(start);
        }
    }

    /// Some rows. Rows that were part of a column always fit into another.
    pub fn take(&self, rows: &[u32]) -> ListColumn {
        let mut out = ListColumn::default();
        let all_fit = rows.iter().all(|row| out.push(self.get(*row as usize)));
        debug_assert!(all_fit);
        out
    }

    /// The list of a row; `None` for null.
    pub fn get(&self, row: usize) -> Option<&[i64]> {
        self.values.get(self.spans.get(row)?)
    }
}
