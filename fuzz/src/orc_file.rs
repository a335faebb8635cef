//! ORC files that are right in most places: every encoding of integers, present streams, dictionaries, nesting and
//! codecs, with counts, lengths and offsets that are sometimes wrong.

use crate::choices::Choices;
use crate::numbers::{varint, zigzag};

fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value as u64)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Integers in runs of version 2.
fn integers(choices: &mut Choices<'_>, mut count: usize, signed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    while count > 0 {
        let value = choices.below(4) as i64;
        let stored = if signed { zigzag(value) } else { varint(value as u64) };
        let length = count.min(1 + choices.below(256) * 2);
        match choices.below(4) {
            0 if length >= 3 => {
                let length = length.min(10);
                let value = choices.number(value);
                out.push((length - 3) as u8);
                out.push(value as u8);
                count -= length;
                continue;
            }
            1 => {
                // Bits of one number each in a byte.
                out.extend([0x40 | 7 << 1 | ((length - 1) >> 8) as u8, (length - 1) as u8]);
                out.extend(vec![value as u8; length]);
            }
            2 if choices.once_in(8) => {
                out.extend([0x80 | 7 << 1 | ((length - 1) >> 8) as u8, (length - 1) as u8]);
                out.extend([choices.byte(), choices.byte()]);
                out.extend(choices.bytes(40));
                out.extend(vec![1; length]);
            }
            _ => {
                out.extend([0xc0 | ((length - 1) >> 8) as u8, (length - 1) as u8]);
                out.extend(stored);
                out.extend(zigzag(choices.number(0)));
            }
        }
        count -= length;
    }
    out
}

/// Bits as runs of bytes, all set.
fn present(choices: &mut Choices<'_>, count: usize) -> Vec<u8> {
    let mut left = count.div_ceil(8);
    let mut out = Vec::new();
    while left > 0 {
        if left >= 3 {
            let length = left.min(130);
            out.extend([(length - 3) as u8, choices.number(255) as u8]);
            left -= length;
        } else {
            out.extend([256u16.wrapping_sub(left as u16) as u8]);
            out.extend(vec![255; left]);
            left = 0;
        }
    }
    out
}

/// A type: kind, types below it, names of members.
struct OrcType(i64, &'static [i64], &'static [&'static str]);

/// The columns of the table that [`crate::context`] has.
const TYPES: [OrcType; 9] = [
    OrcType(12, &[1, 2, 3, 5, 7, 8], &["a", "b", "c", "d", "e", "f"]),
    OrcType(4, &[], &[]),
    OrcType(7, &[], &[]),
    OrcType(10, &[4], &[]),
    OrcType(3, &[], &[]),
    OrcType(12, &[6], &["x"]),
    OrcType(14, &[], &[]),
    OrcType(18, &[], &[]),
    OrcType(6, &[], &[]),
];

/// The streams of a column: kind and content.
fn streams(choices: &mut Choices<'_>, kind: i64, rows: usize, dictionary: bool) -> Vec<(i64, Vec<u8>)> {
    let mut out = Vec::new();
    if choices.once_in(3) {
        out.push((0, present(choices, rows)));
    }
    match kind {
        4 | 3 => out.push((1, integers(choices, rows, true))),
        7 if dictionary => {
            out.push((1, integers(choices, rows, false)));
            out.push((3, b"abcdefgh".to_vec()));
            out.push((2, integers(choices, 4, false)));
        }
        7 => {
            out.push((1, vec![b't'; choices.number(rows as i64 * 2).clamp(0, 10_000) as usize]));
            out.push((2, integers(choices, rows, false)));
        }
        10 => out.push((2, integers(choices, rows, false))),
        14 => {
            out.push((1, (0..rows).flat_map(|_| zigzag(7)).collect()));
            out.push((5, integers(choices, rows, true)));
        }
        18 => {
            out.push((1, integers(choices, rows, true)));
            out.push((5, integers(choices, rows, false)));
        }
        6 => out.push((1, vec![1; rows * 8])),
        _ => {}
    }
    out
}

/// A stream or message as the codec stores it.
fn stored(choices: &mut Choices<'_>, codec: i64, content: &[u8]) -> Vec<u8> {
    if codec == 0 {
        return content.to_vec();
    }
    let mut out = Vec::new();
    for chunk in content.chunks(200) {
        let compressed = match codec {
            2 => snap::raw::Encoder::new().compress_vec(chunk).unwrap_or_default(),
            5 => zstd::bulk::compress(chunk, 1).unwrap_or_default(),
            _ => chunk.to_vec(),
        };
        let original = compressed.len() >= chunk.len() || !matches!(codec, 2 | 5);
        let body = if original { chunk } else { &compressed };
        let length = choices.number(body.len() as i64) as u32;
        out.extend_from_slice(&(length << 1 | u32::from(original)).to_le_bytes()[..3]);
        out.extend_from_slice(body);
    }
    out
}

/// A file.
pub fn file(choices: &mut Choices<'_>) -> Vec<u8> {
    let codec = choices.one(&[0, 0, 0, 2, 4, 5, 1]);
    let rows = 1 + choices.below(250);
    let mut out = b"ORC".to_vec();
    let start = out.len() as i64;
    let (mut listed, mut encodings, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for (column, ty) in TYPES.iter().enumerate() {
        let dictionary = choices.once_in(3);
        for (kind, content) in streams(choices, ty.0, rows, dictionary) {
            let content = stored(choices, codec, &content);
            let place = choices.number(column as i64);
            let facts = [number(1, kind), number(2, place), number(3, choices.number(content.len() as i64))];
            listed.push(bytes(1, &facts.concat()));
            data.extend(content);
        }
        let encoding = match ty.0 {
            7 if dictionary => 3,
            6 | 12 => 0,
            _ => choices.one(&[2, 2, 2, 0]),
        };
        let size = if dictionary { number(2, choices.number(4)) } else { Vec::new() };
        encodings.push(bytes(2, &[number(1, encoding), size].concat()));
    }
    let stripe_footer = [listed.concat(), encodings.concat(), bytes(3, b"UTC")].concat();
    let stripe_footer = stored(choices, codec, &stripe_footer);
    out.extend(&data);
    out.extend(&stripe_footer);
    let stripe = [
        number(1, choices.number(start)),
        number(2, choices.number(0)),
        number(3, choices.number(data.len() as i64)),
        number(4, choices.number(stripe_footer.len() as i64)),
        number(5, choices.number(rows as i64)),
    ];
    let mut footer = [number(1, 3), number(2, out.len() as i64), bytes(3, &stripe.concat())].concat();
    for ty in &TYPES {
        let below: Vec<u8> = ty.1.iter().flat_map(|n| varint(choices.number(*n) as u64)).collect();
        let names: Vec<u8> = ty.2.iter().flat_map(|name| bytes(3, name.as_bytes())).collect();
        let decimal = if ty.0 == 14 { [number(5, 9), number(6, 2)].concat() } else { Vec::new() };
        footer.extend(bytes(4, &[number(1, ty.0), bytes(2, &below), names, decimal].concat()));
    }
    footer.extend(number(6, choices.number(rows as i64)));
    footer.extend(number(8, choices.number(10_000)));
    let footer = stored(choices, codec, &footer);
    out.extend(&footer);
    let postscript = [
        number(1, choices.number(footer.len() as i64)),
        number(2, codec),
        number(3, choices.number(256)),
        bytes(4, &[0, 12]),
        number(5, choices.number(0)),
        bytes(8000, b"ORC"),
    ]
    .concat();
    out.extend(&postscript);
    out.push(postscript.len() as u8);
    out
}
