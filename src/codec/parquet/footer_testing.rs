//! Parquet files with footers that no correct writer makes, for tests. Thrift structures are values here.

use std::collections::BTreeMap;

/// A value of Thrift's compact protocol.
#[derive(Clone, Debug)]
pub(crate) enum Thrift {
    Boolean(bool),
    Byte(u8),
    /// A number with its type: 4, 5 or 6 for 16, 32 or 64 bits.
    Number(u8, i64),
    Double([u8; 8]),
    Bytes(Vec<u8>),
    /// Items with their type.
    List(u8, Vec<Thrift>),
    Struct(BTreeMap<i16, Thrift>),
}

impl Thrift {
    pub(crate) fn bytes(v: impl AsRef<[u8]>) -> Thrift {
        Thrift::Bytes(v.as_ref().to_vec())
    }

    /// The fields of a structure.
    pub(crate) fn fields(&mut self) -> &mut BTreeMap<i16, Thrift> {
        let Thrift::Struct(fields) = self else { panic!("no structure: {self:?}") };
        fields
    }

    pub(crate) fn field(&mut self, id: i16) -> &mut Thrift {
        self.fields().get_mut(&id).unwrap()
    }

    pub(crate) fn items(&mut self) -> &mut Vec<Thrift> {
        let Thrift::List(_, items) = self else { panic!("no list: {self:?}") };
        items
    }

    fn kind(&self) -> u8 {
        match self {
            Thrift::Boolean(true) => 1,
            Thrift::Boolean(false) => 2,
            Thrift::Byte(_) => 3,
            Thrift::Number(kind, _) => *kind,
            Thrift::Double(_) => 7,
            Thrift::Bytes(_) => 8,
            Thrift::List(..) => 9,
            Thrift::Struct(_) => 12,
        }
    }

    /// The structure at the start of these bytes.
    pub(crate) fn read(mut bytes: &[u8]) -> Thrift {
        read(&mut bytes, 12)
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write(self, &mut out);
        out
    }
}

fn byte(bytes: &mut &[u8]) -> u8 {
    *bytes.split_off_first().unwrap()
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut out, mut shift) = (0, 0);
    loop {
        let next = byte(bytes);
        out |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return out;
        }
        shift += 7;
    }
}

fn zigzag(bytes: &mut &[u8]) -> i64 {
    let raw = varint(bytes);
    (raw >> 1) as i64 ^ -((raw & 1) as i64)
}

fn read(bytes: &mut &[u8], kind: u8) -> Thrift {
    match kind {
        1 | 2 => Thrift::Boolean(kind == 1),
        3 => Thrift::Byte(byte(bytes)),
        4..=6 => Thrift::Number(kind, zigzag(bytes)),
        7 => Thrift::Double(bytes.split_off(..8).unwrap().try_into().unwrap()),
        8 => {
            let length = varint(bytes) as usize;
            Thrift::Bytes(bytes.split_off(..length).unwrap().to_vec())
        }
        9 => {
            let header = byte(bytes);
            let count = if header >> 4 == 15 { varint(bytes) } else { u64::from(header >> 4) };
            let kind = header & 15;
            let item = |bytes: &mut &[u8]| match kind {
                1 | 2 => Thrift::Boolean(byte(bytes) == 1),
                _ => read(bytes, kind),
            };
            Thrift::List(kind, (0..count).map(|_| item(bytes)).collect())
        }
        12 => {
            let (mut fields, mut id) = (BTreeMap::new(), 0);
            loop {
                let header = byte(bytes);
                if header == 0 {
                    return Thrift::Struct(fields);
                }
                id = if header >> 4 == 0 { zigzag(bytes) as i16 } else { id + i16::from(header >> 4) };
                fields.insert(id, read(bytes, header & 15));
            }
        }
        _ => panic!("type {kind}"),
    }
}

fn put_varint(mut v: u64, out: &mut Vec<u8>) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn put_zigzag(v: i64, out: &mut Vec<u8>) {
    put_varint((v << 1 ^ v >> 63) as u64, out);
}

fn write(value: &Thrift, out: &mut Vec<u8>) {
    match value {
        Thrift::Boolean(_) => {}
        Thrift::Byte(v) => out.push(*v),
        Thrift::Number(_, v) => put_zigzag(*v, out),
        Thrift::Double(v) => out.extend(v),
        Thrift::Bytes(v) => {
            put_varint(v.len() as u64, out);
            out.extend(v);
        }
        Thrift::List(kind, items) => {
            out.push(0xf0 | kind);
            put_varint(items.len() as u64, out);
            for item in items {
                match item {
                    Thrift::Boolean(v) => out.push(if *v { 1 } else { 2 }),
                    item => write(item, out),
                }
            }
        }
        Thrift::Struct(fields) => {
            let mut last = 0;
            for (id, field) in fields {
                match id - last {
                    step @ 1..=15 => out.push((step as u8) << 4 | field.kind()),
                    _ => {
                        out.push(field.kind());
                        put_zigzag(i64::from(*id), out);
                    }
                }
                last = *id;
                write(field, out);
            }
            out.push(0);
        }
    }
}

/// Changes a file's footer. `change` also gets the bytes before the footer, and may add to them.
pub(crate) fn change_file(path: &str, change: impl FnOnce(&mut Thrift, &mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    let mut footer = Thrift::read(&bytes[end - length..end]);
    bytes.truncate(end - length);
    change(&mut footer, &mut bytes);
    let footer = footer.write();
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    std::fs::write(path, bytes).unwrap();
}

/// Changes a file's footer only.
pub(crate) fn change_footer(path: &str, change: impl FnOnce(&mut Thrift)) {
    change_file(path, |footer, _| change(footer));
}

/// The `ColumnChunk` of a leaf column in a row group.
pub(crate) fn chunk_of(footer: &mut Thrift, group: usize, leaf: usize) -> &mut Thrift {
    &mut footer.field(4).items()[group].field(1).items()[leaf]
}

/// Its `ColumnMetaData`.
pub(crate) fn column_of(footer: &mut Thrift, group: usize, leaf: usize) -> &mut Thrift {
    chunk_of(footer, group, leaf).field(3)
}
