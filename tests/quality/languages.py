"""Whether the language of a recording is found: sentences in several languages, read aloud, heard by the local model.

    cargo build --bin carrel --example hear
    tests/quality/languages.py --target DIR --model FOLDER --clips FOLDER

DIR is cargo's folder of the built programs, FOLDER of --model that of a Whisper model, FOLDER of --clips that of the PyPI
package pytest-audioeval. A language that is not certain may be left open; none may be taken for another.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

LANGUAGES = ("es", "fr", "pl", "pt", "zh")
LEFT_OPEN = 1


def heard(target: Path, model: Path, clips: list[Path]) -> list[dict]:
    command = [target / "examples" / "hear", target / "carrel", model.name, model, *clips]
    told = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in told.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("target", "model", "clips"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    audio = args.clips / "pytest_audioeval" / "samples" / "audio"
    found = heard(args.target, args.model, [audio / language / "pangrama.wav" for language in LANGUAGES])
    pairs = list(zip(LANGUAGES, (one["language"] for one in found), strict=True))
    for (language, was), one in zip(pairs, found, strict=True):
        print(json.dumps({"spoken": language, "found": was, "text": one["text"]}, ensure_ascii=False))
    wrong = [pair for pair in pairs if pair[1] not in (pair[0], None)]
    left_open = sum(was is None for _, was in pairs)
    if wrong or left_open > LEFT_OPEN:
        sys.exit(f"taken for another: {wrong}; left open: {left_open} of {len(pairs)}")


if __name__ == "__main__":
    main()
