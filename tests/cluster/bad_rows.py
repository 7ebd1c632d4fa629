"""Bad rows of every kind, and odd ones that are fine: what the tests of every way through a batch share."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from promptpack.batch.job import Job
from promptpack.builder import PromptBuilder

GOOD = {"question": "How long?", "sources": [{"id": "a", "text": "For 30 days."}]}
LARGEST = 100_000  # bytes of a row
JOB = Job(PromptBuilder(2000, counter="words"))


def good(id_: Any, **more: Any) -> bytes:
    return json.dumps({"id": id_, **GOOD, **more}).encode()


def source(**more: Any) -> bytes:
    return good("x", sources=[{"id": "a", "text": "For 30 days.", **more}])


# What is wrong, the row, and what its dead letter says.
BAD: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"id": "x", oops', "broken JSON at column"),
    "cut off": (good("x")[:-4], "broken JSON"),
    "two values": (good("x") + good("y"), "broken JSON"),
    "an apostrophe for a quotation mark": (b"{'id': 'x'}", "broken JSON"),
    "a comma too many": (b'{"id": "x",}', "broken JSON"),
    "an empty line": (b"", "an empty line"),
    "white space": (b" \t", "an empty line"),
    "an array": (b"[1, 2]", "expected an object"),
    "an array with a row": (b"[" + good("x") + b"]", "expected an object"),
    "a text": (b'"id"', "expected an object"),
    "a number": (b"7", "expected an object"),
    "null": (b"null", "expected an object"),
    "not UTF-8": (b'{"id": "\xff\xfe"}', "not UTF-8 (byte 8)"),
    "Latin-1": (good("x", note="\u00e4").replace(b"\\u00e4", b"\xe4"), "not UTF-8"),
    "UTF-16": (good("x").decode().encode("utf-16-be"), "broken JSON at column 1"),
    "a byte order mark in the middle": (b"\xef\xbb\xbf" + good("x"), "broken JSON at column 1"),
    "a raw NUL byte": (good("x").replace(b"How", b"H\x00w"), "broken JSON at column"),
    "nothing but NUL bytes": (b"\x00" * 60, "broken JSON at column 1"),
    "NaN": (good("x").replace(b'"a"', b"NaN"), "NaN is no JSON number"),
    "infinity": (good("x").replace(b'"a"', b"-Infinity"), "-Infinity is no JSON number"),
    "a score beyond numbers": (good("x").replace(b'"id": "a"', b'"id": "a", "score": 1e999'), "score"),
    "a score of too many digits": (source(score=10**400), "score"),
    "a score that is a text": (source(score="high"), "score: expected a"),
    "nested too deep": (b"[" * 90_000, "nested too deep"),
    "metadata nested too deep": (
        source(metadata={"a": 0}).replace(b"0}", b"[" * 40_000 + b"]" * 40_000 + b"}"), "nested too deep"),
    "a number too long": (b'{"id": ' + b"9" * 5000 + b"}", "too long"),
    "no question": (b'{"id": "x", "sources": ["a"], "query": "Why?"}', "question: the row has no such column"),
    "no sources": (b'{"id": "x", "question": "Why?"}', "sources: the row has no such column"),
    "no columns": (b"{}", "the row has no such column; it has nothing"),
    "nothing to ask": (b'{"id": "x", "question": null, "sources": []}', "nothing to ask"),
    "a question of the wrong type": (good("x", question=7), "question: expected a text, got 7"),
    "a question in a list": (good("x", question=["Why?"]), "question: expected a text"),
    "sources that are a text": (good("x", sources="a text"), "sources: expected a list"),
    "sources that are an object": (good("x", sources={"a": {"text": "b"}}), "sources: expected a list"),
    "a source without text": (good("x", sources=[{"id": "a"}]), "sources[0]: there is no text"),
    "a source whose text is a number": (source(text=7), "sources[0]"),
    "a source of the wrong type": (good("x", sources=["fine", 7]), "sources[1]"),
    "a source that is null": (good("x", sources=[None]), "sources[0]"),
    "a source in a list": (good("x", sources=[["a"]]), "sources[0]"),
    "metadata of the wrong type": (source(metadata=[1]), "metadata: expected a mapping"),
    "an id of the wrong type": (good(["x"]), "id: expected a text"),
    "an id that is true": (good(True), "id: expected a text"),
    "an id of many digits": (good(10**60), "id: expected a text"),
    "an id too long": (good("x" * 1001), "id: expected a text"),
    "an id with a lone surrogate, and more": (good("x \ud800", question=7), "question: expected a text, got 7"),
    "an empty id": (good(""), "id: expected a text"),
    "a history of the wrong type": (good("x", history={"role": "user"}), "history: expected a list"),
    "a role that is none": (good("x", history=[{"role": "king", "content": "Hi"}]), "role"),
    "a system text of the wrong type": (good("x", system=["You"]), "system: expected a text"),
    "a required source that is too large": (
        good("x", sources=[{"id": "a", "text": "word " * 9000, "required": True}]), "do not fit the window"),
    "a question that is too large": (good("x", question="word " * 9000), "do not fit the window"),
    "an id that came before": (good("before"), "id: 'before' names row 1, too"),
    "a number that came before as text": (good(7), "id: '7' names row 2, too"),
    "a row that is too large": (good("x", padding="x" * 200_000), "the most is 100,000"),
    "a broken row that is too large": (b'{"id": "x' + b"y" * 200_000, "the most is 100,000"),
}
# Rows that look as if something were wrong.
ODD: dict[str, bytes] = {
    "lone surrogates": good("odd \ud800", question="Why \udfff?", sources=["So \ud83d."]),
    "NUL in a text": good("odd-nul", question="Why\x00?", sources=["So\x00."]),
    "an unknown column with a huge number": good("odd-huge", size=10**300),
    "a key twice": b'{"id": "odd-twice", "question": 7, "question": "Why?", "sources": ["So."]}',
    "no id": b'{"question": "Why?", "sources": ["So."]}',
    "an id that is null": b'{"id": null, "question": "Why so?", "sources": ["So."]}',
    "sources that are null": b'{"id": "odd-null", "question": "Why?", "sources": null}',
    "an escaped line end": good("odd-end", question="Why\nso\r\n\u2028?"),
}
FIRST = [good("before"), good("7")]


def all_rows() -> list[bytes]:
    """Return two rows, then each bad one with a good one after it, then the odd ones."""
    bad = [line for number, (data, _) in enumerate(BAD.values()) for line in (data, good(f"good-{number}"))]
    return [*FIRST, *bad, *ODD.values()]


def write_all(path: Path) -> list[bytes]:
    """Write the rows as lines, and return them."""
    lines = all_rows()
    path.write_bytes(b"\n".join(lines))
    return lines


def delivered(lines: list[bytes]) -> list[str]:
    """Return the ids of all that has to come out, in order."""
    places = [sum(len(one) + 1 for one in lines[:number]) for number in range(len(lines))]
    wanted = ["before", "7", *(f"good-{number}" for number in range(len(BAD)))]
    for data, place in zip(ODD.values(), places[-len(ODD):], strict=True):
        id_ = json.loads(data).get("id")
        wanted.append(f"at-{place}" if id_ is None else id_)
    return wanted


def check_letters(path: Path, lines: list[bytes]) -> None:
    """Each bad row is told once, in order, with its place, the reason, and the row as it came."""
    letters = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [one["line"] for one in letters] == list(range(3, 3 + 2 * len(BAD), 2))
    for letter, (kind, (data, reason)) in zip(letters, BAD.items(), strict=True):
        number = letter["line"] - 1
        assert reason in letter["error"]["message"], (kind, letter["error"])
        assert letter["offset"] == sum(len(one) + 1 for one in lines[:number]), kind
        assert len(letter["error"]["message"]) < 2100, kind
        if "row" in letter:
            assert letter["row"].encode() == data, kind
        elif "row_base64" in letter:
            assert base64.b64decode(letter["row_base64"]) == data, kind
        else:
            assert letter["bytes"] == len(lines[number]) + 1, kind
            assert data.decode().startswith(letter["row_start"]), kind
            assert len(letter["row_start"]) == 1000, kind
