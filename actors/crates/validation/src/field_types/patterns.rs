//! Patterns of JSON Schemas that say the rules of texts.

/// Without NUL, and not only spaces ([`super::Words`]).
pub const WORDS: &str = r"^[^\u0000]*[^\s\u0000][^\u0000]*$";
/// Without NUL, and not only spaces and control characters ([`super::PageTitle`]).
pub const PAGE_TITLE: &str = r"^[^\u0000]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000]*$";
/// Without NUL, possibly empty ([`super::Text`]).
pub const TEXT: &str = r"^[^\u0000]*$";
/// No path, no control characters, and not only spaces.
pub const FILE_NAME: &str =
    r"^[^/\\\u0000-\u001f\u007f-\u009f]*[^/\\\s\u0000-\u001f\u007f-\u009f][^/\\\u0000-\u001f\u007f-\u009f]*$";

/// Control characters, format characters but joiners, and others that are invisible ([`super::label`]). Those beyond
/// U+FFFF are left out, because patterns of different languages have no common escape for them.
macro_rules! invisible {
    () => {
        concat!(
            r"\u0000-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2",
            r"\u115f-\u1160\u180e\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0",
            r"\ufff9-\ufffb",
        )
    };
}

/// None of these characters, and not only spaces and joiners ([`super::Label`]).
pub const LABEL: &str =
    concat!("^[^", invisible!(), r"]*[^\s\u200c\u200d", invisible!(), "][^", invisible!(), "]*$");

/// Without control characters, and not only spaces ([`super::DisplayName`]).
pub const NAME: &str =
    r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
/// Without control characters, possibly empty ([`super::DisplayName`]).
pub const NAME_OR_EMPTY: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// A SHA-256 in hexadecimal digits.
pub const SHA_256: &str = "^[0-9A-Fa-f]{64}$";

#[cfg(test)]
mod tests {
    use crate::field_types::label;

    /// Returns whether `invisible!` has this character.
    fn is_invisible(c: char) -> bool {
        let number = |code| u32::from_str_radix(code, 16).unwrap();
        let mut codes = invisible!().split(r"\u").skip(1);
        while let Some(code) = codes.next() {
            let (first, last) = match code.strip_suffix('-') {
                Some(first) => (first, codes.next().unwrap()),
                None => (code, code),
            };
            if (number(first)..=number(last)).contains(&u32::from(c)) {
                return true;
            }
        }
        false
    }

    #[test]
    fn label_pattern_refuses_what_the_rule_refuses() {
        for c in (0..=0xffff).filter_map(char::from_u32) {
            let is_refused = label(&format!("a{c}"), 2).is_err();
            assert_eq!(is_invisible(c), is_refused, "{c:?}");
        }
    }
}
