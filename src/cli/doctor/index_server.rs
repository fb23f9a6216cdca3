//! The index on a Qdrant server: whether the server answers and can hold it, and what the running server reports of it.

use search::index::{IndexError, ServerReport, ServerStore, VectorModels};
use values::cause::causes;

use super::check::Check;
use super::index::judge_open;
use crate::http::health::IndexHealth;
use crate::server::index_server;
use crate::settings::{HttpUrl, Vectors};

const NAME: &str = "index";
const ADVICE: &str = "start the Qdrant server, and check `vectors.url` (with the port of gRPC, which is 6334 and not 6333) and \
    `vectors.key`; until it answers, changes of the index wait";

/// Asks the Qdrant server, and judges what the running server reports of the index, if one runs.
pub async fn check(vectors: &Vectors, url: &HttpUrl, running: Option<&IndexHealth>) -> Check {
    // Without the id of a database: nothing is opened.
    let server = match index_server(vectors, url, String::new(), VectorModels::default()) {
        Ok(server) => server,
        Err(error) => return Check::wrong(NAME, describe(&error), "correct `vectors.url`"),
    };
    let (place, asked) = (server.description(), ask(server).await);
    match (asked, running) {
        (Err(error), _) => judge_failure(&place, &error),
        (Ok(_), Some(health)) => judge_open(&place, health),
        (Ok(ServerReport { passages: Some(passages) }), None) => {
            Check::good(NAME, format!("{place} has about {passages} passages"))
        }
        (Ok(ServerReport { passages: None }), None) => Check::warning(
            NAME,
            format!("{place} does not exist yet"),
            "the server creates it at its start, and fills it from the database",
        ),
    }
}

async fn ask(server: ServerStore) -> Result<ServerReport, IndexError> {
    let asked = tokio::task::spawn_blocking(move || server.inspect()).await;
    asked.unwrap_or(Err(IndexError::Panicked))
}

fn judge_failure(place: &str, error: &IndexError) -> Check {
    if let IndexError::Open(cause) = error {
        let found = format!("{place} cannot be used: {cause}");
        return Check::wrong(NAME, found, "use another server, or another name in `vectors.collection`");
    }
    Check::wrong(NAME, format!("{place} is not reached: {}", describe(error)), ADVICE)
}

/// Returns the causes of an error, or its message if it has none.
fn describe(error: &IndexError) -> String {
    let causes: Vec<String> = causes(error).map(|cause| cause.to_string()).collect();
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}
