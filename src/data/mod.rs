//! Data files to Arrow and back.
