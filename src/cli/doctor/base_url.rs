//! `server.base_url`: whether its host resolves, and whether something accepts connections there.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::check::Check;
use crate::cli::probe::{ServerAnswer, ServerState};
use crate::settings::{BaseUrl, Settings};

const NAME: &str = "base_url";
/// Maximum duration of a lookup and of a connection attempt.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Looks up the host of `server.base_url`; if a server runs, also connects to it.
pub async fn check(settings: &Settings, server: &ServerAnswer) -> Check {
    let Some(url) = &settings.server.base_url else {
        let found = format!(
            "server.base_url is not set: links and sign-in use {}, which other machines may not reach",
            settings.base_url(settings.server.listen)
        );
        return Check::good(NAME, found);
    };
    let addresses = match look_up(url).await {
        Ok(addresses) => addresses,
        Err(cause) => {
            let advice = "correct server.base_url, or the DNS record of its host";
            return Check::warning(NAME, format!("the host of {url} was not found: {cause}"), advice);
        }
    };
    if matches!(server.state, ServerState::NotRunning | ServerState::OtherProgram) {
        return Check::good(
            NAME,
            format!("the host of {url} resolves; no server is running that could be reached there"),
        );
    }
    match connect(&addresses).await {
        Ok(()) => Check::good(NAME, format!("{url} accepts connections")),
        Err(cause) => {
            let advice = format!(
                "forward {} to {}; if only this machine cannot reach it, nothing is wrong",
                url.host_and_port(),
                settings.server.listen
            );
            Check::warning(NAME, format!("{url} does not accept connections: {cause}"), advice)
        }
    }
}

async fn look_up(url: &BaseUrl) -> Result<Vec<SocketAddr>, String> {
    match timeout(MAX_WAIT, lookup_host(url.host_and_port())).await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(cause)) => Err(cause.to_string()),
        Err(_) => Err("the name server does not answer".to_owned()),
    }
}

async fn connect(addresses: &[SocketAddr]) -> Result<(), String> {
    match timeout(MAX_WAIT, TcpStream::connect(addresses)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(cause)) => Err(cause.to_string()),
        Err(_) => Err("nothing answers".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    fn settings(base_url: &str) -> Settings {
        let set = [("CARREL__SERVER__BASE_URL".to_owned(), base_url.to_owned())];
        Settings::load(None, set.into_iter()).unwrap()
    }

    const READY: ServerAnswer = ServerAnswer { state: ServerState::Ready, storage: None, index: None };

    #[tokio::test]
    async fn base_url_is_good_where_it_accepts_connections() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());

        assert_eq!(check(&settings(&url), &READY).await.state, CheckState::Good);
    }

    #[tokio::test]
    async fn base_url_that_refuses_connections_is_a_warning() {
        // The listener is closed, so that connections are refused.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = settings(&format!("http://{free}"));

        let refused = check(&settings, &READY).await;
        let not_running =
            check(&settings, &ServerAnswer { state: ServerState::NotRunning, storage: None, index: None })
                .await;

        assert_eq!((refused.state, not_running.state), (CheckState::Warning, CheckState::Good));
        assert!(refused.found.contains(&free.to_string()), "{refused}");
    }

    #[tokio::test]
    async fn base_url_whose_host_is_unknown_is_a_warning() {
        let check = check(&settings("https://carrel.invalid"), &READY).await;

        assert_eq!(check.state, CheckState::Warning);
        assert!(check.found.starts_with("the host of https://carrel.invalid was not found"), "{check}");
    }
}
