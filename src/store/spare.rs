//! Memory of buffers that are not needed any more, for the next ones of the same thread.
//!
//! A scan reads one column chunk after the other and needs each for a moment. Memory that goes back to the system in
//! between comes again page by page, each at the price of a fault, and of zeros: in a filtered scan that was a twentieth
//! of the processor's time.

use std::cell::RefCell;

/// Most bytes that a thread keeps.
const MOST_BYTES: usize = 16 << 20;

/// Most buffers that a thread keeps.
const MOST_BUFFERS: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer with room for so many bytes.
pub(crate) fn take(length: usize) -> Vec<u8> {
    let fits = |spare: &mut Vec<Vec<u8>>| {
        let large = spare.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= length);
        // One that is far larger is kept for what needs it.
        let (at, smallest) = large.min_by_key(|(_, buffer)| buffer.capacity())?;
        (smallest.capacity() / 2 <= length).then(|| spare.swap_remove(at))
    };
    SPARE.with_borrow_mut(fits).unwrap_or_else(|| Vec::with_capacity(length))
}

/// Keeps a buffer's memory, or frees it where there is enough.
pub(crate) fn give_back(mut buffer: Vec<u8>) {
    buffer.clear();
    let keep = |spare: &mut Vec<Vec<u8>>| {
        let held: usize = spare.iter().map(Vec::capacity).sum();
        if buffer.capacity() > 0 && spare.len() < MOST_BUFFERS && held + buffer.capacity() <= MOST_BYTES {
            spare.push(buffer);
        }
    };
    // A thread that ends has nothing to keep it in.
    let _ = SPARE.try_with(|spare| keep(&mut spare.borrow_mut()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_empty_and_large_enough() {
        give_back(vec![7; 1000]);
        give_back(vec![7; 5000]);
        let small = take(900);
        assert!(small.is_empty() && (1000..5000).contains(&small.capacity()));
        // The other one is too large for this, and is there for that.
        assert!(take(10).capacity() < 1000);
        assert!((5000..10_000).contains(&take(3000).capacity()));
        assert!(take(6000).capacity() >= 6000);
    }

    #[test]
    fn a_thread_keeps_no_more_than_it_may() {
        let held = || SPARE.with_borrow(|spare| spare.iter().map(Vec::capacity).sum::<usize>());
        (0..20).for_each(|_| give_back(Vec::with_capacity(1 << 20)));
        assert_eq!(held(), MOST_BYTES);
        while SPARE.with_borrow_mut(Vec::pop).is_some() {}
        (0..200).for_each(|_| give_back(Vec::with_capacity(10)));
        assert_eq!(SPARE.with_borrow(Vec::len), MOST_BUFFERS);
        // Far larger than all that is kept.
        give_back(Vec::with_capacity(MOST_BYTES + 1));
        assert!(held() <= MOST_BYTES);
    }
}
