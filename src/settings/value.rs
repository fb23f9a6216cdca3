//! How a single setting is read: from text by its own type, or as an integer within bounds. A fault is reported
//! as "expected ..." and a description of what is allowed.

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

/// A setting that is written as text.
pub(super) trait Text: Sized {
    /// What is allowed, to follow "expected".
    const EXPECTED: &'static str;

    /// The value that the text stands for; the text is trimmed and not empty.
    fn read(text: &str) -> Option<Self>;
}

/// A setting that must be there.
pub(super) fn text<'de, D: Deserializer<'de>, T: Text>(from: D) -> Result<T, D::Error> {
    let given = from.deserialize_str(TextVisitor(T::EXPECTED))?;
    parsed(given.trim())
}

/// A setting that is none when its text is empty.
pub(super) fn optional<'de, D: Deserializer<'de>, T: Text>(from: D) -> Result<Option<T>, D::Error> {
    let given = from.deserialize_str(TextVisitor(T::EXPECTED))?;
    match given.trim() {
        "" => Ok(None),
        filled => parsed(filled).map(Some),
    }
}

/// A list of texts.
pub(super) fn list<'de, D: Deserializer<'de>, T: Text>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

/// A whole number from `MIN` to `MAX`, both allowed.
pub(super) fn whole<'de, D, T, const MIN: u64, const MAX: u64>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let number = from.deserialize_u64(IntegerVisitor::<MIN, MAX>)?;
    T::try_from(number)
        .map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(number), &IntegerVisitor::<MIN, MAX>))
}

/// A time of `MIN` to `MAX` seconds.
pub(super) fn seconds<'de, D, const MIN: u64, const MAX: u64>(from: D) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    whole::<D, u64, MIN, MAX>(from).map(Duration::from_secs)
}

/// A time of 0 to 3,650 days.
pub(super) fn days<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    whole::<D, u64, 0, 3650>(from).map(|days| Duration::from_secs(days * 24 * 60 * 60))
}

fn parsed<T: Text, E: Error>(given: &str) -> Result<T, E> {
    let read = if given.is_empty() { None } else { T::read(given) };
    read.ok_or_else(|| E::invalid_value(Unexpected::Str(given), &T::EXPECTED))
}

/// Reads a text unchanged.
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
            items.push(parsed(item.trim())?);
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

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

/// A text that is never shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text itself, for the one place that sends it.
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

/// A sender such as `carrel@example.org` or `Carrel <carrel@example.org>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox(String);

impl Mailbox {
    /// The sender as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the log writes, in the words of `EnvFilter`; known to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter as it was written.
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
    // The key travels in a header, which holds visible ASCII only.
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
    const EXPECTED: &'static str = "an address and port like 127.0.0.1:8080";

    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Text for IpNet {
    const EXPECTED: &'static str = "a network like 10.1.0.0/16 or an address";

    fn read(text: &str) -> Option<Self> {
        let alone = |_| text.parse::<IpAddr>().map(IpNet::from);
        text.parse::<IpNet>().or_else(alone).ok().map(|net| net.trunc())
    }
}

impl Text for Mailbox {
    const EXPECTED: &'static str = "a sender like carrel@example.org";

    fn read(text: &str) -> Option<Self> {
        let address = text.strip_suffix('>').map_or(text, |named| named.rsplit('<').next().unwrap_or(named));
        let (who, host) = address.rsplit_once('@')?;
        let fits = !who.is_empty() && !host.is_empty();
        (fits && !address.contains(char::is_whitespace) && !text.contains(char::is_control))
            .then(|| Self(text.to_owned()))
    }
}

impl Text for LogFilter {
    const EXPECTED: &'static str =
        "one of error, warn, info, debug, trace and off, or a list like info,carrel=debug";

    fn read(text: &str) -> Option<Self> {
        // `EnvFilter` takes a word that is no level for the name of a module: `inof` would silence the log.
        let levelled = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
        let fits = text.split(',').all(levelled) && EnvFilter::builder().parse(text).is_ok();
        fits.then(|| Self(text.to_owned()))
    }
}
