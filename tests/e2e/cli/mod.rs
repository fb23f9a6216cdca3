//! The command line: `carrel` as a process of its own, while a service runs and without one.

mod commands;
