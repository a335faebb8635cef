//! Decodes a section of a manifest. [`super::specs`] checks its tuples, and metrics check its entries.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::codec::avro::Inflater;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::FileContent;
use crate::iceberg::manifest::columns::{Manifest, partition_of};
use crate::iceberg::manifest::entries::{EntryRequest, Inherited};
use crate::iceberg::manifest::layout::EntryLayout;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::kept_entries::KeptEntries;
use crate::iceberg::plan::planned::{PlanCounters, PlannedBatch, count, survivors};
use crate::iceberg::plan::specs::ScanSpecs;

/// Everything that the entries of a plan's manifests are judged with.
pub(crate) struct Judge {
    pub input: PlanInput,
    pub specs: ScanSpecs,
    /// The compiled header of the first manifest. Most manifests of a table have the same header.
    pub layout: OnceLock<Arc<EntryLayout>>,
}

impl Judge {
    pub(crate) fn new(input: PlanInput) -> Judge {
        let specs = ScanSpecs::new(&input.metadata, &input.schema);
        Judge { input, specs, layout: OnceLock::new() }
    }

    /// The filter for the entries of a manifest of this content.
    pub(crate) fn filter_of(&self, content: ManifestContent) -> Arc<BoundPredicate> {
        match self.input.all_deletes && content == ManifestContent::Deletes {
            true => Arc::new(BoundPredicate::True),
            false => self.input.filter.clone(),
        }
    }

    /// Decodes one section of a manifest and applies the filter to it.
    pub(crate) fn decode_piece(
        &self,
        file: &ManifestFile,
        manifest: &Manifest<'_>,
        blocks: Range<usize>,
        request: &EntryRequest,
        inflater: &mut Inflater,
    ) -> Result<PlannedBatch> {
        let inherited = Inherited { snapshot_id: file.added_snapshot_id, sequence_number: file.sequence_number };
        let columns = manifest.decode_with(inflater, blocks, request, &inherited)?;
        if file.content == ManifestContent::Data && columns.content.iter().any(|c| *c != FileContent::Data) {
            return Err(Error::corrupt("a data manifest lists a delete file"));
        }
        let spec = self.specs.get(file.spec_id)?;
        manifest.check_spec(&spec.spec, &self.input.schema)?;
        let filter = self.filter_of(file.content);
        let mut groups = Vec::with_capacity(columns.partitions.len());
        for tuple in &columns.partitions {
            let schema = &self.input.schema;
            let partition = partition_of(&spec.spec, schema, &manifest.spec_fields, &manifest.partition_types, tuple);
            groups.push(spec.group(partition, &filter, file.content));
        }
        let mut batch = PlannedBatch::of(KeptEntries { columns, groups, rows: Vec::new() });
        batch.entries.rows = survivors(&batch, &self.input.entries, &filter);
        let mut seen = PlanCounters::default();
        count(&batch, &mut seen);
        batch.seen = seen;
        Ok(batch)
    }
}
