//! Sets of 64-bit numbers in the form of Java's `Roaring64Bitmap`, as columns of Paimon's tables hold them.
//!
//! That form is not the portable one. It is what Java has in memory: a radix tree over the upper 48 bits whose leaves
//! name slots of a list, and that list with the slots that are still free. It depends on how a set came about, not only
//! on what is in it. So a [`LongBitmap`] keeps all of it and grows as Java's does: unions are Java's, byte for byte.
//!
//! Source: Java's `org.roaringbitmap.longlong.Roaring64Bitmap` and `org.roaringbitmap.art` (version 1.2.1), read for
//! their form and their order of steps; there is no specification.

mod bitmap;
mod container;
mod reader;
mod tree;

pub use bitmap::{LongBitmap, unite_long_bitmaps};
