//! The hash XXH64. Bloom filters hash text and bytes with it (seed 0), and Spark its texts (seed 42).
//!
//! Source: xxHash fast digest algorithm, format description.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

fn round(acc: u64, lane: u64) -> u64 {
    acc.wrapping_add(lane.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

fn merge(acc: u64, lane: u64) -> u64 {
    (acc ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4)
}

/// The hash of some bytes.
#[must_use]
pub fn xxh64(bytes: &[u8], seed: u64) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() { seed.wrapping_add(P5) } else { long(stripes, seed) };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (lanes, rest) = rest.as_chunks::<8>();
    for lane in lanes {
        hash ^= round(0, u64::from_le_bytes(*lane));
        hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(P5);
        hash = hash.rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

/// Four accumulators over stripes of four lanes.
fn long(stripes: &[[u8; 32]], seed: u64) -> u64 {
    let mut acc = [P1.wrapping_add(P2), P2, 0, 0u64.wrapping_sub(P1)].map(|first| seed.wrapping_add(first));
    for stripe in stripes {
        let (lanes, _) = stripe.as_chunks::<8>();
        for (acc, lane) in acc.iter_mut().zip(lanes) {
            *acc = round(*acc, u64::from_le_bytes(*lane));
        }
    }
    let [a, b, c, d] = acc;
    let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
    let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
    acc.into_iter().fold(sum, merge)
}
