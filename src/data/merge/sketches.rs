//! Unions of sketches that are values of columns.
//!
//! Source: Java's `FieldThetaSketchAgg`, `FieldHllSketchAgg`; the Apache DataSketches documentation.

use datasketches::hll::{HllSketch, HllType, HllUnion};

use crate::codec::theta::ThetaSketch;
use crate::data::read::guard::guard;
use crate::error::{Error, Result};

/// The theta sketch of the values of two others.
///
/// # Errors
/// The errors of [`ThetaSketch::from_bytes`].
pub(crate) fn unite_theta(kept: &[u8], next: &[u8]) -> Result<Vec<u8>> {
    Ok(ThetaSketch::from_bytes(kept)?.union(ThetaSketch::from_bytes(next)?).to_bytes())
}

/// The HyperLogLog sketch of the values of two others, with four bits a register. It has the number of registers of the
/// smaller one.
///
/// # Errors
/// `CorruptTable` if one of them is not a sketch.
pub(crate) fn unite_hll(kept: &[u8], next: &[u8]) -> Result<Vec<u8>> {
    guard(|| {
        let wrong = |e| Error::corrupt("a value is not a HyperLogLog sketch").because(e);
        let (kept, next) = (HllSketch::deserialize(kept).map_err(wrong)?, HllSketch::deserialize(next).map_err(wrong)?);
        let mut union = HllUnion::new(next.lg_config_k()).map_err(wrong)?;
        union.update(&next);
        union.update(&kept);
        Ok(union.to_sketch(HllType::Hll4).serialize())
    })
}
