//! What becomes of the rows of a file.

pub mod faults;
pub mod result;
pub mod trace;
