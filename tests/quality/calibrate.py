#!/usr/bin/env python3
"""Fits the constants of actors/crates/search/src/calibration.rs to judged results, and says how well the scores separate.

    carrel eval SET --features FILE                # for each set, with and without models
    tests/quality/calibrate.py FILE [FILE ...] [--check]
    tests/quality/calibrate.py --self-test

Each FILE is one set: a JSON object a line for each of the best 20 results of a query, with the fields

    query   id of the query
    grade   judged relevance, above 0 if the result is relevant
    L       share of the attainable BM25, 0 to 1; null if the lexical search did not find the passage
    c       cosine similarity, or its upper bound if the dense search did not find the passage; null without a model
    n       number of terms of the query
    k       weight of the dense search, 0 to 1
    C       weighted share of the terms of the query that passage and title contain, 0 to 1
    T       share of the title match, 0 to 1, or "exact"

Queries with an odd CRC-32 of their id are fitted, by logistic regression (IRLS, L2 of 0.01), and the others are judged. All sets weigh
the same. Slopes are not negative: a slope that would be is 0. Results with an exact title are judged and not fitted: their constants
are chosen. Prints the constants as Rust, and figures for the judged half with the constants in the source and with the fitted ones: area
under the ROC curve (auc), F1 at 0.5 and at the best single threshold of all queries (f1, f1_best), and the expected calibration error
in ten bins (ece). --check fails if the constants in the source do not meet the gates. Uses the standard library alone.
"""

import argparse
import json
import math
import random
import re
import sys
import zlib
from pathlib import Path

CRATES = Path(__file__).resolve().parents[2] / "actors/crates"
SOURCE = CRATES / "search/src/calibration.rs"
# The scale of cosine similarities, which has the minimum for queries of few terms.
SCALE = CRATES / "inference/src/embedder/calibration.rs"
# The constants that are fitted, and whether each is a slope.
FITTED = {"WORDS_BASE": False, "WORDS_SHARE": True, "BOTH_BASE": False, "BOTH_SHARE": True, "BOTH_COSINE": True, "BOTH_PRODUCT": True,
          "MEANING_COSINE": True, "MISSING_TERMS": True, "TITLE_SHARE": True}
NAMES = list(FITTED)
L2 = 0.01
MAX_ROUNDS = 100
MIN_AUC, MAX_F1_GAP, MAX_ECE = 0.90, 0.03, 0.10


def read_constants() -> dict[str, float]:
    found = re.findall(r"^const (\w+): (?:f32|usize) = (-?[\d_.]+);", SOURCE.read_text(), re.MULTILINE)
    scale = re.search(r"const STANDARD: Self = Self \{.* min_cosine: ([\d.]+) \}", SCALE.read_text())
    return {name: float(value.replace("_", "")) for name, value in [*found, ("MIN_COSINE", scale[1])]}


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def nearness(row: dict, fixed: dict) -> float:
    if row["c"] is None:
        return 0.0
    low, high = fixed["LOWEST_COSINE"], fixed["HIGHEST_COSINE"]
    return min(max((row["c"] - low) / (high - low), 0.0), 1.0)


def above_cut(row: dict, fixed: dict) -> float:
    cut = fixed["MIN_COSINE" if row["n"] < fixed["SEVERAL_TERMS"] else "MIN_COSINE_OF_SEVERAL_TERMS"]
    return row["c"] - cut - fixed["UNKNOWN_WORDS_PENALTY"] * (1 - row["k"])


def title_share(row: dict) -> float:
    return 0.0 if row["T"] == "exact" else row["T"] or 0.0


def by_words(row: dict, fixed: dict) -> list[float]:
    """The factors of the constants for a passage that shares a word."""
    share, k, near = row["L"], row["k"], nearness(row, fixed)
    return [1 - k, (1 - k) * share, k, k * share, k * near, k * share * near, 0.0, row["C"] - 1, title_share(row)]


def by_meaning(row: dict, fixed: dict) -> list[float]:
    """The factors of the constants for a passage that is judged by meaning alone."""
    return [0.0] * 6 + [above_cut(row, fixed), 0.0, title_share(row)]


def dot(left, right) -> float:
    return math.fsum(a * b for a, b in zip(left, right))


def score(row: dict, values: list[float], fixed: dict) -> float:
    """The score as the service computes it."""
    logits = []
    if row["L"] is not None:
        logits.append(dot(by_words(row, fixed), values))
    if row["c"] is not None and row["k"] > 0:
        logits.append(fixed["MIN_MEANING_LOGIT"] + dot(by_meaning(row, fixed), values))
    best = max(logits)
    if row["T"] == "exact":
        best = max(best + fixed["EXACT_TITLE"], fixed["MIN_EXACT_TITLE_LOGIT"])
    return sigmoid(best)


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solves a small system of linear equations by elimination with pivots."""
    size = len(right)
    rows = [line[:] + [value] for line, value in zip(matrix, right)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda line: abs(rows[line][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for below in range(at + 1, size):
            factor = rows[below][at] / rows[at][at]
            for column in range(at, size + 1):
                rows[below][column] -= factor * rows[at][column]
    found = [0.0] * size
    for at in reversed(range(size)):
        found[at] = (rows[at][size] - dot(rows[at][at + 1:size], found[at + 1:])) / rows[at][at]
    return found


def penalty(samples, values) -> float:
    """What is minimized: the negative logarithm of the likelihood, and L2."""
    total = 0.5 * L2 * dot(values, values)
    for factors, offset, relevant, weight in samples:
        logit = offset + dot(factors, values)
        signed = -logit if relevant else logit
        total += weight * (math.log1p(math.exp(-abs(signed))) + max(signed, 0.0))
    return total


def regress(samples, free: list[int]) -> list[float]:
    """Logistic regression over the free constants; all others are 0."""
    values = [0.0] * len(NAMES)
    lowest = penalty(samples, values)
    for _ in range(MAX_ROUNDS):
        gradient = [-L2 * values[at] for at in free]
        hessian = [[L2 if one == other else 0.0 for other in free] for one in free]
        for factors, offset, relevant, weight in samples:
            probability = sigmoid(offset + dot(factors, values))
            error, spread = weight * (relevant - probability), weight * probability * (1 - probability)
            for line, one in enumerate(free):
                gradient[line] += error * factors[one]
                for column, other in enumerate(free):
                    hessian[line][column] += spread * factors[one] * factors[other]
        step, size = solve(hessian, gradient), 1.0
        # A full step may overshoot when the classes are nearly separable.
        while size > 1e-6:
            tried = values[:]
            for at, change in zip(free, step):
                tried[at] += size * change
            reached = penalty(samples, tried)
            if reached < lowest:
                break
            size /= 2
        else:
            return values
        gain, lowest, values = lowest - reached, reached, tried
        if gain < 1e-9:
            return values
    return values


def fit(samples) -> list[float]:
    """The same without negative slopes: the most negative one is 0, until there is none."""
    free = list(range(len(NAMES)))
    while True:
        values = regress(samples, free)
        negative = [at for at in free if FITTED[NAMES[at]] and values[at] < 0]
        if not negative:
            return values
        free.remove(min(negative, key=lambda at: values[at]))


def is_fitted(row: dict) -> bool:
    return zlib.crc32(str(row["query"]).encode()) % 2 == 1


def samples_of(sets: list[list[dict]], fixed: dict) -> list[tuple]:
    """The rows to fit: factors, offset, whether the result is relevant, and the weight, by which all sets count the same."""
    kept = [[row for row in rows if is_fitted(row) and row["T"] != "exact"] for rows in sets]
    mean = sum(map(len, kept)) / max(1, sum(1 for rows in kept if rows))
    found = []
    for rows in kept:
        for row in rows:
            words = row["L"] is not None
            factors = by_words(row, fixed) if words else by_meaning(row, fixed)
            offset = 0.0 if words else fixed["MIN_MEANING_LOGIT"]
            found.append((factors, offset, int(row["grade"] > 0), mean / len(rows)))
    return found


def area_under_curve(scored: list[tuple[float, bool]]) -> float:
    """The share of pairs of a relevant and another result in which the relevant one has the higher score; equals count half."""
    ranks, at, ordered = 0.0, 0, sorted(scored)
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        ranks += (at + 1 + end) / 2 * sum(relevant for _, relevant in ordered[at:end])
        at = end
    positive = sum(relevant for _, relevant in scored)
    negative = len(scored) - positive
    return (ranks - positive * (positive + 1) / 2) / (positive * negative) if positive and negative else math.nan


def f1(scored, threshold: float) -> float:
    hits = sum(relevant for value, relevant in scored if value >= threshold)
    shown, relevant = sum(value >= threshold for value, _ in scored), sum(relevant for _, relevant in scored)
    return 2 * hits / (shown + relevant) if shown + relevant else math.nan


def calibration_error(scored) -> float:
    bins: list[list] = [[] for _ in range(10)]
    for value, relevant in scored:
        bins[min(int(value * 10), 9)].append((value, relevant))
    gaps = (abs(sum(value - relevant for value, relevant in part)) for part in bins)
    return sum(gaps) / max(1, len(scored))


def judge(rows: list[dict], values: list[float], fixed: dict) -> dict:
    scored = [(score(row, values, fixed), row["grade"] > 0) for row in rows if not is_fitted(row)]
    best = max((f1(scored, step / 100) for step in range(1, 100)), default=math.nan)
    return {"results": len(scored), "auc": area_under_curve(scored), "f1": f1(scored, 0.5), "f1_best": best,
            "ece": calibration_error(scored)}


def passes(figures: dict) -> bool:
    return figures["auc"] >= MIN_AUC and figures["f1_best"] - figures["f1"] <= MAX_F1_GAP and figures["ece"] <= MAX_ECE


def say(**figures) -> None:
    print(json.dumps({name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}))


def self_test() -> None:
    """Fits rows that are drawn from known constants, and compares what is found."""
    fixed = read_constants()
    assert set(NAMES) <= set(fixed), set(NAMES) - set(fixed)
    truth, draw, rows = [fixed[name] for name in NAMES], random.Random(7), []
    for number in range(6000):
        row = {"query": f"q{number // 10}", "L": draw.random() if number % 4 else None, "c": draw.random(), "k": draw.random(),
               "n": number % 5, "C": draw.random(), "T": draw.random()}
        # Drawn from the part that is fitted, which leaves out that the better judgement counts.
        factors = by_meaning(row, fixed) if row["L"] is None else by_words(row, fixed)
        offset = fixed["MIN_MEANING_LOGIT"] if row["L"] is None else 0.0
        rows.append({**row, "grade": int(draw.random() < sigmoid(offset + dot(factors, truth)))})
    values = fit(samples_of([rows[:1500], rows[1500:]], fixed))
    for name, found, expected in zip(NAMES, values, truth):
        assert abs(found - expected) <= 0.4 + 0.2 * abs(expected), (name, found, expected)
    assert abs(area_under_curve([(0.1, False), (0.5, True), (0.5, False), (0.9, True)]) - 0.875) < 1e-9
    assert f1([(0.6, True), (0.7, False), (0.1, True)], 0.5) == 0.5
    assert abs(calibration_error([(0.55, True), (0.55, False)]) - 0.05) < 1e-9
    assert score({"L": 0.3, "c": None, "k": 0, "C": 0, "T": "exact"}, truth, fixed) >= 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    parser.add_argument("--check", action="store_true", help="fail if the constants in the source do not meet the gates")
    parser.add_argument("--self-test", action="store_true", help="test this script")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if not args.files:
        parser.error("name the files of features")
    fixed = read_constants()
    sets = [[json.loads(line) for line in file.read_text(encoding="utf8").splitlines()] for file in args.files]
    current = [fixed[name] for name in NAMES]
    failed = False
    for file, rows in zip(args.files, sets):
        figures = judge(rows, current, fixed)
        failed |= not passes(figures)
        say(set=str(file), constants="source", **figures)
    if args.check:
        sys.exit("the scores do not meet the gates" if failed else 0)
    values = fit(samples_of(sets, fixed))
    for file, rows in zip(args.files, sets):
        say(set=str(file), constants="fitted", **judge(rows, values, fixed))
    for name, value in zip(NAMES, values):
        print(f"const {name}: f32 = {value:.2f};")


if __name__ == "__main__":
    main()
