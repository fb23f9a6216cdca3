"""Checks that the local model recognises the language of a recording: sentences in several languages, read aloud.

    cargo build --bin carrel --example transcribe
    tests/quality/languages.py --target DIR --model FOLDER --clips FOLDER

DIR is the folder into which cargo builds the programs, FOLDER of --model that of a Whisper model, FOLDER of --clips that of the
PyPI package pytest-audioeval. The language of one recording may stay unknown; none may be recognised as another language.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

LANGUAGES = ("es", "fr", "pl", "pt", "zh")
MAX_UNKNOWN = 1


def transcribe(target: Path, model: Path, clips: list[Path]) -> list[dict]:
    command = [target / "examples" / "transcribe", target / "carrel", model.name, model, *clips]
    output = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("target", "model", "clips"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    audio = args.clips / "pytest_audioeval" / "samples" / "audio"
    transcripts = transcribe(args.target, args.model, [audio / language / "pangrama.wav" for language in LANGUAGES])
    pairs = list(zip(LANGUAGES, (transcript["language"] for transcript in transcripts), strict=True))
    for (language, recognised), transcript in zip(pairs, transcripts, strict=True):
        print(json.dumps({"spoken": language, "found": recognised, "text": transcript["text"]}, ensure_ascii=False))
    wrong = [pair for pair in pairs if pair[1] not in (pair[0], None)]
    unknown = sum(recognised is None for _, recognised in pairs)
    if wrong or unknown > MAX_UNKNOWN:
        sys.exit(f"recognised as another language: {wrong}; unknown: {unknown} of {len(pairs)}")


if __name__ == "__main__":
    main()
