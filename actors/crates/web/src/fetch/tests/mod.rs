//! The door, tried from both sides: fetchers against loopback servers. 127.0.0.1 stands for the web, as an
//! allowed network; a canary on 127.0.0.2 stands for everything private, and nothing may connect to it.

mod bad_manners;
mod manners;
mod packed;
mod places;
mod site;
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
        own: None,
    }
}

fn fetcher() -> Fetcher {
    Fetcher::new(settings()).unwrap()
}

/// A fetcher whose names are these.
fn naming(settings: FetchSettings, names: impl IntoIterator<Item = (&'static str, Vec<IpAddr>)>) -> Fetcher {
    let turns = names.into_iter().map(|(name, found)| (name.to_owned(), vec![found])).collect();
    Fetcher::with_lookup(settings, Arc::new(Names { turns: Mutex::new(turns) })).unwrap()
}

async fn get(fetcher: &Fetcher, url: &PageUrl) -> Result<Fetched, FetchError> {
    fetcher.get(url, Wanted::page()).await
}

async fn fails(fetcher: &Fetcher, url: &PageUrl) -> FetchError {
    match get(fetcher, url).await {
        Ok(fetched) => panic!("{url} answered {}", fetched.status),
        Err(error) => error,
    }
}

/// A resolver with a script: each look-up of a name takes its next answer; the last one stays.
struct Names {
    turns: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
}

impl Lookup for Names {
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut turns = self.turns.lock().unwrap();
        let found = match turns.get_mut(&name) {
            Some(left) if left.len() > 1 => Ok(left.remove(0)),
            Some(left) => Ok(left[0].clone()),
            None => Err(io::Error::other("no such name")),
        };
        async move { found }.boxed()
    }
}
