"""Files of a command: JSON, JSON Lines and plain text in UTF-8, with errors that name the place, and where to write."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

from promptpack.errors import OptionError, SourceError, quote

LARGEST = 2_000_000_000  # bytes of one input file
_LISTS = ("sources", "results", "documents", "hits", "matches", "chunks")


def can_be_written(out: str | Path, name: str = "output") -> None:
    """OptionError, of the option `name`, where an output file has no folder, or is one."""
    path = Path(out)
    try:
        if path.is_dir():
            told = f"{quote(str(path), 200)} is a folder"
        elif not path.parent.is_dir():
            told = f"there is no folder {quote(str(path.parent), 200)}"
        else:
            return
    except OSError as error:  # no access to what lies above it, or too long a name
        told = f"{quote(str(path), 200)} cannot be written: {error.strerror}"
    raise OptionError(f"{name}: {told}", name=name, given=str(out))


def read_text(path: str, *, lenient: bool = False) -> str:
    """Return a file's text ("-" is standard input): UTF-8, without a byte order mark, line ends as they are.

    Raises SourceError where the file cannot be read, is a folder, is larger than 2 GB or is not UTF-8; with `lenient`
    a wrong byte becomes U+FFFD and line ends become line feeds.
    """
    shown = path.encode("utf-8", "backslashreplace").decode()
    try:
        if path == "-":
            stdin: BinaryIO | None = getattr(sys.stdin, "buffer", None)
            if stdin is None:
                raise OSError(errno.EBADF, "there is no standard input")
            data = stdin.read(LARGEST + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise SourceError(f"{shown}: cannot be read: {why}", field="file") from error
    if len(data) > LARGEST:
        raise SourceError(f"{shown}: larger than {LARGEST:,} bytes", field="file")
    if lenient:
        return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{shown}: line {line}: not UTF-8 (byte {error.start})", field="file", index=line) from error


def read_items(path: str) -> list[Any]:
    """Return the items of a file: a JSON list, a JSON object that holds one, or JSON Lines.

    Empty lines are skipped. Raises SourceError naming the file and the line of the fault.
    """
    return [item for _, item in read_placed_items(path)]


def read_placed_items(path: str) -> list[tuple[str, Any]]:
    """Return what `read_items` does, each with its place for errors: "hits.jsonl: line 3", "hits.json: sources[2]".

    Blank lines count for the number of a line, as they do in an editor.
    """
    text = read_text(path)
    if not text.strip():
        return []
    whole: Any = None
    try:
        whole = read_json(text, path)
    except SourceError:
        if not _by_line(text, path):
            raise
        return [(f"{path}: line {number}", item) for number, item in _numbered(text, path)]
    if isinstance(whole, list):
        return _in_list(path, "sources", whole)
    if isinstance(whole, dict):
        for key in _LISTS:
            if isinstance(whole.get(key), list):
                return _in_list(path, key, whole[key])
        first = len(text) - len(text.lstrip())
        return [(f"{path}: line {text.count(chr(10), 0, first) + 1}", whole)]
    raise SourceError(f"{path}: expected a list or an object, got {quote(whole)}", field="file")


def read_json_lines(path: str) -> list[Any]:
    """Return the JSON value of each line of a file that is not blank; SourceError names the line of the fault."""
    return [item for line in _lines(read_text(path), path) for item in line]


def read_numbered_lines(path: str) -> list[tuple[int, Any]]:
    """Return what `read_json_lines` does, each with the number of its line (from 1)."""
    return _numbered(read_text(path), path)


def _in_list(path: str, name: str, items: list[Any]) -> list[tuple[str, Any]]:
    return [(f"{path}: {name}[{index}]", item) for index, item in enumerate(items)]


def _numbered(text: str, path: str) -> list[tuple[int, Any]]:
    numbers = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return list(zip(numbers, (item for line in _lines(text, path) for item in line), strict=True))


def _by_line(text: str, path: str) -> bool:
    """Tell whether a text that is no JSON as a whole is JSON Lines: its first line is JSON by itself."""
    first, _, more = text.lstrip().partition("\n")
    if not more.strip():
        return False
    try:
        read_json(first, path)
    except SourceError:
        return False
    return True


def _lines(text: str, path: str) -> list[list[Any]]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append([read_json(line, f"{path}: line {number}")])
            except SourceError as error:
                error.index = number
                raise
    return found


def read_json(text: str, where: str) -> Any:
    """Parse JSON text; SourceError, with the place, for what is broken, nested too deep or too long a number."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        what = error.msg.removesuffix(" at")
        raise SourceError(f"{where}: broken JSON at {place}: {what}", field="file", index=error.lineno) from error
    except (RecursionError, ValueError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else "a number is too long"
        raise SourceError(f"{where}: JSON that cannot be read: {why}", field="file") from error
