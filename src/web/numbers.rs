//! Numbers as a language writes them.

use values::kind::AppLanguage;

/// Writes a whole number with the separators of a language: `4,812`, `4.812`.
pub fn number_text(language: AppLanguage, number: i64) -> String {
    let separator = match language {
        AppLanguage::English => ',',
        AppLanguage::German => '.',
    };
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + 4);
    if number < 0 {
        text.push('\u{2212}');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}
