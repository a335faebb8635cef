use proptest::prelude::*;

use super::*;
use crate::codec::orc::bytes::BitReader;
use crate::codec::orc::encode::{BitWriter, IntegerWriter};
use crate::codec::orc::integers::{IntegerEncoding, Integers};
use crate::codec::orc::stream::Stream;

fn codec() -> impl Strategy<Value = OrcCodec> {
    prop_oneof![Just(OrcCodec::None), Just(OrcCodec::Zlib), Just(OrcCodec::Snappy), Just(OrcCodec::Zstd)]
}

fn stream(bytes: Vec<u8>, compressor: &Compressor) -> Stream {
    stream_from(bytes, compressor, &mut [0, 0].into_iter())
}

/// The rest of a stream after a position. Consumes the numbers of the position that belong to the stream.
fn stream_from(bytes: Vec<u8>, compressor: &Compressor, position: &mut impl Iterator<Item = u64>) -> Stream {
    let (length, start) = (bytes.len(), position.next().unwrap() as usize);
    let mut stream = Stream::new(Arc::new(bytes), start, length, compressor.compression());
    if compressor.compression().codec != OrcCodec::None {
        stream.read(&mut vec![0; position.next().unwrap() as usize]).unwrap();
    }
    stream
}

/// Parts of every shape of runs.
fn numbers() -> impl Strategy<Value = Vec<i64>> {
    let part = prop_oneof![
        (any::<i64>(), 1usize..40).prop_map(|(v, n)| vec![v; n]),
        (-1000i64..1000, -5i64..5, 1usize..40).prop_map(|(v, s, n)| (0..n as i64).map(|i| v + s * i).collect()),
        prop::collection::vec(any::<i64>(), 1..30),
        prop::collection::vec(-100i64..100, 1..600),
        (any::<i32>(), prop::collection::vec(0i64..1000, 1..600)).prop_map(|(v, steps)| {
            steps
                .iter()
                .scan(i64::from(v), |at, s| {
                    *at += s;
                    Some(*at)
                })
                .collect()
        }),
        (any::<i32>(), prop::collection::vec(0i64..3, 1..600)).prop_map(|(v, steps)| {
            steps
                .iter()
                .scan(i64::from(v), |at, s| {
                    *at -= s;
                    Some(*at)
                })
                .collect()
        }),
        Just(vec![i64::MIN, i64::MAX, 0, -1, i64::MIN, i64::MIN + 1]),
        (0u32..64, 1usize..20).prop_map(|(bits, n)| [1i64.wrapping_shl(bits), 0].repeat(n)),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn integers_come_back(values in numbers(), signed in any::<bool>(), codec in codec()) {
        let compressor = Compressor::new(codec, false).unwrap();
        let mut writer = IntegerWriter::new(&compressor, signed);
        values.iter().for_each(|v| writer.push(*v));
        let mut read = Integers::new(stream(writer.take(), &compressor), IntegerEncoding { signed, v2: true });
        prop_assert_eq!(read.read(values.len()).unwrap(), values);
        prop_assert!(read.read(1).is_err());
        prop_assert_eq!(writer.held(), 0);
    }

    /// Readers that jump to a position find the values that were written after it.
    #[test]
    fn positions_lead_to_what_follows(values in numbers(), at in any::<prop::sample::Index>(), codec in codec()) {
        let compressor = Compressor::new(codec, false).unwrap();
        let (mut integers, mut bits) = (IntegerWriter::new(&compressor, true), BitWriter::new(&compressor));
        let at = at.index(values.len() + 1);
        let (mut of_integers, mut of_bits) = (Vec::new(), Vec::new());
        for i in 0..=values.len() {
            if i == at {
                integers.position(&mut of_integers);
                bits.position(&mut of_bits);
            }
            if let Some(v) = values.get(i) {
                integers.push(*v);
                bits.push(v % 3 == 0);
            }
        }
        let mut position = of_integers.into_iter();
        let rest = stream_from(integers.take(), &compressor, &mut position);
        let mut rest = Integers::new(rest, IntegerEncoding { signed: true, v2: true });
        rest.read(position.next().unwrap() as usize).unwrap();
        prop_assert_eq!(rest.read(values.len() - at).unwrap(), &values[at..]);
        prop_assert_eq!(position.next(), None);
        let mut position = of_bits.into_iter();
        let mut rest = BitReader::new(stream_from(bits.take(), &compressor, &mut position));
        let (bytes, used) = (position.next().unwrap() as usize, position.next().unwrap() as usize);
        rest.read(bytes * 8 + used).unwrap();
        let read = rest.read(values.len() - at).unwrap();
        prop_assert!(values[at..].iter().enumerate().all(|(i, v)| (read[i / 8] >> (i % 8) & 1 == 1) == (v % 3 == 0)));
        prop_assert_eq!(position.next(), None);
    }

    #[test]
    fn bits_come_back(parts in prop::collection::vec((any::<bool>(), 0usize..3000), 0..12), codec in codec()) {
        let compressor = Compressor::new(codec, true).unwrap();
        let mut writer = BitWriter::new(&compressor);
        let mut bits = Vec::new();
        for (i, (all, n)) in parts.into_iter().enumerate() {
            match all {
                true => writer.ones(n),
                false => (0..n).for_each(|k| writer.push(k % (i + 1) == 0)),
            }
            bits.extend((0..n).map(|k| all || k % (i + 1) == 0));
        }
        let read = BitReader::new(stream(writer.take(), &compressor)).read(bits.len()).unwrap();
        prop_assert!(bits.iter().enumerate().all(|(i, bit)| (read[i / 8] >> (i % 8) & 1 == 1) == *bit));
    }
}

/// Values of the specification's examples are encoded to its bytes, where the choice of runs is the same.
#[test]
fn examples() {
    let compressor = Compressor::new(OrcCodec::None, false).unwrap();
    let encode = |values: &[i64]| {
        let mut writer = IntegerWriter::new(&compressor, false);
        values.iter().for_each(|v| writer.push(*v));
        writer.take()
    };
    assert_eq!(encode(&[10_000; 5]), [0x0a, 0x27, 0x10]);
    let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
    assert_eq!(encode(&[23_713, 43_806, 57_005, 48_879]), direct);
    assert!(encode(&[]).is_empty());
    assert_eq!(encode(&[5; 300]), [0xc1, 0x2b, 5, 0]);
}

/// Blocks of every size around the limit, and blocks that cannot be compressed.
#[test]
fn bytes_come_back() {
    let noise: Vec<u8> = (0u64..1 << 20).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    for codec in [OrcCodec::None, OrcCodec::Zlib, OrcCodec::Snappy, OrcCodec::Zstd] {
        let compressor = Compressor::new(codec, false).unwrap();
        for length in [0, 1, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 1 << 20] {
            for bytes in [&noise[..length], &vec![7; length]] {
                let mut writer = StreamWriter::new(&compressor);
                for part in bytes.chunks(100_003) {
                    writer.extend(part);
                }
                let mut position = Vec::new();
                writer.position(&mut position);
                assert!(codec == OrcCodec::None || position[1] < BLOCK_SIZE as u64);
                let stored = writer.take();
                let mut read = Vec::new();
                stream(stored, &compressor).append_to(&mut read, length).unwrap();
                assert!(read == bytes, "{codec:?} {length}");
            }
        }
        assert!(stream(compressor.message(&noise), &compressor).read(&mut vec![0; 1 << 20]).is_ok());
    }
    assert!(Compressor::new(OrcCodec::Lz4, false).is_err());
}
