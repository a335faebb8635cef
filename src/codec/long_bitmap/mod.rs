//! Sets of 64-bit numbers in the form of Java's `Roaring64Bitmap`, as columns of Paimon's tables hold them.
//!
//! That form is not the portable one. It is Java's form in memory: a radix tree over the upper 48 bits, and a list of
//! slots with its free slots. The leaves of the tree name slots. The form depends on how a set was built, not only on
//! its members. So a [`LongBitmap`] keeps all of it and grows as Java's does. Its unions are those of Java, byte for
//! byte.
//!
//! Source: Java's `org.roaringbitmap.longlong.Roaring64Bitmap` and `org.roaringbitmap.art` (version 1.2.1), read for
//! their form and their order of steps. There is no specification.

mod bitmap;
mod container;
mod reader;
mod tree;

pub use bitmap::{LongBitmap, unite_long_bitmaps};
