//! Maintenance by name, with arguments and result as JSON: the form that Python sends and gets.

use serde_json::{Map, Value as Json, json};

use super::compact::{CompactOptions, Compacted};
use super::compact_order::FileOrder;
use super::compact_plan::CompactRules;
use super::deletes::{DeleteOptions, RewrittenDeletes};
use super::expire::Expired;
use super::manifests::ManifestOptions;
use super::orphans::Orphans;
use super::parts_json;
use super::statistics::{ComputedStatistics, StatisticsOptions};
use crate::error::{Error, Result};
use crate::format::wire::arguments::{Arguments, failed_json};
use crate::iceberg::state::Table;

/// Runs one action on a table: `expire_snapshots`, `remove_orphan_files`, `rewrite_manifests`, `compact`,
/// `rewrite_position_deletes`, `remove_dangling_deletes`, `convert_equality_deletes`, `compute_statistics` or
/// `compute_partition_statistics`, or a step of one whose parts other processes do ([`parts_json`]). `arguments` is a JSON object. Gives the table at its newest version, and the result as a JSON
/// object.
///
/// # Errors
/// `InvalidInput` for an unknown action or arguments that it does not take; those of the action.
pub fn maintain(table: &Table, action: &str, arguments: &str) -> Result<(Table, String)> {
    let mut arguments = Arguments::parse(arguments)?;
    let (table, result) = match action {
        "expire_snapshots" => {
            let options = arguments.expire()?;
            arguments.check_used()?;
            let (table, expired) = table.expire_snapshots(&options)?;
            (table, expired_json(&expired))
        }
        "remove_orphan_files" => {
            let options = arguments.orphans()?;
            arguments.check_used()?;
            let (table, orphans) = table.remove_orphan_files(&options)?;
            (table, orphans_json(&orphans))
        }
        "rewrite_manifests" => {
            let options = arguments.manifests()?;
            arguments.check_used()?;
            let (table, done) = table.rewrite_manifests(&options)?;
            (table, json!({"rewritten": done.rewritten, "added": done.added}))
        }
        "rewrite_position_deletes" | "remove_dangling_deletes" | "convert_equality_deletes" => {
            let mut options = arguments.deletes()?;
            if action == "rewrite_position_deletes" {
                options.filter = arguments.filter()?;
            }
            arguments.check_used()?;
            let (table, done) = match action {
                "remove_dangling_deletes" => table.remove_dangling_deletes(&options)?,
                "convert_equality_deletes" => table.convert_equality_deletes(&options)?,
                _ => table.rewrite_position_deletes(&options)?,
            };
            (table, rewritten_deletes_json(&done))
        }
        "compact" => {
            let options = arguments.compact()?;
            arguments.check_used()?;
            let (table, done) = table.compact(&options)?;
            (table, compacted_json(&done))
        }
        "compute_statistics" => {
            let options = arguments.statistics()?;
            arguments.check_used()?;
            let (table, done) = table.compute_statistics(&options)?;
            (table, statistics_json(done.as_ref()))
        }
        "compute_partition_statistics" => {
            let snapshot_id = arguments.take("snapshot", Json::as_i64)?;
            arguments.check_used()?;
            let (table, done) = table.compute_partition_statistics(snapshot_id)?;
            (table, statistics_json(done.as_ref()))
        }
        other => parts_json::part_of_action(table, other, arguments)?,
    };
    Ok((table, result.to_string()))
}

impl Arguments {
    fn manifests(&mut self) -> Result<ManifestOptions> {
        let id = |v: &Json| i32::try_from(v.as_i64()?).ok();
        Ok(ManifestOptions {
            spec_id: self.take("spec_id", id)?,
            target_bytes: self.take("target_size_bytes", Json::as_i64)?,
            dry_run: self.flag("dry_run")?,
            commit: self.commit()?,
        })
    }

    fn statistics(&mut self) -> Result<StatisticsOptions> {
        let names = |v: &Json| v.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect();
        Ok(StatisticsOptions {
            columns: self.take("columns", names)?,
            snapshot_id: self.take("snapshot", Json::as_i64)?,
        })
    }

    pub(crate) fn deletes(&mut self) -> Result<DeleteOptions> {
        let (rules, dry_run) = (self.rules()?, self.flag("dry_run")?);
        Ok(DeleteOptions { filter: None, rules, dry_run, commit: self.commit()? })
    }

    fn rules(&mut self) -> Result<CompactRules> {
        let size = |v: &Json| v.as_u64().and_then(|n| usize::try_from(n).ok());
        let default = CompactRules::default();
        Ok(CompactRules {
            target_bytes: self.take("target_file_size_bytes", Json::as_u64)?,
            min_bytes: self.take("min_file_size_bytes", Json::as_u64)?,
            max_bytes: self.take("max_file_size_bytes", Json::as_u64)?,
            min_input_files: self.take("min_input_files", size)?.unwrap_or(default.min_input_files),
            delete_file_threshold: self.take("delete_file_threshold", size)?,
            delete_ratio_threshold: (self.take("delete_ratio_threshold", Json::as_f64)?)
                .unwrap_or(default.delete_ratio_threshold),
            rewrite_all: self.flag("rewrite_all")?,
            max_group_bytes: self.take("max_group_size_bytes", Json::as_u64)?.unwrap_or(default.max_group_bytes),
        })
    }

    pub(crate) fn compact(&mut self) -> Result<CompactOptions> {
        let size = |v: &Json| v.as_u64().and_then(|n| usize::try_from(n).ok());
        Ok(CompactOptions {
            order: self.file_order()?,
            filter: self.filter()?,
            rules: self.rules()?,
            max_commits: self.take("max_commits", size)?,
            max_failed_commits: self.take("max_failed_commits", size)?,
            dry_run: self.flag("dry_run")?,
            commit: self.commit()?,
        })
    }

    pub(crate) fn file_order(&mut self) -> Result<FileOrder> {
        let names = |v: &Json| v.as_array()?.iter().map(|n| n.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
        let size = |v: &Json| v.as_u64().and_then(|n| usize::try_from(n).ok());
        let strategy = self.take("strategy", |v| v.as_str().map(str::to_owned))?.unwrap_or_default();
        let (sort_by, by) = (self.take("sort_by", names)?, self.take("zorder_by", names)?);
        let max_output_bytes = self.take("zorder_max_output_size", size)?;
        let text_bytes = self.take("zorder_var_length_contribution", size)?;
        let order = match strategy.as_str() {
            "" | "binpack" => FileOrder::AsRead,
            "sort" => FileOrder::Sort(sort_by.clone().unwrap_or_default()),
            "zorder" => FileOrder::ZOrder { by: by.clone().unwrap_or_default(), max_output_bytes, text_bytes },
            other => {
                return Err(
                    Error::invalid(format!("there is no strategy '{other}'")).hint("Use binpack, sort or zorder")
                );
            }
        };
        let of = |what: &str| Err(Error::invalid(format!("{what} is of another strategy")).with("strategy", &strategy));
        match &order {
            FileOrder::Sort(_) if by.is_some() => of("zorder_by"),
            FileOrder::ZOrder { .. } if sort_by.is_some() => of("sort_by"),
            FileOrder::AsRead if by.is_some() || sort_by.is_some() => of("sort_by or zorder_by"),
            _ => Ok(order),
        }
    }
}

fn expired_json(expired: &Expired) -> Json {
    json!({
        "snapshots": expired.snapshots,
        "changelogs": [],
        "refs": expired.refs,
        "data_files": expired.data_files,
        "position_delete_files": expired.position_delete_files,
        "equality_delete_files": expired.equality_delete_files,
        "manifests": expired.manifests,
        "manifest_lists": expired.manifest_lists,
        "statistics_files": expired.statistics_files,
        "deleted": expired.deletion.done,
        "failed": failed_json(&expired.deletion),
    })
}

/// Null where there are none.
fn statistics_json(computed: Option<&ComputedStatistics>) -> Json {
    let Some(computed) = computed else { return Json::Null };
    let distinct: Map<String, Json> = computed.distinct.iter().map(|(name, n)| (name.clone(), json!(n))).collect();
    json!({
        "snapshot_id": computed.snapshot_id,
        "path": computed.path,
        "size_bytes": computed.size_bytes,
        "distinct": distinct,
    })
}

pub(crate) fn compacted_json(done: &Compacted) -> Json {
    json!({
        "groups": done.groups,
        "rewritten_files": done.rewritten_files,
        "rewritten_bytes": done.rewritten_bytes,
        "added_files": done.added_files,
        "added_bytes": done.added_bytes,
        "commits": done.commits,
        "failed": done.failed,
    })
}

pub(crate) fn rewritten_deletes_json(done: &RewrittenDeletes) -> Json {
    json!({
        "rewritten_files": done.rewritten_files,
        "rewritten_bytes": done.rewritten_bytes,
        "added_files": done.added_files,
        "added_bytes": done.added_bytes,
    })
}

pub(crate) fn orphans_json(orphans: &Orphans) -> Json {
    let deletion = &orphans.deletion;
    json!({"files": orphans.files, "deleted": deletion.done, "failed": failed_json(deletion)})
}
