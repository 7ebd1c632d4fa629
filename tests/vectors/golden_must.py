"""The predicates of `deviation.must`: what a right result satisfies where the reference system is wrong."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from golden_calls import Result, content, lesson_payload
from vector_files import Vector


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: its result, or the error that it raised."""

    result: Result | None
    error: Exception | None

    @property
    def value(self) -> Result:
        """The result; an error is raised again."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


def texts(result: Result) -> str:
    """Return every text of a result, one a line."""
    if "chunks" in result:
        return "\n".join(chunk["text"] for chunk in result["chunks"])
    return "\n".join(value for value in result.values() if isinstance(value, str))


def raises_or_zero(vector: Vector, must: Any, answer: Answer) -> None:
    """The call raises an error of the library, or gives a budget of 0."""
    if answer.error is None:
        assert answer.value["budget"] == 0
    else:
        check_refusal(answer.error)


def check_refusal(error: Exception) -> None:
    """An error is deliberate: of the library, and a ValueError."""
    from promptpack import PromptpackError

    if not (isinstance(error, PromptpackError) and isinstance(error, ValueError)):
        raise error


def text_kept(vector: Vector, must: list[str], answer: Answer) -> None:
    """Each string occurs unchanged in the output."""
    for text in must:
        assert text in texts(answer.value), text


def sentence_sent_once(vector: Vector, must: list[str], answer: Answer) -> None:
    """Each string occurs once in the whole output."""
    for text in must:
        assert texts(answer.value).count(text) == 1, text


def chunks_left(vector: Vector, must: int, answer: Answer) -> None:
    """The result has this many chunks."""
    assert len(answer.value["chunks"]) == must


def parses_as_xml(vector: Vector, must: bool, answer: Answer) -> None:
    """Under escape="html" the user text parses inside one root; sources and question come back unchanged."""
    assert must is True
    root = ET.fromstring("<root>" + content(lesson_payload(vector, escape="html"), "user") + "</root>")
    sources = list(root.iterfind("sources/*"))
    given = vector["input"]["sources"]
    assert [source.tag for source in sources] == [f"source_{number}" for number in range(1, len(given) + 1)]
    for element, source in zip(sources, given, strict=True):
        assert element.text == "\n" + source["text"] + "\n"
        shown = {"chunk": source["id"]}
        shown |= {name: source[name] for name in ("title", "section", "updated") if name in source}
        assert {name: value for name, value in element.attrib.items() if name != "id"} == shown
    assert root.findtext("question") == vector["input"]["question"]


TAG = re.compile(r"<(/?)\s*(source_\d+|sources|question)\b", re.IGNORECASE)


def sources_in_order(vector: Vector, must: bool, answer: Answer) -> None:
    """At the default level the only boundaries are the template's own, the sources in the order given."""
    assert must is True
    numbers = range(1, len(vector["input"]["sources"]) + 1)
    pairs = [name for number in numbers for name in (f"source_{number}", f"/source_{number}")]
    found = ["".join(groups) for groups in TAG.findall(answer.value["user"])]
    assert found == ["sources", *pairs, "/sources", "question", "/question"]
    labels = re.findall(r'<source_\d+ id="(S\d+)"', answer.value["user"])
    assert labels == [f"S{number}" for number in numbers]


MUST: dict[str, Callable[[Vector, Any, Answer], None]] = {
    "raises_or_zero": raises_or_zero,
    "text_kept": text_kept,
    "sentence_sent_once": sentence_sent_once,
    "chunks_left": chunks_left,
    "parses_as_xml": parses_as_xml,
    "sources_in_order": sources_in_order,
}
