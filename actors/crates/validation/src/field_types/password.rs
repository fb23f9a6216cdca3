//! Passwords.

use std::fmt;
use std::mem;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::JsonSchema;
use zeroize::Zeroizing;

use super::inline_schema;
use super::text::Text;
use crate::faults::{Faults, ReadMode};

/// A password of up to `MAX` characters, which may be empty: a [`Text`] that is never shown, and is wiped when it is dropped.
pub struct Password<const MAX: usize>(Zeroizing<String>);

impl<const MAX: usize> Password<MAX> {
    /// Returns the password in plain text.
    pub fn into_inner(mut self) -> String {
        // Taken out, because a value that is wiped when it is dropped cannot be moved out of.
        mem::take(&mut *self.0)
    }
}

impl<const MAX: usize> fmt::Debug for Password<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

impl<M: ReadMode, const MAX: usize> Deserr<Faults<M>> for Password<MAX> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let text = <Text<MAX> as Deserr<Faults<M>>>::deserialize_from_value(value, location);
        text.map(|text| Self(Zeroizing::new(text.into_inner())))
    }
}

impl<const MAX: usize> JsonSchema for Password<MAX> {
    inline_schema!("Password", |generator| Text::<MAX>::json_schema(generator));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_json, request, schema_of};

    request! {
        /// A request with a password and a text of the same bounds.
        struct PasswordRequest {
            secret: Password<9>,
            text?: Text<9>,
        }
    }

    /// Covers the threat table (row L2).
    #[test]
    fn debug_output_of_a_request_hides_its_password() {
        let request = read_json::<PasswordRequest>(br#"{"secret": "canary"}"#).unwrap();

        assert_eq!(format!("{request:?}"), "PasswordRequest { secret: Password(..), text: None }");
        assert!(request.text.is_none());
        assert_eq!(request.secret.into_inner(), "canary");
    }

    #[test]
    fn password_has_the_bounds_faults_and_schema_of_a_text() {
        for value in [r#""0123456789""#, r#""a\u0000""#, "7", "null"] {
            let faults = |name: &str, rest: &str| {
                let body = format!(r#"{{"{name}": {value}{rest}}}"#);
                let faults = read_json::<PasswordRequest>(body.as_bytes()).map(drop).unwrap_err().faults;
                faults.into_iter().find(|fault| fault.field == name).map(|fault| fault.reason)
            };
            let of_password = faults("secret", "");
            assert!(of_password.is_some());
            if value != "null" {
                assert_eq!(of_password, faults("text", r#", "secret": """#), "{value}");
            }
        }
        let schema = schema_of::<PasswordRequest>();
        assert_eq!(schema["properties"]["secret"]["maxLength"], 9);
        assert_eq!(schema["properties"]["secret"]["type"], "string");
    }
}
