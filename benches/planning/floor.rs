//! The floor of planning: what inflating a snapshot's live manifests costs, and nothing else.
//!
//! Reads lines `METADATA_FILE ROUNDS [FIRST_DAY LAST_DAY]`; answers each with a line of JSON: the median seconds to inflate
//! every block on all cores, manifests and bytes. Days prune by the first partition field's summary, as planners do.
//! Delete manifests count if a data manifest is left. Reading files is not timed.

use std::io::BufRead;
use std::time::Instant;

use frazil::codec::avro::Container;
use frazil::error::{Error, Result};
use frazil::iceberg::manifest::list::{ManifestContent, ManifestFile};
use frazil::iceberg::manifest::load::load_manifests;
use frazil::iceberg::spec::metadata_json::parse_metadata;
use frazil::parallel::in_parallel;
use frazil::store::{Location, Store, open_store};
use libdeflater::Decompressor;

/// Compressed blocks that one piece of work inflates.
const BLOCKS_PER_PIECE: usize = 32;

/// A compressed block, as it lies in its file, and its size inflated.
struct Block {
    bytes: Vec<u8>,
    size: usize,
}

fn broken(what: &str) -> Error {
    Error::invalid(what.to_owned())
}

fn day(bytes: &Option<Vec<u8>>) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.as_deref()?.try_into().ok()?))
}

fn may_match(manifest: &ManifestFile, days: Option<(i32, i32)>) -> bool {
    let live = manifest.added_files_count != Some(0) || manifest.existing_files_count != Some(0);
    let first = manifest.partitions.as_ref().and_then(|p| p.first());
    let bounds = first.and_then(|s| Some((day(&s.lower)?, day(&s.upper)?)));
    match (days, bounds) {
        (Some((first, last)), Some((low, high))) => live && low <= last && high >= first,
        _ => live,
    }
}

/// Inflates a block whose size is not known, for the size.
fn block(bytes: &[u8]) -> Result<Block> {
    let mut out = vec![0; bytes.len() * 4];
    loop {
        match Decompressor::new().deflate_decompress(bytes, &mut out) {
            Ok(size) => return Ok(Block { bytes: bytes.to_vec(), size }),
            Err(libdeflater::DecompressionError::InsufficientSpace) if out.len() < 1 << 30 => {
                out.resize(out.len() * 2, 0)
            }
            Err(error) => return Err(broken("a block can't be inflated").because(error)),
        }
    }
}

fn blocks(store: &dyn Store, manifest: &ManifestFile) -> Result<Vec<Block>> {
    let bytes = store.get(&Location::recorded().resolve(&manifest.path)?)?;
    let container = Container::parse(&bytes)?;
    (0..container.blocks.len()).map(|i| block(container.block_data(i)?)).collect()
}

/// Seconds to inflate every block once, on all cores.
fn inflate(pieces: &[&[Block]]) -> Result<f64> {
    let started = Instant::now();
    in_parallel(pieces.len(), |i| {
        let mut inflater = Decompressor::new();
        let mut out = vec![0; pieces[i].iter().map(|b| b.size).max().unwrap_or(0)];
        for block in pieces[i] {
            let done = inflater.deflate_decompress(&block.bytes, &mut out[..block.size]);
            done.map_err(|e| broken("a block can't be inflated").because(e))?;
        }
        Ok(())
    })?;
    Ok(started.elapsed().as_secs_f64())
}

fn measure(line: &str) -> Result<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (Some(path), Some(Ok(rounds))) = (words.first(), words.get(1).map(|w| w.parse::<usize>())) else {
        return Err(broken("write METADATA_FILE ROUNDS [FIRST_DAY LAST_DAY]"));
    };
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<i64>().ok()).map(|n| n.min(i64::from(i32::MAX)) as i32);
    let days = number(2).zip(number(3));
    let store = open_store(path, &Default::default())?;
    let metadata = parse_metadata(&store.get(path)?)?;
    let snapshot = metadata.current_snapshot().ok_or_else(|| broken("the table is empty"))?;
    let mut manifests = load_manifests(store.as_ref(), &Location::recorded(), snapshot)?;
    manifests.retain(|m| may_match(m, days));
    if manifests.iter().all(|m| m.content == ManifestContent::Deletes) {
        manifests.clear();
    }
    let all = in_parallel(manifests.len(), |i| blocks(store.as_ref(), &manifests[i]))?;
    let all: Vec<Block> = all.into_iter().flatten().collect();
    let pieces: Vec<&[Block]> = all.chunks(BLOCKS_PER_PIECE).collect();
    let mut seconds = (0..rounds.max(1)).map(|_| inflate(&pieces)).collect::<Result<Vec<f64>>>()?;
    seconds.sort_by(f64::total_cmp);
    let compressed: usize = all.iter().map(|b| b.bytes.len()).sum();
    let inflated: usize = all.iter().map(|b| b.size).sum();
    Ok(format!(
        "{{\"seconds\": {}, \"manifests\": {}, \"compressed\": {compressed}, \"inflated\": {inflated}}}",
        seconds[seconds.len() / 2],
        manifests.len()
    ))
}

fn main() {
    for line in std::io::stdin().lock().lines().map_while(std::result::Result::ok) {
        match measure(&line) {
            Ok(json) => println!("{json}"),
            Err(error) => println!("{{\"error\": {:?}}}", error.to_string()),
        }
    }
}
