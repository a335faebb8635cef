//! Parts of a plan as JSON, for the processes that plan them.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::expr::bind;
use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::format::splits::SplitPlan;
use crate::format::wire::task::{context_from_json, context_to_json};
use crate::iceberg::manifest::list::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::plan::manifest_groups::ManifestGroup;
use crate::iceberg::scan::plan_parts::{IcebergPlanPart, PartScan};
use crate::iceberg::spec::partition::{spec_from_json, spec_to_json};
use crate::types::json_members::JsonMembers;
use crate::types::json_text;
use crate::types::schema_json::{schema_from_json, schema_to_json};
use crate::types::value::{hex, unhex};

impl IcebergPlanPart {
    /// The whole part, for [`IcebergPlanPart::from_json`].
    pub fn to_json(&self) -> String {
        let scan = &self.scan;
        let list = |manifests: &[ManifestFile]| manifests.iter().map(manifest_to_json).collect::<Vec<_>>();
        json!({
            "context": context_to_json(&scan.read),
            "filter": predicate_to_json(&scan.filter),
            "snapshot-id": scan.snapshot_id,
            "other-schemas": scan.schemas.iter().skip(1).map(|s| schema_to_json(s)).collect::<Vec<_>>(),
            "specs": scan.specs.iter().map(|s| spec_to_json(s)).collect::<Vec<_>>(),
            "split-size": scan.packing.split_size_bytes,
            "lookback": scan.packing.lookback,
            "file-open-cost": scan.packing.open_file_cost_bytes,
            "data": list(&self.manifests.data),
            "deletes": list(&self.manifests.deletes),
        })
        .to_string()
    }

    /// Reads the JSON that [`IcebergPlanPart::to_json`] wrote.
    ///
    /// # Errors
    /// `InvalidInput` for any other text.
    pub fn from_json(text: &str) -> Result<IcebergPlanPart> {
        let json = json_text::parse(text.as_bytes())
            .map_err(|e| Error::invalid("the text is not JSON of a plan").because(e))?;
        let j = members(&json);
        let read = context_from_json(j.required("context")?)?;
        let filter = predicate_from_json(j.required("filter")?)?;
        let mut schemas = vec![read.schema.clone()];
        for schema in j.list("other-schemas")? {
            schemas.push(Arc::new(schema_from_json(schema)?));
        }
        let specs = j.list("specs")?.iter().map(|s| spec_from_json(s, 0).map(Arc::new)).collect::<Result<_>>()?;
        let list = |key: &str| j.list(key)?.iter().map(manifest_from_json).collect::<Result<Vec<_>>>();
        let size = |key: &str, least: i64| j.any_long(key).filter(|n| *n >= least).ok_or_else(|| wrong(key));
        let scan = PartScan {
            filter: Arc::new(bind(&filter, &read.schema, true)?),
            read: Arc::new(read),
            snapshot_id: j.long("snapshot-id")?,
            schemas,
            specs,
            packing: SplitPlan {
                split_size_bytes: size("split-size", 1)?,
                lookback: size("lookback", 1)? as usize,
                open_file_cost_bytes: size("file-open-cost", 0)?,
            },
        };
        Ok(IcebergPlanPart {
            scan: Arc::new(scan),
            manifests: ManifestGroup { data: list("data")?, deletes: list("deletes")? },
        })
    }
}

fn wrong(key: &str) -> Error {
    Error::invalid(format!("'{key}' of the plan's JSON is missing or of the wrong type"))
}

fn members(json: &Json) -> JsonMembers<'_> {
    JsonMembers::of(json, wrong)
}

/// With the field names of the manifest list.
fn manifest_to_json(m: &ManifestFile) -> Json {
    let summary = |s: &FieldSummary| {
        json!({
            "contains_null": s.contains_null,
            "contains_nan": s.contains_nan,
            "lower_bound": s.lower.as_ref().map(|b| hex(b)),
            "upper_bound": s.upper.as_ref().map(|b| hex(b)),
        })
    };
    json!({
        "manifest_path": m.path,
        "manifest_length": m.length_bytes,
        "partition_spec_id": m.spec_id,
        "deletes": m.content == ManifestContent::Deletes,
        "sequence_number": m.sequence_number,
        "min_sequence_number": m.min_sequence_number,
        "added_snapshot_id": m.added_snapshot_id,
        "added_files_count": m.added_files_count,
        "existing_files_count": m.existing_files_count,
        "deleted_files_count": m.deleted_files_count,
        "added_rows_count": m.added_rows_count,
        "existing_rows_count": m.existing_rows_count,
        "deleted_rows_count": m.deleted_rows_count,
        "partitions": m.partitions.as_ref().map(|p| p.iter().map(summary).collect::<Vec<_>>()),
        "key_metadata": m.key_metadata.as_ref().map(|k| hex(k)),
        "first_row_id": m.first_row_id,
    })
}

fn manifest_from_json(json: &Json) -> Result<ManifestFile> {
    let j = members(json);
    let bytes = |j: JsonMembers<'_>, key: &str| match j.any_string(key) {
        None => Ok(None),
        Some(text) => unhex(text).map(Some).ok_or_else(|| wrong(key)),
    };
    let summary = |s: &Json| -> Result<FieldSummary> {
        let s = members(s);
        Ok(FieldSummary {
            contains_null: s.flag("contains_null")?,
            contains_nan: s.any_flag("contains_nan"),
            lower: bytes(s, "lower_bound")?,
            upper: bytes(s, "upper_bound")?,
        })
    };
    let partitions = match j.get("partitions").and_then(Json::as_array) {
        None => None,
        Some(fields) => Some(fields.iter().map(summary).collect::<Result<_>>()?),
    };
    let deletes = j.flag("deletes")?;
    Ok(ManifestFile {
        path: j.string("manifest_path")?.to_owned(),
        length_bytes: j.long("manifest_length")?,
        spec_id: j.int("partition_spec_id")?,
        content: if deletes { ManifestContent::Deletes } else { ManifestContent::Data },
        sequence_number: j.long("sequence_number")?,
        min_sequence_number: j.long("min_sequence_number")?,
        added_snapshot_id: j.any_long("added_snapshot_id"),
        added_files_count: j.any_long("added_files_count"),
        existing_files_count: j.any_long("existing_files_count"),
        deleted_files_count: j.any_long("deleted_files_count"),
        added_rows_count: j.any_long("added_rows_count"),
        existing_rows_count: j.any_long("existing_rows_count"),
        deleted_rows_count: j.any_long("deleted_rows_count"),
        partitions,
        key_metadata: bytes(j, "key_metadata")?,
        first_row_id: j.any_long("first_row_id"),
        unknown: None,
    })
}

#[cfg(test)]
#[path = "plan_part_tests.rs"]
mod tests;
