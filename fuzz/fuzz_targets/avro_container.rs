//! Any bytes: the container's blocks lie in the file, inflate within the bound, and skipping them ends.
#![no_main]

use frazil::codec::avro::{Budget, Container, Cursor, Inflater, Skip};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(container) = Container::parse(data) else { return };
    let skip = container.schema().and_then(|node| Skip::of(&node, &mut Budget::default()));
    let mut inflater = Inflater::default();
    for (i, block) in container.blocks.iter().enumerate() {
        let compressed = container.block_data(i).expect("a block of the index");
        let Ok(raw) = inflater.inflate(container.codec, compressed) else { continue };
        assert!(raw.len() <= (compressed.len() * 1032).max(1 << 20));
        let Ok(skip) = &skip else { continue };
        let mut cursor = Cursor::new(raw);
        for _ in 0..block.count.min(raw.len() as u64) {
            match skip.run(cursor.clone()) {
                Ok(after) => {
                    assert!(after.rest().len() <= cursor.rest().len());
                    cursor = after;
                }
                Err(_) => break,
            }
        }
    }
});
