//! One of a few names.

use std::fmt;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::JsonSchema;
use values::kind::NamedKind;

use super::inline_schema;
use super::text::text_of;
use crate::faults::{Faults, ReadMode};
use crate::reasons::must_be_one_of;

/// The name of a value of `T`: an enum of [`values::kind`], or one that [`choices!`](crate::choices) declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<T>(T);

impl<T> Choice<T> {
    /// Returns the value that the request names.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: fmt::Display> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<M: ReadMode, T: NamedKind> Deserr<Faults<M>> for Choice<T> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let reason = must_be_one_of(T::NAMES);
        let text = text_of(value, location, &reason)?;
        text.parse().map(Self).map_err(|_| Faults::new(location, reason))
    }
}

impl<T: NamedKind> JsonSchema for Choice<T> {
    inline_schema!("Choice", { "type": "string", "enum": T::NAMES });
}

/// Declares an enum whose values have names in requests, for [`Choice`] fields. Enums that are columns are in [`values::kind`].
///
/// ```ignore
/// choices! {
///     /// The order of a list.
///     pub enum SortOrder {
///         /// Newest first.
///         NewestFirst = "-createdAt",
///         /// Oldest first.
///         OldestFirst = "createdAt",
///     }
/// }
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $crate::NamedKind for $name {
            const NAMES: &'static [&'static str] = &[$($text),+];
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self { $($name::$variant => $text),+ })
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> ::std::result::Result<Self, $crate::UnknownName> {
                match name { $($text => Ok($name::$variant),)+ _ => Err($crate::UnknownName) }
            }
        }
    };
}
