"""rag-chunk-reorder's vectors of the command line as runs of `promptpack reorder`, in this process."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from golden_must import Answer
from vector_files import Vector, same

Result = dict[str, Any]


def cli(vector: Vector) -> Result:
    from click.testing import CliRunner

    from promptpack.cli import main

    given = vector["input"]
    with tempfile.TemporaryDirectory() as name, inside(Path(name)):
        for path, content in (given.get("files") or {}).items():
            text = content if isinstance(content, str) else json.dumps(content)
            Path(path).write_text(text, encoding="utf-8")
        before = set(os.listdir())
        done = CliRunner().invoke(main, ["reorder", *given["args"]], input=given.get("stdin") or "")
        written = {path: Path(path).read_text(encoding="utf-8") for path in set(os.listdir()) - before}
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return {"exit": done.exit_code, "stdout": done.stdout, "stderr": done.stderr, "files": written}


@contextmanager
def inside(folder: Path) -> Any:
    old = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(old)


def same_cli(found: Result, expected: Vector) -> bool:
    """Compare two runs; a failure is any code but 0 with empty output; the version printed is the library's."""
    from promptpack import __version__

    if expected["exit"] != 0:
        return bool(found["exit"] != 0 and found["stdout"] == "" and found["stderr"].lower().startswith("error:"))
    text = found["stdout"]
    checks: dict[str, Callable[[Any], bool]] = {
        "exit": lambda wanted: bool(found["exit"] == wanted),
        "flags": lambda wanted: set(wanted) <= set(re.findall(r"(?<!\S)--?[A-Za-z][A-Za-z-]*", text.replace(",", " "))),
        "stdout": lambda wanted: bool(text == (f"{__version__}\n" if wanted == "0.1.7\n" else wanted)),
        "stdout_json": lambda wanted: same(json.loads(text), wanted),
        "stdout_jsonl": lambda wanted: same(lines(text), wanted),
        "stdout_ends_with_newline": lambda wanted: text.endswith("\n") is wanted,
        "files": lambda wanted: set(wanted) == set(found["files"]) and all(
            same_file(found["files"][path], shape) for path, shape in wanted.items()
        ),
    }
    unknown = set(expected) - set(checks)
    assert not unknown, f"nothing compares {sorted(unknown)}"
    return all(checks[name](wanted) for name, wanted in expected.items())


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def same_file(text: str, shape: Vector) -> bool:
    checks: dict[str, Callable[[Any], bool]] = {
        "json": lambda wanted: same(json.loads(text), wanted), "jsonl": lambda wanted: same(lines(text), wanted),
        "ends_with_newline": lambda wanted: text.endswith("\n") is wanted,
    }
    return all(checks[name](wanted) for name, wanted in shape.items())


def better_command(vector: Vector, answer: Answer) -> None:
    """D23: what the reference overlooks is a usage error; --flag=value and --maxTokens work."""
    args, found = vector["input"]["args"], answer.value
    bare = args[:1] == ["stray"]
    without_value = args[-1:] == ["--input"]
    empty_number = "" in args
    unknown_option = any("unknownThing" in arg for arg in args)
    no_references = "--bench" in args
    if bare or without_value or empty_number or unknown_option or no_references:
        assert same_cli(found, {"exit": 1}), found
        return
    assert found["exit"] == 0, found
    chunks = json.loads(found["stdout"])
    given = vector["input"]["files"]["in.json"]
    given = json.loads(given) if isinstance(given, str) else given
    by_id = {chunk["id"]: chunk for chunk in given}
    assert all(by_id[chunk["id"]] == chunk for chunk in chunks)
    if args == ["--input=in.json"]:
        assert len(chunks) == len(given)
    else:  # a budget of tokens, counted by name or by the built-in counter
        assert "maxTokens" in args[2] or "maxTokens" in args[3]
        from promptpack import count_tokens

        count = (lambda text: -(-len(text) // 4)) if "char4" in args[-1] else count_tokens
        assert sum(count(chunk["text"]) for chunk in chunks) <= 5
        assert chunks


CALLS: dict[str, Callable[[Vector], Any]] = {"cli": cli}
COMPARE = {"cli": same_cli}
