//! The command line: `carrel` as a process of its own, while a server runs and without one.

mod commands;
mod evaluation;
