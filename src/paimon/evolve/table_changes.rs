//! Changes of a table itself: schema, options, tags and branches. The requests are the same for every format.
//!
//! Paimon applies changes of a schema one after another, by the current names of columns. Here all names are those from
//! before the update, so renames come last.

use serde_json::Value as Json;

use super::branch_merge::merge_branch;
use super::option_checks::check_change;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::evolution::Evolution;
use crate::format::evolution::RefKind;
use crate::format::evolution::{
    NewColumn, Position as Place, RefChange, RefUpdate, Retention, SchemaOperation, SchemaUpdate, Version,
};
use crate::paimon::catalog::alter::{ColumnPosition, SchemaChange};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::refs::RollbackTo;
use crate::paimon::catalog::tag_times::trimmed;
use crate::paimon::commit::expire::{drop_tag, replace_tag, retain_tag};
use crate::paimon::spec::data_type::{DataField, DataType, TypeKind};
use crate::paimon::spec::from_types::data_type;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::Tag;
use crate::paimon::state::PaimonTable;
use crate::types::{Field, Type};

fn refused(what: &str, hint: &str) -> Error {
    Error::unsupported(format!("{what}: not with tables of Apache Paimon")).hint(hint)
}

impl PaimonTable {
    /// Changes the table's schema, options or references; returns the table at its newest version.
    ///
    /// # Errors
    /// `CommitConflict` if somebody changed the schema since this version; `InvalidInput`, `NotFound`,
    /// `AlreadyExists` and `Unsupported` for changes that Paimon does not allow; those of the store.
    pub fn evolve(&self, evolutions: &[Evolution]) -> Result<PaimonTable> {
        self.metadata().check_same_table()?;
        let mut changes = Vec::new();
        for evolution in evolutions {
            match evolution {
                Evolution::Schema(update) => {
                    self.check_schema_is_newest()?;
                    changes.extend(schema_changes(self.table_schema(), update)?);
                }
                Evolution::SetProperties(options) => {
                    changes.extend(options.iter().map(|(k, v)| SchemaChange::SetOption(k.clone(), v.clone())));
                }
                Evolution::RemoveProperties(names) => {
                    changes.extend(names.iter().cloned().map(SchemaChange::RemoveOption));
                }
                Evolution::Ref(update) => change_ref(self.folder(), update).with("table", self.location())?,
                Evolution::Spec(_) => {
                    return Err(refused("another partitioning", "Make another table, and append the rows to it"));
                }
                Evolution::SortOrder(_) => {
                    return Err(refused("a sort order", "Rows of tables with a primary key have the order of the key"));
                }
                Evolution::SetLocation(_) => {
                    return Err(refused("another location", "Move the folder, and open the table at its new location"));
                }
                Evolution::Upgrade(_) => {
                    return Err(refused("another format version", "New schemas always have the newest version"));
                }
            }
        }
        if !changes.is_empty() {
            self.folder().alter_checked(&changes, &check_change).with("table", self.location())?;
        }
        self.refresh()
    }

    fn check_schema_is_newest(&self) -> Result<()> {
        let (own, newest) = (self.table_schema().id, self.folder().latest_schema()?.id);
        match own == newest {
            true => Ok(()),
            false => Err(Error::conflict("another commit changed the schema since the table was read")
                .with("table", self.location())
                .with("schema", newest)
                .hint("Refresh the table and try again")),
        }
    }
}

// ---------------------------------------------------------------- schema

/// The changes of a schema that an update's operations result in.
fn schema_changes(schema: &TableSchema, update: &SchemaUpdate) -> Result<Vec<SchemaChange>> {
    let names = ColumnNames { fields: &schema.fields, case_sensitive: update.case_sensitive };
    let (mut out, mut renames) = (Vec::new(), Vec::new());
    for operation in &update.operations {
        match operation {
            SchemaOperation::Add(column) => names.add(column, &mut out)?,
            SchemaOperation::Drop { path } => out.push(SchemaChange::DropColumn { path: names.path(path) }),
            SchemaOperation::Rename { path, name } => {
                renames.push(SchemaChange::RenameColumn { path: names.path(path), name: name.clone() });
            }
            SchemaOperation::Type { path, ty } => {
                out.push(SchemaChange::SetType { path: names.path(path), ty: data_type(ty, true)? });
            }
            SchemaOperation::Required { path, required } => {
                if *required && !update.allow_incompatible {
                    return Err(Error::invalid("a column can't become required: existing rows may have nulls")
                        .with("column", path.join("."))
                        .hint("Set allow_incompatible_changes=True if no row has a null there"));
                }
                out.push(SchemaChange::SetNullable { path: names.path(path), nullable: !required });
            }
            SchemaOperation::Doc { path, doc } => {
                out.push(SchemaChange::SetColumnComment { path: names.path(path), comment: doc.clone() });
            }
            SchemaOperation::Default { path, default } => {
                let value = default.as_ref().map(default_text).transpose()?;
                out.push(SchemaChange::SetDefault { path: names.path(path), value });
            }
            SchemaOperation::Move { path, position } => {
                let [column] = &names.path(path)[..] else {
                    return Err(refused("moving fields of rows", "Columns at the top level can be moved")
                        .with("column", path.join(".")));
                };
                out.push(SchemaChange::Move { column: column.clone(), position: names.position(position) });
            }
            SchemaOperation::Identifiers { .. } => {
                return Err(refused("another primary key", "Make another table, and append the rows to it"));
            }
            SchemaOperation::Union { schema: other } => {
                union(&schema.fields, &other.fields, &mut Vec::new(), &mut out)?;
            }
        }
    }
    // Members come before the rows that they are in.
    let depth = |change: &SchemaChange| match change {
        SchemaChange::RenameColumn { path, .. } => path.len(),
        _ => 0,
    };
    renames.sort_by_key(|change| std::cmp::Reverse(depth(change)));
    out.extend(renames);
    Ok(out)
}

/// Finds columns by the names that users give.
struct ColumnNames<'s> {
    fields: &'s [DataField],
    case_sensitive: bool,
}

impl ColumnNames<'_> {
    /// A column's path in Paimon's form: through arrays by `element`, through maps by `value`. Names that are not found
    /// stay.
    fn path(&self, given: &[String]) -> Vec<String> {
        let mut out = Vec::with_capacity(given.len());
        let mut fields = self.fields;
        let mut names = given.iter().peekable();
        while let Some(name) = names.next() {
            let same = |f: &&DataField| match self.case_sensitive {
                true => f.name == *name,
                false => f.name.to_lowercase() == name.to_lowercase(),
            };
            let found = fields.iter().find(|f| f.name == *name).or_else(|| fields.iter().find(same));
            out.push(found.map_or_else(|| name.clone(), |f| f.name.clone()));
            let mut inner = found.map(|f| &f.ty);
            fields = &[];
            while let Some(ty) = inner {
                inner = match &ty.kind {
                    TypeKind::Row(members) => {
                        fields = members;
                        None
                    }
                    TypeKind::Array(element) => self.through("element", element, &mut names, &mut out),
                    TypeKind::Map(_, value) => self.through("value", value, &mut names, &mut out),
                    _ => None,
                };
            }
        }
        out
    }

    /// Into the elements of an array or map, if the path continues there.
    fn through<'t, 'n>(
        &self,
        step: &str,
        inside: &'t DataType,
        names: &mut std::iter::Peekable<impl Iterator<Item = &'n String>>,
        out: &mut Vec<String>,
    ) -> Option<&'t DataType> {
        names.peek()?;
        out.push(step.to_owned());
        names.next_if(|name| *name == step);
        Some(inside)
    }

    fn position(&self, place: &Place) -> ColumnPosition {
        let last = |path: &[String]| self.path(path).pop().unwrap_or_default();
        match place {
            Place::First => ColumnPosition::First,
            Place::Before(path) => ColumnPosition::Before(last(path)),
            Place::After(path) => ColumnPosition::After(last(path)),
        }
    }

    fn add(&self, column: &NewColumn, out: &mut Vec<SchemaChange>) -> Result<()> {
        if column.default.is_some() {
            return Err(refused(
                "a default for existing rows",
                "Existing rows have null. Use write_default for new rows that lack the column",
            )
            .with("column", column.path.join(".")));
        }
        let path = self.path(&column.path);
        out.push(SchemaChange::AddColumn {
            path: path.clone(),
            ty: data_type(&column.ty, !column.required).with("column", column.path.join("."))?,
            comment: column.doc.clone(),
            position: column.position.as_ref().map(|place| self.position(place)),
        });
        if let Some(default) = &column.write_default {
            out.push(SchemaChange::SetDefault { path, value: Some(default_text(default)?) });
        }
        Ok(())
    }
}

/// A default as in Paimon's schemas: text that is cast to the column's type.
fn default_text(value: &Json) -> Result<String> {
    match value {
        Json::String(text) => Ok(text.clone()),
        Json::Bool(_) | Json::Number(_) => Ok(value.to_string()),
        _ => Err(Error::invalid("this can't be a column's default").with("value", value)),
    }
}

/// Adds and widens columns so that rows of another schema fit.
fn union(own: &[DataField], other: &[Field], path: &mut Vec<String>, out: &mut Vec<SchemaChange>) -> Result<()> {
    for field in other {
        path.push(field.name.clone());
        match own.iter().find(|f| f.name == field.name) {
            None => out.push(SchemaChange::AddColumn {
                path: path.clone(),
                ty: data_type(&field.ty, true).with("column", path.join("."))?,
                comment: field.doc.clone(),
                position: None,
            }),
            Some(known) => {
                if !known.ty.nullable && !field.required {
                    out.push(SchemaChange::SetNullable { path: path.clone(), nullable: true });
                }
                united(&known.ty, &field.ty, path, out)?;
            }
        }
        path.pop();
    }
    Ok(())
}

/// Widens a type so that values of another fit.
fn united(own: &DataType, other: &Type, path: &mut Vec<String>, out: &mut Vec<SchemaChange>) -> Result<()> {
    use TypeKind as K;
    let mut inside = |name: &str, own: &DataType, other: &Field| {
        path.push(name.to_owned());
        let done = united(own, &other.ty, path, out);
        path.pop();
        done
    };
    match (&own.kind, other) {
        (K::Row(members), Type::Struct(fields)) => return union(members, fields, path, out),
        (K::Array(element), Type::List(other)) => return inside("element", element, other),
        (K::Map(_, value), Type::Map(_, other)) => return inside("value", value, other),
        _ => {}
    }
    let wanted = data_type(other, true)?;
    let wider = match (&own.kind, &wanted.kind) {
        (a, b) if a == b => false,
        (K::Double, K::Float) => false,
        (K::Float, K::Double) => true,
        (K::Decimal { precision: a, scale }, K::Decimal { precision: b, scale: other }) if scale == other => b > a,
        (a, b) => match (a.integer_bits(), b.integer_bits()) {
            (Some(a), Some(b)) => b > a,
            // Narrower kinds of the same type: texts of some length, times of some precision.
            _ if own.to_primitive().is_some() && own.to_primitive() == wanted.to_primitive() => false,
            _ => {
                return Err(Error::invalid(format!("values of the type {wanted} don't fit into {own}"))
                    .with("column", path.join(".")));
            }
        },
    };
    if wider {
        out.push(SchemaChange::SetType { path: path.clone(), ty: wanted });
    }
    Ok(())
}

// ---------------------------------------------------------------- tags and branches

/// Makes a change of a tag or branch.
fn change_ref(folder: &TableFolder, update: &RefUpdate) -> Result<()> {
    let name = update.name.as_str();
    let is_tag = || Ok::<bool, Error>(folder.tag_names()?.iter().any(|tag| tag == name));
    match &update.change {
        RefChange::Create(RefKind::Tag, version, kept) => {
            let retained = retained(kept)?.map_or_else(
                || folder.latest_schema()?.options().duration_ms("tag.default-time-retained"),
                |given| Ok(Some(given)),
            )?;
            if folder.branches()?.iter().any(|branch| branch == name) || name == folder.branch_name() {
                return Err(Error::already_exists(format!("the branch '{name}' already exists")));
            }
            folder.create_tag_for(name, snapshot_of(folder, version)?, retained)
        }
        RefChange::Create(RefKind::Branch, _, kept) if *kept != Retention::default() => Err(kept_otherwise()),
        RefChange::Create(RefKind::Branch, version, _) => create_branch(folder, name, version),
        RefChange::Replace(version) if is_tag()? => {
            let id = snapshot_of(folder, version)?;
            let id = id.ok_or_else(|| Error::invalid("a tag needs a snapshot"))?;
            replace_tag(folder, name, &folder.snapshot(id)?)
        }
        RefChange::Drop if is_tag()? => drop_tag(folder, name),
        RefChange::Drop => folder.drop_branch(name),
        RefChange::Rename(to) if is_tag()? => folder.rename_tag(name, to),
        RefChange::Rename(to) => {
            if folder.tag_names()?.iter().any(|tag| tag == to) {
                return Err(Error::already_exists(format!("the tag '{to}' already exists")));
            }
            folder.rename_branch(name, to)
        }
        RefChange::Merge(from) => merge_branch(folder, from, name),
        RefChange::FastForward(to) => fast_forward(folder, name, to),
        RefChange::Retain(kept) if is_tag()? => retain_tag(folder, name, retained(kept)?),
        RefChange::Retain(_) => Err(kept_otherwise()),
        RefChange::RollBack(version) => {
            let branch = folder.branch(name)?;
            let to = match version {
                Version::Ref(tag) => RollbackTo::Tag(tag.clone()),
                version => {
                    let id = snapshot_of(&branch, version)?;
                    RollbackTo::Snapshot(id.ok_or_else(|| Error::invalid("a rollback needs a snapshot"))?)
                }
            };
            branch.roll_back(&to).map(drop)
        }
        RefChange::Replace(_) | RefChange::SetSnapshot(_) => {
            folder.branch(name)?;
            Err(refused("moving branches to any snapshot", "rollback() goes back to a snapshot or tag of the branch"))
        }
    }
}

fn kept_otherwise() -> Error {
    refused(
        "retention of single branches",
        "Set the table's options 'snapshot.num-retained.min' and 'snapshot.time-retained'",
    )
}

/// How long a tag is kept, milliseconds.
fn retained(kept: &Retention) -> Result<Option<i64>> {
    match kept.min_snapshots_to_keep.is_some() || kept.max_snapshot_age_ms.is_some() {
        true => Err(kept_otherwise()),
        false => Ok(kept.max_ref_age_ms),
    }
}

/// The number of a version's snapshot; `None` for the latest.
fn snapshot_of(folder: &TableFolder, version: &Version) -> Result<Option<i64>> {
    match version {
        Version::Current => Ok(None),
        Version::Snapshot(id) => Ok(Some(*id)),
        Version::Ref(name) => match folder.tag(name) {
            Ok(tag) => Ok(Some(tag.snapshot.id)),
            Err(e) if e.kind() == ErrorKind::NotFound && name == folder.branch_name() => Ok(None),
            Err(e) => Err(e),
        },
        Version::TimestampMs(ms) => match folder.snapshot_at_time(*ms)? {
            Some(snapshot) => Ok(Some(snapshot.id)),
            None => Err(Error::not_found("the table has no snapshot from that time or before")),
        },
        Version::Picked(_) => Err(Error::internal("Paimon tables have no cherry-picks")),
    }
}

/// Makes a branch at a tag, which keeps the branch's files from expiry. A branch of an empty table is empty.
fn create_branch(folder: &TableFolder, name: &str, version: &Version) -> Result<()> {
    if folder.tag_names()?.iter().any(|tag| tag == name) {
        return Err(Error::already_exists(format!("the tag '{name}' already exists")));
    }
    let latest = || Ok::<Option<i64>, Error>(folder.latest_snapshot()?.map(|s| s.id));
    let Some(id) = snapshot_of(folder, version)?.map_or_else(latest, |id| Ok(Some(id)))? else {
        return folder.create_branch(name, None).map(drop);
    };
    let tags = folder.tags()?;
    let named = tags.iter().find(|tag| matches!(version, Version::Ref(name) if *name == tag.name));
    match named.or_else(|| tags.iter().find(|tag| tag.snapshot.id == id)) {
        Some(tag) => folder.create_branch(name, Some(&tag.name)).map(drop),
        None => Err(refused(
            "a branch at a snapshot without a tag",
            "Make a tag first, so that it keeps the branch's files: refs.create_tag('t', at=...), then create_branch(at='t')",
        )
        .with("snapshot", id)),
    }
}

/// Makes a branch equal to another one, unless it would lose commits.
fn fast_forward(folder: &TableFolder, name: &str, to: &str) -> Result<()> {
    let (branch, other) = (folder.branch(name)?, folder.branch(to)?);
    if let (Some(first), Some(last)) = (other.earliest_snapshot_id()?, branch.latest_snapshot()?) {
        // The other branch's snapshots with these numbers have expired. The tag that it began with is kept.
        let is_start = |tag: &Tag| tag.snapshot.id == last.id && trimmed(&tag.snapshot) == last;
        if last.id < first && !other.tags()?.iter().any(is_start) {
            return Err(Error::invalid(format!(
                "it is no longer known whether the branch '{to}' descends from '{name}'"
            ))
            .with("snapshot", last.id)
            .hint(format!("First roll '{name}' back to the tag that '{to}' began with: rollback(to=tag)")));
        }
        for id in branch.snapshot_ids()?.into_iter().rev().filter(|id| *id >= first) {
            if !other.has_snapshot(id)? || other.snapshot(id)? != branch.snapshot(id)? {
                return Err(Error::invalid(format!(
                    "the branch '{to}' does not descend from the snapshot of '{name}'"
                ))
                .with("snapshot", id)
                .hint(format!("To discard its later commits, roll back '{name}' first: rollback(to={first})")));
            }
        }
    }
    branch.fast_forward(to)
}
