//! What templates call: texts of the catalogue, icons, addresses of assets, dates and numbers in the locale of the page.
//!
//! A template that uses them needs `use crate::web::filters;` beside its struct. They read the [`RenderContext`] with which
//! [`render`](super::page::render) renders every page.
//!
//! | In a template | Gives |
//! |---|---|
//! | `{{ "home-title"|t }}`, `{{ "home-left"|t1("count", n) }}`, `t2`, `t3` | a text, with up to three values; escaped |
//! | `{{ "home-more"|h }}`, `h1`, `h2`, `h3` | a text of the catalogue that has HTML; its values are escaped |
//! | `{{ "search"|icon }}`, `{{ "x"|icon_small }}`, `{{ "left"|icon_with("i-s flips") }}` | an icon |
//! | `{{ "base.css"|asset }}` | the address of an asset |
//! | `{{ time|ago }}`, `day`, `date`, `date_long`, `month`, `time`, `date_time`, `iso` | a [`Timestamp`] |
//! | `{{ count|number }}`, `bytes`, `percent`, `minutes`, `duration`, `clock` | a number |
//! | `{{ error|reason }}` | the stored reason of a failure as a sentence, or as it is, marked as English |
//! | `{{ name|visible }}` | a foreign text, whose control and direction characters are shown as `␣` |
//! | `{{ "language"|page }}` | an attribute of the page: `language`, `theme`, `preset`, `paper`, `keys` |

#![expect(
    missing_docs,
    reason = "the macro of filters makes a documented function a type without documentation"
)]

use askama::filters::{Html, Safe, escape};
use askama::{Values, filter_fn, get_value};
use values::time::Timestamp;

use super::assets::asset_url;
use super::reasons::stored_sentence;
use super::render_context::RenderContext;
use super::strings::ToMessageValue;

/// Foreign texts are cut after this many characters, such as titles and messages of servers.
const MAX_FOREIGN_CHARS: usize = 300;

fn context(values: &dyn Values) -> askama::Result<&RenderContext> {
    get_value(values, "context")
}

/// Returns the text of a key.
#[filter_fn]
pub fn t<K: AsRef<str>>(key: K, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.t(key.as_ref()))
}

/// Returns the text of a key with one value.
#[filter_fn]
pub fn t1<K: AsRef<str>, A: ToMessageValue>(
    key: K,
    values: &dyn Values,
    name: &str,
    value: A,
) -> askama::Result<String> {
    Ok(context(values)?.locale.t_with(key.as_ref(), &[(name, value.to_message_value())]))
}

/// Returns the text of a key with two values.
#[filter_fn]
pub fn t2<K: AsRef<str>, A: ToMessageValue, B: ToMessageValue>(
    key: K,
    values: &dyn Values,
    name: &str,
    value: A,
    name2: &str,
    value2: B,
) -> askama::Result<String> {
    let named = [(name, value.to_message_value()), (name2, value2.to_message_value())];
    Ok(context(values)?.locale.t_with(key.as_ref(), &named))
}

/// Returns the text of a key with three values.
#[filter_fn]
pub fn t3<K: AsRef<str>, A: ToMessageValue, B: ToMessageValue, C: ToMessageValue>(
    key: K,
    values: &dyn Values,
    name: &str,
    value: A,
    name2: &str,
    value2: B,
    name3: &str,
    value3: C,
) -> askama::Result<String> {
    let named = [
        (name, value.to_message_value()),
        (name2, value2.to_message_value()),
        (name3, value3.to_message_value()),
    ];
    Ok(context(values)?.locale.t_with(key.as_ref(), &named))
}

/// Returns the HTML of a key.
#[filter_fn]
pub fn h<K: AsRef<str>>(key: K, values: &dyn Values) -> askama::Result<Safe<String>> {
    context(values)?.html(key.as_ref(), &[])
}

/// Returns the HTML of a key with one value, which is escaped.
#[filter_fn]
pub fn h1<K: AsRef<str>, A: ToMessageValue>(
    key: K,
    values: &dyn Values,
    name: &str,
    value: A,
) -> askama::Result<Safe<String>> {
    context(values)?.html(key.as_ref(), &[(name, value.to_message_value())])
}

/// Returns the HTML of a key with two values, which are escaped.
#[filter_fn]
pub fn h2<K: AsRef<str>, A: ToMessageValue, B: ToMessageValue>(
    key: K,
    values: &dyn Values,
    name: &str,
    value: A,
    name2: &str,
    value2: B,
) -> askama::Result<Safe<String>> {
    let named = [(name, value.to_message_value()), (name2, value2.to_message_value())];
    context(values)?.html(key.as_ref(), &named)
}

/// Returns the HTML of a key with three values, which are escaped.
#[filter_fn]
pub fn h3<K: AsRef<str>, A: ToMessageValue, B: ToMessageValue, C: ToMessageValue>(
    key: K,
    values: &dyn Values,
    name: &str,
    value: A,
    name2: &str,
    value2: B,
    name3: &str,
    value3: C,
) -> askama::Result<Safe<String>> {
    let named = [
        (name, value.to_message_value()),
        (name2, value2.to_message_value()),
        (name3, value3.to_message_value()),
    ];
    context(values)?.html(key.as_ref(), &named)
}

/// Returns an icon of `icons.svg`. It is hidden from screen readers: a name stands beside it or on its button.
#[filter_fn]
pub fn icon<N: AsRef<str>>(name: N, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(icon_html(name.as_ref(), ""))
}

/// Returns a small icon.
#[filter_fn]
pub fn icon_small<N: AsRef<str>>(name: N, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(icon_html(name.as_ref(), "i-s"))
}

/// Returns an icon with these classes.
#[filter_fn]
pub fn icon_with<N: AsRef<str>>(name: N, _: &dyn Values, classes: &str) -> askama::Result<Safe<String>> {
    Ok(icon_html(name.as_ref(), classes))
}

/// Returns the address of an asset.
#[filter_fn]
pub fn asset<N: AsRef<str>>(name: N, _: &dyn Values) -> askama::Result<&'static str> {
    asset_url(name.as_ref()).ok_or(askama::Error::ValueMissing)
}

/// Returns an attribute of the page.
#[filter_fn]
pub fn page<N: AsRef<str>>(name: N, values: &dyn Values) -> askama::Result<String> {
    context(values)?.attribute(name.as_ref()).ok_or(askama::Error::ValueMissing)
}

macro_rules! time_filters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[filter_fn]
        pub fn $name(time: &Timestamp, values: &dyn Values) -> askama::Result<String> {
            Ok(context(values)?.locale.$name(*time))
        }
    )+};
}

time_filters! {
    /// Returns a time as a span before now, or as a date: `2 h`.
    ago,
    /// Returns a date: `today`, `14 Nov`.
    day,
    /// Returns a date: `14 Nov`.
    date,
    /// Returns a date with its day of the week: `Saturday, 21 November`.
    date_long,
    /// Returns a month: `November 2025`.
    month,
    /// Returns the time of a day: `09:12`.
    time,
    /// Returns a date with its time: `14 Nov, 09:12`.
    date_time,
}

/// Returns a time for the attribute `datetime`.
#[filter_fn]
pub fn iso(time: &Timestamp, _: &dyn Values) -> askama::Result<String> {
    Ok(time.to_string())
}

/// Returns a whole number with separators.
#[filter_fn]
pub fn number<N: ToMessageValue>(number: N, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.number(whole(&number)))
}

/// Returns a number of bytes with its unit.
#[filter_fn]
pub fn bytes<N: ToMessageValue>(number: N, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.bytes(u64::try_from(whole(&number)).unwrap_or_default()))
}

/// Returns a fraction as a percentage.
#[filter_fn]
pub fn percent(fraction: &f64, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.percent(*fraction))
}

/// Returns a reading time.
#[filter_fn]
pub fn minutes<N: ToMessageValue>(minutes: N, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.minutes(whole(&minutes)))
}

/// Returns seconds in words.
#[filter_fn]
pub fn duration<N: ToMessageValue>(seconds: N, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.duration(whole(&seconds)))
}

/// Returns seconds as a position in a recording: `14:32`.
#[filter_fn]
pub fn clock<N: ToMessageValue>(seconds: N, values: &dyn Values) -> askama::Result<String> {
    Ok(context(values)?.locale.clock(whole(&seconds)))
}

/// Returns a foreign text in which control and direction characters are visible, and of at most 300 characters.
#[filter_fn]
pub fn visible<T: AsRef<str>>(foreign: T, _: &dyn Values) -> askama::Result<String> {
    Ok(visible_text(foreign.as_ref()))
}

/// Returns the stored reason of a failure as a sentence of the page. One that has no sentence stays as it is, marked as English.
#[filter_fn]
pub fn reason<R: AsRef<str>>(stored: R, values: &dyn Values) -> askama::Result<Safe<String>> {
    let escaped = |text: &str| Ok::<_, askama::Error>(escape(text, Html)?.to_string());
    match stored_sentence(&context(values)?.locale, stored.as_ref()) {
        Some(sentence) => Ok(Safe(escaped(&visible_text(&sentence))?)),
        None => {
            let text = escaped(&visible_text(stored.as_ref()))?;
            Ok(Safe(format!(r#"<span lang="en">{text}</span>"#)))
        }
    }
}

/// Returns a text in which control and direction characters are shown as `␣`, cut after 300 characters.
pub fn visible_text(foreign: &str) -> String {
    let shown = |c: char| if text::is_control_or_bidi(c) && !text::is_joiner(c) { '␣' } else { c };
    let cut = text::head(foreign, MAX_FOREIGN_CHARS);
    let mut visible: String = cut.chars().map(shown).collect();
    if cut.len() < foreign.len() {
        visible.push('…');
    }
    visible
}

fn icon_html(name: &str, classes: &str) -> Safe<String> {
    let space = if classes.is_empty() { "" } else { " " };
    let sprite = asset_url("icons.svg").unwrap_or_default();
    Safe(format!(
        r##"<svg class="i{space}{classes}" aria-hidden="true"><use href="{sprite}#i-{name}"/></svg>"##
    ))
}

fn whole(number: &impl ToMessageValue) -> i64 {
    match number.to_message_value() {
        super::strings::MessageValue::Number(number) => number,
        super::strings::MessageValue::Text(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direction_characters_of_names_are_visible() {
        assert_eq!(visible_text("gpj\u{202e}exe"), "gpj␣exe");
        assert_eq!(visible_text(&"x".repeat(400)).chars().count(), 301);
    }
}
