//! The name of a route in the activity view.

/// Bytes of the longest name.
const MAX_NAME_BYTES: usize = 64;

/// The method and the pattern of a route, with variables as `:id`, such as `GET /documents/:id`.
pub struct RouteName {
    bytes: [u8; MAX_NAME_BYTES],
    length: usize,
}

impl RouteName {
    /// Returns the name of a route. The tables of routes are statics, so a name of more than 64 bytes does not compile.
    #[expect(
        clippy::indexing_slicing,
        reason = "the compiler evaluates it, and refuses a name that is too long"
    )]
    pub const fn new(method: &str, pattern: &str) -> Self {
        let parts: [&[u8]; 3] = [method.as_bytes(), b" ", pattern.as_bytes()];
        let (mut bytes, mut length) = ([0; MAX_NAME_BYTES], 0);
        let mut part = 0;
        while part < parts.len() {
            let mut at = 0;
            while at < parts[part].len() {
                let byte = parts[part][at];
                if byte != b'}' {
                    bytes[length] = if byte == b'{' { b':' } else { byte };
                    length += 1;
                }
                at += 1;
            }
            part += 1;
        }
        Self { bytes, length }
    }

    /// Returns the name as a text.
    pub fn as_str(&self) -> &str {
        let name = self.bytes.get(..self.length).unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_pattern_are_named_with_a_colon() {
        for (method, pattern, name) in [
            ("GET", "/user", "GET /user"),
            ("DELETE", "/projects/{projectId}/items/{itemId}", "DELETE /projects/:projectId/items/:itemId"),
        ] {
            assert_eq!(RouteName::new(method, pattern).as_str(), name);
        }
    }
}
