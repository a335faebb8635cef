//! Decides which manifests and partition tuples can match, and works out the residual filter of each tuple.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::expr::bounds::may_match;
use crate::expr::explain::explain;
use crate::expr::residual::residual;
use crate::format::task::Partition;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::kept_entries::PartitionGroup;
use crate::iceberg::plan::named_bounds::{NamedBounds, OfSpec};
use crate::iceberg::plan::partition_bounds::{PartitionBounds, SummaryBounds};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::metadata_columns::PARTITION;
use crate::types::{FieldId, PartitionSpec, PrimitiveType, Schema, Type, Value};

/// The table's specs, with the types of their values under the scan's schema.
pub(crate) struct ScanSpecs {
    by_id: HashMap<i32, SpecContext>,
}

pub(crate) struct SpecContext {
    /// The spec.
    pub spec: Arc<PartitionSpec>,
    /// The types of its values; `Unknown` if the source column was dropped.
    pub types: Vec<PrimitiveType>,
    /// The ids of the fields of the scan's `_partition`, if the scan asks for it.
    pub members: Arc<[FieldId]>,
}

impl ScanSpecs {
    pub(crate) fn new(metadata: &TableMetadata, schema: &Schema) -> ScanSpecs {
        let column = schema.fields.iter().find(|f| f.id == PARTITION);
        let members: Arc<[FieldId]> = match column.map(|f| &f.ty) {
            Some(Type::Struct(fields)) => fields.iter().map(|f| f.id).collect(),
            _ => [].into(),
        };
        let context = |spec: &Arc<PartitionSpec>| {
            let types =
                spec.fields.iter().map(|f| f.result_type(source_schema(metadata, schema, f.source_id))).collect();
            (spec.id, SpecContext { spec: spec.clone(), types, members: members.clone() })
        };
        ScanSpecs { by_id: metadata.partition_specs.iter().map(context).collect() }
    }

    pub(crate) fn get(&self, id: i32) -> Result<&SpecContext> {
        self.by_id.get(&id).ok_or_else(|| {
            Error::corrupt(format!("a manifest uses partition spec {id}, which the table metadata does not have"))
        })
    }

    pub(crate) fn summary_may_match(&self, m: &ManifestFile, filter: &BoundPredicate) -> Result<bool> {
        let spec = self.get(m.spec_id).with("path", &m.path)?;
        let Some(summaries) = m.partitions.as_ref().filter(|s| s.len() == spec.spec.fields.len()) else {
            return Ok(may_match(filter, &OfSpec::new(m)));
        };
        let bounds = SummaryBounds::new(&spec.spec.fields, &spec.types, summaries);
        Ok(may_match(filter, &bounds) && may_match(filter, &OfSpec::new(m)))
    }

    /// The clause and summary by which `ScanSpecs::summary_may_match` excludes a manifest; `None` if it does not
    /// exclude it.
    pub(crate) fn why_excluded(&self, m: &ManifestFile, filter: &BoundPredicate) -> Result<Option<String>> {
        let spec = self.get(m.spec_id).with("path", &m.path)?;
        let summaries = m.partitions.as_ref().filter(|s| s.len() == spec.spec.fields.len());
        let why = summaries.and_then(|s| explain(filter, &SummaryBounds::new(&spec.spec.fields, &spec.types, s)));
        Ok(why.or_else(|| explain(filter, &OfSpec::new(m))))
    }
}

/// The schema that has a source column: the scan's, or an older one if the column was dropped since.
fn source_schema<'a>(metadata: &'a TableMetadata, schema: &'a Schema, source_id: FieldId) -> &'a Schema {
    let has = |s: &&Schema| s.field(source_id).is_some();
    Some(schema).filter(has).or_else(|| metadata.schemas.iter().map(Arc::as_ref).find(has)).unwrap_or(schema)
}

impl SpecContext {
    /// The clause and value by which [`SpecContext::group`] drops a tuple; `None` if it keeps it.
    pub(crate) fn why_excluded(
        &self,
        partition: &Partition,
        filter: &BoundPredicate,
        content: ManifestContent,
    ) -> Option<String> {
        let values: Vec<Option<Value>> = partition.values.iter().map(|v| v.value.clone()).collect();
        let bounds = PartitionBounds::new(&self.spec.fields, &self.types, &values);
        explain(filter, &NamedBounds::new(bounds, partition, &self.members, content))
    }

    /// Checks a tuple. `None` if no row of its files can match.
    pub(crate) fn group(
        &self,
        partition: Partition,
        filter: &Arc<BoundPredicate>,
        content: ManifestContent,
    ) -> Option<PartitionGroup> {
        let left = if **filter == BoundPredicate::True {
            filter.clone()
        } else {
            let values: Vec<Option<Value>> = partition.values.iter().map(|v| v.value.clone()).collect();
            let bounds = PartitionBounds::new(&self.spec.fields, &self.types, &values);
            let left = residual(filter, &NamedBounds::new(bounds, &partition, &self.members, content));
            // Share one object among all tuples that decide nothing.
            if left == **filter { filter.clone() } else { Arc::new(left) }
        };
        (*left != BoundPredicate::False).then(|| PartitionGroup { partition: Arc::new(partition), residual: left })
    }
}
