//! The command line: `carrel` run as its own process, beside a running service and without one.

mod commands;
