//! The command line.

mod commands;
