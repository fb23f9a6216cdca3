//! Embeds passages with a local model of the server, without the server: the program that embedding.py measures.
//!
//! `embed FOLDER TEXTS VECTORS THREADS [--exact]` opens the model in FOLDER, whose name is that of a model of the catalogue, in 8-bit
//! integers or with `--exact` in 32-bit floats, on THREADS threads. It embeds the passages of TEXTS, a JSON array, and writes their
//! vectors to the file VECTORS: 32-bit floats, little-endian, one vector after the other. Then it prints a line with the number of tokens
//! of the passages.
//!
//! For each line on standard input it embeds the passages again, and prints the seconds that it took. Each line that it prints is a JSON
//! object.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use inference::embedder::{BertEmbedder, Embedder, Options, Precision};
use inference::models::Catalogue;
use serde_json::json;

const USAGE: &str = "usage: embed FOLDER TEXTS VECTORS THREADS [--exact]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().ok_or(USAGE);
    let (folder, texts, vectors) = (PathBuf::from(next()?), next()?, next()?);
    let threads: usize = next()?.parse()?;
    let precision =
        if words.next().as_deref() == Some("--exact") { Precision::Exact } else { Precision::Int8 };
    let name = folder.file_name().and_then(|name| name.to_str()).ok_or(USAGE)?;
    let model = Catalogue::built_in().get(name).ok_or("the catalogue does not have this model")?;
    let profile = model.embedding.as_ref().ok_or("it is no embedding model")?;
    let model = BertEmbedder::open_with(&folder, profile, Options { precision, threads })?;
    let texts: Vec<String> = serde_json::from_str(&fs::read_to_string(texts)?)?;
    let passages: Vec<&str> = texts.iter().map(String::as_str).collect();

    let mut output = io::stdout();
    // Also warms up.
    let embeddings = model.embed(&passages)?;
    let bytes: Vec<u8> =
        embeddings.vectors.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(vectors, bytes)?;
    writeln!(output, "{}", json!({ "tokens": embeddings.tokens }))?;
    for line in io::stdin().lines() {
        line?;
        let began = Instant::now();
        model.embed(&passages)?;
        writeln!(output, "{}", json!({ "seconds": began.elapsed().as_secs_f64() }))?;
    }
    Ok(())
}
