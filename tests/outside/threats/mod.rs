//! Requests of an attacker, one part of the threat table a file (faults-and-threats.md, 4.1): what other tests do not try.

mod extra_fields;
mod headers;
mod hostile_input;
mod injections;
mod privacy;
