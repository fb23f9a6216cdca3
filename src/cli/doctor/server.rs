//! The server: what answers at its address, and whether it could listen there.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::check::Check;
use crate::cli::probe::{ServerProbe, ServerState};
use crate::data_dir::is_locked;
use crate::server::listen_fault;
use crate::settings::Settings;

const NAME: &str = "server";

/// Judges what answers on `server.listen`. If nothing does, checks that the server could listen on its addresses.
pub fn check(settings: &Settings, server: &ServerProbe) -> Check {
    let listen = settings.server.listen;
    match server.state {
        ServerState::Ready => Check::good(NAME, format!("a server runs on {listen} and is ready")),
        ServerState::NotReady => match server.storage.as_deref() {
            Some("damaged") => {
                let found = format!("the server on {listen} refuses writes: it found damage in the database");
                let advice = "follow the advice of `database files`; if that check found no damage, the server accepts writes \
                              again after its own next check, within five minutes, or after a restart";
                Check::warning(NAME, found, advice)
            }
            Some("removed") => {
                let found = format!("the server on {listen} refuses writes: its database was removed");
                Check::warning(NAME, found, "follow the advice of `database`")
            }
            Some(_) | None => {
                let advice = format!("see http://{listen}/readyz and the log");
                Check::warning(NAME, format!("the server on {listen} is not ready"), advice)
            }
        },
        ServerState::OtherServer => {
            let data_dir = settings.data_dir.display();
            let found =
                format!("another server answers on {listen}: no running server uses data_dir {data_dir}");
            let advice = "to check that server, use its settings (`carrel --config FILE doctor`); to run another one, set server.listen \
                          to another address";
            Check::wrong(NAME, found, advice)
        }
        ServerState::OtherProgram => {
            let found = format!("another program answers on {listen}");
            Check::wrong(NAME, found, "stop that program, or set server.listen to another address")
        }
        ServerState::NotRunning if is_locked(&settings.data_dir) == Some(true) => {
            let data_dir = settings.data_dir.display();
            let found = format!("a server that does not answer on {listen} uses data_dir {data_dir}");
            Check::warning(
                NAME,
                found,
                "set server.listen to its address, or stop it before you start another one",
            )
        }
        ServerState::NotRunning => check_addresses(settings),
    }
}

/// Listens on each address of the settings for a moment.
fn check_addresses(settings: &Settings) -> Check {
    let listen = settings.server.listen;
    let metrics = settings.server.metrics_listen.map(|address| ("server.metrics_listen", address));
    for (setting, address) in [("server.listen", listen)].into_iter().chain(metrics) {
        let Err(cause) = TcpListener::bind(address) else { continue };
        let fault = listen_fault(setting, address, &cause);
        // The server may have rights that this command lacks.
        if cause.kind() == ErrorKind::PermissionDenied {
            return Check::warning(NAME, fault.finding, fault.advice);
        }
        return Check::stopping_start(NAME, fault);
    }
    Check::good(NAME, format!("no server runs on {listen}; `carrel serve` starts one"))
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    /// Judges this state, with these addresses of the server and of the metrics.
    fn check_state(state: ServerState, listen: &str, metrics: &str) -> Check {
        let folder = tempfile::tempdir().unwrap();
        let variables = [
            ("CARREL__DATA_DIR", folder.path().to_str().unwrap()),
            ("CARREL__SERVER__LISTEN", listen),
            ("CARREL__SERVER__METRICS_LISTEN", metrics),
        ];
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let settings = Settings::load(None, owned.into_iter()).unwrap();
        check(&settings, &ServerProbe { state, storage: None, index: None })
    }

    #[test]
    fn address_that_cannot_be_listened_on_is_wrong() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().to_string();
        // TEST-NET-1, which no machine has (RFC 5737).
        let foreign = "192.0.2.7:8080";
        for (listen, metrics, found) in [
            (taken.as_str(), "", format!("server.listen = {taken}: ")),
            ("127.0.0.1:0", taken.as_str(), format!("server.metrics_listen = {taken}: ")),
            (foreign, "", format!("server.listen = {foreign}: ")),
        ] {
            let check = check_state(ServerState::NotRunning, listen, metrics);

            assert_eq!(check.state, CheckState::Wrong, "{check}");
            assert!(check.found.starts_with(&format!("could not listen on {found}")), "{check}");
        }
    }

    #[test]
    fn free_address_is_good_and_another_server_is_wrong() {
        let free = check_state(ServerState::NotRunning, "127.0.0.1:0", "");
        let other = check_state(ServerState::OtherServer, "127.0.0.1:0", "");

        assert_eq!((free.state, other.state), (CheckState::Good, CheckState::Wrong));
        assert!(other.found.contains("no running server uses data_dir"), "{other}");
    }
}
