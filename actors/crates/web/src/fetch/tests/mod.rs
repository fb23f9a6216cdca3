//! Fetchers against loopback servers. 127.0.0.1 stands for the web, as an allowed network; a canary on 127.0.0.2 stands for
//! everything private, and nothing may connect to it.

mod content_encoding;
mod destinations;
mod misbehaving_servers;
mod responses;
mod test_server;
mod tls;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;

fn settings() -> FetchSettings {
    FetchSettings {
        timeout: Duration::from_secs(20),
        max_bytes: 1_000_000,
        file_timeout: Duration::from_secs(20),
        max_file_bytes: 2_000_000,
        allow_private: vec!["127.0.0.1/32".parse().unwrap()],
        own_url: None,
    }
}

fn clock() -> WallClock {
    Arc::new(Duration::default)
}

fn fetcher() -> Fetcher {
    Fetcher::new(settings(), clock()).unwrap()
}

/// A fetcher that resolves these names only.
fn fetcher_with_names(
    settings: FetchSettings,
    names: impl IntoIterator<Item = (&'static str, Vec<IpAddr>)>,
) -> Fetcher {
    let answers = names.into_iter().map(|(name, found)| (name.to_owned(), vec![found])).collect();
    Fetcher::with_lookup(settings, clock(), Arc::new(ScriptedLookup { answers: Mutex::new(answers) }))
        .unwrap()
}

async fn get(fetcher: &Fetcher, url: &PageUrl) -> Result<FetchedPage, FetchError> {
    fetcher.get(url, FetchRequest::page()).await
}

async fn get_error(fetcher: &Fetcher, url: &PageUrl) -> FetchError {
    match get(fetcher, url).await {
        Ok(fetched) => panic!("{url} answered {}", fetched.status),
        Err(error) => error,
    }
}

/// A scripted resolver: each look-up of a name returns its next answer; the last one repeats.
struct ScriptedLookup {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
}

impl HostLookup for ScriptedLookup {
    fn ip_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut answers = self.answers.lock().unwrap();
        let found = match answers.get_mut(&name) {
            Some(left) if left.len() > 1 => Ok(left.remove(0)),
            Some(left) => Ok(left[0].clone()),
            None => Err(io::Error::other("no such name")),
        };
        async move { found }.boxed()
    }
}
