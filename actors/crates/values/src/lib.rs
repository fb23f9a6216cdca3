//! # Values
//!
//! What all crates share, without tables and without I/O: the value types that a column, a request and a parser name alike, the causes
//! of errors, which every crate shows in the same form, and the division of items into groups.
//!
//! | Module | Contents |
//! |---|---|
//! | [`cause`] | the causes of an error, and the line that names them |
//! | [`groups`] | items divided into groups, by their owners or by their sizes |
//! | [`id`] | a type for each kind of id |
//! | [`kind`] | the enums that are stored in columns, with their names |
//! | [`plan`] | the plans with their limits |
//! | [`scope`] | the permissions of keys and connected apps |
//! | [`time`] | times, days and months in UTC |
//! | [`url`] | the bound on URLs |
//!
//! The feature `sea-orm` adds the conversions to and from columns. Crate `entity` turns it on, so a crate that is built without
//! `entity` does not build sea-orm either. This crate depends on no other crate of Carrel.

pub mod cause;
pub mod groups;
pub mod id;
pub mod kind;
pub mod plan;
pub mod scope;
pub mod time;
pub mod url;
