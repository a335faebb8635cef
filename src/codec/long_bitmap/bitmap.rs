//! A set of 64-bit numbers, and its encoded form.

use super::container::ShortSet;
use super::reader::{SetReader, damaged};
use super::tree::{TreeKey, TreeNode};
use crate::error::Result;

const EMPTY: u8 = 0;

const FULL: u8 = 1;

/// Marks a list that contains all slots.
const WHOLE_LIST: u8 = 0xfe;

/// A set of 64-bit numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongBitmap {
    root: Option<TreeNode>,
    /// The containers of keys, and slots that are free.
    slots: Vec<Option<ShortSet>>,
    /// The first slot that was never used.
    next: usize,
}

impl LongBitmap {
    /// Decodes the set at the beginning of some bytes. Like Java, it ignores the bytes after the set. Memory is
    /// bounded by a fixed multiple of their length. A free slot, one byte, takes most.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a set, or contradict themselves.
    pub fn from_bytes(bytes: &[u8]) -> Result<LongBitmap> {
        let mut from = SetReader(bytes);
        match from.byte()? {
            EMPTY => return Ok(LongBitmap::default()),
            FULL => {}
            other => return Err(damaged(&format!("it begins with {other}"))),
        }
        let keys = from.long()?;
        let root = TreeNode::read(&mut from, &[])?;
        // A value has at most 2 GiB: less than one list holds.
        if from.size()? != 1 || from.byte()? != WHOLE_LIST {
            return Err(damaged("its containers are not in one list"));
        }
        let slots = read_slots(&mut from)?;
        let (containers, list, last) = (from.long()?, from.size()?, from.size()?);
        let bitmap = LongBitmap { root: Some(root), slots, next: last.saturating_add(1) };
        bitmap.check(keys, containers)?;
        if list != 0 || bitmap.next > bitmap.slots.len() || bitmap.slots.iter().skip(bitmap.next).any(Option::is_some) {
            return Err(damaged("its last container is another"));
        }
        Ok(bitmap)
    }

    /// Checks that each key has its own container and each container a key. Their number must be the one that the set
    /// records.
    fn check(&self, keys: u64, containers: u64) -> Result<()> {
        let leaves = self.leaves();
        let mut free: Vec<bool> = self.slots.iter().map(Option::is_some).collect();
        for (_, slot) in &leaves {
            match free.get_mut(*slot) {
                Some(is_free @ true) => *is_free = false,
                _ => return Err(damaged("a key has no container of its own")),
            }
        }
        let count = leaves.len() as u64;
        if count != keys || count != containers || free.contains(&true) {
            return Err(damaged(&format!("it has {count} keys, and says {keys} keys and {containers} containers")));
        }
        Ok(())
    }

    fn leaves(&self) -> Vec<(TreeKey, usize)> {
        let mut leaves = Vec::new();
        if let Some(root) = &self.root {
            root.leaves(&mut leaves);
        }
        leaves
    }

    /// The union of both sets.
    #[must_use]
    pub fn union(mut self, mut other: LongBitmap) -> LongBitmap {
        for (key, slot) in other.leaves() {
            if let Some(container) = other.slots.get_mut(slot).and_then(Option::take) {
                self.add(key, container);
            }
        }
        self.slots.iter_mut().flatten().for_each(ShortSet::optimize);
        self
    }

    fn add(&mut self, key: TreeKey, container: ShortSet) {
        let known = match &mut self.root {
            Some(root) => root.find_or_insert(key, 0, self.next),
            None => {
                self.root = Some(TreeNode::leaf(key, self.next));
                None
            }
        };
        if let Some(slot) = known {
            if let Some(held) = self.slots.get_mut(slot).and_then(Option::as_mut) {
                held.unite(&container);
            }
            return;
        }
        let size = self.slots.len();
        if self.next >= size {
            // Java also stores free slots, so their number must be the same as in Java.
            self.slots.resize_with((size + size / 2).max(self.next + 1), || None);
        }
        if let Some(free) = self.slots.get_mut(self.next) {
            *free = Some(container);
        }
        self.next += 1;
    }

    /// The inverse of [`LongBitmap::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let Some(root) = &self.root else { return vec![EMPTY] };
        let count = self.slots.iter().flatten().count() as u64;
        let mut out = vec![FULL];
        out.extend(count.to_le_bytes());
        root.write(&mut out);
        out.extend(1u32.to_le_bytes());
        out.push(WHOLE_LIST);
        out.extend((self.slots.len() as u32).to_le_bytes());
        for slot in &self.slots {
            out.push(u8::from(slot.is_some()));
            if let Some(container) = slot {
                container.write(&mut out);
            }
        }
        out.extend(count.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend((self.next.saturating_sub(1) as u32).to_le_bytes());
        out
    }
}

/// The union of two 64-bit bitmaps, as bytes.
///
/// # Errors
/// As [`LongBitmap::from_bytes`].
pub fn unite_long_bitmaps(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    Ok(LongBitmap::from_bytes(a)?.union(LongBitmap::from_bytes(b)?).to_bytes())
}

fn read_slots(from: &mut SetReader<'_>) -> Result<Vec<Option<ShortSet>>> {
    let mut slots = Vec::new();
    for _ in 0..from.size()? {
        slots.push(match from.byte()? {
            0 => None,
            1 => Some(ShortSet::read(from)?),
            other => return Err(damaged(&format!("a slot is marked with {other}"))),
        });
    }
    Ok(slots)
}

#[cfg(test)]
#[path = "bitmap_tests.rs"]
mod tests;
