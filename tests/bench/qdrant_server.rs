//! The Qdrant server of the tests as a program, for quality.py: it prints its URL, and ends with its standard input. Its collections are
//! in a temporary folder.

use std::error::Error;
use std::io::{self, Write};

use test_qdrant::TestQdrant;

fn main() -> Result<(), Box<dyn Error>> {
    let server = TestQdrant::start()?;
    writeln!(io::stdout(), "{}", server.url())?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
