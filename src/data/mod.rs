//! Data files to Arrow and back.
//!
//! [`read`] is the entry to reading: it takes a [`ScanTask`](crate::format::task::ScanTask) and streams record batches. Under it,
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

pub mod arrow;
pub mod avro;
pub mod deletes;
pub mod merge;
pub mod orc;
#[cfg(test)]
mod paimon_read_tests;
#[cfg(test)]
mod paimon_testing;
pub mod paimon_types;
pub mod parquet;
pub mod read;
#[cfg(test)]
mod testing;
pub mod write;
