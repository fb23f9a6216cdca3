//! Where fetches may connect to.

use super::test_server::{TestServer, ok, path, redirect};
use super::*;

async fn web() -> TestServer {
    TestServer::start(|head| match path(head) {
        "/page" => ok("text/html", "a page"),
        path => {
            let (status, to) = path.trim_start_matches('/').split_once('/').unwrap();
            redirect(status.parse().unwrap(), to)
        }
    })
    .await
}

fn rejection(error: FetchError) -> UrlRejection {
    let FetchError::Rejected(rejection) = error else { panic!("{error:?}") };
    rejection
}

/// Covers the threat table (row S1).
#[tokio::test]
async fn private_address_is_rejected_without_a_connection() {
    let web = web().await;
    let canary = TestServer::canary(&web).await;

    for host in [
        "127.0.0.2",
        "2130706434",
        "0x7f.2",
        "[::ffff:127.0.0.2]",
        "localhost",
        "a.localhost",
        "0.0.0.0",
        "[::1]",
    ] {
        let error = get_error(&fetcher(), &canary.named(host, "/")).await;
        assert!(matches!(rejection(error), UrlRejection::Private | UrlRejection::LocalName), "{host}");
    }

    assert!(canary.heads().is_empty());
}

#[tokio::test]
async fn private_networks_are_rejected_by_default() {
    let web = web().await;
    let fetcher = Fetcher::new(FetchSettings { allow_private: Vec::new(), ..settings() }, clock()).unwrap();

    assert_eq!(rejection(get_error(&fetcher, &web.url("/page")).await), UrlRejection::Private);
    assert!(web.heads().is_empty());
}

/// Covers the threat table (row S9).
#[tokio::test]
async fn redirect_to_a_private_address_is_not_followed() {
    let web = web().await;
    let canary = TestServer::canary(&web).await;
    let fetcher = fetcher_with_names(settings(), [("evil.test", vec![canary.ip()])]);
    let port = web.address.port();

    for status in [301, 302, 303, 307, 308] {
        for to in [
            format!("http://127.0.0.2:{port}/"),
            format!("//127.0.0.2:{port}/"),
            format!("http://2130706434:{port}/"),
            format!("http://0177.0.0.2:{port}/"),
            format!("http://[::ffff:7f00:2]:{port}/"),
            format!("http://[2002:7f00:2::]:{port}/"),
            format!("http://localhost:{port}/"),
            format!("http://evil.test:{port}/"),
            format!("http://127.0.0.1:{port}/302/http://127.0.0.2:{port}/"),
            format!("http://user@127.0.0.1:{port}/page"),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "http://127.0.0.1:22/".to_owned(),
            "file:///etc/passwd".to_owned(),
            "gopher://127.0.0.1/".to_owned(),
            "http://[".to_owned(),
        ] {
            let error = get_error(&fetcher, &web.url(&format!("/{status}/{to}"))).await;
            let message = error.to_string();
            rejection(error);
            assert!(!message.contains("127"), "{to}: {message}");
        }
    }

    assert!(canary.heads().is_empty());
}

/// Covers the threat table (row S7).
#[tokio::test]
async fn name_is_fetched_only_if_all_its_addresses_are_allowed() {
    let web = web().await;
    let canary = TestServer::canary(&web).await;
    let (good, bad) = (web.ip(), canary.ip());
    let fetcher = fetcher_with_names(
        settings(),
        [
            ("good.test", vec![good]),
            ("bad.test", vec![bad]),
            ("first.test", vec![good, bad]),
            ("last.test", vec![bad, good]),
            ("six.test", vec!["::1".parse().unwrap()]),
            ("mapped.test", vec!["::ffff:127.0.0.1".parse().unwrap()]),
            ("cloud.test", vec![good, "169.254.169.254".parse().unwrap()]),
        ],
    );

    assert_eq!(get(&fetcher, &web.named("good.test", "/page")).await.unwrap().text(), "a page");
    for name in ["bad.test", "first.test", "last.test", "six.test", "mapped.test", "cloud.test"] {
        assert_eq!(
            rejection(get_error(&fetcher, &web.named(name, "/page")).await),
            UrlRejection::Private,
            "{name}"
        );
    }
    assert_eq!(web.heads().len(), 1);
    assert!(canary.heads().is_empty());
}

/// Covers the threat table (row S8).
#[tokio::test]
async fn rebinding_name_reaches_only_the_checked_address() {
    let web = web().await;
    let canary = TestServer::canary(&web).await;
    let answers = HashMap::from([("rebind.test".to_owned(), vec![vec![web.ip()], vec![canary.ip()]])]);
    let fetcher =
        Fetcher::with_lookup(settings(), clock(), Arc::new(ScriptedLookup { answers: Mutex::new(answers) }))
            .unwrap();
    let url = web.named("rebind.test", "/page");

    assert_eq!(get(&fetcher, &url).await.unwrap().text(), "a page");
    assert_eq!(rejection(get_error(&fetcher, &url).await), UrlRejection::Private);
    assert!(canary.heads().is_empty());
}

/// Covers the threat table (row S16).
#[tokio::test]
async fn own_origin_is_rejected_also_after_a_redirect() {
    let (web, service) = (web().await, TestServer::start(|_| ok("text/html", "the service")).await);
    let (own, metrics) = (service.url("/"), service.url("/metrics"));
    let fetcher = Fetcher::new(FetchSettings { own_url: Some(own), ..settings() }, clock()).unwrap();

    assert_eq!(rejection(get_error(&fetcher, &metrics).await), UrlRejection::Own);
    assert_eq!(rejection(get_error(&fetcher, &web.url(&format!("/302/{metrics}"))).await), UrlRejection::Own);
    assert_eq!(get(&fetcher, &web.url("/page")).await.unwrap().text(), "a page");
    assert!(service.heads().is_empty());
}

#[tokio::test]
async fn unknown_name_is_a_transient_error() {
    let web = web().await;
    let fetcher = fetcher_with_names(settings(), [("empty.test", Vec::new())]);

    for name in ["unknown.test", "empty.test"] {
        let error = get_error(&fetcher, &web.named(name, "/page")).await;
        assert!(matches!(error, FetchError::UnknownHost(_)), "{name}: {error:?}");
        assert!(!error.is_permanent());
    }
}

#[tokio::test]
async fn system_resolver_reports_an_unknown_name() {
    let url = PageUrl::parse("http://no-such-name.invalid/").unwrap();

    assert!(matches!(get_error(&fetcher(), &url).await, FetchError::UnknownHost(_)));
}
