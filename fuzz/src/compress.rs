//! The codecs of generated files.

/// A codec of Parquet pages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    None,
    Snappy,
    Gzip,
    Brotli,
    Zstd,
    Lz4Raw,
}

impl Codec {
    /// All of them; most files are not compressed, so that the fuzzer sees their bytes.
    pub const ALL: [Codec; 9] = [
        Codec::None,
        Codec::None,
        Codec::None,
        Codec::None,
        Codec::Snappy,
        Codec::Gzip,
        Codec::Brotli,
        Codec::Zstd,
        Codec::Lz4Raw,
    ];

    /// The number of the codec in a footer.
    pub fn number(self) -> i64 {
        match self {
            Codec::None => 0,
            Codec::Snappy => 1,
            Codec::Gzip => 2,
            Codec::Brotli => 4,
            Codec::Zstd => 6,
            Codec::Lz4Raw => 7,
        }
    }
}

/// The bytes as the codec stores them.
pub fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    match codec {
        Codec::None => bytes.to_vec(),
        Codec::Snappy => snap::raw::Encoder::new().compress_vec(bytes).unwrap_or_default(),
        Codec::Gzip => {
            let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest());
            let mut out = vec![0; compressor.gzip_compress_bound(bytes.len())];
            let length = compressor.gzip_compress(bytes, &mut out).unwrap_or(0);
            out.truncate(length);
            out
        }
        Codec::Brotli => stored_brotli(bytes),
        Codec::Zstd => zstd::bulk::compress(bytes, 1).unwrap_or_default(),
        Codec::Lz4Raw => stored_lz4(bytes),
    }
}

/// A Brotli stream that stores its bytes (RFC 7932, 9.2): blocks that are not compressed, and an empty last block.
fn stored_brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Bits::default();
    // A window of 16 bits.
    out.put(0, 1);
    for block in bytes.chunks(1 << 16) {
        // Not the last; the length in four groups of four bits; not compressed.
        out.put(0, 1);
        out.put(0, 2);
        out.put(block.len() as u64 - 1, 16);
        out.put(1, 1);
        out.align();
        out.bytes.extend_from_slice(block);
    }
    out.put(3, 2);
    out.bytes
}

/// Bits, the lowest of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u64, count: u32) {
        for bit in 0..count {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value >> bit & 1) as u8) << self.used;
            }
            self.used = (self.used + 1) % 8;
        }
    }

    fn align(&mut self) {
        self.used = 0;
    }
}

/// An LZ4 block of literals alone.
fn stored_lz4(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match bytes.len() {
        n @ ..15 => out.push((n as u8) << 4),
        mut n => {
            out.push(0xf0);
            n -= 15;
            while n >= 255 {
                out.push(255);
                n -= 255;
            }
            out.push(n as u8);
        }
    }
    out.extend_from_slice(bytes);
    out
}
