//! The types of fields: what a field may hold is part of its type.

mod choice;
mod id;
mod list;
mod number;
mod password;
mod patch;
mod patterns;
mod text;

pub use choice::Choice;
pub use id::{Id, Time};
pub use list::List;
pub use number::{Flag, Fraction, Integer};
pub use password::Password;
pub use patch::Patch;
pub use text::{Content, DisplayName, FileName, Label, PageTitle, Sha256Hex, Text, UrlText, Words, label};

/// The functions of a schema that stands where the type is used, without a name.
// A name would be the same for all bounds of a type, and schemars treats schemas of one name as one schema.
macro_rules! inline_schema {
    ($name:literal, |$generator:ident| $schema:expr) => {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> std::borrow::Cow<'static, str> {
            $name.into()
        }

        fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            $schema
        }
    };
    ($name:literal, $schema:tt) => {
        $crate::field_types::inline_schema!($name, |_generator| schemars::json_schema!($schema));
    };
}

use inline_schema;
