//! Reads Protocol Buffers messages, field by field.

use crate::error::{Error, Result};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FieldValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message that is not read yet. Yields the number and value of each field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Message(bytes)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let (taken, rest) = usize::try_from(length).ok().and_then(|n| self.0.split_at_checked(n)).ok_or_else(torn)?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(torn)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(torn())
    }

    fn field(&mut self) -> Result<(u64, FieldValue<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => FieldValue::Number(self.varint()?),
            1 => FieldValue::Number(self.take(8)?.try_into().map(u64::from_le_bytes).map_err(|_| torn())?),
            2 => {
                let length = self.varint()?;
                FieldValue::Bytes(self.take(length)?)
            }
            5 => {
                let number = self.take(4)?.try_into().map(u32::from_le_bytes).map_err(|_| torn())?;
                FieldValue::Number(u64::from(number))
            }
            _ => return Err(torn()),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Message<'a> {
    type Item = Result<(u64, FieldValue<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> FieldValue<'a> {
    pub(super) fn number(self) -> Result<u64> {
        match self {
            FieldValue::Number(n) => Ok(n),
            FieldValue::Bytes(_) => Err(torn()),
        }
    }

    pub(super) fn small(self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| torn())
    }

    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            FieldValue::Bytes(bytes) => Ok(bytes),
            FieldValue::Number(_) => Err(torn()),
        }
    }

    pub(super) fn message(self) -> Result<Message<'a>> {
        self.bytes().map(Message)
    }

    pub(super) fn text(self) -> Result<String> {
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|e| Error::corrupt("a name in an ORC file is not UTF-8").because(e))
    }

    /// Adds the numbers of a repeated field, which writers may pack into one value.
    pub(super) fn append_to(self, out: &mut Vec<u32>) -> Result<()> {
        match self {
            FieldValue::Number(_) => out.push(self.small()?),
            FieldValue::Bytes(bytes) => {
                let mut packed = Message(bytes);
                while !packed.0.is_empty() {
                    out.push(u32::try_from(packed.varint()?).map_err(|_| torn())?);
                }
            }
        }
        Ok(())
    }
}

#[cold]
fn torn() -> Error {
    Error::corrupt("the metadata of the ORC file is torn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let fields: Vec<_> = Message::new(&bytes).collect::<Result<_>>().unwrap();
        let expected = [
            (1, FieldValue::Number(150)),
            (2, FieldValue::Bytes(b"hi")),
            (3, FieldValue::Number(1)),
            (4, FieldValue::Number(2)),
        ];
        assert_eq!(fields, expected);
        for end in 1..bytes.len() {
            // A message that is cut off between fields is a valid shorter message.
            let whole = [3, 7, 12].contains(&end);
            assert_eq!(Message::new(&bytes[..end]).all(|f| f.is_ok()), whole, "{end}");
        }
        assert!(Message::new(&[0xff; 11]).next().unwrap().is_err());
        assert!(Message::new(&[0x0b]).next().unwrap().is_err());
    }

    #[test]
    fn repeated_numbers_are_packed_or_not() {
        let mut out = Vec::new();
        FieldValue::Number(3).append_to(&mut out).unwrap();
        FieldValue::Bytes(&[1, 0x80, 1]).append_to(&mut out).unwrap();
        assert_eq!(out, [3, 1, 128]);
        assert!(FieldValue::Bytes(&[0x80]).append_to(&mut out).is_err());
        assert!(FieldValue::Number(u64::MAX).append_to(&mut out).is_err());
    }
}
