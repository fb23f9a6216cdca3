//! The URL of a database, checked before a driver connects to it.
//!
//! The driver of PostgreSQL logs a parameter that it does not know together with its value, and both drivers quote an invalid value in
//! their errors. Either value may be a password.

use std::fmt;

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use url::{Url, form_urlencoded};

use super::db::Db;

/// The longest name of an unknown parameter that is shown, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// A parameter of the query that a driver accepts.
struct UrlParameter {
    /// Its names: the usual one, and then the aliases.
    names: &'static [&'static str],
    /// The allowed values, to follow "is".
    values: &'static str,
}

const TEXT: &str = "a text";
const FILE_PATH: &str = "the path of a file";

/// The parameters that the parser of `PgConnectOptions` knows. It also takes `options[NAME]`.
const POSTGRES_PARAMETERS: [UrlParameter; 13] = [
    UrlParameter {
        names: &["sslmode", "ssl-mode"],
        values: "one of disable, allow, prefer, require, verify-ca and verify-full",
    },
    UrlParameter { names: &["sslrootcert", "ssl-root-cert", "ssl-ca"], values: FILE_PATH },
    UrlParameter { names: &["sslcert", "ssl-cert"], values: FILE_PATH },
    UrlParameter { names: &["sslkey", "ssl-key"], values: FILE_PATH },
    UrlParameter { names: &["statement-cache-capacity"], values: "a whole number" },
    UrlParameter { names: &["host"], values: TEXT },
    UrlParameter { names: &["hostaddr"], values: "an IP address" },
    UrlParameter { names: &["port"], values: "a whole number from 0 to 65535" },
    UrlParameter { names: &["dbname"], values: TEXT },
    UrlParameter { names: &["user"], values: TEXT },
    UrlParameter { names: &["password"], values: TEXT },
    UrlParameter { names: &["application_name"], values: TEXT },
    UrlParameter { names: &["options"], values: TEXT },
];

/// The parameters that the parser of `SqliteConnectOptions` knows.
const SQLITE_PARAMETERS: [UrlParameter; 4] = [
    UrlParameter { names: &["mode"], values: "one of ro, rw, rwc and memory" },
    UrlParameter { names: &["cache"], values: "private or shared" },
    UrlParameter { names: &["immutable"], values: "true or false" },
    UrlParameter { names: &["vfs"], values: TEXT },
];

/// Why the URL of a database is refused. Its `Display` describes what is allowed, to follow "expected", and contains no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlFault {
    /// The driver does not know a parameter.
    UnknownParameter {
        /// Its name; `None` where the name may be a part of a secret that was not encoded.
        name: Option<String>,
        /// The names that the driver knows.
        known: Vec<&'static str>,
    },
    /// The driver does not accept the value of a parameter.
    InvalidValue {
        /// The name of the parameter.
        name: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// Another part cannot be parsed.
    Malformed,
}

impl fmt::Display for UrlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownParameter { name: Some(name), known } => {
                write!(f, "a URL without the unknown parameter {name}; known are {}", known.join(", "))
            }
            Self::UnknownParameter { name: None, known } => {
                write!(f, "a URL with no other parameters than {}", known.join(", "))
            }
            Self::InvalidValue { name, allowed } => write!(f, "a URL whose parameter {name} is {allowed}"),
            Self::Malformed => f.write_str("a URL without spaces, whose percent-encoded parts are UTF-8"),
        }
    }
}

impl std::error::Error for UrlFault {}

impl Db {
    /// Checks that the driver accepts every part of a URL that begins with `sqlite:`, or else is one of PostgreSQL. Connects to
    /// nothing.
    ///
    /// # Errors
    /// [`UrlFault`] names the first parameter that is unknown or has an invalid value.
    pub fn check_url(url: &str) -> Result<(), UrlFault> {
        // The library over the drivers panics where this fails.
        let parsed = Url::parse(url).map_err(|_| UrlFault::Malformed)?;
        let driver = UrlDriver::of(url);
        let query = match driver {
            // The driver takes what follows the first question mark, a fragment included.
            UrlDriver::Sqlite => url.split_once('?').map(|(_, query)| query),
            UrlDriver::Postgres => parsed.query(),
        };
        let query = query.unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(parameter) = driver.find(&name) else {
                let is_shown = !query.contains('@') && !value.is_empty() && is_plain(&name);
                let name = is_shown.then(|| name.into_owned());
                return Err(UrlFault::UnknownParameter { name, known: driver.known_names() });
            };
            if !driver.accepts(&driver.url_with(&name, &value)) {
                return Err(UrlFault::InvalidValue { name: name.into_owned(), allowed: parameter.values });
            }
        }
        if driver.accepts(url) { Ok(()) } else { Err(UrlFault::Malformed) }
    }
}

/// The driver that a URL is for.
#[derive(Clone, Copy)]
enum UrlDriver {
    Sqlite,
    Postgres,
}

impl UrlDriver {
    fn of(url: &str) -> Self {
        if url.starts_with("sqlite:") { Self::Sqlite } else { Self::Postgres }
    }

    fn parameters(self) -> &'static [UrlParameter] {
        match self {
            Self::Sqlite => &SQLITE_PARAMETERS,
            Self::Postgres => &POSTGRES_PARAMETERS,
        }
    }

    fn find(self, name: &str) -> Option<&'static UrlParameter> {
        let name = match self {
            Self::Postgres if name.starts_with("options[") && name.ends_with(']') => "options",
            Self::Postgres | Self::Sqlite => name,
        };
        self.parameters().iter().find(|parameter| parameter.names.contains(&name))
    }

    fn known_names(self) -> Vec<&'static str> {
        self.parameters().iter().filter_map(|parameter| parameter.names.first().copied()).collect()
    }

    /// Returns a URL that has this parameter alone.
    fn url_with(self, name: &str, value: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair(name, value);
        let base = match self {
            Self::Sqlite => "sqlite:rows.db",
            Self::Postgres => "postgres:///rows",
        };
        format!("{base}?{}", query.finish())
    }

    fn accepts(self, url: &str) -> bool {
        match self {
            Self::Sqlite => url.parse::<SqliteConnectOptions>().is_ok(),
            Self::Postgres => url.parse::<PgConnectOptions>().is_ok(),
        }
    }
}

/// Returns whether a name looks like that of a parameter, and not like a part of a password.
fn is_plain(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(url: &str) -> String {
        Db::check_url(url).unwrap_err().to_string()
    }

    #[test]
    fn url_with_every_known_parameter_is_accepted() {
        for url in [
            "postgres://u:p%40w@127.0.0.1:5433/n",
            "postgres:///carrel?host=/run/pg",
            "postgresql://%2Frun%2Fpg/n?sslmode=verify-full&ssl-mode=disable&sslrootcert=a&ssl-root-cert=a&ssl-ca=a",
            "postgres://h/n?sslcert=a&ssl-cert=a&sslkey=a&ssl-key=a&statement-cache-capacity=7&hostaddr=::1&port=1",
            "postgres://h/n?dbname=n&user=u&password=p&application_name=a&options=-c%20a%3Db&options[a]=b",
            "sqlite:a.db",
            "sqlite::memory:",
            "sqlite:///tmp/a%3Fb.db?mode=rwc&cache=private&immutable=false&vfs=unix",
        ] {
            assert_eq!(Db::check_url(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn unknown_parameter_is_named_without_its_value() {
        for (url, name) in [
            ("postgres://u@h/n?sslpassword=S3CR", "sslpassword"),
            ("postgres://u@h/n?sslmode=require&Password=S3CR", "Password"),
            ("sqlite:/tmp/a.db?key=S3CR", "key"),
        ] {
            let fault = fault(url);

            assert!(fault.starts_with(&format!("a URL without the unknown parameter {name};")), "{fault}");
            assert!(!fault.contains("S3CR"), "{fault}");
        }
    }

    #[test]
    fn part_of_a_password_is_not_shown_as_a_name() {
        for url in [
            "postgres://u@h/n?password=a&S3CR",
            "postgres://u@h/n?password=a&S3%20CR=b",
            "postgres://u:1/a?S3CR=b@h/n",
            "postgres://u@h/n?options[S3CR=b",
        ] {
            assert!(
                fault(url).starts_with("a URL with no other parameters than sslmode, "),
                "{}",
                fault(url)
            );
        }
    }

    #[test]
    fn invalid_value_is_not_shown() {
        for (url, expected) in [
            (
                "postgres://u@h/n?sslmode=S3CR",
                "sslmode is one of disable, allow, prefer, require, verify-ca and verify-full",
            ),
            ("postgres://u@h/n?port=S3CR", "port is a whole number from 0 to 65535"),
            ("postgres://u@h/n?hostaddr=S3CR", "hostaddr is an IP address"),
            ("postgres://u@h/n?statement-cache-capacity=S3CR", "statement-cache-capacity is a whole number"),
            ("sqlite:a.db?mode=S3CR", "mode is one of ro, rw, rwc and memory"),
            ("sqlite:a.db?cache=S3CR", "cache is private or shared"),
            ("sqlite:a.db?immutable=S3CR", "immutable is true or false"),
        ] {
            assert_eq!(fault(url), format!("a URL whose parameter {expected}"));
        }
    }

    #[test]
    fn malformed_part_is_not_shown() {
        for url in
            ["postgres://u:S3CR%ff@h/n", "postgres://u@h/S3CR%ff", "sqlite:S3CR%ff.db", "sqlite://S3 CR/a.db"]
        {
            assert_eq!(Db::check_url(url), Err(UrlFault::Malformed), "{url}");
        }
    }
}
