//! What the start needs: the data folder, the addresses, the store of files and the sender of e-mail. `carrel doctor` checks the same.

use std::error::Error as _;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use storage::blobs::{BlobError, S3Settings};
use storage::mail::{MailSettings, MailTransport, Mailer};
use url::Url;

use super::start_error::StartFault;
use crate::data_dir::private_folder;
use crate::settings::{Files, MailUrl, Secret, Settings};

/// Creates the data folder if it does not exist.
///
/// # Errors
/// [`StartFault`] when it cannot be created, or is not a folder.
pub fn create_data_dir(data_dir: &Path) -> Result<(), StartFault> {
    private_folder(data_dir).map_err(|cause| {
        StartFault::new(
            format!("could not use the folder data_dir = {}: {cause}", data_dir.display()),
            "set data_dir to a folder that the user that runs the server can create and write to",
        )
    })
}

/// Creates the folder of stored files if it does not exist.
///
/// # Errors
/// [`StartFault`] when it cannot be created, or is not a folder.
pub fn create_files_folder(folder: &Path) -> Result<(), StartFault> {
    private_folder(folder).map_err(|cause| files_folder_fault(folder, &cause))
}

/// Returns the fault of a folder of stored files that cannot be used.
pub fn files_folder_fault(folder: &Path, cause: &dyn Display) -> StartFault {
    StartFault::new(
        format!("could not open the file store of files.url: {}: {cause}", folder.display()),
        "make the folder writable by the user that runs the server (`chown`), or set files.url to another folder",
    )
}

/// Returns the fault of a bucket that cannot be used.
pub fn bucket_fault(cause: &dyn Display) -> StartFault {
    StartFault::new(
        format!("could not open the file store of files.url: {cause}"),
        "correct the settings of the section files",
    )
}

/// Returns the cause of the error of a store that could not be opened.
pub fn store_error_cause(error: &BlobError) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Makes the settings of a bucket from those of the section `files`.
///
/// # Errors
/// [`StartFault`] when one half of the access key is missing.
pub fn bucket_settings(files: &Files, url: String) -> Result<S3Settings, StartFault> {
    // The library reads what the settings leave out from the environment.
    let is_in_environment = |variable: &str| std::env::var_os(variable).is_some();
    let has_id = files.access_key.is_some() || is_in_environment(KEY_ID.variable);
    let has_secret = files.secret_key.is_some() || is_in_environment(KEY_SECRET.variable);
    match (has_id, has_secret) {
        (true, false) => return Err(half_key_fault(KEY_ID, KEY_SECRET)),
        (false, true) => return Err(half_key_fault(KEY_SECRET, KEY_ID)),
        (true, true) | (false, false) => {}
    }
    let expose = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
    Ok(S3Settings {
        url,
        endpoint: files.endpoint.as_ref().map(|endpoint| endpoint.as_str().to_owned()),
        region: files.region.clone(),
        access_key: expose(&files.access_key),
        secret_key: expose(&files.secret_key),
    })
}

/// One half of an access key: its setting, and the environment variable that is used without it.
#[derive(Clone, Copy)]
struct KeyHalf {
    setting: &'static str,
    variable: &'static str,
}

const KEY_ID: KeyHalf = KeyHalf { setting: "files.access_key", variable: "AWS_ACCESS_KEY_ID" };
const KEY_SECRET: KeyHalf = KeyHalf { setting: "files.secret_key", variable: "AWS_SECRET_ACCESS_KEY" };

fn half_key_fault(present: KeyHalf, missing: KeyHalf) -> StartFault {
    StartFault::new(
        format!(
            "could not open the file store of files.url: {} or {} is set, but neither {} nor {}",
            present.setting, present.variable, missing.setting, missing.variable
        ),
        format!("set {} too, or set neither to use the role of the machine", missing.setting),
    )
}

/// Returns the sender of e-mail; `None` if `mail.url` is not set.
///
/// # Errors
/// [`StartFault`] when `mail.url` or `mail.from` cannot be parsed.
pub fn mailer(settings: &Settings, base_url: &str) -> Result<Option<Mailer>, StartFault> {
    let transport = match &settings.mail.url {
        None => return Ok(None),
        Some(MailUrl::Smtp(url)) => MailTransport::Smtp(url.expose().to_owned()),
        Some(MailUrl::Folder(folder)) => MailTransport::Folder(folder.clone()),
    };
    let host = Url::parse(base_url).ok().and_then(|base| Some(base.host_str()?.to_owned()));
    let from = settings.mail.from.as_str().to_owned();
    let host = host.unwrap_or_else(|| "localhost".to_owned());
    match Mailer::new(MailSettings { transport, from, host }) {
        Ok(mailer) => Ok(Some(mailer)),
        Err(fault) => Err(StartFault::new(fault.to_string(), "correct the settings of the section mail")),
    }
}

/// Listens on the address of a setting.
///
/// # Errors
/// [`StartFault`] when the address is in use, or does not belong to this machine.
pub fn bind(setting: &str, address: SocketAddr) -> Result<TcpListener, StartFault> {
    TcpListener::bind(address).map_err(|cause| listen_fault(setting, address, &cause))
}

/// Returns the fault of an address that cannot be listened on.
pub fn listen_fault(setting: &str, address: SocketAddr, cause: &io::Error) -> StartFault {
    let finding = format!("could not listen on {setting} = {address}: {cause}");
    let advice = if cause.kind() == ErrorKind::AddrInUse {
        format!(
            "stop the program that listens there (`ss -ltnp` lists it), or set {setting} to another address"
        )
    } else if cause.kind() == ErrorKind::PermissionDenied {
        format!("set {setting} to a port from 1024, or allow the server to use lower ports")
    } else {
        format!("set {setting} to an IP address of this machine (`ip address` lists them), or to 127.0.0.1")
    };
    StartFault::new(finding, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let owned = variables.iter().map(|(name, value)| (format!("CARREL__{name}"), (*value).to_owned()));
        Settings::load(None, owned).unwrap()
    }

    #[test]
    fn address_in_use_is_reported_with_its_setting() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();

        let fault = bind("server.metrics_listen", address).unwrap_err();

        let begins = format!("could not listen on server.metrics_listen = {address}: ");
        assert!(fault.finding.starts_with(&begins), "{fault}");
        assert!(fault.advice.contains("stop the program that listens there"), "{fault}");
    }

    #[test]
    fn address_of_another_machine_is_reported_with_its_setting() {
        // TEST-NET-1, which no machine has (RFC 5737).
        let fault = bind("server.listen", "192.0.2.7:0".parse().unwrap()).unwrap_err();

        assert!(fault.finding.starts_with("could not listen on server.listen = 192.0.2.7:0: "), "{fault}");
        assert!(fault.advice.contains("an IP address of this machine"), "{fault}");
    }

    #[test]
    fn folder_that_cannot_be_created_is_reported_with_its_setting() {
        let fault = create_data_dir(Path::new("/proc/carrel")).unwrap_err();

        assert!(fault.finding.starts_with("could not use the folder data_dir = /proc/carrel: "), "{fault}");
    }

    #[test]
    fn half_of_an_access_key_is_refused_with_its_settings() {
        let half = |name| {
            let files = settings(&[(name, "canary")]).files;
            bucket_settings(&files, "s3://bucket".to_owned()).unwrap_err().to_string()
        };

        assert_eq!(
            half("FILES__SECRET_KEY"),
            "could not open the file store of files.url: files.secret_key or AWS_SECRET_ACCESS_KEY is set, but neither files.access_key \
             nor AWS_ACCESS_KEY_ID; set files.access_key too, or set neither to use the role of the machine"
        );
        assert!(half("FILES__ACCESS_KEY").contains("but neither files.secret_key nor AWS_SECRET_ACCESS_KEY"));
    }

    #[test]
    fn mail_url_that_cannot_be_parsed_is_explained() {
        let wrong = settings(&[("MAIL__URL", "smtp://127.0.0.1:25?tls=canary")]);

        let fault = mailer(&wrong, "http://127.0.0.1:8080").err().unwrap();

        assert!(fault.finding.starts_with("mail.url has another value of the parameter tls"), "{fault}");
        assert!(!fault.to_string().contains("canary"), "{fault}");
    }
}
