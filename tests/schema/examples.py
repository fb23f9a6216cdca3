"""Checks that each example of the API's description is valid for its schema, and, with a second file, that each operation is
named in it: examples.py DESCRIPTION [SUCCEEDED]."""

import json
import pathlib
import sys

from jsonschema import Draft202012Validator, FormatChecker


def described(description):
    """Yields each schema that has an example: its location, the schema and the example."""
    for name, response in description["components"]["responses"].items():
        for media in response["content"].values():
            yield f"component {name}", media["schema"], media["example"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            where = f"{method.upper()} {path}"
            for parameter in operation["parameters"]:
                yield f"{where}, {parameter['name']}", parameter["schema"], parameter["example"]
            bodies = {"body": operation["requestBody"]} if "requestBody" in operation else {}
            for name, part in (bodies | operation["responses"]).items():
                for media in part.get("content", {}).values():
                    yield f"{where}, {name}", media["schema"], media["example"]


def main():
    """Prints the faults, and fails if there are any."""
    description = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    shapes, wrong, seen = {"components": description["components"]}, [], 0
    for where, schema, example in described(description):
        seen += 1
        faults = Draft202012Validator(shapes | schema, format_checker=FormatChecker()).iter_errors(example)
        wrong += [f"{where}: {fault.json_path}: {fault.message[:200]}" for fault in faults]
    if len(sys.argv) > 2:
        succeeded = set(pathlib.Path(sys.argv[2]).read_text("utf-8").splitlines())
        labels = [f"{m.upper()} {path}" for path, methods in description["paths"].items() for m in methods]
        wrong += [f"{label} never succeeded" for label in labels if label not in succeeded]
    print(f"{seen} examples checked, {len(wrong)} faults", *wrong, sep="\n")
    sys.exit(bool(wrong))


main()
