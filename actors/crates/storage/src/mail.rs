//! Sends e-mail: to an SMTP server, or as files into a folder.
//!
//! One e-mail is sent at a time, so that a server that hangs occupies one worker only. Errors name the status that the server
//! answered with, never the address, the password or the text.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lettre::message::header::{Date, Headers};
use lettre::message::{Mailbox, Message, SinglePart};
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;
use url::Url;
use values::time::Timestamp;

/// A server that has not accepted the e-mail within this time is given up.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// The values of the parameter `tls` of a `smtp://` URL.
const TLS_MODES: [&str; 2] = ["required", "opportunistic"];

/// The way in which e-mail is sent, from the setting `mail.url`.
#[derive(Clone)]
pub enum MailTransport {
    /// A `smtp://` or `smtps://` URL, credentials included.
    Smtp(String),
    /// A folder that gets one `.eml` file for each e-mail.
    Folder(PathBuf),
}

impl fmt::Debug for MailTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Smtp(_) => f.write_str("Smtp(hidden)"),
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
        }
    }
}

/// The settings `mail.url` and `mail.from`, and the host of the server.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// The server or the folder, from `mail.url`.
    pub transport: MailTransport,
    /// The sender: an address, or a name and an address (`Carrel <carrel@example.org>`).
    pub from: String,
    /// The host of the server, in which every Message-ID ends.
    pub host: String,
}

/// An e-mail in plain text.
#[derive(Clone, Debug)]
pub struct Email {
    /// First part of the Message-ID. It is the same at every attempt, so that the receiver can drop duplicates.
    pub id: String,
    /// E-mail address of the recipient.
    pub to: String,
    /// Subject, which must contain no line break.
    pub subject: String,
    /// Body of the e-mail in plain text.
    pub text: String,
    /// Time of the `Date` header.
    pub written_at: Timestamp,
}

/// Why an e-mail was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Another e-mail is being sent.
    #[error("another e-mail is being sent")]
    Busy,
    /// A later attempt may succeed.
    #[error("the mail server did not accept the e-mail: {0}")]
    Transient(String),
    /// No attempt will succeed, so the e-mail is given up.
    #[error("the e-mail cannot be sent: {0}")]
    Permanent(String),
}

/// Sends e-mail through one transport, one e-mail at a time.
pub struct Mailer {
    sender: Sender,
    from: Mailbox,
    host: String,
    /// One slot: one e-mail is sent at a time.
    slot: Semaphore,
}

enum Sender {
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    Folder(PathBuf),
}

/// Settings by which no e-mail can be sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MailConfigError(String);

impl Mailer {
    /// Checks the settings; connects to nothing yet.
    ///
    /// # Errors
    /// [`MailConfigError`] when the sender is not an e-mail address, or the URL is not that of a mail server.
    pub fn new(settings: MailSettings) -> Result<Self, MailConfigError> {
        let from = settings
            .from
            .parse()
            .map_err(|error| MailConfigError(format!("mail.from is not an e-mail address: {error}")))?;
        let sender = match settings.transport {
            MailTransport::Smtp(url) => Sender::Smtp(smtp(&url)?),
            MailTransport::Folder(folder) => Sender::Folder(folder),
        };
        Ok(Self { sender, from, host: settings.host, slot: Semaphore::new(1) })
    }

    /// Sends an e-mail. If it is sent twice it may arrive twice, with the same Message-ID.
    ///
    /// # Errors
    /// [`SendError`] says whether another attempt is worth it.
    pub async fn send(&self, email: &Email) -> Result<(), SendError> {
        let _permit = self.slot.try_acquire().map_err(|_| SendError::Busy)?;
        match &self.sender {
            Sender::Smtp(server) => {
                let message = self.message(email)?;
                // The timeout of the client is for each answer of the server; this one bounds all of them together.
                let sent = tokio::time::timeout(SEND_TIMEOUT, server.send(message)).await;
                sent.map_err(|_| SendError::Transient("it did not answer in time".to_owned()))?
                    .map(drop)
                    .map_err(|error| send_error(&error))
            }
            Sender::Folder(folder) => {
                let (file, content) = (folder.join(format!("{}.eml", email.id)), self.readable(email));
                let written = tokio::task::spawn_blocking(move || write_file(&file, &content)).await;
                let written = written.map_err(|_| SendError::Transient("writing it panicked".to_owned()))?;
                written.map_err(|error| SendError::Transient(error.kind().to_string()))
            }
        }
    }

    fn message(&self, email: &Email) -> Result<Message, SendError> {
        let to = email.to.parse().map_err(|_| {
            SendError::Permanent("the e-mail address of the recipient is malformed".to_owned())
        })?;
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(email.subject.as_str())
            .date(system_time(email.written_at))
            .message_id(Some(format!("<{}@{}>", email.id, self.host)))
            .singlepart(SinglePart::plain(email.text.clone()))
            .map_err(|error| SendError::Permanent(error.to_string()))
    }

    /// Returns the e-mail as an internationalised message (RFC 6532): UTF-8 without any encoding, readable in an editor.
    fn readable(&self, email: &Email) -> String {
        let mut date = Headers::new();
        date.set(Date::from(system_time(email.written_at)));
        format!(
            "{}\nFrom: {}\nTo: {}\nSubject: {}\nMessage-ID: <{}@{}>\nMIME-Version: 1.0\n\
             Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{}\n",
            date.to_string().trim_end(),
            self.from,
            email.to,
            email.subject,
            email.id,
            self.host,
            email.text.trim_end(),
        )
    }
}

/// Makes a client of an SMTP server. With `smtps://` the connection is encrypted from its beginning. With `smtp://` it is encrypted
/// if the server offers that (STARTTLS); with `tls=required`, or with a password for a server on another machine, it must be.
fn smtp(url: &str) -> Result<AsyncSmtpTransport<Tokio1Executor>, MailConfigError> {
    let invalid = |what: &str| MailConfigError(format!("mail.url {what}"));
    let parsed = Url::parse(url).map_err(|_| invalid("is not a URL"))?;
    // A URL has an IPv6 address in brackets; certificates and `IpAddr` have none.
    let host =
        parsed.host_str().ok_or_else(|| invalid("names no server"))?.trim_matches(['[', ']']).to_owned();
    if let Some((_, mode)) = parsed.query_pairs().find(|(name, _)| name == "tls")
        && parsed.scheme() == "smtp"
        && !TLS_MODES.contains(&&*mode)
    {
        return Err(invalid("has another value of the parameter tls than required and opportunistic"));
    }
    let is_utf8 = |part: &str| percent_decode_str(part).decode_utf8().is_ok();
    if let Some(password) = parsed.password()
        && !(is_utf8(parsed.username()) && is_utf8(password))
    {
        return Err(invalid("has a user name or password that is not UTF-8 after percent-decoding"));
    }
    if !matches!(parsed.scheme(), "smtp" | "smtps") {
        return Err(invalid("begins neither with smtp:// nor with smtps://"));
    }
    let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
        .map_err(|_| invalid("names a server for which there can be no certificate"))?;
    let is_local = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let tls = || {
        TlsParameters::new(host.clone())
            .map_err(|_| invalid("names a server for which there can be no certificate"))
    };
    let is_tls_requested = parsed.query_pairs().any(|pair| pair == ("tls".into(), "required".into()));
    // A password is sent over TLS alone, except to a server on this machine.
    let is_tls_required = is_tls_requested || !(parsed.username().is_empty() || is_local);
    let builder = match (parsed.scheme(), is_tls_required) {
        ("smtps", _) => builder,
        (_, false) => builder.tls(Tls::Opportunistic(tls()?)),
        (_, true) => builder.tls(Tls::Required(tls()?)),
    };
    Ok(builder.timeout(Some(SEND_TIMEOUT)).build())
}

/// Converts the error of a server to its status: the text of its answer may hold addresses.
fn send_error(error: &SmtpError) -> SendError {
    let status = error.status().map(|status| status.to_string());
    let reason = match status {
        Some(status) => format!("it answered {status}"),
        None if error.is_timeout() => "it did not answer in time".to_owned(),
        None if error.is_tls() => "no encrypted connection could be made".to_owned(),
        None => "it could not be reached".to_owned(),
    };
    if error.is_permanent() { SendError::Permanent(reason) } else { SendError::Transient(reason) }
}

/// Writes a file whole or not at all, readable by its owner only.
fn write_file(file: &Path, content: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Renamed when it is complete, so that a program that collects `.eml` files finds no partial one.
    let draft = file.with_extension("part");
    let mut open = std::fs::OpenOptions::new();
    let mut to = open.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    to.write_all(content.as_bytes())?;
    to.sync_all()?;
    std::fs::rename(draft, file)
}

fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.millis()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn email() -> Email {
        Email {
            id: "n1".to_owned(),
            to: "reader@example.com".to_owned(),
            subject: "The key “Büro” was used".to_owned(),
            text: "It was used by shelfie/2.0.".to_owned(),
            written_at: Timestamp::from_millis(1_700_000_000_000),
        }
    }

    fn mailer(transport: MailTransport) -> Result<Mailer, MailConfigError> {
        Mailer::new(MailSettings {
            transport,
            from: "Carrel <carrel@example.com>".to_owned(),
            host: "h.example".to_owned(),
        })
    }

    #[tokio::test]
    async fn folder_gets_one_readable_file_for_each_email() {
        let folder = tempfile::tempdir().unwrap();
        let mailer = mailer(MailTransport::Folder(folder.path().join("letters"))).unwrap();

        mailer.send(&email()).await.unwrap();
        mailer.send(&email()).await.unwrap();

        let files: Vec<_> = std::fs::read_dir(folder.path().join("letters")).unwrap().collect();
        assert_eq!(files.len(), 1);
        let written = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
        for part in [
            "To: reader@example.com\n",
            "Subject: The key “Büro” was used\n",
            "\n\nIt was used by shelfie/2.0.\n",
        ] {
            assert!(written.contains(part), "{written}");
        }
    }

    #[test]
    fn password_appears_in_no_debug_output_or_error() {
        let transport = MailTransport::Smtp("smtps://me:canary@mail.example".to_owned());
        assert!(!format!("{transport:?}").contains("canary"));
        let Err(error) = mailer(MailTransport::Smtp("smtp://me:canary@".to_owned())) else {
            panic!("accepted")
        };
        assert!(!error.to_string().contains("canary"));
        assert!(mailer(transport).is_ok());
    }

    #[test]
    fn mail_url_that_is_refused_is_explained_without_its_value() {
        for (url, reason) in [
            (
                "smtp://127.0.0.1:25?tls=canary",
                "has another value of the parameter tls than required and opportunistic",
            ),
            (
                "smtps://me:canary%ff@mail.example",
                "has a user name or password that is not UTF-8 after percent-decoding",
            ),
            ("http://me:canary@mail.example", "begins neither with smtp:// nor with smtps://"),
        ] {
            let error = mailer(MailTransport::Smtp(url.to_owned())).err().unwrap().to_string();

            assert_eq!(error, format!("mail.url {reason}"));
        }
        for url in [
            "smtp://127.0.0.1:25",
            "smtp://mail.example?tls=required",
            "smtp://mail.example?tls=opportunistic",
        ] {
            assert!(mailer(MailTransport::Smtp(url.to_owned())).is_ok(), "{url}");
        }
    }

    #[tokio::test]
    async fn required_tls_is_not_left_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}?tls=required", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"220 h.example\r\n").await.unwrap();
            let mut answered = [0; 512];
            let _ = stream.read(&mut answered).await.unwrap();
            // Offers no STARTTLS.
            stream.write_all(b"250 h.example\r\n").await.unwrap();
            let count = stream.read(&mut answered).await.unwrap_or_default();
            String::from_utf8_lossy(&answered[..count]).into_owned()
        });

        let sent = mailer(MailTransport::Smtp(url)).unwrap().send(&email()).await;

        assert!(sent.is_err());
        let next = server.await.unwrap();
        assert!(!next.starts_with("MAIL"), "{next}");
    }

    /// Covers the fault table (row 20).
    #[test]
    fn message_id_is_the_same_at_every_attempt() {
        let mailer = mailer(MailTransport::Folder("letters".into())).unwrap();
        let message = String::from_utf8(mailer.message(&email()).unwrap().formatted()).unwrap();

        assert!(
            message.contains("Message-ID: <n1@h.example>") && message.contains("To: reader@example.com"),
            "{message}"
        );
        let malformed = Email { to: "nobody".to_owned(), ..email() };
        assert!(matches!(mailer.message(&malformed), Err(SendError::Permanent(_))));
    }
}
