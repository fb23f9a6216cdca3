//! # Validation of requests
//!
//! A request is a struct that [`request!`] declares once: its fields, their bounds, and with that the reader and the JSON Schema.
//! All faults of a request are reported together.
//!
//! | To | Use |
//! |---|---|
//! | declare a request | [`request!`], the types of fields below; [`NoFields`] for one without fields |
//! | declare that a field needs or excludes another one | [`FieldRule`], after the struct in [`request!`] |
//! | read a query string | [`read_query`] |
//! | read a JSON body, or an object that was parsed before | [`read_json`], [`read_object`] |
//! | read a row of an imported file, whose texts are cut rather than refused | [`read_import`] |
//! | parse any JSON without repeated members | [`parse_json`] |
//! | get the JSON Schema of a request | [`schema_of`] |
//! | check a name outside of a request | [`label`] |
//! | report faults that are found outside of a reader | [`Invalid`], [`Fault`] |
//!
//! | Type of a field | Valid values |
//! |---|---|
//! | [`Words`], [`Label`], [`DisplayName`], [`PageTitle`], [`Text`], [`FileName`], [`UrlText`], [`Content`], [`Sha256Hex`] | texts |
//! | [`Password`] | a text that is never shown |
//! | [`Integer`], [`Fraction`], [`Flag`] | numbers and flags |
//! | [`Id`], [`Time`], [`Choice`] (its enum: `values::kind` or [`choices!`]) | ids, times, names |
//! | [`List`], any request as a nested object | lists and objects |
//! | [`Patch`] (`name~: T`) | a change that can clear the value |
//! | a type that implements `Deserr<Faults<M>>` for every [`ReadMode`], and `JsonSchema` | an object that only one request has |
//!
//! The surfaces make their schemas from the same types, so each bound is written in one place. A fault names its field by the path
//! in the request and never repeats the value. Unknown and repeated names are faults.
//!
//! | Bound | |
//! |---|---|
//! | faults that are reported | 100 |
//! | values and members of a JSON body | 50,000 |
//! | characters of a name in a fault | 100 |

mod faults;
mod field_types;
mod invalid;
mod json;
mod macros;
mod query;
pub mod reasons;
mod request;
mod schema;

pub use faults::{Faults, ImportMode, JsonMode, MAX_NAME_CHARS, QueryMode, ReadMode};
pub use field_types::{
    Choice, Content, DisplayName, FileName, Flag, Fraction, Id, Integer, Label, List, PageTitle, Password,
    Patch, Sha256Hex, Text, Time, UrlText, Words, label,
};
pub use invalid::{Fault, Invalid};
pub use json::{parse_json, read_import, read_json, read_object};
pub use macros::NoFields;
pub use query::read_query;
pub use request::{FieldName, FieldRule, Request};
pub use schema::{remove_null, schema_of, separate_null};
pub use values::kind::{NamedKind, UnknownName};
