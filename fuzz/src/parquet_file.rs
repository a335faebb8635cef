//! Parquet files that are right in most places: every encoding, codec, physical type and nesting, with counts, lengths
//! and offsets that are sometimes wrong.

use crate::choices::Choices;
use crate::compress::{Codec, compress};
use crate::numbers::{varint, zigzag};

/// A structure of the compact protocol: field numbers, types and values.
fn structure(fields: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut last) = (Vec::new(), 0);
    for (id, kind, value) in fields {
        out.push((id - last) << 4 | kind);
        out.extend_from_slice(value);
        last = *id;
    }
    out.push(0);
    out
}

fn binary(bytes: &[u8]) -> Vec<u8> {
    [varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn list(choices: &mut Choices<'_>, kind: u8, items: &[Vec<u8>]) -> Vec<u8> {
    let head = [vec![0xf0 | kind], varint(choices.number(items.len() as i64) as u64)].concat();
    [head, items.concat()].concat()
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
const TRUE: u8 = 1;
const FALSE: u8 = 2;

/// The physical types.
#[derive(Clone, Copy, PartialEq)]
enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    Fixed(usize),
}

impl Physical {
    fn number(self) -> i64 {
        match self {
            Physical::Boolean => 0,
            Physical::Int32 => 1,
            Physical::Int64 => 2,
            Physical::Int96 => 3,
            Physical::Float => 4,
            Physical::Double => 5,
            Physical::Bytes => 6,
            Physical::Fixed(_) => 7,
        }
    }

    fn width(self) -> usize {
        match self {
            Physical::Boolean | Physical::Bytes => 1,
            Physical::Int32 | Physical::Float => 4,
            Physical::Int64 | Physical::Double => 8,
            Physical::Int96 => 12,
            Physical::Fixed(n) => n,
        }
    }
}

/// Around a leaf.
#[derive(Clone, Copy, PartialEq)]
enum Nesting {
    Flat { optional: bool },
    Struct,
    List,
    Map,
}

struct Column {
    name: &'static str,
    physical: Physical,
    /// Fields of the schema element beyond type and name: `ConvertedType`, scale, precision.
    converted: Option<i64>,
    decimal: Option<(i64, i64)>,
    nesting: Nesting,
}

/// Columns of the table that [`crate::context`] has, stored in all ways that fit or nearly fit.
fn column(choices: &mut Choices<'_>) -> Column {
    use Physical as P;
    let flat = Nesting::Flat { optional: choices.once_in(2) };
    let plain = |name, physical, converted, nesting| Column { name, physical, converted, decimal: None, nesting };
    let physical = choices.one(&[P::Boolean, P::Int32, P::Int64, P::Int96, P::Float, P::Double, P::Bytes, P::Fixed(5)]);
    match choices.below(8) {
        0 => plain("a", P::Int64, None, flat),
        1 => plain("b", P::Bytes, Some(0), flat),
        2 => plain("c", P::Int32, None, Nesting::List),
        3 => {
            let physical = choices.one(&[P::Int32, P::Int64, P::Fixed(4), P::Bytes]);
            Column { decimal: Some((2, 9)), ..plain("d", physical, Some(5), Nesting::Struct) }
        }
        4 => plain("e", choices.one(&[P::Int64, P::Int96]), None, flat),
        5 => plain("f", P::Double, None, flat),
        6 => plain("m", physical, None, Nesting::Map),
        _ => {
            let name = choices.one(&["a", "b", "c", "d", "e", "f"]);
            let nesting = choices.one(&[flat, Nesting::List, Nesting::Struct]);
            plain(name, physical, None, nesting)
        }
    }
}

/// A run of one number among levels or indices.
fn run(choices: &mut Choices<'_>, count: usize, value: u32, width: u8) -> Vec<u8> {
    if choices.once_in(3) {
        let groups = count.div_ceil(8);
        let header = varint((choices.number(groups as i64) as u64) << 1 | 1);
        let mut bits = vec![0u8; groups * usize::from(width)];
        for i in 0..count {
            for b in 0..usize::from(width) {
                let at = i * usize::from(width) + b;
                bits[at / 8] |= u8::from(value >> b & 1 == 1) << (at % 8);
            }
        }
        return [header, bits].concat();
    }
    let header = varint((choices.number(count as i64) as u64) << 1);
    let bytes = usize::from(width).div_ceil(8);
    [header, value.to_le_bytes()[..bytes].to_vec()].concat()
}

/// Numbers in the delta encoding: an arithmetic progression.
fn deltas(choices: &mut Choices<'_>, count: usize, first: i64, step: i64) -> Vec<u8> {
    let block = choices.number(128);
    let mini_blocks = choices.number(4);
    let mut out = [varint(block as u64), varint(mini_blocks as u64)].concat();
    out.extend(varint(choices.number(count as i64) as u64));
    out.extend(zigzag(first));
    for _ in 0..count.saturating_sub(1).div_ceil(128) {
        out.extend(zigzag(step));
        for _ in 0..4 {
            let width = if choices.once_in(16) { choices.byte() } else { 0 };
            out.push(width);
        }
        out.extend(choices.bytes(8));
    }
    out
}

fn plain(choices: &mut Choices<'_>, physical: Physical, count: usize) -> Vec<u8> {
    match physical {
        Physical::Boolean => vec![choices.byte(); count.div_ceil(8)],
        Physical::Bytes => {
            let mut out = Vec::new();
            for _ in 0..count {
                let text = choices.bytes(6);
                out.extend((choices.number(text.len() as i64) as u32).to_le_bytes());
                out.extend(text);
            }
            out
        }
        _ => {
            let value = choices.bytes(physical.width());
            let mut one = vec![0; physical.width()];
            one[..value.len()].copy_from_slice(&value);
            one.repeat(count)
        }
    }
}

const ENCODINGS: [i64; 10] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 1];

/// The values of a page in an encoding; whether it needs a dictionary.
fn values(choices: &mut Choices<'_>, physical: Physical, count: usize, encoding: i64) -> Vec<u8> {
    match encoding {
        2 | 8 => {
            let width = choices.number(2) as u8;
            let value = choices.below(4) as u32;
            [vec![width], run(choices, count, value, width.min(32))].concat()
        }
        3 => {
            let bits = run(choices, count, 1, 1);
            [(choices.number(bits.len() as i64) as u32).to_le_bytes().to_vec(), bits].concat()
        }
        5 => {
            let first = i64::from(choices.byte());
            deltas(choices, count, first, 1)
        }
        6 => {
            let lengths = deltas(choices, count, 2, 0);
            [lengths, vec![b'x'; choices.number(2 * count as i64).clamp(0, 10_000) as usize]].concat()
        }
        7 => {
            let prefixes = deltas(choices, count, 0, i64::from(choices_step(count)));
            let suffixes = deltas(choices, count, 1, 0);
            [prefixes, suffixes, vec![b'y'; count]].concat()
        }
        9 => plain(choices, physical, count),
        _ => plain(choices, physical, count),
    }
}

/// Prefixes grow by this.
fn choices_step(count: usize) -> i8 {
    if count < 100 { 1 } else { 0 }
}

struct Levels {
    repetition: Vec<u8>,
    definition: Vec<u8>,
}

/// All rows have one value, or some of them none.
fn levels(choices: &mut Choices<'_>, nesting: Nesting, count: usize, v1: bool) -> Levels {
    let (repetition, definition) = match nesting {
        Nesting::Flat { optional } => (0, u32::from(optional)),
        Nesting::Struct => (0, 2),
        Nesting::List => (1, 3),
        Nesting::Map => (1, 3),
    };
    let mut one = |highest: u32, value: u32| {
        if highest == 0 {
            return Vec::new();
        }
        let width = (32 - highest.leading_zeros()) as u8;
        let half = count / 2;
        let bytes = [run(choices, half, value, width), run(choices, count - half, value, width)].concat();
        match v1 {
            true => [(choices.number(bytes.len() as i64) as u32).to_le_bytes().to_vec(), bytes].concat(),
            false => bytes,
        }
    };
    let levels = Levels { repetition: one(repetition, 0), definition: one(definition, definition) };
    levels
}

struct Pages {
    bytes: Vec<u8>,
    dictionary: bool,
    values: usize,
    encoding: i64,
}

fn header(choices: &mut Choices<'_>, kind: i64, sizes: (usize, usize), inner: (u8, Vec<u8>)) -> Vec<u8> {
    let (uncompressed, compressed) = (choices.number(sizes.0 as i64), choices.number(sizes.1 as i64));
    let fields = [(1, I32, zigzag(kind)), (2, I32, zigzag(uncompressed)), (3, I32, zigzag(compressed))];
    structure(&[&fields[..], &[(inner.0, STRUCT, inner.1)]].concat())
}

fn pages(choices: &mut Choices<'_>, column: &Column, codec: Codec, rows: usize) -> Pages {
    let fitting: &[i64] = match column.physical {
        Physical::Boolean => &[0, 3],
        Physical::Bytes => &[0, 8, 6, 7, 2],
        Physical::Fixed(_) => &[0, 8, 7, 9],
        Physical::Int32 | Physical::Int64 => &[0, 8, 5, 9, 2],
        _ => &[0, 8, 9],
    };
    let encoding = if choices.once_in(16) { choices.one(&ENCODINGS) } else { choices.one(fitting) };
    let dictionary = matches!(encoding, 2 | 8) != choices.once_in(24);
    let mut bytes = Vec::new();
    if dictionary {
        let content = plain(choices, column.physical, 4);
        let stored = compress(codec, &content);
        let count = choices.number(4);
        let inner = structure(&[(1, I32, zigzag(count)), (2, I32, zigzag(choices.one(&[0, 2])))]);
        bytes.extend(header(choices, 2, (content.len(), stored.len()), (7, inner)));
        bytes.extend(stored);
    }
    let mut left = rows;
    while left > 0 {
        let count = if choices.once_in(2) { left } else { left.div_ceil(2) };
        left -= count;
        let v2 = choices.once_in(3);
        let levels = levels(choices, column.nesting, count, !v2);
        let content = values(choices, column.physical, count, encoding);
        let claimed = zigzag(choices.number(count as i64));
        if v2 {
            let stored = compress(codec, &content);
            let (r, d) = (levels.repetition.len(), levels.definition.len());
            let plain = codec == Codec::None || choices.once_in(16);
            let body = if plain { content.clone() } else { stored };
            let inner = structure(&[
                (1, I32, claimed),
                (2, I32, zigzag(choices.number(0))),
                (3, I32, zigzag(choices.number(count as i64))),
                (4, I32, zigzag(encoding)),
                (5, I32, zigzag(choices.number(d as i64))),
                (6, I32, zigzag(choices.number(r as i64))),
                (7, if plain { FALSE } else { TRUE }, Vec::new()),
            ]);
            bytes.extend(header(choices, 3, (r + d + content.len(), r + d + body.len()), (8, inner)));
            bytes.extend([levels.repetition, levels.definition, body].concat());
        } else {
            let content = [levels.repetition, levels.definition, content].concat();
            let stored = compress(codec, &content);
            let inner =
                structure(&[(1, I32, claimed), (2, I32, zigzag(encoding)), (3, I32, zigzag(3)), (4, I32, zigzag(3))]);
            bytes.extend(header(choices, 0, (content.len(), stored.len()), (5, inner)));
            bytes.extend(stored);
        }
    }
    Pages { bytes, dictionary, values: rows, encoding }
}

fn element(name: &str, kind: Option<Physical>, repetition: i64, children: i64, column: &Column) -> Vec<u8> {
    let mut fields = Vec::new();
    if let Some(physical) = kind {
        fields.push((1, I32, zigzag(physical.number())));
        if let Physical::Fixed(n) = physical {
            fields.push((2, I32, zigzag(n as i64)));
        }
    }
    fields.push((3, I32, zigzag(repetition)));
    fields.push((4, BINARY, binary(name.as_bytes())));
    if children > 0 {
        fields.push((5, I32, zigzag(children)));
    }
    if kind.is_some() {
        fields.extend(column.converted.map(|c| (6, I32, zigzag(c))));
        fields.extend(column.decimal.map(|(scale, _)| (7, I32, zigzag(scale))));
        fields.extend(column.decimal.map(|(_, precision)| (8, I32, zigzag(precision))));
    } else {
        let converted = match column.nesting {
            Nesting::List if children > 0 && repetition == 1 => Some(3),
            Nesting::Map if children > 0 && repetition == 1 => Some(1),
            _ => None,
        };
        fields.extend(converted.map(|c| (6, I32, zigzag(c))));
    }
    structure(&fields)
}

/// The schema elements of a column, and the paths of its leaves.
fn elements(column: &Column) -> (Vec<Vec<u8>>, Vec<Vec<&'static str>>) {
    let (leaf, name) = (Some(column.physical), column.name);
    match column.nesting {
        Nesting::Flat { optional } => (vec![element(name, leaf, i64::from(optional), 0, column)], vec![vec![name]]),
        Nesting::Struct => {
            let group = element(name, None, 1, 1, column);
            (vec![group, element("x", leaf, 1, 0, column)], vec![vec![name, "x"]])
        }
        Nesting::List => {
            let groups = [element(name, None, 1, 1, column), element("list", None, 2, 1, column)];
            let path = vec![name, "list", "element"];
            ([&groups[..], &[element("element", leaf, 1, 0, column)]].concat(), vec![path])
        }
        Nesting::Map => {
            let groups = [element(name, None, 1, 1, column), element("key_value", None, 2, 2, column)];
            let leaves = [element("key", leaf, 0, 0, column), element("value", leaf, 1, 0, column)];
            let paths = vec![vec![name, "key_value", "key"], vec![name, "key_value", "value"]];
            ([groups, leaves].concat(), paths)
        }
    }
}

/// A file.
pub fn file(choices: &mut Choices<'_>) -> Vec<u8> {
    let rows = 1 + choices.below(200);
    let columns: Vec<Column> = (0..1 + choices.below(3)).map(|_| column(choices)).collect();
    let codec = choices.one(&Codec::ALL);
    let mut out = b"PAR1".to_vec();
    let mut schema = Vec::new();
    let mut chunks = Vec::new();
    for column in &columns {
        let (elements, paths) = elements(column);
        schema.extend(elements);
        for path in paths {
            let start = out.len() as i64;
            let pages = pages(choices, column, codec, rows);
            out.extend(&pages.bytes);
            let size = choices.number(pages.bytes.len() as i64);
            let names: Vec<Vec<u8>> = path.iter().map(|name| binary(name.as_bytes())).collect();
            // Some footers do not name all encodings.
            let named = if choices.once_in(8) { vec![zigzag(0)] } else { vec![zigzag(pages.encoding), zigzag(3)] };
            let mut fields = vec![
                (1, I32, zigzag(column.physical.number())),
                (2, LIST, list(choices, I32, &named)),
                (3, LIST, list(choices, BINARY, &names)),
                (4, I32, zigzag(codec.number())),
                (5, I64, zigzag(choices.number(pages.values as i64))),
                (6, I64, zigzag(size)),
                (7, I64, zigzag(size)),
                (9, I64, zigzag(choices.number(start))),
            ];
            if pages.dictionary {
                fields.push((11, I64, zigzag(choices.number(start))));
            }
            chunks.push(structure(&[(2, I64, zigzag(0)), (3, STRUCT, structure(&fields))]));
        }
    }
    let root = structure(&[(4, BINARY, binary(b"r")), (5, I32, zigzag(choices.number(columns.len() as i64)))]);
    let schema = [vec![root], schema].concat();
    let claimed = choices.number(rows as i64);
    let group = structure(&[
        (1, LIST, list(choices, STRUCT, &chunks)),
        (2, I64, zigzag(choices.number(out.len() as i64))),
        (3, I64, zigzag(claimed)),
    ]);
    let footer = structure(&[
        (1, I32, zigzag(1)),
        (2, LIST, list(choices, STRUCT, &schema)),
        (3, I64, zigzag(claimed)),
        (4, LIST, list(choices, STRUCT, &[group])),
    ]);
    out.extend(&footer);
    out.extend((choices.number(footer.len() as i64) as u32).to_le_bytes());
    out.extend(b"PAR1");
    out
}
