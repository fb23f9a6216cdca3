//! The messages of the connection test: English for clients of the API, translated by the page.

use std::fmt;

use web::probe::ProbeError;

/// Names the request that is sent to find the sign-in.
pub const UNAUTHENTICATED_CALL: &str = "/mcp without a credential";

/// What a step found, or what is wrong and what to do, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepMessage {
    /// `server.base_url` is not an http(s) URL.
    InvalidBaseUrl,
    /// The host of `server.base_url` does not resolve. The value is its name.
    UnknownHost(String),
    /// The value, `server.base_url`, is a public https URL.
    PublicUrl(String),
    /// The value, `server.base_url`, is public, but not https.
    PlainUrl(String),
    /// The value, `server.base_url`, leads to this machine or its network.
    PrivateUrl(String),
    /// /mcp names its metadata.
    Challenge,
    /// /mcp does not name its metadata.
    NoChallenge,
    /// The metadata of the MCP server is correct.
    ResourceMetadata,
    /// The metadata of the authorization server is correct.
    ServerMetadata,
    /// A metadata document does not have the value of this server.
    WrongMember {
        /// The path of the document.
        path: &'static str,
        /// The JSON pointer of the value.
        member: String,
        /// The value of this server.
        wanted: String,
    },
    /// Clients cannot register.
    RegistrationClosed,
    /// Too many clients have registered from this IP address.
    TooManyRegistrations,
    /// The client that was registered is not in the database.
    ForeignClient,
    /// A client was registered.
    Registration,
    /// The list of tools is empty.
    NoTools,
    /// This number of tools is listed.
    Tools(usize),
    /// The response is missing, or is not that of this server.
    Probe(ProbeError),
}

impl fmt::Display for StepMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidBaseUrl => {
                f.write_str("server.base_url is not an http(s) URL; set it to the URL that assistants use")
            }
            Self::UnknownHost(host) => write!(
                f,
                "the name {host} does not resolve here; correct server.base_url, or add the name to the DNS"
            ),
            Self::PublicUrl(base) => write!(
                f,
                "{base} is a public https URL; this test cannot see whether a firewall blocks other clients"
            ),
            Self::PlainUrl(base) => {
                write!(f, "{base} is not https: assistants that run in a cloud refuse it")
            }
            Self::PrivateUrl(base) => write!(
                f,
                "{base} is reachable only from this machine or network: assistants that run in a cloud \
                 cannot reach it. Set server.base_url to a public https URL for them"
            ),
            Self::Challenge => f.write_str("/mcp names the metadata for the sign-in"),
            Self::NoChallenge => f.write_str(
                "the 401 of /mcp does not name the metadata of this server: a proxy may remove the \
                 WWW-Authenticate header",
            ),
            Self::ResourceMetadata => f.write_str("the metadata of the MCP server is correct"),
            Self::ServerMetadata => f.write_str("the metadata of the sign-in is correct"),
            Self::WrongMember { path, member, wanted } => write!(
                f,
                "{path} does not have {wanted} as {member}: another server answers at this URL, or this one \
                 was started with another server.base_url"
            ),
            Self::RegistrationClosed => f.write_str(
                "assistants cannot register: oauth.registration is closed. Set oauth.registration to open, \
                 use an MCP key, or set oauth.client_metadata_documents",
            ),
            Self::TooManyRegistrations => f.write_str(
                "too many clients have registered from this IP address within the hour: try again later",
            ),
            Self::ForeignClient => f.write_str(
                "another server answers at this URL: it returned a client that this server does not have",
            ),
            Self::Registration => f.write_str("an assistant can register"),
            Self::NoTools => {
                f.write_str("tools/list returned no tool; check that server.base_url leads to this server")
            }
            Self::Tools(tools) => write!(f, "an assistant that may read the library gets {tools} tools"),
            Self::Probe(error) => write!(f, "{error}"),
        }
    }
}
