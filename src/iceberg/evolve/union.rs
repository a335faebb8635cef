//! The union of the table's schema with another one, by name: rows of both fit the result.
//!
//! Missing columns are added as optional ones, at every depth. Columns are widened and made optional where the other
//! schema needs it. They are never narrowed, made required or dropped (as in Java's `UnionByNameVisitor`).

use super::columns::same_name;
use super::schema::Pending;
use crate::error::{Error, Result};
use crate::format::evolution::ColumnPath;
use crate::format::evolution::NewColumn;
use crate::types::{Field, PrimitiveType, Schema, Type};

/// Adds the operations to an update that the union with `other` needs.
pub(super) fn union_by_name(pending: &mut Pending<'_>, other: &Schema) -> Result<()> {
    let own = pending.schema.fields.clone();
    unite_structs(pending, &[], &own.iter().collect::<Vec<_>>(), &other.fields.iter().collect::<Vec<_>>())
}

fn child_path(above: &[String], name: &str) -> ColumnPath {
    above.iter().cloned().chain([name.to_owned()]).collect()
}

/// Deeper fields come first, in the order in which the reference assigns ids.
fn unite_structs(pending: &mut Pending<'_>, path: &[String], own: &[&Field], other: &[&Field]) -> Result<()> {
    let case_sensitive = pending.is_case_sensitive();
    let partner = |field: &Field| own.iter().find(|f| same_name(&f.name, &field.name, case_sensitive)).copied();
    for field in other {
        if let Some(existing) = partner(field) {
            unite_types(pending, &child_path(path, &existing.name), existing, field)?;
        }
    }
    for field in other {
        match partner(field) {
            Some(existing) => update(pending, &child_path(path, &existing.name), existing, field)?,
            None => add(pending, path, field)?,
        }
    }
    Ok(())
}

fn unite_types(pending: &mut Pending<'_>, path: &[String], existing: &Field, other: &Field) -> Result<()> {
    let clash = || {
        Error::invalid(format!("a column can't change from {} to {}", existing.ty, other.ty))
            .with("column", path.join("."))
    };
    match (&existing.ty, &other.ty) {
        (Type::Primitive(_), Type::Primitive(_)) => Ok(()),
        (Type::Struct(own), Type::Struct(members)) => {
            unite_structs(pending, path, &own.iter().collect::<Vec<_>>(), &members.iter().collect::<Vec<_>>())
        }
        (Type::List(own), Type::List(element)) => unite_structs(pending, path, &[own], &[element]),
        (Type::Map(own_key, own_value), Type::Map(key, value)) => {
            unite_structs(pending, path, &[own_key, own_value], &[key, value])
        }
        _ => Err(clash()),
    }
}

fn add(pending: &mut Pending<'_>, above: &[String], field: &Field) -> Result<()> {
    let path = child_path(above, &field.name);
    let column = NewColumn {
        path: path.clone(),
        ty: field.ty.clone(),
        doc: field.doc.clone(),
        required: false,
        default: field.initial_default.clone(),
        write_default: field.write_default.clone(),
        position: None,
    };
    pending.add(&column).map_err(|e| e.with("column", path.join(".")))
}

fn update(pending: &mut Pending<'_>, path: &ColumnPath, existing: &Field, other: &Field) -> Result<()> {
    let mut changes = || {
        if existing.required && !other.required {
            pending.set_required(path, false)?;
        }
        let narrower = match (&other.ty, &existing.ty) {
            (Type::Primitive(other), Type::Primitive(own)) => {
                other == own || (other.promotes_to(own) && *other != PrimitiveType::Date)
            }
            _ => true,
        };
        if !narrower {
            pending.widen(path, &other.ty)?;
        }
        if other.doc.is_some() {
            pending.set_doc(path, other.doc.as_deref())?;
        }
        if other.write_default.is_some() {
            pending.set_default(path, other.write_default.as_ref())?;
        }
        Ok(())
    };
    changes().map_err(|e: Error| e.with("column", path.join(".")))
}
