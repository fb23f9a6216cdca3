//! Letters on their way out: to a mail server, or as files into a folder.
//!
//! One letter is sent at a time: a server that hangs holds one worker and no more. What comes back of a failure names the
//! server's status and never the address, the password or the text.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use entity::time::Timestamp;
use lettre::message::header::{Date, Headers};
use lettre::message::{Mailbox, Message, SinglePart};
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use tokio::sync::Semaphore;
use url::Url;

/// A server that takes longer has not taken the letter.
const DEADLINE: Duration = Duration::from_secs(20);

/// How letters leave.
#[derive(Clone)]
pub enum Way {
    /// `smtp://` or `smtps://`, with what it takes to be let in.
    Smtp(String),
    /// A folder that gets one file a letter.
    Folder(PathBuf),
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Smtp(_) => f.write_str("Smtp(hidden)"),
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
        }
    }
}

/// What letters need: `mail.url` and `mail.from`.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// How they leave.
    pub way: Way,
    /// From whom they are.
    pub from: String,
    /// The name that ids of letters end in: the service's host.
    pub host: String,
}

/// A letter.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The same for each try, so that a receiver can tell that two are one.
    pub id: String,
    /// To whom.
    pub to: String,
    /// One line.
    pub subject: String,
    /// Plain text.
    pub text: String,
    /// When it was written.
    pub written: Timestamp,
}

/// Why a letter has not left.
#[derive(Debug, thiserror::Error)]
pub enum NotSent {
    /// Another letter is on its way.
    #[error("another letter is on its way")]
    Busy,
    /// A later try may go better.
    #[error("the mail server did not take the letter: {0}")]
    Later(String),
    /// No try will go better.
    #[error("the letter cannot be sent: {0}")]
    Never(String),
}

/// Sends letters.
pub struct Mail {
    post: Post,
    from: Mailbox,
    host: String,
    one: Semaphore,
}

enum Post {
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    Folder(PathBuf),
}

/// Settings that no letter can be sent by.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadMail(String);

impl Mail {
    /// Gets ready to send; nothing is connected yet.
    ///
    /// # Errors
    /// The sender is no address, or the server's address is none.
    pub fn new(settings: MailSettings) -> Result<Self, BadMail> {
        let from =
            settings.from.parse().map_err(|error| BadMail(format!("mail.from is no address: {error}")))?;
        let post = match settings.way {
            Way::Smtp(url) => Post::Smtp(smtp(&url)?),
            Way::Folder(folder) => Post::Folder(folder),
        };
        Ok(Self { post, from, host: settings.host, one: Semaphore::new(1) })
    }

    /// Sends a letter. Said twice it may arrive twice, with the same id.
    ///
    /// # Errors
    /// Whether it is worth another try.
    pub async fn send(&self, letter: &Letter) -> Result<(), NotSent> {
        let _place = self.one.try_acquire().map_err(|_| NotSent::Busy)?;
        match &self.post {
            Post::Smtp(server) => {
                let message = self.message(letter)?;
                let sent = tokio::time::timeout(DEADLINE, server.send(message)).await;
                sent.map_err(|_| NotSent::Later("it did not answer in time".to_owned()))?
                    .map(drop)
                    .map_err(|error| refused(&error))
            }
            Post::Folder(folder) => {
                let (file, content) = (folder.join(format!("{}.eml", letter.id)), self.readable(letter));
                let written = tokio::task::spawn_blocking(move || write(&file, &content)).await;
                let written = written.map_err(|_| NotSent::Later("writing it panicked".to_owned()))?;
                written.map_err(|error| NotSent::Later(error.kind().to_string()))
            }
        }
    }

    fn message(&self, letter: &Letter) -> Result<Message, NotSent> {
        let to =
            letter.to.parse().map_err(|_| NotSent::Never("its receiver's address is none".to_owned()))?;
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(letter.subject.as_str())
            .date(moment(letter.written))
            .message_id(Some(format!("<{}@{}>", letter.id, self.host)))
            .singlepart(SinglePart::plain(letter.text.clone()))
            .map_err(|error| NotSent::Never(error.to_string()))
    }

    /// The letter as a person reads it: a message in UTF-8 as it stands (RFC 6532).
    fn readable(&self, letter: &Letter) -> String {
        let mut date = Headers::new();
        date.set(Date::from(moment(letter.written)));
        format!(
            "{}\nFrom: {}\nTo: {}\nSubject: {}\nMessage-ID: <{}@{}>\nMIME-Version: 1.0\n\
             Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{}\n",
            date.to_string().trim_end(),
            self.from,
            letter.to,
            letter.subject,
            letter.id,
            self.host,
            letter.text.trim_end(),
        )
    }
}

/// By `smtps://` the connection is encrypted from its beginning. By `smtp://` it is as soon as the server can; with a
/// password it must be, unless the server is on this machine.
fn smtp(url: &str) -> Result<AsyncSmtpTransport<Tokio1Executor>, BadMail> {
    let bad = |what: &str| BadMail(format!("mail.url: {what}"));
    let parsed = Url::parse(url).map_err(|_| bad("is no address"))?;
    let host = parsed.host_str().ok_or_else(|| bad("names no server"))?.trim_matches(['[', ']']).to_owned();
    let built = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
        .map_err(|_| bad("is no address of a mail server"))?;
    let local = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let tls =
        || TlsParameters::new(host.clone()).map_err(|_| bad("names a server that no certificate can be for"));
    let built = match (parsed.scheme(), parsed.username().is_empty() || local) {
        ("smtps", _) => built,
        (_, true) => built.tls(Tls::Opportunistic(tls()?)),
        (_, false) => built.tls(Tls::Required(tls()?)),
    };
    Ok(built.timeout(Some(DEADLINE)).build())
}

/// What a server says may hold addresses: its status is enough.
fn refused(error: &SmtpError) -> NotSent {
    let status = error.status().map(|status| status.to_string());
    let why = match status {
        Some(status) => format!("it answered {status}"),
        None if error.is_timeout() => "it did not answer in time".to_owned(),
        None if error.is_tls() => "no encrypted connection came about".to_owned(),
        None => "it could not be reached".to_owned(),
    };
    if error.is_permanent() { NotSent::Never(why) } else { NotSent::Later(why) }
}

/// Written whole or not at all, for its owner's eyes alone.
fn write(file: &Path, content: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let half = file.with_extension("part");
    let mut open = std::fs::OpenOptions::new();
    let mut to = open.write(true).create(true).truncate(true).mode(0o600).open(&half)?;
    to.write_all(content.as_bytes())?;
    to.sync_all()?;
    std::fs::rename(half, file)
}

fn moment(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.millis()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter {
            id: "n1".to_owned(),
            to: "reader@example.com".to_owned(),
            subject: "The key “Büro” was used".to_owned(),
            text: "It was used by shelfie/2.0.".to_owned(),
            written: Timestamp::from_millis(1_700_000_000_000),
        }
    }

    fn mail(way: Way) -> Result<Mail, BadMail> {
        Mail::new(MailSettings {
            way,
            from: "Carrel <carrel@example.com>".to_owned(),
            host: "h.example".to_owned(),
        })
    }

    #[tokio::test]
    async fn a_folder_gets_one_readable_file_a_letter_however_often_it_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        let mail = mail(Way::Folder(folder.path().join("letters"))).unwrap();

        mail.send(&letter()).await.unwrap();
        mail.send(&letter()).await.unwrap();

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
    fn a_password_stands_in_nothing_that_is_shown() {
        let way = Way::Smtp("smtps://me:canary@mail.example".to_owned());
        assert!(!format!("{way:?}").contains("canary"));
        let Err(bad) = mail(Way::Smtp("smtp://me:canary@".to_owned())) else { panic!("taken") };
        assert!(!bad.to_string().contains("canary"));
        assert!(mail(way).is_ok());
    }

    /// Of the fault table (row 20).
    #[test]
    fn a_letter_has_the_same_id_at_each_try() {
        let mail = mail(Way::Folder("letters".into())).unwrap();
        let said = String::from_utf8(mail.message(&letter()).unwrap().formatted()).unwrap();

        assert!(
            said.contains("Message-ID: <n1@h.example>") && said.contains("To: reader@example.com"),
            "{said}"
        );
        let nobody = Letter { to: "nobody".to_owned(), ..letter() };
        assert!(matches!(mail.message(&nobody), Err(NotSent::Never(_))));
    }
}
