//! Data files to Arrow and back.
//!
//! [`read`] is the entry to reading: it takes a [`ScanTask`](crate::task::ScanTask) and streams record batches. Under it,
//! `task_reader` does what is the same for every file format: `project` turns the file's columns (`file_columns`) into the
//! table's, `filter_columns` finds those that filters ask about (`cast` for single values, `defaults` for those that the file lacks, `name_mapping` where it has no field ids), and [`filter`]
//! keeps the rows. `parquet_read` decodes Parquet: `parquet_file` opens and fetches, `row_groups` and `bloom_filters` skip
//! what the filter rules out. Files without nested columns go another way, `flat_read`, which leaves out rows while it
//! decodes: `flat_pages` says which pages it needs, `flat_column` opens them, which `page_codec` decompresses, `flat_runs` unpacks numbers, `flat_values` gathers values. `avro_read` streams the blocks of Avro, whose columns `avro_schema` tells and `avro_decode`
//! fills. `orc_read` decodes the stripes of ORC. [`deletes`] leaves out rows that delete files name ([`delete_files`] reads
//! them, `delete_keys` and `long_keys` compare, [`positions`] says which rows of the file a batch has).
//! [`variant`] puts shredded variants together. [`read_ahead`] reads many tasks on several threads. [`change_rows`] reads
//! what commits added and removed. `row_columns` gives the metadata columns of rows, `row_lineage` their ids, `constants`
//! those of their file. [`arrow_schema`] says which Arrow types rows have (`geoarrow` for geometries).
//!
//! Files of Paimon tables have their columns by the schema they were written with (`leveled_columns`), whose values
//! `declared_cast` casts where a type was changed (`declared_text` knows how Java writes them). `merge_read` merges files by
//! key: `merge_rules` reads the table's options, `merge_runs` brings rows with one key together, `merge_columns` makes one
//! of them with the functions of `merge_function` and `merge_nested`, and `merge_picks` builds the columns. `merge_diff`
//! compares two merged states, `kind_rows` tells what commits did to rows, and `aligned_read` puts rows together whose
//! columns are in several files.
//!
//! [`write`](mod@write) is the entry to writing: [`conform`] brings any batch to the table's schema, [`partition_rows`] parts
//! it, `sort_rows` sorts it ([`z_order`] along a curve), [`locations`] says where files go (`output` names them), `file_write`
//! begins a file of the format that `write_properties` say. `parquet_write` encodes by `parquet_properties` (`dictionary` says which columns get one), and [`metrics`] says what
//! a file holds; `avro_write` has `avro_schema_json` and `avro_rows`; `orc_write` has `orc_types`, `orc_stripe` with `orc_values` and `orc_texts`, and
//! `orc_metrics`. [`delete_write`] writes position deletes and deletion vectors; equality deletes are rows of the
//! columns that `stored_columns` picks.

mod aligned_read;
pub mod arrow_schema;
mod avro_decode;
mod avro_read;
mod avro_rows;
mod avro_schema;
mod avro_schema_json;
mod avro_write;
mod bloom_filters;
pub(crate) mod bounds_truncate;
mod bucket_array;
pub(crate) mod cast;
mod change_rows;
pub mod conform;
mod conform_leaf;
mod constants;
pub(crate) mod declared_cast;
mod declared_text;
mod defaults;
pub mod delete_files;
mod delete_keys;
pub mod delete_write;
pub mod deletes;
mod dictionary;
pub mod distinct;
mod file_columns;
pub mod file_write;
pub mod filter;
mod filter_columns;
mod flat_column;
mod flat_pages;
mod flat_read;
mod flat_runs;
mod flat_values;
mod geoarrow;
mod groups_ahead;
mod guard;
pub mod kind_rows;
mod leveled_columns;
pub mod locations;
pub(crate) mod long_keys;
pub mod merge_buffer;
mod merge_columns;
pub mod merge_compact;
mod merge_diff;
mod merge_function;
mod merge_nested;
mod merge_picks;
mod merge_read;
pub(crate) mod merge_rules;
mod merge_runs;
mod merge_sketches;
pub mod metrics;
mod name_mapping;
mod orc_bloom;
mod orc_columns;
mod orc_file;
mod orc_metrics;
mod orc_read;
mod orc_schema;
mod orc_stripe;
mod orc_texts;
mod orc_time;
mod orc_types;
mod orc_values;
mod orc_write;
mod output;
mod page_codec;
mod paimon_avro;
mod paimon_parquet;
#[cfg(test)]
mod paimon_read_tests;
#[cfg(test)]
mod paimon_testing;
pub mod paimon_types;
mod parquet_file;
mod parquet_fits;
pub(crate) mod parquet_import;
mod parquet_int96;
mod parquet_lineage;
mod parquet_properties;
mod parquet_read;
mod parquet_schema;
pub(crate) mod parquet_write;
pub mod partition_rows;
pub(crate) mod plain_columns;
pub mod positions;
mod project;
pub mod read;
pub mod read_ahead;
mod row_columns;
mod row_groups;
mod row_lineage;
mod sort_rows;
mod stored_columns;
pub mod table_rows;
mod task_reader;
#[cfg(test)]
mod testing;
mod thrift;
mod transform_array;
pub mod transform_column;
pub mod variant;
pub mod write;
mod write_properties;
pub mod z_order;
