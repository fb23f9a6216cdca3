"""Word error rate, time and memory of transcripts, compared with faster-whisper on the same model in the same run.

    cargo build --bin carrel --example transcribe
    tests/bench/speech.py --target DIR --models DIR --model whisper-base [--ct2 FOLDER] [--hours 2] [--windows 10]

DIR of --target is the folder into which cargo builds the programs. --ct2 is the folder of the same weights in the format of
CTranslate2; it requires faster-whisper (PyPI). Times are wall and CPU seconds per second of audio; on a machine with other load,
compare the CPU seconds. With --hours the script also decodes and splits a recording of that length, which repeats the clips, and
transcribes its first --windows windows: the peak memory is that of the service and the decoder.
"""

import argparse
import csv
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "speech"
JFK = "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country."


def words(text: str) -> list[str]:
    return re.sub(r"[^a-z0-9' ]", " ", text.lower().replace("-", " ")).split()


def errors(wanted: list[str], found: list[str]) -> int:
    """The edit distance in words: how many to insert, remove or replace."""
    row = list(range(len(found) + 1))
    for i, word in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(found, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]


def clips(data: Path) -> list[tuple[Path, str]]:
    with (data / "metadata.csv").open(encoding="utf-8") as rows:
        spoken = {row[0]: row[-1] for row in csv.reader(rows, delimiter="|", quoting=csv.QUOTE_NONE)}
    found = [(file, spoken[file.stem]) for file in sorted(data.glob("*.wav")) if file.stem in spoken]
    return [*found, (data / "jfk.flac", JFK)]


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(name: str, truth: list[tuple[Path, str]], texts: list[str], seconds: float, wall: float, cpu_s: float) -> None:
    wanted = [words(text) for _, text in truth]
    wrong = sum(errors(w, words(t)) for w, t in zip(wanted, texts, strict=True))
    count = sum(map(len, wanted))
    print(f"{name:28} WER {wrong / count:6.1%} ({wrong}/{count})  {seconds:6.1f} s of sound  "
          f"wall {wall / seconds:5.2f}  CPU {cpu_s / seconds:5.2f} s a second")


def ours(args: argparse.Namespace, files: list[Path], *more: str) -> tuple[list[dict], float, float, int]:
    """The transcripts, wall and CPU seconds, and the peak memory in MB: the sum of the two largest processes."""
    target, began, before = Path(args.target), time.monotonic(), cpu()
    command = [target / "examples" / "transcribe", target / "carrel", args.model, Path(args.models) / args.model, *more, *files]
    running = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    peaks: dict[int, int] = {}
    while running.poll() is None:
        for pid in family(running.pid):
            peaks[pid] = max(peaks.get(pid, 0), peak(pid))
        time.sleep(0.2)
    assert running.returncode == 0, "transcribe failed"
    transcripts = [json.loads(line) for line in running.stdout]
    return transcripts, time.monotonic() - began, cpu() - before, sum(sorted(peaks.values())[-2:]) // 1024


def family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *map(int, children)]


def peak(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found.group(1)) if found else 0


def compare_with_faster_whisper(args: argparse.Namespace, truth: list[tuple[Path, str]], seconds: float) -> None:
    code = (
        "import json,sys\nfrom faster_whisper import WhisperModel\n"
        "model=WhisperModel(sys.argv[1],device='cpu',compute_type=sys.argv[2],cpu_threads=2)\n"
        "for f in sys.argv[3:]:\n s,_=model.transcribe(f,beam_size=1)\n print(json.dumps(' '.join(x.text for x in s)))\n"
    )
    for kind in ("int8", "float32"):
        began, before = time.monotonic(), cpu()
        command = [sys.executable, "-c", code, args.ct2, kind, *(str(file) for file, _ in truth)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        texts = [json.loads(line) for line in out.splitlines()]
        report(f"faster-whisper {kind}", truth, texts, seconds, time.monotonic() - began, cpu() - before)


def long_recording(truth: list[tuple[Path, str]], hours: float, folder: str) -> Path:
    target = Path(folder) / "long.wav"
    with wave.open(str(target), "wb") as out:
        out.setparams((1, 2, 22_050, 0, "NONE", ""))
        left = int(hours * 3600 * 22_050)
        while left > 0:
            for file, _ in truth[:-1]:
                with wave.open(str(file)) as clip:
                    frames = clip.readframes(clip.getnframes())
                # A pause of half a second: 11,025 samples of two bytes.
                out.writeframes(frames + bytes(22_050))
                left -= len(frames) // 2 + 11_025
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--model", default="whisper-base")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--ct2")
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--windows", type=int, default=10)
    args = parser.parse_args()
    if not args.data.is_dir():
        sys.exit(f"left out: {args.data} is not there")
    truth = clips(args.data)
    transcripts, wall, spent, memory = ours(args, [file for file, _ in truth])
    seconds = sum(one["seconds"] for one in transcripts)
    report(args.model, truth, [one["text"] for one in transcripts], seconds, wall, spent)
    print(f"{'':28} peak memory {memory} MB, languages {sorted({one['language'] for one in transcripts})}")
    if args.ct2:
        compare_with_faster_whisper(args, truth, seconds)
    if args.hours:
        with tempfile.TemporaryDirectory() as folder:
            (one,), wall, _, memory = ours(args, [long_recording(truth, args.hours, folder)], "--windows", str(args.windows))
        print(f"{one['seconds'] / 3600:.2f} hours: {one['windows']} windows transcribed in {one['hearing']:.0f} s, "
              f"all decoded and split in {wall - one['hearing']:.0f} s, peak memory {memory} MB")


if __name__ == "__main__":
    main()
