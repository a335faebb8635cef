//! The allocator of the compiled module on Linux.

/// Arrow's columns are many buffers of some hundred kilobytes, which are made and freed with each batch. The system's
/// allocator maps each buffer again, at a page fault every 4 KB. That took a third of the time of a full scan. This one
/// keeps freed memory for a while (`.cargo/config.toml`).
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
