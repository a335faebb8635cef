//! The buckets that a filter reaches, if it fixes the bucket key.
//!
//! Source: Java's `BucketSelectConverter` and `BucketSelector`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::expr::{BoundPredicate, Op};
use crate::paimon::spec::bucket::Bucketing;
use crate::paimon::spec::schema::TableSchema;
use crate::types::{FieldId, Transform, Value};

/// The most keys. A filter that allows more counts as one that allows all.
const MOST_KEYS: usize = 1000;

/// The bucket keys that a filter allows.
#[derive(Debug)]
pub struct BucketFilter {
    bucketing: Bucketing,
    keys: Vec<Vec<Option<Value>>>,
    /// The allowed buckets, by the number of buckets.
    buckets: Mutex<BTreeMap<i32, BTreeSet<i32>>>,
}

impl BucketFilter {
    /// The bucket keys that a filter allows. The partition's part of the filter is not in `filter`. `None` if the
    /// filter leaves the key open, or if buckets are not chosen by key alone.
    ///
    /// # Errors
    /// As [`Bucketing::new`].
    pub fn new(schema: &TableSchema, buckets: i32, filter: &BoundPredicate) -> Result<Option<BucketFilter>> {
        if buckets <= 0 && buckets != crate::paimon::spec::bucket::POSTPONE_BUCKET {
            return Ok(None);
        }
        let fields: Vec<FieldId> = schema.bucket_key_fields().map(|f| f.id).collect();
        let Some(keys) = keys(&fields, filter) else { return Ok(None) };
        Ok(Some(BucketFilter { bucketing: Bucketing::new(schema)?, keys, buckets: Mutex::default() }))
    }

    /// Whether rows of this bucket may have such a key; `total_buckets` is the number of buckets.
    pub fn allows(&self, bucket: i32, total_buckets: i32) -> bool {
        if self.keys.is_empty() {
            return false;
        }
        if total_buckets <= 0 {
            return true;
        }
        let mut known = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let of_keys = || {
            let buckets: Result<_> = self.keys.iter().map(|key| self.bucketing.bucket(key, total_buckets)).collect();
            // A key without a bucket does not matter to the filter.
            buckets.unwrap_or_else(|_| (0..total_buckets).collect())
        };
        known.entry(total_buckets).or_insert_with(of_keys).contains(&bucket)
    }
}

/// All combinations of the values that the filter allows each field.
fn keys(fields: &[FieldId], filter: &BoundPredicate) -> Option<Vec<Vec<Option<Value>>>> {
    if fields.is_empty() {
        return None;
    }
    let parts = match filter {
        BoundPredicate::And(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let mut allowed: BTreeMap<FieldId, Vec<Value>> = BTreeMap::new();
    for part in parts {
        let Some((field, values)) = values_of(part) else { continue };
        match allowed.get_mut(&field) {
            Some(known) => known.retain(|v| values.contains(v) || is_nan(v)),
            None => {
                allowed.insert(field, values);
            }
        }
    }
    let mut out = vec![Vec::with_capacity(fields.len())];
    for field in fields {
        let values = allowed.get(field)?;
        if out.len().saturating_mul(values.len()) > MOST_KEYS {
            return None;
        }
        let longer = |key: &Vec<Option<Value>>| {
            let key = key.clone();
            let with = move |v: &Value| [key.clone(), vec![Some(v.clone())]].concat();
            values.iter().map(with).collect::<Vec<_>>()
        };
        out = out.iter().flat_map(longer).collect();
    }
    Some(out)
}

/// NaN equals itself in filters, but not in Rust.
fn is_nan(value: &Value) -> bool {
    match value {
        Value::Float(v) => v.is_nan(),
        Value::Double(v) => v.is_nan(),
        _ => false,
    }
}

/// The one field that a clause is about and the values that it allows, if it lists them.
fn values_of(clause: &BoundPredicate) -> Option<(FieldId, Vec<Value>)> {
    match clause {
        BoundPredicate::Leaf(leaf) if leaf.term.transform == Transform::Identity && leaf.term.path.len() == 1 => {
            let listed = matches!(leaf.op, Op::Eq | Op::In).then(|| leaf.values.iter().flat_map(equals).collect());
            Some((leaf.term.field_id, listed?))
        }
        BoundPredicate::Or(parts) => {
            let mut out: Option<(FieldId, Vec<Value>)> = None;
            for part in parts {
                let (field, values) = values_of(part)?;
                match &mut out {
                    None => out = Some((field, values)),
                    Some((known, all)) if *known == field => all.extend(values),
                    Some(_) => return None,
                }
            }
            out
        }
        _ => None,
    }
}

/// The values that are equal to a filter's: both zeros are.
fn equals(value: &Value) -> Vec<Value> {
    match value {
        Value::Float(0.0) => vec![Value::Float(0.0), Value::Float(-0.0)],
        Value::Double(0.0) => vec![Value::Double(0.0), Value::Double(-0.0)],
        value => vec![value.clone()],
    }
}
