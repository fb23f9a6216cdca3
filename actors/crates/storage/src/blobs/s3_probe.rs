//! One request that shows whether a bucket can be used.

use std::time::Duration;

use object_store::client::HttpError;
use object_store::{ObjectStoreExt, RetryConfig};
use tokio::time::timeout;
use values::cause::{causes, error_chain};

use super::s3::{S3Settings, S3Store, object_key};

/// Time after which the request is given up.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// The path of an object that no server writes.
const PROBED_PATH: &str = "carrel-doctor";
/// What stores answer when they do not know the access key, or when its secret is another one.
const KEY_FAULTS: [&str; 3] = ["InvalidAccessKeyId", "SignatureDoesNotMatch", "NotSignedUp"];

/// Why a bucket cannot be used. Contains no answer of the store, which may repeat the access key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketFault {
    /// No client of the bucket can be made from the settings.
    #[error("{0}")]
    Settings(String),
    /// The store has no bucket of this name.
    #[error("the store has no such bucket")]
    NoBucket,
    /// The store does not know the access key, or its secret is another one.
    #[error("the store refuses the access key or its secret")]
    WrongKey,
    /// The store refused to read an object. Without the right to list a bucket, it refuses objects that do not exist.
    #[error("the store refused to read an object")]
    Denied,
    /// No answer arrived in time.
    #[error("the store did not answer within {} seconds", PROBE_TIMEOUT.as_secs())]
    TimedOut,
    /// The connection failed.
    #[error("the store could not be reached: {0}")]
    Unreachable(String),
    /// The store answered with another error.
    #[error("the store answered with an error")]
    Failed,
}

impl BucketFault {
    /// Returns the fault that an error of a request shows; `None` if the only fault is that there is no such object.
    fn from_error(error: &object_store::Error) -> Option<Self> {
        use object_store::Error::{NotFound, PermissionDenied, Unauthenticated};
        // The text contains the answer of the store.
        let text = error.to_string();
        if matches!(error, NotFound { .. }) {
            return text.contains("NoSuchBucket").then_some(Self::NoBucket);
        }
        if KEY_FAULTS.iter().any(|code| text.contains(code)) {
            return Some(Self::WrongKey);
        }
        if matches!(error, PermissionDenied { .. } | Unauthenticated { .. }) {
            return Some(Self::Denied);
        }
        if causes(error).any(|cause| cause.is::<HttpError>()) {
            let root = causes(error).last().map(ToString::to_string);
            return Some(Self::Unreachable(root.unwrap_or_default()));
        }
        Some(Self::Failed)
    }
}

impl S3Store {
    /// Asks the bucket for an object that does not exist, once and for at most five seconds.
    ///
    /// # Errors
    /// [`BucketFault`] when the answer is not that there is no such object.
    pub async fn probe(settings: S3Settings) -> Result<(), BucketFault> {
        let retry = RetryConfig { max_retries: 0, retry_timeout: PROBE_TIMEOUT, ..RetryConfig::default() };
        let (builder, prefix) =
            Self::builder(settings).map_err(|error| BucketFault::Settings(error_chain(&error)))?;
        let store = builder.with_retry(retry).build();
        let store = store.map_err(|error| BucketFault::Settings(error.to_string()))?;
        let key = object_key(&prefix, PROBED_PATH);
        // Not a request for the head alone: its answer has no body, which tells a missing bucket from a missing object.
        match timeout(PROBE_TIMEOUT, store.get(&key)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => BucketFault::from_error(&error).map_or(Ok(()), Err),
            Err(_) => Err(BucketFault::TimedOut),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn settings(endpoint: String) -> S3Settings {
        S3Settings {
            url: "s3://shelf/library".to_owned(),
            endpoint: Some(endpoint),
            region: None,
            access_key: Some("reader".to_owned()),
            secret_key: Some("a-secret".to_owned()),
        }
    }

    /// Returns what a store that gives one answer shows.
    async fn probe_answer(status: &str, code: &str) -> Result<(), BucketFault> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let body = format!("<Error><Code>{code}</Code><AWSAccessKeyId>reader</AWSAccessKeyId></Error>");
        let answer =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // A request without a body is shorter than one read.
            let _ = stream.read(&mut [0; 8192]).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let found = S3Store::probe(settings(endpoint)).await;
        serving.await.unwrap();
        found
    }

    #[tokio::test]
    async fn answer_of_the_store_names_the_fault() {
        for (status, code, expected) in [
            ("404 Not Found", "NoSuchKey", Ok(())),
            ("404 Not Found", "NoSuchBucket", Err(BucketFault::NoBucket)),
            ("403 Forbidden", "InvalidAccessKeyId", Err(BucketFault::WrongKey)),
            ("403 Forbidden", "SignatureDoesNotMatch", Err(BucketFault::WrongKey)),
            ("403 Forbidden", "AccessDenied", Err(BucketFault::Denied)),
            ("400 Bad Request", "InvalidRequest", Err(BucketFault::Failed)),
        ] {
            assert_eq!(probe_answer(status, code).await, expected, "{code}");
        }
    }

    #[tokio::test]
    async fn store_that_refuses_connections_is_unreachable() {
        // Bound and closed again, so that the connection is refused.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();

        let fault = S3Store::probe(settings(format!("http://{free}"))).await.unwrap_err();

        assert!(matches!(&fault, BucketFault::Unreachable(cause) if cause.contains("refused")), "{fault:?}");
    }
}
