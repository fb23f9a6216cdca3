//! Compressed bodies and decompression bombs: the bound counts decompressed bytes.

use super::test_server::{ScriptedResponse, TestServer, head, whole};
use super::*;

async fn server_sending(encoding: &'static str, body: Vec<u8>) -> TestServer {
    TestServer::start(move |_| {
        whole(200, &[("Content-Type", "text/plain"), ("Content-Encoding", encoding)], &body)
    })
    .await
}

/// Starts a server that sends `start`, then `piece` without end.
async fn bomb(encoding: &'static str, start: Vec<u8>, piece: Vec<u8>) -> TestServer {
    TestServer::start(move |_| {
        let head = head(200, &[("Content-Encoding", encoding)]);
        ScriptedResponse::Endless([head, start.clone()].concat(), piece.repeat(5_000))
    })
    .await
}

/// Gzip (RFC 1952) around one stored block.
fn gzip(text: &[u8]) -> Vec<u8> {
    let tail = [crc32fast::hash(text).to_le_bytes(), (text.len() as u32).to_le_bytes()].concat();
    [&GZIP_HEAD[..], &stored(text), &tail].concat()
}

const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Zlib (RFC 1950) around one stored block.
fn zlib(text: &[u8]) -> Vec<u8> {
    let (a, b) = text
        .iter()
        .fold((1, 0), |(a, b), byte| ((a + u32::from(*byte)) % 65521, (b + a + u32::from(*byte)) % 65521));
    [&[0x78, 0x01], stored(text).as_slice(), &((b << 16) | a).to_be_bytes()].concat()
}

fn stored(text: &[u8]) -> Vec<u8> {
    let length = text.len() as u16;
    [&[1], &length.to_le_bytes()[..], &(!length).to_le_bytes(), text].concat()
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Zstandard (RFC 8878): one raw block, which is the last.
fn zstd(text: &[u8]) -> Vec<u8> {
    let block = ((text.len() as u32) << 3) | 1;
    [&ZSTD_MAGIC[..], &[0, 0x40], &block.to_le_bytes()[..3], text].concat()
}

/// Deflate with fixed codes: a zero, then endlessly "258 more of it", eight times in thirteen bytes.
fn deflated_zeros() -> (Vec<u8>, Vec<u8>) {
    let more = [(0b1100_0101, 8), (0, 5)];
    let start = [(0b010, 3), (0b0011_0000, 8), more[0], more[1]];
    (bits(&start), bits(&more.repeat(8)))
}

fn bits(codes: &[(u32, u32)]) -> Vec<u8> {
    let bits: Vec<u8> = codes
        .iter()
        .flat_map(|(code, length)| (0..*length).rev().map(move |at| (code >> at & 1) as u8))
        .collect();
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |whole, bit| whole << 1 | bit)).collect()
}

#[tokio::test]
async fn compressed_bodies_are_decompressed() {
    let text = "compressed and decompressed";
    for (encoding, body) in [
        ("gzip", gzip(text.as_bytes())),
        ("deflate", zlib(text.as_bytes())),
        ("zstd", zstd(text.as_bytes())),
        ("identity", text.into()),
    ] {
        let web = server_sending(encoding, body).await;
        assert_eq!(get(&fetcher(), &web.url("/")).await.unwrap().text(), text, "{encoding}");
    }
}

#[tokio::test]
async fn encoding_that_was_not_offered_is_refused() {
    for encoding in ["compress", "gzip, gzip", "br", "exi"] {
        let web = server_sending(encoding, gzip(b"text")).await;
        assert!(
            matches!(get_error(&fetcher(), &web.url("/")).await, FetchError::UnsupportedEncoding),
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn corrupt_compressed_body_is_an_error() {
    let truncated = gzip(b"text").split_off(3);
    for (encoding, body) in [("gzip", truncated), ("zstd", vec![1; 50]), ("deflate", vec![0; 50])] {
        let web = server_sending(encoding, body).await;
        assert!(
            matches!(get_error(&fetcher(), &web.url("/")).await, FetchError::InvalidResponse(_)),
            "{encoding}"
        );
    }
}

/// Covers the threat table (row S19).
#[cfg(target_os = "linux")]
#[tokio::test]
async fn decompression_bombs_are_bounded_in_memory() {
    let (start, piece) = deflated_zeros();
    let gzip = bomb("gzip", [GZIP_HEAD.as_slice(), &start].concat(), piece.clone()).await;
    let deflate = bomb("deflate", [&[0x78, 0x01], start.as_slice()].concat(), piece).await;
    // 128 KiB of zeros in every four bytes, behind a window of 128 MiB.
    let zstd = bomb("zstd", [ZSTD_MAGIC.as_slice(), &[0, 0x88]].concat(), vec![0x02, 0x00, 0x10, 0]).await;
    let before = peak_kib();

    for web in [gzip, deflate, zstd] {
        assert!(matches!(get_error(&fetcher(), &web.url("/")).await, FetchError::TooLarge(_)));
    }

    let more = peak_kib() - before;
    assert!(more < 32 * 1024, "{more} KiB more at the peak");
}

#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
