//! Table options that say how files are written, in the words of the writers of [`crate::data`].
//!
//! Source: Java's `CoreOptions` (`file.compression`, `file.block-size`, `target-file-size`, each by level where they
//! can be), `ParquetFileFormat`, `OrcFileFormat`, `AvroFileFormat`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::format::diagnosis::health::FileSizes;
use crate::format::task::FileFormat;
use crate::types::options::Options;

const MIB: i64 = 1 << 20;

/// The default size of a full file, in tables without a primary key and in tables with one.
const APPEND_TARGET: i64 = 256 * MIB;
const KEYED_TARGET: i64 = 128 * MIB;

/// The value for a level of an option such as `0:avro,5:parquet`.
pub(crate) fn by_level<'a>(options: &Options<'a>, key: &str, level: i32) -> Option<&'a str> {
    let of_level = |text: &'a str| text.split_once(':').filter(|(l, _)| l.trim() == level.to_string());
    options.list(key).into_iter().find_map(of_level).map(|(_, value)| value.trim())
}

/// The format of files of a level.
///
/// # Errors
/// `Unsupported` for formats that are not written.
pub(crate) fn file_format(options: &Options<'_>, level: i32) -> Result<FileFormat> {
    let name =
        by_level(options, "file.format.per.level", level).map_or_else(|| options.file_format(), str::to_lowercase);
    FileFormat::parse_rows(&name).ok_or_else(|| {
        Error::unsupported(format!("data files of the format '{name}' are not written"))
            .with("option", "file.format")
            .hint("Use parquet, orc or avro")
    })
}

/// The size of a full file, in bytes.
///
/// # Errors
/// `InvalidInput` for an option that can't be read.
pub(crate) fn target_bytes(options: &Options<'_>, keyed: bool) -> Result<u64> {
    let default = if keyed { KEYED_TARGET } else { APPEND_TARGET };
    size("target-file-size", options.bytes("target-file-size", default)?)
}

/// The size of a full file of blobs, in bytes.
///
/// # Errors
/// As [`target_bytes`].
pub(crate) fn blob_target_bytes(options: &Options<'_>) -> Result<u64> {
    match options.get("blob.target-file-size") {
        Some(_) => size("blob.target-file-size", options.bytes("blob.target-file-size", APPEND_TARGET)?),
        None => target_bytes(options, false),
    }
}

fn size(option: &'static str, bytes: i64) -> Result<u64> {
    let size = u64::try_from(bytes).ok().filter(|n| *n > 0);
    size.ok_or_else(|| Error::invalid(format!("files can't have {bytes} bytes")).with("option", option))
}

/// The size of a full file, and the size below which a compaction joins files of tables without a primary key.
///
/// # Errors
/// `InvalidInput` for an option that can't be read.
pub(crate) fn file_sizes(options: &Options<'_>, keyed: bool) -> Result<FileSizes> {
    let target = target_bytes(options, keyed)?;
    Ok(FileSizes { target, small: target / 10 * 7 })
}

/// The properties of files of a level.
///
/// # Errors
/// `InvalidInput` for an option that can't be read.
pub(crate) fn writer_properties(
    options: &Options<'_>,
    format: FileFormat,
    level: i32,
) -> Result<BTreeMap<String, String>> {
    let name = format.as_str();
    let codec = by_level(options, "file.compression.per.level", level).or_else(|| options.get("file.compression"));
    let own = match format {
        FileFormat::Parquet => options.get("parquet.compression"),
        FileFormat::Orc => options.get("orc.compress"),
        _ => options.get("avro.codec"),
    };
    let codec = own.or(codec).unwrap_or("zstd").to_ascii_lowercase();
    let codec = match (format, codec.as_str()) {
        (FileFormat::Avro, "zstandard") => "zstd",
        (FileFormat::Avro, "deflate") => "gzip",
        (FileFormat::Avro, "null" | "none") => "uncompressed",
        (FileFormat::Orc, "gzip") => "zlib",
        (_, codec) => codec,
    };
    let mut out = BTreeMap::new();
    let mut set = |key: &str, value: String| out.insert(format!("write.{name}.{key}"), value);
    set("compression-codec", codec.to_owned());
    if codec == "zstd" && format != FileFormat::Orc {
        set("compression-level", options.integer("file.compression.zstd-level")?.unwrap_or(1).to_string());
    }
    let block = match options.get("file.block-size") {
        Some(_) => Some(options.bytes("file.block-size", 0)?),
        None => None,
    };
    let own_size = |key: &str| options.get(key).and_then(|text| text.trim().parse::<i64>().ok());
    match format {
        FileFormat::Parquet => {
            if let Some(bytes) = block.or_else(|| own_size("parquet.block.size")) {
                set("row-group-size-bytes", bytes.to_string());
            }
            if let Some(bytes) = own_size("parquet.page.size") {
                set("page-size-bytes", bytes.to_string());
            }
        }
        FileFormat::Orc => {
            if let Some(bytes) = block.or_else(|| own_size("orc.stripe.size")) {
                set("stripe-size-bytes", bytes.to_string());
            }
        }
        _ => {}
    }
    Ok(out)
}
