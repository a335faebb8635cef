//! Random schema evolutions against a model of rows: columns are added with and without defaults, dropped, renamed,
//! moved and widened. This happens at the top, in structs, and in structs inside lists and maps. Files are written on
//! the way. Every file, read by the last schema, has the rows of the model, with any filter.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use proptest::prelude::*;
use serde_json::json;

use crate::data::arrow::schema::{arrow_field, to_arrow};
use crate::data::testing::{context, leaf, read, rows, task, write};
use crate::expr::{BoundPredicate, Op};
use crate::types::{Field, FieldId, PrimitiveType as P, Schema, Type, Value};

const DAY: i64 = 86_400_000_000;

/// Leaf types in pairs: a type and the type that it widens to. Their values are numbers, in the same order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaf {
    Int,
    Float,
    Date,
    Decimal,
}

#[derive(Clone, Debug)]
enum Shape {
    Leaf(Leaf, bool),
    Struct(Vec<Column>),
    List(Box<Column>),
    Map(FieldId, Box<Column>),
}

#[derive(Clone, Debug)]
struct Column {
    id: FieldId,
    name: String,
    shape: Shape,
    default: Option<u8>,
}

/// A value in a row of a file.
#[derive(Clone, Debug)]
enum Cell {
    Null,
    Leaf(u8),
    Struct(BTreeMap<FieldId, Cell>),
    /// The elements of a list, the values of a map (its keys count from 0).
    Many(Vec<Cell>),
}

/// A stream of choices.
struct Choices(Box<dyn Iterator<Item = u16>>);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().unwrap()) % n
    }
}

fn primitive(leaf: Leaf, wide: bool) -> P {
    match (leaf, wide) {
        (Leaf::Int, false) => P::Int,
        (Leaf::Int, true) => P::Long,
        (Leaf::Float, false) => P::Float,
        (Leaf::Float, true) => P::Double,
        (Leaf::Date, false) => P::Date,
        (Leaf::Date, true) => P::Timestamp,
        (Leaf::Decimal, wide) => P::Decimal { precision: if wide { 25 } else { 9 }, scale: 2 },
    }
}

fn text(leaf: Leaf, wide: bool, n: u8) -> String {
    match leaf {
        Leaf::Int => n.to_string(),
        Leaf::Float => format!("{n}.5"),
        Leaf::Date => format!("1970-01-{:02}{}", n + 1, if wide { "T00:00:00" } else { "" }),
        Leaf::Decimal => format!("{n}.25"),
    }
}

fn value(leaf: Leaf, wide: bool, n: u8) -> Value {
    match (leaf, wide) {
        (Leaf::Int | Leaf::Date, false) => Value::Int(n.into()),
        (Leaf::Int, true) => Value::Long(n.into()),
        (Leaf::Date, true) => Value::Long(i64::from(n) * DAY),
        (Leaf::Float, false) => Value::Float(f32::from(n) + 0.5),
        (Leaf::Float, true) => Value::Double(f64::from(n) + 0.5),
        (Leaf::Decimal, _) => Value::Decimal(i128::from(n) * 100 + 25),
    }
}

impl Column {
    fn field(&self) -> Field {
        let ty = match &self.shape {
            Shape::Leaf(leaf, wide) => primitive(*leaf, *wide).into(),
            Shape::Struct(members) => Type::Struct(members.iter().map(Column::field).collect()),
            Shape::List(element) => Type::List(Arc::new(element.field())),
            Shape::Map(key, value) => {
                Type::Map(Arc::new(Field::new(*key, "key", true, P::String)), Arc::new(value.field()))
            }
        };
        let default = self.default.map(|n| match &self.shape {
            Shape::Leaf(Leaf::Int, _) => json!(n),
            Shape::Leaf(Leaf::Float, _) => json!(f64::from(n) + 0.5),
            Shape::Leaf(leaf, wide) => json!(text(*leaf, *wide, n)),
            _ => json!({}),
        });
        Field { initial_default: default, ..Field::new(self.id, self.name.clone(), false, ty) }
    }

    /// A new column. Columns inside it have no defaults unless it is a struct with a default.
    fn new(choices: &mut Choices, next_id: &mut FieldId, depth: usize) -> Column {
        *next_id += 1;
        let id = *next_id;
        let kind = choices.below(if depth < 3 { 8 } else { 4 });
        let mut member = |choices: &mut Choices, name: &str| Column {
            name: name.into(),
            default: None,
            ..Column::new(choices, next_id, depth + 1)
        };
        let shape = match kind {
            0..4 => Shape::Leaf([Leaf::Int, Leaf::Float, Leaf::Date, Leaf::Decimal][kind], choices.below(3) == 0),
            4 | 5 => Shape::Struct((0..1 + choices.below(2)).map(|i| member(choices, &format!("m{i}"))).collect()),
            6 => Shape::List(Box::new(member(choices, "element"))),
            _ => {
                let value = member(choices, "value");
                *next_id += 1;
                Shape::Map(*next_id, Box::new(value))
            }
        };
        let has_default = matches!(shape, Shape::Leaf(..) | Shape::Struct(_)) && choices.below(2) == 0;
        let default = has_default.then(|| choices.below(20) as u8);
        Column { id, name: format!("c{id}"), shape, default }
    }

    fn cell(&self, choices: &mut Choices) -> Cell {
        if choices.below(4) == 0 {
            return Cell::Null;
        }
        match &self.shape {
            Shape::Leaf(..) => Cell::Leaf(choices.below(20) as u8),
            Shape::Struct(members) => Cell::Struct(members.iter().map(|m| (m.id, m.cell(choices))).collect()),
            Shape::List(below) | Shape::Map(_, below) => {
                Cell::Many((0..choices.below(3)).map(|_| below.cell(choices)).collect())
            }
        }
    }

    /// The value in a row of a file that has this cell, or lacks the column.
    fn now(&self, cell: Option<&Cell>) -> Cell {
        match (cell, &self.shape) {
            (None, Shape::Leaf(..)) => self.default.map_or(Cell::Null, Cell::Leaf),
            (None, Shape::Struct(members)) if self.default.is_some() => {
                Cell::Struct(members.iter().map(|m| (m.id, m.now(None))).collect())
            }
            (None, _) => Cell::Null,
            (Some(Cell::Struct(cells)), Shape::Struct(members)) => {
                Cell::Struct(members.iter().map(|m| (m.id, m.now(cells.get(&m.id)))).collect())
            }
            (Some(Cell::Many(cells)), Shape::List(below) | Shape::Map(_, below)) => {
                Cell::Many(cells.iter().map(|c| below.now(Some(c))).collect())
            }
            (Some(cell), _) => cell.clone(),
        }
    }

    fn text(&self, cell: &Cell) -> String {
        match (cell, &self.shape) {
            (Cell::Leaf(n), Shape::Leaf(leaf, wide)) => text(*leaf, *wide, *n),
            (Cell::Struct(cells), Shape::Struct(members)) => {
                let members: Vec<_> =
                    members.iter().map(|m| format!("{}: {}", m.name, m.text(&cells[&m.id]))).collect();
                format!("{{{}}}", members.join(", "))
            }
            (Cell::Many(cells), Shape::List(element)) => {
                format!("[{}]", cells.iter().map(|c| element.text(c)).collect::<Vec<_>>().join(", "))
            }
            (Cell::Many(cells), Shape::Map(_, value)) => {
                let entries = cells.iter().enumerate().map(|(k, c)| format!("{k}: {}", value.text(c)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            _ => "-".into(),
        }
    }

    fn array(&self, cells: &[&Cell]) -> ArrayRef {
        let numbers = || cells.iter().map(|c| if let Cell::Leaf(n) = c { Some(*n) } else { None });
        let nulls = NullBuffer::from_iter(cells.iter().map(|c| !matches!(c, Cell::Null)));
        let arrow = arrow_field(&self.field(), "").unwrap();
        let many: Vec<&[Cell]> = cells.iter().map(|c| if let Cell::Many(m) = c { m.as_slice() } else { &[] }).collect();
        let offsets = OffsetBuffer::from_lengths(many.iter().map(|m| m.len()));
        let below = |column: &Column| column.array(&many.iter().flat_map(|m| m.iter()).collect::<Vec<_>>());
        match (&self.shape, arrow.data_type()) {
            (Shape::Leaf(Leaf::Int, false), _) => Arc::new(Int32Array::from_iter(numbers().map(|n| n.map(i32::from)))),
            (Shape::Leaf(Leaf::Int, true), _) => Arc::new(Int64Array::from_iter(numbers().map(|n| n.map(i64::from)))),
            (Shape::Leaf(Leaf::Float, false), _) => {
                Arc::new(Float32Array::from_iter(numbers().map(|n| n.map(|n| f32::from(n) + 0.5))))
            }
            (Shape::Leaf(Leaf::Float, true), _) => {
                Arc::new(Float64Array::from_iter(numbers().map(|n| n.map(|n| f64::from(n) + 0.5))))
            }
            (Shape::Leaf(Leaf::Date, false), _) => {
                Arc::new(Date32Array::from_iter(numbers().map(|n| n.map(i32::from))))
            }
            (Shape::Leaf(Leaf::Date, true), _) => {
                Arc::new(TimestampMicrosecondArray::from_iter(numbers().map(|n| n.map(|n| i64::from(n) * DAY))))
            }
            (Shape::Leaf(Leaf::Decimal, wide), _) => {
                let numbers = Decimal128Array::from_iter(numbers().map(|n| n.map(|n| i128::from(n) * 100 + 25)));
                Arc::new(numbers.with_precision_and_scale(if *wide { 25 } else { 9 }, 2).unwrap())
            }
            (Shape::Struct(members), DataType::Struct(fields)) => {
                let member = |m: &Column| {
                    let of = |c: &&Cell| if let Cell::Struct(cells) = c { cells[&m.id].clone() } else { Cell::Null };
                    m.array(&cells.iter().map(of).collect::<Vec<_>>().iter().collect::<Vec<_>>())
                };
                Arc::new(StructArray::new(fields.clone(), members.iter().map(member).collect(), Some(nulls)))
            }
            (Shape::List(element), DataType::List(field)) => {
                Arc::new(ListArray::new(field.clone(), offsets, below(element), Some(nulls)))
            }
            (Shape::Map(_, value), DataType::Map(entries, _)) => {
                let DataType::Struct(pair) = entries.data_type() else { panic!("{entries}") };
                let keys: Vec<String> = many.iter().flat_map(|m| (0..m.len()).map(|k| k.to_string())).collect();
                let keys = StringArray::from(keys);
                let pairs = StructArray::new(pair.clone(), vec![Arc::new(keys), below(value)], None);
                Arc::new(MapArray::new(entries.clone(), offsets, pairs, Some(nulls), false))
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Changes a struct's members, or the columns below one of them.
fn evolve(members: &mut Vec<Column>, choices: &mut Choices, next_id: &mut FieldId, depth: usize) {
    let at = choices.below(members.len());
    match choices.below(8) {
        0 | 1 => members.insert(at, Column::new(choices, next_id, depth)),
        2 if members.len() > 1 => drop(members.remove(at)),
        3 => {
            *next_id += 1;
            members[at].name = format!("r{next_id}");
        }
        4 => {
            let column = members.remove(at);
            let to = choices.below(members.len() + 1);
            members.insert(to, column);
        }
        _ => evolve_column(&mut members[at], choices, next_id, depth),
    }
}

fn evolve_column(column: &mut Column, choices: &mut Choices, next_id: &mut FieldId, depth: usize) {
    match &mut column.shape {
        Shape::Leaf(_, wide) => *wide = true,
        Shape::Struct(members) => evolve(members, choices, next_id, depth + 1),
        Shape::List(below) | Shape::Map(_, below) => evolve_column(below, choices, next_id, depth + 1),
    }
}

fn table(columns: &[Column]) -> Schema {
    Schema::new(0, columns.iter().map(Column::field).collect::<Vec<_>>(), Vec::new())
}

/// The leaves that a filter can test, with their path through structs.
fn leaves<'a>(columns: &'a [Column], way: &[FieldId], out: &mut Vec<(Vec<FieldId>, &'a Column)>) {
    for column in columns {
        let way = [way, &[column.id]].concat();
        match &column.shape {
            Shape::Leaf(..) => out.push((way, column)),
            Shape::Struct(members) => leaves(members, &way, out),
            _ => {}
        }
    }
}

fn at(row: &BTreeMap<FieldId, Cell>, way: &[FieldId]) -> Option<u8> {
    match (row.get(&way[0])?, &way[1..]) {
        (Cell::Leaf(n), []) => Some(*n),
        (Cell::Struct(cells), rest) if !rest.is_empty() => at(cells, rest),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn rows_survive_every_evolution(numbers in prop::collection::vec(any::<u16>(), 200..400), steps in 0usize..25) {
        let mut choices = Choices(Box::new(numbers.into_iter().cycle()));
        let dir = tempfile::tempdir().unwrap();
        let mut next_id = 0;
        let mut columns: Vec<_> = (0..3).map(|_| Column::new(&mut choices, &mut next_id, 0)).collect();
        columns.iter_mut().for_each(|c| c.default = None);
        let mut files: Vec<(String, Vec<BTreeMap<FieldId, Cell>>)> = Vec::new();
        for step in 0..=steps {
            if step == 0 || choices.below(5) == 0 {
                let cells: Vec<Vec<Cell>> =
                    (0..8).map(|_| columns.iter().map(|c| c.cell(&mut choices)).collect()).collect();
                let array = |i: usize| columns[i].array(&cells.iter().map(|row| &row[i]).collect::<Vec<_>>());
                let path = write(&dir, &table(&columns), (0..columns.len()).map(array).collect());
                let row = |cells: Vec<Cell>| columns.iter().map(|c| c.id).zip(cells).collect();
                files.push((path, cells.into_iter().map(row).collect()));
            }
            evolve(&mut columns, &mut choices, &mut next_id, 0);
        }
        let schema = table(&columns);
        to_arrow(&schema).unwrap();
        let mut askable = Vec::new();
        leaves(&columns, &[], &mut askable);
        for (path, cells) in files {
            let now = |row: &BTreeMap<FieldId, Cell>| -> BTreeMap<FieldId, Cell> {
                columns.iter().map(|c| (c.id, c.now(row.get(&c.id)))).collect()
            };
            let model: Vec<_> = cells.iter().map(now).collect();
            let text = |row: &BTreeMap<FieldId, Cell>| {
                columns.iter().map(|c| c.text(&row[&c.id])).collect::<Vec<_>>().join("|")
            };
            let found = rows(&read(&context(&schema), &task(&path, BoundPredicate::True)).unwrap());
            prop_assert_eq!(found, model.iter().map(text).collect::<Vec<_>>(), "{}", &schema);
            for (way, column) in &askable {
                let Shape::Leaf(kind, wide) = column.shape else { continue };
                let n = choices.below(20) as u8;
                let (op, holds): (Op, &dyn Fn(Option<u8>) -> bool) = match choices.below(5) {
                    0 => (Op::Eq, &|v| v == Some(n)),
                    1 => (Op::NotEq, &|v| v.is_some_and(|v| v != n)),
                    2 => (Op::GtEq, &|v| v.is_some_and(|v| v >= n)),
                    3 => (Op::IsNull, &|v| v.is_none()),
                    _ => (Op::NotNull, &|v| v.is_some()),
                };
                let literals =
                    if matches!(op, Op::IsNull | Op::NotNull) { vec![] } else { vec![value(kind, wide, n)] };
                let filter = leaf(&schema, column.id, op, literals);
                let found = rows(&read(&context(&schema), &task(&path, filter.clone())).unwrap());
                let wanted: Vec<_> = model.iter().filter(|row| holds(at(row, way))).map(text).collect();
                prop_assert_eq!(found, wanted, "{} of {}", filter, &schema);
            }
        }
    }
}
