//! Encodes the fields of a Protocol Buffers message.

use super::integers::zigzag;

/// A message that is being made.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }

    pub(super) fn number(&mut self, field: u64, v: u64) {
        self.varint(field << 3);
        self.varint(v);
    }

    pub(super) fn signed(&mut self, field: u64, v: i64) {
        self.number(field, zigzag(v));
    }

    pub(super) fn double(&mut self, field: u64, v: f64) {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&v.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, field: u64, v: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(v.len() as u64);
        self.0.extend_from_slice(v);
    }

    pub(super) fn text(&mut self, field: u64, v: &str) {
        self.bytes(field, v.as_bytes());
    }

    pub(super) fn packed(&mut self, field: u64, v: &[u64]) {
        let mut inner = Message::default();
        v.iter().for_each(|v| inner.varint(*v));
        self.bytes(field, &inner.0);
    }

    pub(super) fn message(&mut self, field: u64, put: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        put(&mut inner);
        self.bytes(field, &inner.0);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
