//! Imports from other programs, and their undo.

mod batches;
pub mod imports;
mod undo;
