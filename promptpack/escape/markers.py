"""The chat markers that are broken up in untrusted text: read from data, matched by shape.

The list `data/chat-markers.json` names the control markers of many model families; those with `minimal`
true are covered. A named marker also counts with a slash, with another number, and with a namespace,
because the next release of a family usually adds just that.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# Close kin of listed markers that tokenizers have and the list does not.
_KIN = (
    "tool_calls", "tool_responses", "tool_results", "function_calls", "start_of_audio", "end_of_audio",
    "reserved_0", "seed:x",
)
_KIN_LITERAL = ("]~!b]", "]~b[")
_SHAPED = re.compile(r"<[/\\]?[|\uff5c]|</?[A-Za-z]\w*[|\uff5c]>")  # matched by shape, not by name


@dataclass(frozen=True, slots=True)
class MarkerShapes:
    """Patterns over folded text, and the starts that a quick search looks for.

    full: matches one marker from its opener, also one whose last sign the end of the text cuts off.
    tag_starts: the first letters of names after "<". bracket_starts: the same after "[".
    """

    full: str
    tag_starts: frozenset[str]
    bracket_starts: frozenset[str]


@lru_cache(maxsize=1)
def _listed() -> dict[str, list[dict[str, Any]]]:
    # Lighter than importlib.resources, and works from a zip file as well.
    data = json.loads(pkgutil.get_data("promptpack.escape", "data/chat-markers.json") or b"")
    return {family["family"]: family["markers"] for family in data["families"]}


def families() -> tuple[str, ...]:
    """Return the names of the listed model families.

    >>> "llama3" in families()
    True
    """
    return tuple(_listed())


def load() -> list[str]:
    """Return the texts of all listed markers that the default level breaks up, in the list's order."""
    return [marker["text"] for markers in _listed().values() for marker in markers if marker["minimal"]]


def _name_pattern(name: str) -> str:
    name = re.sub(r"^[a-z]{2,12}:", "", name) if not name.startswith("seed:") else "seed:[a-z_]{1,32}"
    if name.startswith("seed:"):
        return name
    if "=" in name:
        return re.escape(name.split("=")[0]) + r"=[A-Za-z_][A-Za-z0-9_.-]*+"
    number = re.fullmatch(r"(.*_)[0-9]+", name)
    return re.escape(number[1]) + "[0-9]{1,4}" if number else re.escape(name)


@lru_cache(maxsize=1)
def shapes() -> MarkerShapes:
    """Return the patterns of all covered markers, built on first use."""
    names: dict[str, None] = dict.fromkeys(_KIN)
    closing: dict[str, None] = {}
    brackets: dict[str, None] = {}
    literals: dict[str, None] = dict.fromkeys(_KIN_LITERAL)
    texts = load()
    plain = set(texts)
    for text in texts:
        if _SHAPED.match(text):
            continue
        named = re.fullmatch(r"<(/?)([\w:=.-]+)>", text)
        bracketed = re.fullmatch(r"\[/?(\w+)\]", text)
        if named and named[1] and f"<{named[2]}>" not in plain:
            closing[named[2]] = None
        elif named:
            names[named[2]] = None
        elif bracketed:
            brackets[bracketed[1]] = None
        else:
            literals[text] = None
    alternatives = [
        r'<[/\\]?\|(?:"\|>|/?(?:[^\W\d]|\u2581)[\w \-./:=\u2581\ue000\ue001]*+(?:[|>]|\Z)|[/"]?\Z)',
        r"<[/\\]?[A-Za-z][A-Za-z0-9_]*+\|>",
        rf"<[/\\]?(?:[a-z]{{2,12}}:)?(?:{_either(map(_name_pattern, names))})[ \t-\r]*+[/\\]?(?:>|\Z)",
        rf"<[/\\](?:{_either(map(re.escape, closing))})[ \t-\r]*+[/\\]?(?:>|\Z)",
        rf"\[[/\\]?(?:{_either(map(re.escape, brackets))})\]",
        *(re.escape(t).replace("/", r"[/\\]?").replace("<<SYS", r"<<[/\\]?SYS") for t in literals),
    ]
    tag_starts = {n[:3] for n in names} | {n.split(":")[-1][:3] for n in names} | {"rol"}
    return MarkerShapes(
        full="|".join(alternatives),
        tag_starts=frozenset(tag_starts),
        bracket_starts=frozenset({b[:2] for b in brackets} | {"e~"}),
    )


def _either(patterns: Iterable[str]) -> str:
    return "|".join(dict.fromkeys(patterns))
