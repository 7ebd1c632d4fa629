"""The properties of the injection cases: one predicate for each name, as the cases' README states them."""

from __future__ import annotations

import difflib
import html
import importlib.util
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from injection_build import Case
from injection_runs import child, linear, linear_answer, template_safe, typed_load

HERE = Path(__file__).parent
QUOTED = 80  # characters of a source that an error message may repeat


@cache
def oracle() -> Any:
    """Load the forgiving reader that lies beside the cases."""
    path = HERE / "injection" / "injection_oracle.py"
    spec = importlib.util.spec_from_file_location("injection_oracle", path)
    assert spec is not None, f"{path} is missing"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same_reading(*names: str) -> Callable[[Case, str], None]:
    """The oracle's functions of these names give the same for the payload and its baseline."""

    def predicate(case: Case, argument: str) -> None:
        for name in names:
            read = getattr(oracle(), name)
            assert read(case.text) == read(case.baseline), name

    return predicate


def dangling(case: Case, argument: str) -> None:
    assert oracle().dangling(case.text) == []


def no_smuggle(case: Case, argument: str) -> None:
    assert oracle().smuggled(case.text) == 0


def shown_name(case: Case) -> str:
    vector = case.asked.vector
    return "chunk" if vector["where"] == "id" else str(vector["attr"])


def visible(text: str) -> str:
    """Leave out what shows nothing, which the library may replace."""
    hidden, kinds = oracle().HIDDEN, ("Cf", "Cc", "Cs")
    return "".join(c for c in text if ord(c) not in hidden and unicodedata.category(c) not in kinds)


def attrs(case: Case, argument: str) -> None:
    """The same tags with the same attribute names, and the value is the text on one line."""
    read = oracle().open_tags
    assert [(n, list(a)) for n, a in read(case.text)] == [(n, list(a)) for n, a in read(case.baseline)]
    values = [a[shown_name(case)] for name, a in read(case.text) if name == "source_1"]
    assert len(values) == 1
    want, value = visible(" ".join(case.asked.text.split())), visible(values[0])
    if len(values[0]) >= 64 and value.endswith(("…", "...")):  # a documented length cap
        assert want.startswith(value.rstrip("….").rstrip())
    else:
        assert value == want


def value_verbatim(case: Case, argument: str) -> None:
    assert f'{shown_name(case)}="{case.asked.text}"' in case.text


def verbatim(case: Case, argument: str) -> None:
    own = case.asked.text
    assert (f"\n{own}\n" if case.asked.vector["where"] == "body" else own) in case.text


def small_change(case: Case, argument: str) -> None:
    """At most N places changed, each adds at most 6 characters, nothing is removed."""
    found = re.search(r"<source_1 [^>]*>\n(.*?)\n</source_1>", case.text, re.DOTALL)
    assert found, "the body of the first source"
    old, new = case.asked.text, found[1]
    changed = [
        (old[a:b], new[c:d])
        for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    assert len(changed) <= int(argument), changed
    assert all(len(after) - len(before) <= 6 for before, after in changed), changed
    kept = all(before in html.unescape(after) for before, after in changed)
    assert kept or html.unescape(new) == old, changed


def reversible(case: Case, argument: str) -> None:
    """The library's inverse gives back the exact original."""
    from promptpack.escape import LiveLabels, Rules, escape_text, unescape

    texts = [case.asked.text, *case.asked.vector.get("fields", {}).values()]
    rules = Rules(labels=LiveLabels(case.asked.vector.get("sources", 2)))
    assert [unescape(escape_text(text, rules)) for text in texts] == texts


def once(case: Case, argument: str) -> None:
    from promptpack.escape import Rules, escape_text

    escaped = escape_text(case.asked.text, Rules())
    assert escape_text(escaped, Rules()) == escaped


def utf8(case: Case, argument: str) -> None:
    case.text.encode("utf-8")


def count(case: Case, argument: str) -> None:
    """Counting does not raise, and a marker costs more than one token: it is ordinary text."""
    from promptpack import count_tokens

    for name in ("o200k_base", "cl100k_base"):
        assert count_tokens(case.text, name) > 0
        for marker in set(oracle().markers(case.asked.text)):
            assert count_tokens(marker, name) > 1, marker


def short(case: Case, argument: str) -> None:
    assert len(case.text) < 20_000


def roles(case: Case, argument: str) -> None:
    of = [[message.role for message in case.payload(one).messages] for one in ("asked", "baseline")]
    assert of[0] == of[1]


def present(case: Case, argument: str) -> None:
    assert argument in case.text


def absent(case: Case, argument: str) -> None:
    if case.asked.vector["where"] == "template":
        assert argument not in child(case).get("text", "")
    else:
        assert argument not in case.text


def no_attr_override(case: Case, argument: str) -> None:
    tags = re.findall(r"<source_1 [^>]*>", case.text)
    assert len(tags) == 1
    assert tags[0].count(" id=") == 1
    assert ' id="S1"' in tags[0]
    assert f'"{case.asked.vector["attr_value"]}"' not in tags[0]


def no_raise(case: Case, argument: str) -> None:
    case.payload()


def typed(error: Exception, text: Any) -> None:
    """An error is of the library, and its message repeats little of the text, if it is one."""
    from promptpack import PromptpackError

    if not isinstance(error, PromptpackError):
        raise error
    size = len(text) if isinstance(text, str) else 0
    pieces = {text[at:at + QUOTED + 1] for at in range(max(0, size - QUOTED))}
    assert not any(piece in str(error) for piece in pieces)


def raises(case: Case, argument: str) -> None:
    error = case.error()
    assert error is not None
    typed(error, case.asked.text)


def no_raise_or_typed(case: Case, argument: str) -> None:
    error = case.error()
    if error is not None:
        typed(error, case.asked.text)


def cite_unknown(case: Case, argument: str) -> None:
    assert argument in case.payload().verify(case.asked.vector["answer"]).unknown


def cite_known(case: Case, argument: str) -> None:
    assert set(case.payload().verify(case.asked.vector["answer"]).known) == {argument}


PROPERTIES: dict[str, Callable[[Case, str], None]] = {
    "structure": same_reading("skeleton", "dangling"), "markers": same_reading("markers"),
    "cites": same_reading("labels"), "dangling": dangling, "no-smuggle": no_smuggle, "attrs": attrs,
    "value-verbatim": value_verbatim, "verbatim": verbatim, "small-change": small_change,
    "reversible": reversible, "once": once, "utf8": utf8, "count": count, "short": short, "roles": roles,
    "present": present, "absent": absent, "no-attr-override": no_attr_override, "no-raise": no_raise,
    "raises": raises, "no-raise-or-typed": no_raise_or_typed, "template-safe": template_safe,
    "typed-load": typed_load, "linear": linear, "linear-answer": linear_answer, "cite-unknown": cite_unknown,
    "cite-known": cite_known,
}
