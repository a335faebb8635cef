//! residual
