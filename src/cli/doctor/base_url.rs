//! `server.base_url`: whether its host resolves, and whether Carrel answers there, over TLS if it is an https URL.

use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::timeout;
use web::probe::{self, ProbeClient};

use super::check::Check;
use crate::cli::probe::{ServerProbe, ServerState};
use crate::http::health::ALIVE;
use crate::settings::{BaseUrl, Settings};

const NAME: &str = "base_url";
/// Maximum duration of a lookup and of a request.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Looks up the host of `server.base_url`; if a server runs, also requests `/healthz` from it there.
pub async fn check(settings: &Settings, server: &ServerProbe) -> Check {
    let Some(url) = &settings.server.base_url else {
        let found = format!(
            "server.base_url is not set: links and sign-in use {}, which other machines may be unable to reach",
            settings.base_url(settings.server.listen)
        );
        return Check::good(NAME, found);
    };
    if let Err(cause) = look_up(url).await {
        let advice = "correct server.base_url, or the DNS record of its host";
        return Check::warning(NAME, format!("the host of {url} was not found: {cause}"), advice);
    }
    if matches!(server.state, ServerState::NotRunning | ServerState::OtherServer | ServerState::OtherProgram)
    {
        return Check::good(
            NAME,
            format!("the host of {url} resolves; no server is running, so no request was sent to the URL"),
        );
    }
    match request_health(url).await {
        Ok(()) => Check::good(NAME, format!("Carrel answers at {url}")),
        Err(cause) => {
            let advice = format!(
                "make the proxy forward requests for {} to {}; ignore this warning if only this machine cannot reach the URL",
                url.host_and_port(),
                settings.server.listen
            );
            Check::warning(NAME, format!("Carrel does not answer at {url}: {cause}"), advice)
        }
    }
}

async fn look_up(url: &BaseUrl) -> Result<(), String> {
    match timeout(MAX_WAIT, lookup_host(url.host_and_port())).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(cause)) => Err(cause.to_string()),
        Err(_) => Err("the name server does not answer".to_owned()),
    }
}

/// Requests `/healthz`. The message of an error says what answered instead.
async fn request_health(url: &BaseUrl) -> Result<(), String> {
    let client = ProbeClient::new().map_err(|cause| format!("no HTTP client could be created: {cause}"))?;
    let request = client.get(&format!("{url}/healthz"));
    let response = timeout(MAX_WAIT, probe::send(request))
        .await
        .map_err(|_| "no response arrived in time".to_owned())?
        .and_then(|response| response.expect_status(200, "/healthz"))
        .map_err(|error| error.to_string())?;
    // The status alone proves nothing: a proxy or another program may answer every path with 200.
    if response.body() == ALIVE.as_bytes() { Ok(()) } else { Err("another program answers there".to_owned()) }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::check::CheckState;
    use super::*;

    fn settings(base_url: &str) -> Settings {
        let set = [("CARREL__SERVER__BASE_URL".to_owned(), base_url.to_owned())];
        Settings::load(None, set.into_iter()).unwrap()
    }

    const READY: ServerProbe = ServerProbe { state: ServerState::Ready, storage: None, index: None };

    /// Starts a server that answers one request with this status and body. Returns its URL.
    async fn serve_once(status: &'static str, body: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // A request without a body is shorter than one read.
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        });
        url
    }

    #[tokio::test]
    async fn base_url_is_good_where_carrel_answers() {
        let url = serve_once("200 OK", ALIVE).await;

        assert_eq!(check(&settings(&url), &READY).await.state, CheckState::Good);
    }

    #[tokio::test]
    async fn base_url_of_another_program_is_a_warning() {
        for (status, body, found) in [
            ("200 OK", "<p>Welcome</p>", "another program answers there"),
            ("404 Not Found", "", "/healthz answered 404 instead of 200"),
        ] {
            let url = serve_once(status, body).await;

            let check = check(&settings(&url), &READY).await;

            assert_eq!(check.state, CheckState::Warning);
            assert!(check.found.contains(found), "{check}");
        }
    }

    #[tokio::test]
    async fn base_url_that_refuses_connections_is_a_warning() {
        // The listener is closed, so that connections are refused.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = settings(&format!("http://{free}"));

        let refused = check(&settings, &READY).await;
        let not_running =
            check(&settings, &ServerProbe { state: ServerState::NotRunning, storage: None, index: None })
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
