//! The conditions that a catalog checks before it commits, with their JSON.
//!
//! Source: the `TableRequirement` schemas of Iceberg's REST catalog specification.

use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::types::json_members::OwnedMembers;

/// A condition that a table must meet before a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRequirement {
    /// The table does not exist yet.
    AssertCreate,
    /// The table's identity.
    AssertTableUuid(String),
    /// The snapshot of a branch or tag; `None` if the reference must not exist.
    AssertRefSnapshotId {
        /// The reference's name.
        name: String,
        /// Its snapshot.
        snapshot_id: Option<i64>,
    },
    /// The highest column id ever assigned.
    AssertLastAssignedFieldId(i32),
    /// The schema in use.
    AssertCurrentSchemaId(i32),
    /// The highest partition field id ever assigned.
    AssertLastAssignedPartitionId(i32),
    /// The spec that writers use.
    AssertDefaultSpecId(i32),
    /// The sort order that writers use.
    AssertDefaultSortOrderId(i32),
}

/// The snapshot of a reference. Tables of old writers have a current snapshot but no reference `main`.
pub(super) fn snapshot_of(metadata: &TableMetadata, name: &str) -> Option<i64> {
    let current = metadata.current_snapshot_id.filter(|_| name == MAIN_BRANCH);
    metadata.refs.get(name).map(|r| r.snapshot_id).or(current)
}

impl MetadataRequirement {
    /// Checks a table. `None` means that the table does not exist.
    ///
    /// # Errors
    /// `CommitConflict` that names the difference.
    pub fn check(&self, metadata: Option<&TableMetadata>) -> Result<()> {
        use MetadataRequirement as R;
        let Some(m) = metadata else {
            return match self {
                R::AssertCreate => Ok(()),
                _ => Err(Error::conflict("the table was dropped since the commit was prepared")),
            };
        };
        let same = |what: &str, expected: i64, found: i64| match expected == found {
            true => Ok(()),
            false => Err(Error::conflict(format!("another commit changed the table's {what}"))
                .with("expected", expected)
                .with("found", found)),
        };
        match self {
            R::AssertCreate => Err(Error::conflict("another commit created the table first")),
            R::AssertTableUuid(uuid) => match m.table_uuid.as_deref() {
                Some(found) if !found.eq_ignore_ascii_case(uuid) => {
                    Err(Error::conflict("another table has this name now").with("expected", uuid).with("found", found))
                }
                _ => Ok(()),
            },
            R::AssertRefSnapshotId { name, snapshot_id } => {
                let found = snapshot_of(m, name);
                let text = |id: Option<i64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
                match found == *snapshot_id {
                    true => Ok(()),
                    false => Err(Error::conflict("another commit changed a branch or tag")
                        .with("ref", name)
                        .with("expected", text(*snapshot_id))
                        .with("found", text(found))),
                }
            }
            R::AssertLastAssignedFieldId(id) => same("last column id", (*id).into(), m.last_column_id.into()),
            R::AssertCurrentSchemaId(id) => same("current schema", (*id).into(), m.current_schema_id.into()),
            R::AssertLastAssignedPartitionId(id) => {
                same("last partition field id", (*id).into(), m.last_partition_id.into())
            }
            R::AssertDefaultSpecId(id) => same("default partition spec", (*id).into(), m.default_spec_id.into()),
            R::AssertDefaultSortOrderId(id) => same("default sort order", (*id).into(), m.default_sort_order_id.into()),
        }
    }

    /// The JSON object that a REST catalog takes.
    pub fn to_json(&self) -> Json {
        use MetadataRequirement as R;
        match self {
            R::AssertCreate => json!({"type": "assert-create"}),
            R::AssertTableUuid(uuid) => json!({"type": "assert-table-uuid", "uuid": uuid}),
            R::AssertRefSnapshotId { name, snapshot_id } => {
                json!({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": snapshot_id})
            }
            R::AssertLastAssignedFieldId(id) => {
                json!({"type": "assert-last-assigned-field-id", "last-assigned-field-id": id})
            }
            R::AssertCurrentSchemaId(id) => json!({"type": "assert-current-schema-id", "current-schema-id": id}),
            R::AssertLastAssignedPartitionId(id) => {
                json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": id})
            }
            R::AssertDefaultSpecId(id) => json!({"type": "assert-default-spec-id", "default-spec-id": id}),
            R::AssertDefaultSortOrderId(id) => {
                json!({"type": "assert-default-sort-order-id", "default-sort-order-id": id})
            }
        }
    }

    /// Reads a requirement.
    ///
    /// # Errors
    /// `CorruptTable` if a member is missing or wrong; `Unsupported` for a type that this version does not know.
    pub fn from_json(json: Json) -> Result<MetadataRequirement> {
        use MetadataRequirement as R;
        let mut m = OwnedMembers::of(json, "a requirement of a commit")?;
        let kind = m.required_string("type")?;
        Ok(match kind.as_str() {
            "assert-create" => R::AssertCreate,
            "assert-table-uuid" => R::AssertTableUuid(m.required_string("uuid")?),
            "assert-ref-snapshot-id" => {
                R::AssertRefSnapshotId { name: m.required_string("ref")?, snapshot_id: m.long("snapshot-id")? }
            }
            "assert-last-assigned-field-id" => R::AssertLastAssignedFieldId(m.required_int("last-assigned-field-id")?),
            "assert-current-schema-id" => R::AssertCurrentSchemaId(m.required_int("current-schema-id")?),
            "assert-last-assigned-partition-id" => {
                R::AssertLastAssignedPartitionId(m.required_int("last-assigned-partition-id")?)
            }
            "assert-default-spec-id" => R::AssertDefaultSpecId(m.required_int("default-spec-id")?),
            "assert-default-sort-order-id" => R::AssertDefaultSortOrderId(m.required_int("default-sort-order-id")?),
            other => return Err(Error::unsupported(format!("the requirement '{other}' is not supported"))),
        })
    }
}
