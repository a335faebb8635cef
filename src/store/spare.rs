//! Memory of large buffers that a thread is done with, for its next ones.
//!
//! A scan reads one column chunk after the other and needs each for a moment. Memory that goes back to the system in
//! between comes again page by page, each at the price of a fault, and of zeros: in a filtered scan that was a twentieth
//! of the processor's time.

use std::cell::RefCell;
use std::collections::VecDeque;

/// Most bytes that a thread keeps.
const MOST_BYTES: usize = 16 << 20;

/// Least bytes of a buffer that is kept: the allocator itself keeps smaller ones.
const LEAST_BYTES: usize = 64 << 10;

thread_local! {
    static SPARE: RefCell<VecDeque<Vec<u8>>> = const { RefCell::new(VecDeque::new()) };
}

/// An empty buffer with room for so many bytes.
pub(crate) fn take(length: usize) -> Vec<u8> {
    let fits = |spare: &mut VecDeque<Vec<u8>>| {
        // One that is far larger is kept for what needs it.
        let is_near = |buffer: &Vec<u8>| buffer.capacity() >= length && buffer.capacity() / 2 <= length;
        let near = spare.iter().enumerate().filter(|(_, buffer)| is_near(buffer));
        let (at, _) = near.min_by_key(|(_, buffer)| buffer.capacity())?;
        spare.remove(at)
    };
    SPARE.with_borrow_mut(fits).unwrap_or_else(|| Vec::with_capacity(length))
}

/// Keeps a buffer's memory; for that those go that have been there longest.
pub(crate) fn give_back(mut buffer: Vec<u8>) {
    if !(LEAST_BYTES..=MOST_BYTES).contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    SPARE.with_borrow_mut(|spare| {
        spare.push_back(buffer);
        let mut held: usize = spare.iter().map(Vec::capacity).sum();
        while held > MOST_BYTES {
            held -= spare.pop_front().map_or(held, |oldest| oldest.capacity());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_empty_and_large_enough() {
        give_back(vec![7; 100_000]);
        give_back(vec![7; 500_000]);
        let small = take(90_000);
        assert!(small.is_empty() && (100_000..500_000).contains(&small.capacity()));
        // The other one is too large for this, and is there for that.
        assert!(take(1000).capacity() < 100_000);
        assert!((500_000..1_000_000).contains(&take(300_000).capacity()));
        assert!(take(600_000).capacity() >= 600_000);
    }

    #[test]
    fn a_thread_keeps_the_newest_as_far_as_it_may() {
        let held = || SPARE.with_borrow(|spare| spare.iter().map(Vec::capacity).sum::<usize>());
        (0..20).for_each(|_| give_back(Vec::with_capacity(1 << 20)));
        assert_eq!(held(), MOST_BYTES);
        give_back(Vec::with_capacity(3 << 20));
        assert_eq!(held(), MOST_BYTES);
        assert_eq!(take(3 << 20).capacity(), 3 << 20);
        // Far larger than all that is kept, and too small.
        give_back(Vec::with_capacity(MOST_BYTES + 1));
        (0..200).for_each(|_| give_back(Vec::with_capacity(10)));
        assert_eq!(held(), MOST_BYTES - (3 << 20));
    }
}
