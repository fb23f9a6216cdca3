//! Tests of the client: which requests it sends, and when it sends none.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use super::*;

fn endpoint(model: &str) -> EmbeddingEndpoint {
    endpoint_at("http://127.0.0.1:9/v1/", model)
}

fn endpoint_at(url: &str, model: &str) -> EmbeddingEndpoint {
    let settings = EmbeddingSettings {
        url: url.to_owned(),
        identity: None,
        model: model.to_owned(),
        key: None,
        dimensions: None,
        query_prefix: String::new(),
        passage_prefix: String::new(),
    };
    EmbeddingEndpoint::new(settings, Arc::new(|| Duration::ZERO)).unwrap()
}

fn fail(endpoint: &EmbeddingEndpoint, fault: EndpointFault, retry_after: Option<Duration>) -> Duration {
    let failed = endpoint.record(Instant::now(), Err(FailedRequest { fault, retry_after }));
    let Err(EmbedError::Unavailable { retry_after, .. }) = failed else { panic!("{failed:?}") };
    retry_after
}

#[test]
fn texts_are_divided_into_requests_of_bounded_size() {
    let sizes = |texts: Vec<String>| groups(texts).iter().map(Vec::len).collect::<Vec<_>>();

    assert_eq!(sizes(vec!["ant".to_owned(); 70]), [32, 32, 6]);
    assert_eq!(sizes(vec!["a".repeat(MAX_TEXT_CHARS); 17]), [8, 8, 1]);
    assert_eq!(sizes(Vec::new()), [0; 0]);
}

#[test]
fn query_and_passages_have_prefixes_of_their_own() {
    let mut endpoint = endpoint("a");
    endpoint.settings.query_prefix = "query: ".to_owned();
    endpoint.settings.passage_prefix = "passage: ".to_owned();

    let inputs = endpoint.comparison_inputs("egret", &["A heron.", "Bread."]);

    assert_eq!(inputs, ["query: egret", "passage: A heron.", "passage: Bread."]);
    assert_eq!(groups(endpoint.comparison_inputs("egret", &["A heron."; 31])).len(), 1, "one request");
}

#[test]
fn endpoint_that_fails_three_times_is_not_called() {
    let endpoint = endpoint("m");
    for _ in 0..3 {
        assert!(endpoint.check_admitted(Instant::now()).is_ok());
        assert_eq!(fail(&endpoint, EndpointFault::Timeout, None), RETRY_DELAY);
    }

    let refused = endpoint.check_admitted(Instant::now());
    assert!(matches!(refused, Err(EmbedError::Unavailable { fault: EndpointFault::Timeout, .. })));
    endpoint.record(Instant::now(), Ok(Embeddings::default())).unwrap();
    assert!(endpoint.check_admitted(Instant::now()).is_ok() && endpoint.fault().is_none());
}

#[test]
fn refused_texts_do_not_keep_others_from_being_sent() {
    let endpoint = endpoint("m");
    let fault = EndpointFault::Refused(400);
    for _ in 0..4 {
        let refused = endpoint.record(Instant::now(), Err(fault.into()));
        assert!(matches!(refused, Err(EmbedError::TextRefused { .. })), "{refused:?}");
    }

    assert!(endpoint.check_admitted(Instant::now()).is_ok() && endpoint.fault().is_none());
}

/// Starts an endpoint that refuses each request that contains `refused`, and returns its URL. It ends with the test.
fn start_refusing(refused: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).unwrap() > 2 {
                let header = line.to_ascii_lowercase();
                if let Some(value) = header.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let is_refused = String::from_utf8(body).unwrap().contains(refused);
            let vectors = r#"{"data": [{"index": 0, "embedding": [1.0, 0.0]}]}"#;
            let (status, body) = if is_refused { ("400 Bad Request", "{}") } else { ("200 OK", vectors) };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.get_mut().write_all((head + body).as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn refusal_of_one_text_is_no_fault_of_the_endpoint() {
    let endpoint = endpoint_at(&start_refusing("canary"), "m");

    let refused = endpoint.embed_passages(&["a canary"], None).unwrap_err();

    assert!(matches!(refused, EmbedError::TextRefused { fault: EndpointFault::Refused(400) }), "{refused}");
    assert_eq!(endpoint.fault(), None);
    assert_eq!(endpoint.embed_passages(&["a heron"], None).unwrap().vectors, [[1.0, 0.0]]);
}

#[test]
fn endpoint_that_refuses_every_text_cannot_be_used() {
    let endpoint = endpoint_at(&start_refusing("input"), "m");
    let fault = EndpointFault::Refused(400);

    for error in
        [endpoint.embed_passages(&["a heron"], None).unwrap_err(), endpoint.ask_dimensions().unwrap_err()]
    {
        let EmbedError::Unavailable { fault: found, retry_after } = error else { panic!("{error}") };
        assert_eq!((found, retry_after), (fault, REFUSAL_RETRY_DELAY));
    }

    assert_eq!(endpoint.fault(), Some(fault));
}

#[test]
fn endpoint_is_not_called_before_the_time_that_it_asks_for() {
    let (endpoint, hour) = (endpoint("m"), Duration::from_secs(3_600));

    assert_eq!(fail(&endpoint, EndpointFault::Refused(429), Some(hour)), hour);

    let now = Instant::now();
    assert!(endpoint.check_admitted(now).is_err() && endpoint.check_admitted(now + hour).is_ok());
}

#[test]
fn unreachable_endpoint_is_an_error_without_any_text() {
    let endpoint = endpoint("m");

    let error = endpoint.embed_passages(&["a canary"], None).unwrap_err();

    assert!(matches!(error, EmbedError::Unavailable { fault: EndpointFault::Unreachable, .. }), "{error}");
    assert!(!format!("{error:?}").contains("canary"));
}
