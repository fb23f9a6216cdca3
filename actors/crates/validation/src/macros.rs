//! The macro that declares requests.

/// Declares a request: its fields with their bounds, and with that the reader and the JSON Schema.
///
/// ```ignore
/// request! {
///     /// A feed to follow.
///     pub struct FollowFeedRequest {
///         /// URL of a feed, or of a page that links to one.
///         pub url: UrlText,
///         /// A title that replaces the feed's own.
///         pub title?: Text<300>,
///         /// The folder; null for none.
///         pub folder~: Text<300>,
///         /// The search query.
///         pub query as "q": Words<1, 500>,
///     }
/// }
/// ```
///
/// | Declaration | Type in the struct | Absent | `null` |
/// |---|---|---|---|
/// | `name: T` | `T` | a fault | a fault |
/// | `name?: T` | `Option<T>` | `None` | `None` |
/// | `name~: T` | [`Patch<T>`](crate::Patch) | `Patch::Absent` | `Patch::Null` |
///
/// The name in the request is the field's in camel case, unless `as "name"` follows the field (`query? as "q": T`). The comment of a
/// field is its description in the schema; line breaks become spaces. The crate needs `deserr` and `schemars` as dependencies.
///
/// Rules between two fields follow the struct ([`FieldRule`](crate::FieldRule)). Their faults are reported together with those of
/// the fields. A rule has the names in the request and the reason of its fault:
///
/// ```ignore
/// request! {
///     pub struct ListFilesRequest { after?: Time, folder?: Text<300>, everywhere?: Flag }
///     "after" needs "folder": "needs folder";
///     "folder" excludes "everywhere": "must not be given together with everywhere";
/// }
/// ```
#[macro_export]
macro_rules! request {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* }
        $($field:literal $relation:ident $other:literal : $reason:literal;)*
    ) => {
        $crate::request! { @field [
            $(#[$meta])* $vis struct $name [$($crate::FieldRule::$relation($field, $other, $reason),)*]
        ] [] [] $($fields)* }
    };
    (@field $head:tt [$($done:tt)*] [$($names:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident : $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::request! { @field $head
            [$($done)* $(#[$meta])* $vis $field: $type,]
            [$($names)* $crate::FieldName::CamelCaseOf(stringify!($field)),]
            $($($rest)*)?
        }
    };
    (@field $head:tt [$($done:tt)*] [$($names:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident as $wire:literal : $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::request! { @field $head
            [$($done)* $(#[$meta])* #[deserr(rename = $wire)] #[schemars(rename = $wire)] $vis $field: $type,]
            [$($names)* $crate::FieldName::Exact($wire),]
            $($($rest)*)?
        }
    };
    (@field $head:tt [$($done:tt)*] [$($names:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident ? : $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::request! { @field $head
            [$($done)* $(#[$meta])* #[deserr(default)] $vis $field: ::std::option::Option<$type>,]
            [$($names)* $crate::FieldName::CamelCaseOf(stringify!($field)),]
            $($($rest)*)?
        }
    };
    (@field $head:tt [$($done:tt)*] [$($names:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident ? as $wire:literal : $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::request! { @field $head
            [$($done)* $(#[$meta])* #[deserr(default, rename = $wire)] #[schemars(rename = $wire)]
                $vis $field: ::std::option::Option<$type>,]
            [$($names)* $crate::FieldName::Exact($wire),]
            $($($rest)*)?
        }
    };
    (@field $head:tt [$($done:tt)*] [$($names:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident ~ : $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::request! { @field $head
            [$($done)* $(#[$meta])* #[deserr(default)] #[schemars(default)] $vis $field: $crate::Patch<$type>,]
            [$($names)* $crate::FieldName::CamelCaseOf(stringify!($field)),]
            $($($rest)*)?
        }
    };
    (@field $head:tt [$($done:tt)*] [$($names:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident ~ as $wire:literal : $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::request! { @field $head
            [$($done)* $(#[$meta])* #[deserr(default, rename = $wire)] #[schemars(default, rename = $wire)]
                $vis $field: $crate::Patch<$type>,]
            [$($names)* $crate::FieldName::Exact($wire),]
            $($($rest)*)?
        }
    };
    (@field [$(#[$meta:meta])* $vis:vis struct $name:ident [$($rules:tt)*]] [$($done:tt)*] [$($names:tt)*]) => {
        $(#[$meta])*
        #[derive(Debug, ::deserr::Deserr, ::schemars::JsonSchema)]
        #[deserr(
            rename_all = camelCase,
            deny_unknown_fields,
            error = $crate::Faults<M>,
            generic_param = M,
            where_predicate = M: $crate::ReadMode
        )]
        #[schemars(rename_all = "camelCase", deny_unknown_fields)]
        $vis struct $name { $($done)* }

        // The derived `Deserr` does not expose the names of its fields.
        impl $crate::Request for $name {
            const FIELD_NAMES: &'static [$crate::FieldName] = &[$($names)*];
            const RULES: &'static [$crate::FieldRule] = &[$($rules)*];
        }
    };
}

request! {
    /// A request without fields, in which every name is a fault.
    pub struct NoFields {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_types::{Flag, Patch, Text, Words};
    use crate::{Request, read_json, read_query, schema_of};

    request! {
        /// A request with a field of every form.
        struct FormsRequest {
            plain_field: Flag,
            optional_field?: Flag,
            patch_field~: Text<9>,
            query as "q": Words<1, 9>,
            kind? as "type": Words<1, 9>,
            folder~ as "dir": Text<9>
        }
    }

    const NAMES: [&str; 6] = ["plainField", "optionalField", "patchField", "q", "type", "dir"];

    #[test]
    fn field_names_are_those_of_reader_and_schema() {
        let schema = schema_of::<FormsRequest>();
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();

        assert_eq!(names, NAMES);
        assert!(NAMES.iter().all(|name| FormsRequest::has_field(name)));
        assert!(!FormsRequest::has_field("plain_field") && !FormsRequest::has_field("query"));
        let faulty = read_json::<FormsRequest>(b"{}").unwrap_err().faults;
        assert_eq!(faulty.iter().map(|fault| fault.field.as_str()).collect::<Vec<_>>(), ["plainField", "q"]);
    }

    #[test]
    fn absent_null_and_given_fields_differ() {
        let read =
            read_json::<FormsRequest>(br#"{"plainField": true, "q": "x", "patchField": null}"#).unwrap();

        assert!(read.plain_field.into_inner() && read.optional_field.is_none() && read.kind.is_none());
        assert!(matches!(read.patch_field, Patch::Null) && matches!(read.folder, Patch::Absent));
        assert_eq!(read.query.into_inner(), "x");

        let all = br#"{"plainField": false, "optionalField": true, "patchField": "a", "q": "x", "type": "t", "dir": "d"}"#;
        let read = read_json::<FormsRequest>(all).unwrap();
        assert_eq!(read.optional_field.map(Flag::into_inner), Some(true));
        assert_eq!(read.patch_field.into_change().flatten().map(Text::into_inner).as_deref(), Some("a"));
        assert_eq!(read.kind.map(Words::into_inner).as_deref(), Some("t"));
        assert!(matches!(read.folder, Patch::Value(_)));
    }

    request! {
        #[expect(dead_code, reason = "only its faults are looked at")]
        struct RulesRequest {
            after?: Words<1, 9>,
            folder?: Text<9>,
            everywhere?: Flag,
        }
        "after" needs "folder": "needs folder";
        "folder" excludes "everywhere": "must not be given together with everywhere";
    }

    #[test]
    fn broken_rules_are_reported_with_the_other_faults() {
        let faulty = |read: Result<RulesRequest, crate::Invalid>| -> Vec<String> {
            let faults = read.err().map(|invalid| invalid.faults).unwrap_or_default();
            faults.into_iter().map(|fault| format!("{} {}", fault.field, fault.reason)).collect()
        };
        let json = |body: &str| faulty(read_json(body.as_bytes()));
        let query = |text: &str| faulty(read_query(text));
        let not_together = "folder must not be given together with everywhere";

        assert_eq!(json(r#"{"after": "x"}"#), ["after needs folder"]);
        assert_eq!(query("after=x&zap=1"), ["zap is not a parameter of this route", "after needs folder"]);
        assert_eq!(json(r#"{"folder": "a", "everywhere": true}"#), [not_together]);
        assert_eq!(query("folder=a&everywhere=true"), [not_together]);
        assert_eq!(
            json(r#"{"folder": "a", "everywhere": 7}"#),
            ["everywhere must be true or false", not_together]
        );
        for valid in [
            r#"{"after": "x", "folder": "a", "everywhere": false}"#,
            r#"{"folder": " ", "everywhere": true}"#,
            r#"{"after": null, "everywhere": true}"#,
        ] {
            assert_eq!(json(valid), Vec::<String>::new(), "{valid}");
        }
        assert_eq!(query("folder=a&everywhere=false"), Vec::<String>::new());
    }

    #[test]
    fn request_without_fields_accepts_only_an_empty_object() {
        assert!(read_json::<NoFields>(b"{}").is_ok());
        assert_eq!(read_json::<NoFields>(br#"{"a": 1}"#).unwrap_err().faults[0].field, "a");
    }
}
