//! Addresses among the settings, each known to be of its kind. Those that may hold a password never show it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use database::Db;
use url::{Host, Url};

use super::value::{Secret, Text, parse_argument};

/// The address under which the world sees the server: http or https, without a slash at its end, a query, a fragment
/// or credentials. Routes are added to it as `{base_url}/rest/v2`.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    written: String,
    parsed: Url,
}

impl BaseUrl {
    /// The address of a server that listens on `bound` and has no other.
    pub(super) fn of(bound: SocketAddr) -> Self {
        let ip = match bound.ip() {
            IpAddr::V4(ip) => IpAddr::V4(if ip.is_unspecified() { Ipv4Addr::LOCALHOST } else { ip }),
            IpAddr::V6(ip) => IpAddr::V6(if ip.is_unspecified() { Ipv6Addr::LOCALHOST } else { ip }),
        };
        let written = format!("http://{}", SocketAddr::new(ip, bound.port()));
        #[expect(clippy::expect_used, reason = "a socket address after http:// is a URL")]
        let parsed = Url::parse(&written).expect("a URL");
        Self { written, parsed }
    }

    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Its origin as browsers send it: scheme, host, and the port if it is not the usual one.
    pub fn origin(&self) -> String {
        self.parsed.origin().ascii_serialization()
    }

    /// Its host and port as clients send them in `Host`.
    pub fn authority(&self) -> &str {
        self.parsed.authority()
    }

    /// Its host and port, to connect to.
    pub fn host_and_port(&self) -> String {
        let port = self.parsed.port_or_known_default().unwrap_or_default();
        format!("{}:{port}", self.parsed.host_str().unwrap_or_default())
    }

    /// Its path, without a slash at its end: empty for most.
    pub fn path(&self) -> &str {
        self.parsed.path().trim_end_matches('/')
    }

    /// Returns whether it is https, so that cookies may be `Secure`.
    pub fn is_https(&self) -> bool {
        self.parsed.scheme() == "https"
    }

    /// Returns whether it leads to this machine only.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.parsed)
    }
}

/// Returns whether a URL leads to this machine only.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.written)
    }
}

/// The http or https URL of another server, without a slash at its end, a query, a fragment or credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(String);

impl HttpUrl {
    /// Parses a URL, as the settings do.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_argument(text)
    }

    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether what is sent there can be read in transit: it is http, and leads to another machine.
    pub fn is_readable_in_transit(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| url.scheme() == "http" && !is_loopback(&url))
    }
}

/// An origin as browsers send it in `Origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// The origin, to compare byte by byte.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The database: `sqlite:...` or `postgres://...`.
#[derive(Clone, Debug)]
pub struct DatabaseUrl(Secret);

impl DatabaseUrl {
    /// Parses a URL, as the settings do.
    ///
    /// # Errors
    /// What is expected, without a part of the URL that may be a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_argument(text)
    }

    /// A SQLite database in this file, made when it is not there.
    pub(super) fn sqlite(file: &Path) -> Self {
        // The path becomes a part of a URL, where a plain `?` would begin the parameters, and the first folder of a relative path is
        // parsed as a host, in which a space is not allowed.
        let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace(' ', "%20");
        Self(format!("sqlite://{path}?mode=rwc").into())
    }

    /// The address with its password, for the one place that connects.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The file of an SQLite database; `None` for PostgreSQL and for a database in memory.
    pub fn sqlite_file(&self) -> Option<PathBuf> {
        Db::file_of(self.expose())
    }

    /// Where it is, without the password: the file, or the name and the host.
    pub fn place(&self) -> String {
        if let Some(file) = self.sqlite_file() {
            return file.display().to_string();
        }
        let Some(url) = Url::parse(self.expose()).ok().filter(|_| self.is_postgres()) else {
            return "in memory".to_owned();
        };
        let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("this machine");
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{} of PostgreSQL on {host}{port}", url.path().trim_start_matches('/'))
    }

    /// Returns whether it is PostgreSQL; else it is SQLite.
    pub fn is_postgres(&self) -> bool {
        self.expose().starts_with("postgres")
    }
}

/// Where the stored files are.
#[derive(Clone, Debug)]
pub enum FilesUrl {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, as `s3://BUCKET/PREFIX`.
    S3(String),
}

/// The transport by which e-mails are sent.
#[derive(Clone, Debug)]
pub enum MailUrl {
    /// A mail server, as `smtp://...` or `smtps://...`.
    Smtp(Secret),
    /// A folder to which one file per e-mail is written.
    Folder(PathBuf),
}

impl Text for BaseUrl {
    const EXPECTED: &'static str = "a URL like https://library.example.org, without query and fragment";

    fn read(text: &str) -> Option<Self> {
        let parsed = http(text)?;
        Some(Self { written: parsed.as_str().trim_end_matches('/').to_owned(), parsed })
    }
}

impl Text for HttpUrl {
    const EXPECTED: &'static str = "an http or https URL, without user name, password, query and fragment";

    fn read(text: &str) -> Option<Self> {
        Some(Self(http(text)?.as_str().trim_end_matches('/').to_owned()))
    }
}

impl Text for Origin {
    const EXPECTED: &'static str = "an origin like https://app.example.org, without a path";

    fn read(text: &str) -> Option<Self> {
        let parsed = Url::parse(text).ok().filter(|url| url.has_host() && bare(url))?;
        // The parser adds a slash to http and https, and none to other schemes.
        let whole = parsed.as_str().trim_end_matches('/').to_owned();
        matches!(parsed.path(), "" | "/").then_some(Self(whole))
    }
}

impl Text for DatabaseUrl {
    const EXPECTED: &'static str = "sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME";

    fn read(text: &str) -> Option<Self> {
        let fits = is_database_url(text) && Db::check_url(text).is_ok();
        fits.then(|| Self(text.to_owned().into()))
    }

    fn expected_instead_of(text: &str) -> String {
        match Db::check_url(text) {
            Err(fault) if is_database_url(text) => fault.to_string(),
            Ok(()) | Err(_) => Self::EXPECTED.to_owned(),
        }
    }
}

/// Returns whether a text has the form of the URL of a database, whatever its parameters are.
fn is_database_url(text: &str) -> bool {
    match text.split_once(':') {
        Some(("sqlite", path)) => !path.trim_start_matches('/').is_empty(),
        Some(("postgres" | "postgresql", rest)) => rest.starts_with("//") && Url::parse(text).is_ok(),
        Some(_) | None => false,
    }
}

impl Text for FilesUrl {
    const EXPECTED: &'static str = "a folder or s3://BUCKET/PREFIX";

    fn read(text: &str) -> Option<Self> {
        match text.split_once("://") {
            None => PathBuf::read(text).map(Self::Folder),
            Some(("s3", _)) => {
                let url = Url::parse(text).ok()?;
                (url.has_host() && bare(&url)).then(|| Self::S3(text.to_owned()))
            }
            Some(_) => None,
        }
    }
}

impl Text for MailUrl {
    const EXPECTED: &'static str = "smtp://HOST:PORT, smtps://USER:PASSWORD@HOST or file://FOLDER";

    fn read(text: &str) -> Option<Self> {
        match text.split_once("://")? {
            // Not an address with a host: in file://letters the folder is `letters`.
            ("file", folder) => (!folder.is_empty()).then(|| Self::Folder(folder.into())),
            ("smtp" | "smtps", _) => {
                Url::parse(text).ok()?.has_host().then(|| Self::Smtp(text.to_owned().into()))
            }
            _ => None,
        }
    }
}

fn http(text: &str) -> Option<Url> {
    let parsed = Url::parse(text).ok()?;
    (matches!(parsed.scheme(), "http" | "https") && parsed.has_host() && bare(&parsed)).then_some(parsed)
}

fn bare(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none()
}
