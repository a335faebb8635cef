//! The adaptive radix tree that finds a container by the upper six bytes of its numbers.
//!
//! A branch has room for 4, 16, 48 or 256 children, by the next byte after the prefix that they share. It grows when it
//! is full. Its form depends on the order in which keys were added and removed, and the form is stored.

use super::reader::{SetReader, damaged};
use crate::error::Result;

/// Bytes of a key.
const KEY_BYTES: usize = 6;

/// The upper bytes of numbers, the highest first.
pub(super) type TreeKey = [u8; KEY_BYTES];

const LEAF: u8 = 4;

/// Children of a branch with places.
const PLACES: usize = 48;

/// The mark of a place without child, in a branch with places.
const FREE: u8 = 0xff;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeNode {
    Leaf(TreeLeaf),
    Branch(Branch),
}

/// A key and where its container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeLeaf {
    key: TreeKey,
    slot: usize,
    /// Keys of branches that had only this child left. They mean nothing.
    prefix: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// The next bytes of all keys.
    prefix: Vec<u8>,
    index: BranchIndex,
    /// By the byte that follows, ascending.
    children: Vec<(u8, TreeNode)>,
}

/// How a branch finds a child.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BranchIndex {
    /// A list of bytes with room for 4 or 16. The bytes of children come first, then those of removed ones, or zeros.
    List { leftovers: Vec<u8> },
    /// For each byte the place of its child. In memory: the places of the children, in their order.
    Places(Vec<u8>),
    /// A bit for each byte.
    Bits,
}

impl TreeNode {
    pub(super) fn leaf(key: TreeKey, slot: usize) -> TreeNode {
        TreeNode::Leaf(TreeLeaf { key, slot, prefix: Vec::new() })
    }

    /// The next node and all below it, whose keys begin with `path`.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a node, or its keys are out of order or in a wrong place.
    pub(super) fn read(from: &mut SetReader<'_>, path: &[u8]) -> Result<TreeNode> {
        let (kind, count, length) = (from.byte()?, usize::from(from.short()?), usize::from(from.byte()?));
        let prefix = from.take(length)?.to_vec();
        if kind == LEAF {
            let (key, slot) = (from.array()?, from.long()?);
            if length > KEY_BYTES || count != 0 || !key.starts_with(path) {
                return Err(damaged("a key is where it does not belong"));
            }
            let slot = usize::try_from(slot).map_err(|e| damaged("a key has no container").because(e))?;
            return Ok(TreeNode::Leaf(TreeLeaf { key, slot, prefix }));
        }
        let mut path = [path, &prefix].concat();
        if path.len() >= KEY_BYTES {
            return Err(damaged("its tree is deeper than keys are long"));
        }
        let (index, bytes) = BranchIndex::read(from, kind, count)?;
        if bytes.is_empty() || bytes.len() != count || !bytes.is_sorted_by(|a, b| a < b) {
            return Err(damaged("branches of its tree are out of order"));
        }
        let children = bytes.into_iter().map(|byte| {
            path.push(byte);
            let child = TreeNode::read(from, &path);
            path.pop();
            Ok((byte, child?))
        });
        let children = children.collect::<Result<_>>()?;
        Ok(TreeNode::Branch(Branch { prefix, index, children }))
    }

    /// The inverse of [`TreeNode::read`].
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let (kind, count, prefix) = match self {
            TreeNode::Leaf(leaf) => (LEAF, 0, &leaf.prefix),
            TreeNode::Branch(branch) => (branch.kind(), branch.children.len(), &branch.prefix),
        };
        out.push(kind);
        out.extend((count as u16).to_le_bytes());
        out.push(prefix.len() as u8);
        out.extend(prefix);
        match self {
            TreeNode::Leaf(leaf) => {
                out.extend(leaf.key);
                out.extend((leaf.slot as u64).to_le_bytes());
            }
            TreeNode::Branch(branch) => {
                branch.write_index(out);
                branch.children.iter().for_each(|(_, child)| child.write(out));
            }
        }
    }

    /// Adds all keys and their slots to `out`, ascending.
    pub(super) fn leaves(&self, out: &mut Vec<(TreeKey, usize)>) {
        match self {
            TreeNode::Leaf(leaf) => out.push((leaf.key, leaf.slot)),
            TreeNode::Branch(branch) => branch.children.iter().for_each(|(_, child)| child.leaves(out)),
        }
    }

    /// The slot of a key in the tree. If the tree lacks the key, it is added with `slot`. The first `depth` bytes of
    /// the key are those of this node.
    pub(super) fn find_or_insert(&mut self, key: TreeKey, depth: usize, slot: usize) -> Option<usize> {
        let rest = key.get(depth..).unwrap_or_default();
        let (shared, known, byte) = match self {
            TreeNode::Leaf(leaf) => {
                let pairs = leaf.key.iter().zip(&key).enumerate();
                let Some((at, (known, byte))) = pairs.into_iter().find(|(_, (a, b))| a != b) else {
                    return Some(leaf.slot);
                };
                leaf.prefix.clear();
                (at.saturating_sub(depth), *known, *byte)
            }
            TreeNode::Branch(branch) => {
                let shared = branch.prefix.iter().zip(rest).take_while(|(a, b)| a == b).count();
                // The path to a branch is shorter than a key.
                let byte = rest.get(shared).copied().unwrap_or_default();
                let Some(known) = branch.prefix.get(shared).copied() else {
                    return match branch.children.binary_search_by_key(&byte, |(b, _)| *b) {
                        Ok(i) => branch.children.get_mut(i)?.1.find_or_insert(key, depth + shared + 1, slot),
                        Err(i) => {
                            branch.insert(i, byte, TreeNode::leaf(key, slot));
                            None
                        }
                    };
                };
                branch.prefix.drain(..=shared);
                (shared, known, byte)
            }
        };
        let prefix = rest.get(..shared).unwrap_or_default().to_vec();
        let index = BranchIndex::List { leftovers: vec![0; 4] };
        let mut branch = Branch { prefix, index, children: Vec::with_capacity(2) };
        let below = std::mem::replace(self, TreeNode::leaf(key, slot));
        branch.insert(0, known, below);
        let new = std::mem::replace(self, TreeNode::Branch(branch));
        if let TreeNode::Branch(branch) = self {
            branch.insert(usize::from(known < byte), byte, new);
        }
        None
    }
}

impl Branch {
    /// The number of its type: 0 to 3.
    fn kind(&self) -> u8 {
        match &self.index {
            BranchIndex::List { leftovers } if self.children.len() + leftovers.len() <= 4 => 0,
            BranchIndex::List { .. } => 1,
            BranchIndex::Places(_) => 2,
            BranchIndex::Bits => 3,
        }
    }

    /// Adds a child before the one at `at`.
    fn insert(&mut self, at: usize, byte: u8, child: TreeNode) {
        self.grow();
        match &mut self.index {
            BranchIndex::List { leftovers } => {
                leftovers.remove(0);
            }
            BranchIndex::Places(places) => {
                let free = |place: &u8| !places.contains(place);
                // Removed children leave gaps.
                let last = places.len() as u8;
                let place = if free(&last) { last } else { (0..last).find(free).unwrap_or_default() };
                places.insert(at, place);
            }
            BranchIndex::Bits => {}
        }
        self.children.insert(at, (byte, child));
    }

    /// Makes room for one more child.
    fn grow(&mut self) {
        let count = self.children.len();
        match &mut self.index {
            BranchIndex::List { leftovers } if leftovers.is_empty() => {
                self.index = match count {
                    ..16 => BranchIndex::List { leftovers: vec![0; 16 - count] },
                    _ => BranchIndex::Places((0..count as u8).collect()),
                };
            }
            BranchIndex::Places(_) if count == PLACES => self.index = BranchIndex::Bits,
            _ => {}
        }
    }

    fn write_index(&self, out: &mut Vec<u8>) {
        let bytes = self.children.iter().map(|(byte, _)| *byte);
        match &self.index {
            BranchIndex::List { leftovers } => {
                let listed: Vec<u8> = bytes.chain(leftovers.iter().copied()).collect();
                out.extend(swapped(&listed));
            }
            BranchIndex::Places(places) => {
                let mut table = [FREE; 256];
                bytes.zip(places).for_each(|(byte, place)| table[usize::from(byte)] = *place);
                out.extend(swapped(&table));
            }
            BranchIndex::Bits => {
                let mut bits = [0; 32];
                bytes.for_each(|byte| bits[usize::from(byte >> 3)] |= 1 << (byte & 7));
                out.extend(bits);
            }
        }
    }
}

impl BranchIndex {
    /// The kind of a branch with this number of children, and the bytes of the children.
    fn read(from: &mut SetReader<'_>, kind: u8, count: usize) -> Result<(BranchIndex, Vec<u8>)> {
        let too_many = || damaged("a branch of its tree has more children than it has room for");
        Ok(match kind {
            0 | 1 => {
                let mut bytes = swapped(from.take(if kind == 0 { 4 } else { 16 })?);
                if count > bytes.len() {
                    return Err(too_many());
                }
                let leftovers = bytes.split_off(count);
                (BranchIndex::List { leftovers }, bytes)
            }
            2 => {
                let table = swapped(from.take(256)?);
                let taken = (0..=u8::MAX).zip(table).filter(|(_, place)| *place != FREE);
                let (bytes, places): (Vec<u8>, Vec<u8>) = taken.unzip();
                let mut sorted = places.clone();
                sorted.sort_unstable();
                if sorted.last().is_some_and(|last| usize::from(*last) >= PLACES) || !sorted.is_sorted_by(|a, b| a < b)
                {
                    return Err(too_many());
                }
                (BranchIndex::Places(places), bytes)
            }
            3 => {
                let bits = from.take(32)?;
                let has = |byte: &u8| bits.get(usize::from(byte >> 3)).is_some_and(|b| b >> (byte & 7) & 1 == 1);
                (BranchIndex::Bits, (0..=u8::MAX).filter(has).collect())
            }
            _ => return Err(damaged(&format!("there are no nodes of type {kind}"))),
        })
    }
}

/// Turns bytes into Java's order in an `int` or in `long`s: the first byte is the highest, and is stored last.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(8).flat_map(|word| word.iter().rev().copied()).collect()
}
