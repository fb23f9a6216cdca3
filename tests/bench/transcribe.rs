//! The program that speech.py measures: it transcribes recordings with the server's decoder, windows and speech model, without the
//! server.
//!
//! `transcribe CARREL MODEL FOLDER [--windows N] FILE ...` prints one JSON object per file. After N windows of a file the rest is
//! decoded and split, but not transcribed.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use actors::ingest::media::windows::WindowCutter;
use inference::transcriber::{Transcriber, Whisper};
use sandbox::{SUBCOMMAND, Sandbox, SandboxCommand, SandboxSettings};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).collect::<Vec<_>>().into_iter().peekable();
    let mut next = || arguments.next().ok_or("transcribe CARREL MODEL FOLDER [--windows N] FILE ...");
    let (program, model, folder) = (next()?, next()?, next()?);
    let max_windows = match arguments.next_if(|argument| argument == "--windows") {
        Some(_) => arguments.next().ok_or("how many windows")?.parse()?,
        None => usize::MAX,
    };
    let command = SandboxCommand { program: program.into(), args: vec![SUBCOMMAND.into()] };
    let sandbox = Sandbox::new(
        command,
        SandboxSettings { wall_time: Duration::from_secs(120), ..SandboxSettings::default() },
    );
    let whisper = Whisper::new(&model, Path::new(&folder));
    for file in arguments {
        let transcript = transcribe(&sandbox, &whisper, &file, max_windows).await?;
        writeln!(std::io::stdout(), "{transcript}")?;
    }
    Ok(())
}

async fn transcribe(
    sandbox: &Sandbox,
    whisper: &Whisper,
    file: &str,
    max_windows: usize,
) -> Result<serde_json::Value, Box<dyn Error>> {
    let (began, mut transcribing, mut transcribed, mut samples) = (Instant::now(), Duration::ZERO, 0, 0);
    let mut audio = sandbox.open_audio(File::open(file)?).await?;
    let (mut windows, mut text, mut language) =
        (WindowCutter::new(whisper.max_window_samples(), 0), Vec::new(), None);
    loop {
        let piece = audio.next_piece().await?;
        let ended = piece.is_none();
        if let Some(piece) = piece {
            samples += piece.count;
            windows.push(&piece.samples);
        }
        while let Some(window) = windows.next(ended) {
            if transcribed == max_windows {
                // Further windows are still taken out: the cutter would otherwise hold their samples, and the memory is measured.
                continue;
            }
            transcribed += 1;
            let started = Instant::now();
            let transcription = whisper.transcribe(window.samples, language.clone()).await?;
            transcribing += started.elapsed();
            // As in the server, a certain language of one window is that of all later ones.
            language = transcription.language.filter(|_| transcription.is_language_certain).or(language);
            text.extend(transcription.segments.into_iter().map(|segment| segment.text));
        }
        if ended {
            break;
        }
    }
    let (seconds, took, transcribing) =
        (samples as f64 / 16_000.0, began.elapsed().as_secs_f64(), transcribing.as_secs_f64());
    // speech.py and languages.py read these names.
    Ok(
        json!({"file": file, "seconds": seconds, "took": took, "hearing": transcribing, "windows": transcribed,
        "language": language, "text": text.join(" ")}),
    )
}
