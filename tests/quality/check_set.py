"""Checks a set of texts, queries, judgements and questions by which search and answers are judged.

    python3.11 tests/quality/check_set.py [FOLDER]

FOLDER is `tests/quality/library` by default. The script prints each fault and fails if there is one. The files of a set:

corpus.jsonl   {_id, title, text, metadata: {url, savedAt, tags?, notes?, highlights?, excerpt?, state?}}
               `tags` are names, `notes` is the user's own note on the page, `highlights` are {text, note?} with a text that stands
               in the page, and `excerpt` is the description of the page. A save with a `state` has no text: its page is "waiting"
               to be fetched, or the fetch "failed" for good.
queries.jsonl  {_id, text, metadata: {kind, correctedQuery?, filters?}}
               `correctedQuery` is what the search should say that it looked for, in lower case; only queries of the kind
               `misspelt` have it. `filters` are further parameters of the search. A query of the kind `passage` asks for a passage
               deep in a long text.
qrels.tsv      query-id, corpus-id and score: 2 for what the user means, 1 for what is related, 0 for what is similar but wrong.
               Saves that are not listed are wrong too. A query of the kind `nothing` has no rows and should find nothing.
answers.jsonl  {_id, text, document, fact}
               A question, the id of the save that answers it, and a part of the sentence that answers it. Both are null for a
               question that the library does not answer.
"""

import argparse
import collections
import datetime
import json
import re
import sys
import unicodedata
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path

LEAST_SAVES = {
    "saves": 300, "long saves": 10, "saves without a text": 40, "saves with tags": 120, "saves with notes": 30, "saves with highlights": 20,
}
LEAST_QUERIES = {
    "title": 18, "tag": 12, "url": 10, "note": 8, "code": 20, "phrase": 14, "misspelt": 16, "language": 20, "question": 16,
    "meaning": 8, "nothing": 8, "passage": 18,
}
LEAST_ANSWERED = 50
LEAST_UNANSWERED = 20
LEAST_ANSWERED_FROM_LONG = 15
MAX_WORDS = 2_000
# A text of so many words has several passages, of which the first says little about the others.
LEAST_WORDS_OF_LONG = 600
# The fact that answers a question to a long text stands after so many characters, beyond the first passage.
LEAST_OFFSET_OF_FACT = 1_000

STATES = ("waiting", "failed")
FILTERS = ("tag", "contentType", "archived", "favorite", "savedAfter", "savedBefore", "source")
SAVE_FIELDS = ("url", "savedAt", "tags", "notes", "highlights", "excerpt", "state")
QUERY_FIELDS = ("kind", "correctedQuery", "filters")

# Words up to this length, such as "from", say nothing about what a text is about.
MAX_FUNCTION_WORD_LETTERS = 4

# Examples by which the search was specified. A set that asks them would only measure what was built for them.
SPECIFIED_EXAMPLES = (
    "Exit code 137", "Exit code 125", "Meeting notes 2024-06-06", "rust", "Semelweis", "penicilin", "LM385", "LM 385P", "bwv578",
    "BWV 578", "OSullivan", "9E3779B1", "cve 2021 44228", "bee", "being", "number", "Numb", "Who found the xz backdoor?",
)


def fold(text: str) -> str:
    """Lower case without accents."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))


def lines_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text("utf8").splitlines()]


def duplicates(what: str, values: Iterable[str]) -> Iterator[str]:
    for value, count in collections.Counter(values).items():
        if count > 1:
            yield f"{what} occurs {count} times: {value}"


def fields(row: dict, known: Iterable[str]) -> Iterator[str]:
    for name in sorted(set(row) - set(known)):
        yield f"{row.get('_id', row)}: unknown field {name}"


def is_time(text: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def searchable_text(save: dict) -> str:
    """All that a search of the save looks at."""
    metadata = save["metadata"]
    notes = [highlight.get("note", "") for highlight in metadata.get("highlights", [])]
    parts = [save["title"], save["text"], metadata["url"], metadata.get("notes", ""), metadata.get("excerpt", "")]
    return "\n".join(parts + notes + metadata.get("tags", []))


def is_long(save: dict) -> bool:
    return len(save["text"].split()) >= LEAST_WORDS_OF_LONG


def faults_of_save(save: dict) -> Iterator[str]:
    name, metadata = save["_id"], save["metadata"]
    yield from fields(save, ("_id", "title", "text", "metadata"))
    yield from fields({"_id": name, **metadata}, ("_id", *SAVE_FIELDS))
    url = urllib.parse.urlsplit(metadata.get("url", ""))
    # Names below `example` belong to nobody (RFC 2606), so that no text is attributed to a real site.
    if url.scheme != "https" or not (url.hostname or "").endswith(".example"):
        yield f"{name}: the URL is not below the top-level domain example"
    if not save["title"].strip():
        yield f"{name}: no title"
    if not is_time(metadata.get("savedAt", "")):
        yield f"{name}: savedAt is not a time with an offset"
    if "state" in metadata and metadata["state"] not in STATES:
        yield f"{name}: unknown state {metadata['state']}"
    if bool(save["text"].strip()) == ("state" in metadata):
        yield f"{name}: a save has either a text or a state"
    if len(save["text"].split()) > MAX_WORDS:
        yield f"{name}: more than {MAX_WORDS} words"
    yield from duplicates(f"{name}: tag", metadata.get("tags", []))
    for highlight in metadata.get("highlights", []):
        if not highlight["text"] or highlight["text"] not in save["text"]:
            yield f"{name}: the highlight is not in the text: {highlight['text']}"


def faults_of_corpus(saves: list[dict]) -> Iterator[str]:
    for save in saves:
        yield from faults_of_save(save)
    yield from duplicates("id of a save", (save["_id"] for save in saves))
    yield from duplicates("title", (save["title"] for save in saves))
    yield from duplicates("URL", (save["metadata"].get("url", "") for save in saves))
    yield from duplicates("text", (save["text"] for save in saves if save["text"]))
    found = {
        "saves": len(saves),
        "long saves": sum(is_long(save) for save in saves),
        "saves without a text": sum("state" in save["metadata"] for save in saves),
        "saves with tags": sum(bool(save["metadata"].get("tags")) for save in saves),
        "saves with notes": sum(bool(save["metadata"].get("notes")) for save in saves),
        "saves with highlights": sum(bool(save["metadata"].get("highlights")) for save in saves),
    }
    yield from too_few(found, LEAST_SAVES)


def too_few(found: dict[str, int], least: dict[str, int]) -> Iterator[str]:
    for name, count in least.items():
        if found.get(name, 0) < count:
            yield f"{found.get(name, 0)} {name}, fewer than {count}"


def faults_of_query(query: dict, vocabulary: set[str]) -> Iterator[str]:
    name, metadata = query["_id"], query["metadata"]
    yield from fields(query, ("_id", "text", "metadata"))
    yield from fields({"_id": name, **metadata}, ("_id", *QUERY_FIELDS))
    yield from fields({"_id": name, **metadata.get("filters", {})}, ("_id", *FILTERS))
    if metadata["kind"] not in LEAST_QUERIES:
        yield f"{name}: unknown kind {metadata['kind']}"
    corrected = metadata.get("correctedQuery")
    if (metadata["kind"] == "misspelt") != (corrected is not None):
        yield f"{name}: exactly the misspelt queries have a correctedQuery"
    if corrected is not None:
        yield from faults_of_correction(query, corrected, vocabulary)


def faults_of_correction(query: dict, corrected: str, vocabulary: set[str]) -> Iterator[str]:
    """A correction is made where no word of the query stands in the library, and it names words that do."""
    for word in words(query["text"]):
        if word in vocabulary:
            yield f"{query['_id']}: {word} is in the library and is not corrected"
    for word in words(corrected):
        if word not in vocabulary:
            yield f"{query['_id']}: {word} is not in the library"


def faults_of_queries(queries: list[dict], saves: dict[str, dict]) -> Iterator[str]:
    vocabulary = {word for save in saves.values() for word in words(searchable_text(save))}
    for query in queries:
        yield from faults_of_query(query, vocabulary)
    yield from duplicates("id of a query", (query["_id"] for query in queries))
    yield from duplicates("query", (f"{fold(query['text'])} {query['metadata'].get('filters', '')}" for query in queries))
    examples = {" ".join(words(example)) for example in SPECIFIED_EXAMPLES}
    for query in queries:
        if " ".join(words(query["text"])) in examples:
            yield f"{query['_id']}: the search was specified by this example: {query['text']}"
    yield from too_few(collections.Counter(query["metadata"]["kind"] for query in queries), LEAST_QUERIES)


def shared_words(query: dict, save: dict) -> set[str]:
    common = set(words(query["text"])) & set(words(searchable_text(save)))
    return {word for word in common if len(word) > MAX_FUNCTION_WORD_LETTERS}


def faults_of_judgements(lines: list[str], queries: dict[str, dict], saves: dict[str, dict]) -> Iterator[str]:
    if lines[0].split("\t") != ["query-id", "corpus-id", "score"]:
        yield "qrels.tsv: the first line does not name the columns"
    judged: dict[str, list[str]] = collections.defaultdict(list)
    rows = [line.split("\t") for line in lines[1:]]
    yield from duplicates("judgement", (f"{row[0]} {row[1]}" for row in rows))
    for query, save, score in rows:
        if query not in queries or save not in saves:
            yield f"qrels.tsv: unknown id in {query} {save}"
            continue
        if score not in ("0", "1", "2"):
            yield f"qrels.tsv: unknown score {score} of {query} {save}"
        if score != "0":
            judged[query].append(save)
    for name, query in queries.items():
        kind = query["metadata"]["kind"]
        if (kind == "nothing") == bool(judged[name]):
            yield f"{name}: exactly the queries of the kind nothing find nothing"
        if kind == "passage" and not all(is_long(saves[save]) for save in judged[name]):
            yield f"{name}: judges a save that is not long"
        for save in judged[name] if kind == "meaning" else []:
            if common := shared_words(query, saves[save]):
                yield f"{name}: shares {sorted(common)} with {save}"


def faults_of_answers(questions: list[dict], saves: dict[str, dict]) -> Iterator[str]:
    yield from duplicates("id of a question", (question["_id"] for question in questions))
    yield from duplicates("question", (fold(question["text"]) for question in questions))
    examples = {" ".join(words(example)) for example in SPECIFIED_EXAMPLES}
    from_long = 0
    for question in questions:
        name, document, fact = question["_id"], question["document"], question["fact"]
        yield from fields(question, ("_id", "text", "document", "fact"))
        if " ".join(words(question["text"])) in examples:
            yield f"{name}: the search was specified by this example: {question['text']}"
        if (document is None) != (fact is None):
            yield f"{name}: a question has a document and a fact, or neither"
        elif document is not None and document not in saves:
            yield f"{name}: unknown document {document}"
        elif document is not None and (not fact or fact not in saves[document]["text"]):
            yield f"{name}: the fact is not in the text of {document}: {fact}"
        elif document is not None and is_long(saves[document]):
            from_long += 1
            if saves[document]["text"].index(fact) < LEAST_OFFSET_OF_FACT:
                yield f"{name}: the fact stands at the beginning of {document}: {fact}"
    answered = sum(question["document"] is not None for question in questions)
    found = {
        "questions with an answer": answered,
        "questions without an answer": len(questions) - answered,
        "questions to long texts": from_long,
    }
    least = {
        "questions with an answer": LEAST_ANSWERED,
        "questions without an answer": LEAST_UNANSWERED,
        "questions to long texts": LEAST_ANSWERED_FROM_LONG,
    }
    yield from too_few(found, least)


def faults_of_set(folder: Path) -> Iterator[str]:
    corpus, asked = lines_of(folder / "corpus.jsonl"), lines_of(folder / "queries.jsonl")
    saves = {save["_id"]: save for save in corpus}
    queries = {query["_id"]: query for query in asked}
    yield from faults_of_corpus(corpus)
    yield from faults_of_queries(asked, saves)
    yield from faults_of_judgements((folder / "qrels.tsv").read_text("utf8").splitlines(), queries, saves)
    yield from faults_of_answers(lines_of(folder / "answers.jsonl"), saves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "library")
    faults = list(faults_of_set(parser.parse_args().folder))
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} faults")


if __name__ == "__main__":
    main()
