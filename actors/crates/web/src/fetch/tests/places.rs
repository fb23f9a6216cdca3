//! Where fetches go and where they never do.

use super::site::{Site, ok, path, redirect};
use super::*;

async fn web() -> Site {
    Site::start(|head| match path(head) {
        "/page" => ok("text/html", "a page"),
        path => {
            let (status, to) = path.trim_start_matches('/').split_once('/').unwrap();
            redirect(status.parse().unwrap(), to)
        }
    })
    .await
}

fn refusal(error: FetchError) -> Refusal {
    let FetchError::Rejected(refusal) = error else { panic!("{error:?}") };
    refusal
}

/// Of the threat table (row S1).
#[tokio::test]
async fn a_private_address_is_refused_without_a_connection() {
    let web = web().await;
    let canary = Site::canary(&web).await;

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
        let error = fails(&fetcher(), &canary.named(host, "/")).await;
        assert!(matches!(refusal(error), Refusal::Private | Refusal::LocalName), "{host}");
    }

    assert!(canary.heads().is_empty());
}

#[tokio::test]
async fn nothing_private_is_fetched_by_default() {
    let web = web().await;
    let fetcher = Fetcher::new(FetchSettings { allow_private: Vec::new(), ..settings() }).unwrap();

    assert_eq!(refusal(fails(&fetcher, &web.url("/page")).await), Refusal::Private);
    assert!(web.heads().is_empty());
}

/// Of the threat table (row S9).
#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    let web = web().await;
    let canary = Site::canary(&web).await;
    let fetcher = naming(settings(), [("evil.test", vec![canary.ip()])]);
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
            let error = fails(&fetcher, &web.url(&format!("/{status}/{to}"))).await;
            let said = error.to_string();
            refusal(error);
            assert!(!said.contains("127"), "{to}: {said}");
        }
    }

    assert!(canary.heads().is_empty());
}

/// Of the threat table (row S7).
#[tokio::test]
async fn a_name_is_fetched_when_every_address_of_it_may_be() {
    let web = web().await;
    let canary = Site::canary(&web).await;
    let (good, bad) = (web.ip(), canary.ip());
    let fetcher = naming(
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
        assert_eq!(refusal(fails(&fetcher, &web.named(name, "/page")).await), Refusal::Private, "{name}");
    }
    assert_eq!(web.heads().len(), 1);
    assert!(canary.heads().is_empty());
}

/// Of the threat table (row S8).
#[tokio::test]
async fn a_name_that_turns_private_leads_to_the_checked_address_or_nowhere() {
    let web = web().await;
    let canary = Site::canary(&web).await;
    let turns = HashMap::from([("rebind.test".to_owned(), vec![vec![web.ip()], vec![canary.ip()]])]);
    let fetcher = Fetcher::with_lookup(settings(), Arc::new(Names { turns: Mutex::new(turns) })).unwrap();
    let url = web.named("rebind.test", "/page");

    assert_eq!(get(&fetcher, &url).await.unwrap().text(), "a page");
    assert_eq!(refusal(fails(&fetcher, &url).await), Refusal::Private);
    assert!(canary.heads().is_empty());
}

/// Of the threat table (row S16).
#[tokio::test]
async fn service_itself_is_not_fetched_and_not_reached_over_a_redirect() {
    let (web, service) = (web().await, Site::start(|_| ok("text/html", "the service")).await);
    let (own, metrics) = (service.url("/"), service.url("/metrics"));
    let fetcher = Fetcher::new(FetchSettings { own: Some(own), ..settings() }).unwrap();

    assert_eq!(refusal(fails(&fetcher, &metrics).await), Refusal::Own);
    assert_eq!(refusal(fails(&fetcher, &web.url(&format!("/302/{metrics}"))).await), Refusal::Own);
    assert_eq!(get(&fetcher, &web.url("/page")).await.unwrap().text(), "a page");
    assert!(service.heads().is_empty());
}

#[tokio::test]
async fn a_name_that_is_not_known_may_be_tried_again() {
    let web = web().await;
    let fetcher = naming(settings(), [("empty.test", Vec::new())]);

    for name in ["unknown.test", "empty.test"] {
        let error = fails(&fetcher, &web.named(name, "/page")).await;
        assert!(matches!(error, FetchError::UnknownHost(_)), "{name}: {error:?}");
        assert!(!error.permanent());
    }
}

#[tokio::test]
async fn a_system_without_the_name_says_so() {
    let url = PageUrl::parse("http://no-such-name.invalid/").unwrap();

    assert!(matches!(fails(&fetcher(), &url).await, FetchError::UnknownHost(_)));
}
