//! Reads a single setting: from text by its own type, or as an integer within bounds. A fault is reported as "expected ..."
//! with a description of the allowed values.

use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use zeroize::Zeroizing;

/// A type that is parsed from the text of a setting.
pub(super) trait Text: Sized {
    /// Describes the allowed values, to follow "expected".
    const EXPECTED: &'static str;

    /// Parses the text, which is trimmed and not empty; `None` if it is invalid.
    fn read(text: &str) -> Option<Self>;

    /// Describes what is allowed in place of an invalid text, to follow "expected". Must contain no part of it that may be a secret.
    fn expected_instead_of(_text: &str) -> String {
        Self::EXPECTED.to_owned()
    }
}

/// Parses an argument of a command as the settings parse a text.
///
/// # Errors
/// What is expected. It contains no part of a text that may be a secret.
pub(super) fn parse_argument<T: Text>(text: &str) -> Result<T, String> {
    let text = text.trim();
    let parsed = if text.is_empty() { None } else { T::read(text) };
    parsed.ok_or_else(|| format!("expected {}", T::expected_instead_of(text)))
}

/// Reads a setting that must not be empty.
pub(super) fn read_text<'de, D: Deserializer<'de>, T: Text>(from: D) -> Result<T, D::Error> {
    let given = from.deserialize_str(TextVisitor(T::EXPECTED))?;
    parse_text(given.trim())
}

/// Reads a setting that is `None` if its text is empty.
pub(super) fn read_optional<'de, D: Deserializer<'de>, T: Text>(from: D) -> Result<Option<T>, D::Error> {
    let given = from.deserialize_str(TextVisitor(T::EXPECTED))?;
    match given.trim() {
        "" => Ok(None),
        filled => parse_text(filled).map(Some),
    }
}

/// Reads a text as it is, with the spaces at its ends. It may be empty.
pub(super) fn read_verbatim<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let given = from.deserialize_str(TextVisitor(String::EXPECTED))?;
    if given.contains(char::is_control) {
        return Err(D::Error::invalid_value(Unexpected::Str(&given), &String::EXPECTED));
    }
    Ok(given)
}

/// Reads a list of texts.
pub(super) fn read_list<'de, D: Deserializer<'de>, T: Text>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

/// Reads a whole number from `MIN` to `MAX`, inclusive.
pub(super) fn read_integer<'de, D, T, const MIN: u64, const MAX: u64>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let number = from.deserialize_u64(IntegerVisitor::<MIN, MAX>)?;
    T::try_from(number)
        .map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(number), &IntegerVisitor::<MIN, MAX>))
}

/// Reads a duration of `MIN` to `MAX` seconds.
pub(super) fn read_seconds<'de, D, const MIN: u64, const MAX: u64>(from: D) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    read_integer::<D, u64, MIN, MAX>(from).map(Duration::from_secs)
}

/// Reads a duration of `MIN` to `MAX` milliseconds.
pub(super) fn read_milliseconds<'de, D, const MIN: u64, const MAX: u64>(from: D) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    read_integer::<D, u64, MIN, MAX>(from).map(Duration::from_millis)
}

/// Reads a duration of 0 to 3,650 days.
pub(super) fn read_days<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    read_integer::<D, u64, 0, 3650>(from).map(|days| Duration::from_secs(days * 24 * 60 * 60))
}

fn parse_text<T: Text, E: Error>(given: &str) -> Result<T, E> {
    let read = if given.is_empty() { None } else { T::read(given) };
    read.ok_or_else(|| E::invalid_value(Unexpected::Str(given), &T::expected_instead_of(given).as_str()))
}

/// Reads a setting that is a text, without changing it.
struct TextVisitor(&'static str);

impl Visitor<'_> for TextVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}

/// Reads a list of texts.
struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Text> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list, each {}", T::EXPECTED)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = given.next_element::<String>()? {
            items.push(parse_text(item.trim())?);
        }
        Ok(items)
    }
}

/// Reads an integer within bounds.
struct IntegerVisitor<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for IntegerVisitor<MIN, MAX> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if (MIN..=MAX).contains(&number) {
            return Ok(number);
        }
        Err(E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    // Integers of TOML are signed.
    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

/// A text that is never printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the text itself, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The name of a collection of a Qdrant server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionName(String);

impl CollectionName {
    /// Parses a name, as the settings do.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_argument(text)
    }

    /// Returns the name as written in the settings.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Text for CollectionName {
    // A server makes a folder of it.
    const EXPECTED: &'static str = "a name of at most 100 letters, digits, hyphens and underscores";

    fn read(text: &str) -> Option<Self> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (text.len() <= 100 && text.chars().all(is_allowed)).then(|| Self(text.to_owned()))
    }
}

/// A sender such as `carrel@example.org` or `Carrel <carrel@example.org>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox(String);

impl Mailbox {
    /// Returns the sender as written in the settings.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which lines the log writes: a valid `EnvFilter` directive list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// Returns the filter as written in the settings.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Text for String {
    const EXPECTED: &'static str = "a text";

    fn read(text: &str) -> Option<Self> {
        (!text.contains(char::is_control)).then(|| text.to_owned())
    }
}

impl Text for Secret {
    // The key is sent in a header, which holds visible ASCII only.
    const EXPECTED: &'static str = "a key of visible ASCII characters";

    fn read(text: &str) -> Option<Self> {
        text.chars().all(|c| c.is_ascii_graphic()).then(|| text.to_owned().into())
    }
}

impl Text for PathBuf {
    const EXPECTED: &'static str = "the path of a folder";

    fn read(text: &str) -> Option<Self> {
        (!text.contains('\0')).then(|| text.into())
    }
}

impl Text for SocketAddr {
    const EXPECTED: &'static str = "an IP address and port like 127.0.0.1:8080";

    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Text for IpNet {
    const EXPECTED: &'static str = "a network like 10.1.0.0/16 or an IP address";

    fn read(text: &str) -> Option<Self> {
        // A single address is a network of one.
        let address = |_| text.parse::<IpAddr>().map(IpNet::from);
        text.parse::<IpNet>().or_else(address).ok().map(|net| net.trunc())
    }
}

impl Text for Mailbox {
    const EXPECTED: &'static str = "a sender like carrel@example.org";

    fn read(text: &str) -> Option<Self> {
        let address = text.strip_suffix('>').map_or(text, |named| named.rsplit('<').next().unwrap_or(named));
        let (local, host) = address.rsplit_once('@')?;
        let fits = !local.is_empty() && !host.is_empty();
        (fits && !address.contains(char::is_whitespace) && !text.contains(char::is_control))
            .then(|| Self(text.to_owned()))
    }
}

impl Text for LogFilter {
    const EXPECTED: &'static str =
        "one of error, warn, info, debug, trace and off, or a list like info,carrel=debug";

    fn read(text: &str) -> Option<Self> {
        // `EnvFilter` treats a word that is not a level as the name of a module: `inof` would silence the log.
        let has_level = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
        let fits = text.split(',').all(has_level) && EnvFilter::builder().parse(text).is_ok();
        fits.then(|| Self(text.to_owned()))
    }
}
