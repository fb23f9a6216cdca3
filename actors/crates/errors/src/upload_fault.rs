//! Why an upload cannot be completed with the bytes that arrived.

/// Why an upload cannot be completed with the bytes that arrived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadFault {
    /// The bytes have not arrived, or not all of them.
    #[error("the {announced} bytes of the upload have not arrived; send all of them to putUrl first")]
    NotArrived {
        /// Bytes that were announced.
        announced: u64,
    },
    /// The bytes that arrived are more or fewer than announced.
    #[error("{arrived} bytes arrived, but {announced} were announced; send the file again")]
    OtherLength {
        /// Bytes that arrived.
        arrived: u64,
        /// Bytes that were announced.
        announced: u64,
    },
    /// The bytes that arrived have another SHA-256 than the client expects.
    #[error(
        "the bytes that arrived have the SHA-256 {arrived}, but sha256 is {expected}; send the file again"
    )]
    OtherSha256 {
        /// SHA-256 of the bytes that arrived, in hexadecimal digits.
        arrived: String,
        /// SHA-256 that the client sent, in hexadecimal digits.
        expected: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_what_arrived_and_what_was_announced() {
        let (arrived, expected) = ("0a".repeat(32), "1b".repeat(32));

        let lengths = UploadFault::OtherLength { arrived: 7, announced: 9 }.to_string();
        let digests =
            UploadFault::OtherSha256 { arrived: arrived.clone(), expected: expected.clone() }.to_string();

        assert_eq!(lengths, "7 bytes arrived, but 9 were announced; send the file again");
        assert!(digests.contains(&arrived) && digests.contains(&expected), "{digests}");
    }
}
