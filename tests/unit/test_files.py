"""Files of the commands: what is read, and which line is at fault."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from promptpack import files
from promptpack.errors import SourceError
from promptpack.files import read_items, read_json, read_text


def written(path: Path, data: bytes | str) -> str:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "text", "lenient"),
    [
        (b"", "", ""),
        (b"\xef\xbb\xbfa", "a", "a"),
        ("\u00e9\U0001f600".encode(), "\u00e9\U0001f600", "\u00e9\U0001f600"),
        (b"a\r\nb\rc\n", "a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa", "\ufeffa"),
        (b"a\x00b", "a\x00b", "a\x00b"),
    ],
)
def test_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, text: str, lenient: str) -> None:
    path = written(tmp_path / "a.txt", data)
    assert read_text(path) == text
    assert read_text(path, lenient=True) == lenient
    monkeypatch.setattr("sys.stdin", Stdin(data))
    assert read_text("-") == text


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"ab\xff", 1),
        (b"a\nb\n\xc3", 3),
        ("\u00e9".encode("latin-1"), 1),
        ("a".encode("utf-16"), 1),
        (b"\xed\xa0\x80", 1),
    ],
)
def test_no_utf8(tmp_path: Path, data: bytes, line: int) -> None:
    path = written(tmp_path / "a.txt", data)
    with pytest.raises(SourceError, match=rf"a\.txt: line {line}: not UTF-8") as caught:
        read_text(path)
    assert (caught.value.field, caught.value.index) == ("file", line)
    assert "\ufffd" in read_text(path, lenient=True)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing", "No such file"),
        (".", "directory"),
        ("a\x00b", "ValueError"),
        ("x" * 5000, "too long"),
        ("\ud800", ""),
        ("file/x", "directory"),
        ("", ""),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    for read in (read_text, read_items):
        with pytest.raises(SourceError, match=f"cannot be read: .*{why}") as caught:
            read(name)
        assert caught.value.field == "file"
        str(caught.value).encode("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="names of bytes are POSIX")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A file name of odd bytes must not make the error itself unprintable."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json")
    Path(path).write_bytes(b"\xff")
    with pytest.raises(SourceError) as caught:
        read_text(path)
    str(caught.value).encode("utf-8")


def test_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for stdin in (None, io.StringIO("text only")):
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(SourceError, match="no standard input"):
            read_text("-")


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 10)
    assert read_text(written(tmp_path / "a", "x" * 10)) == "x" * 10
    with pytest.raises(SourceError, match="larger than 10 bytes"):
        read_text(written(tmp_path / "a", "x" * 11))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        (" \n\r\n", []),
        ("[]", []),
        ('[{"a": 1}, "x", 2]', [{"a": 1}, "x", 2]),
        ('{"text": "x"}', [{"text": "x"}]),
        *(
            (json.dumps({key: ["a", "b"], "question": "q"}), ["a", "b"])
            for key in ("sources", "results", "documents", "hits", "matches", "chunks")
        ),
        ('{"text": "a"}\n{"text": "b"}\n', [{"text": "a"}, {"text": "b"}]),
        ('{"a": 1}\r\n\r\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
        ('"a"\n"b"', ["a", "b"]),
        ('\n\n{"a": 1}\n', [{"a": 1}]),
        ('[\n {"a": 1},\n {"a": 2}\n]\n', [{"a": 1}, {"a": 2}]),
        ('{"sources": 5}', [{"sources": 5}]),
        ('["a", 1]\n["b", 2]', [["a", 1], ["b", 2]]),
        ('\ufeff{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": "\\u2028"}\n{"a": "\u2028"}', [{"a": "\u2028"}] * 2),
    ],
)
def test_items(tmp_path: Path, text: str, items: list[Any]) -> None:
    assert read_items(written(tmp_path / "a.json", text)) == items


@pytest.mark.parametrize(
    ("text", "place", "line"),
    [
        ('{"a": 1', "broken JSON at column 8", 1),
        ('{"a": 1}\n{"a": }\n', "a.json: line 2: broken JSON at column 7", 2),
        ('{"a": 1}\r\n\r\n\r\n{"a"\r\n', "a.json: line 4: broken JSON", 4),
        ('[\n {"a": 1},\n {"a": 2},\n]', "broken JSON at line 4, column 1", 4),
        ('{\n "a": 1\n "b": 2\n}', "broken JSON at line 3, column 2", 3),
        ("not json", "broken JSON at column 1", 1),
        ('x\n{"a": 1}', "broken JSON at line 1, column 1", 1),
        ('{"a": 1}\n' + "[" * 100_000, "a.json: line 2: JSON that cannot be read: nested too deep", 2),
        ('{"a": 1}\n' + "9" * 5000, "a number is too long", 2),
        ("{'a': 1}", "broken JSON", 1),
    ],
    ids=lambda v: ascii(v)[:30],
)
def test_broken_json_names_the_place(tmp_path: Path, text: str, place: str, line: int) -> None:
    """Of a long file with one fault the line is what its owner needs."""
    with pytest.raises(SourceError, match=r"a.json") as caught:
        read_items(written(tmp_path / "a.json", text))
    assert place in str(caught.value)
    assert caught.value.index == line
    assert caught.value.field == "file"


@pytest.mark.parametrize("text", ["5", "true", "null", '"text"', "1.5"])
def test_no_items(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceError, match="expected a list or an object"):
        read_items(written(tmp_path / "a.json", text))


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, '{"a":' * 100_000, "9" * 10_000, "", "{", "\ud800", "[1,]", "\x00"],
    ids=lambda v: ascii(v)[:10],
)
def test_json_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SourceError, match=r"^here: ") as caught:
        read_json(text, "here")
    str(caught.value).encode("utf-8")
