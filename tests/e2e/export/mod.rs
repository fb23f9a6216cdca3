//! Exports of a library: their archives, their limits, and their import into another account.

pub mod exports;
