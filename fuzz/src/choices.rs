//! Choices that a fuzzer makes: its input is read byte by byte, and each byte decides something.

/// The choices that are left. After the end, all of them are 0.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

/// Numbers that counts, lengths and offsets are replaced with.
const LIES: [i64; 14] =
    [0, 1, -1, 127, 128, 0xffff, 1 << 24, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, 1 << 62, i64::MAX, i64::MIN];

impl<'a> Choices<'a> {
    /// The choices of an input.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes }
    }

    /// Whether there are choices left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *byte
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// Yes in one of `n` cases. No after the end.
    pub fn once_in(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// The right number, or seldom another one.
    pub fn number(&mut self, right: i64) -> i64 {
        match self.byte() {
            ..=239 => right,
            240..=247 => self.one(&LIES),
            248..=251 => right.wrapping_add(i64::from(self.byte() as i8)),
            252.. => right.wrapping_mul(1 << self.below(40)),
        }
    }

    /// The next bytes, at most `most`.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1).min(self.bytes.len());
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        taken.to_vec()
    }

    /// Changes some bytes of a finished file, or cuts it.
    pub fn damage(&mut self, mut file: Vec<u8>) -> Vec<u8> {
        for _ in 0..self.below(4) {
            let at = usize::from(self.byte()) << 8 | usize::from(self.byte());
            let length = file.len().max(1);
            if let Some(byte) = file.get_mut(at % length) {
                *byte = self.byte();
            }
        }
        if self.once_in(32) {
            let at = usize::from(self.byte()) % file.len().max(1);
            file.truncate(file.len() - at.min(file.len()));
        }
        file
    }
}
