"""The predicates of `deviation.must`: what a right result satisfies where the reference system is wrong."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from golden_calls import Result, content, lesson_payload
from golden_ctxpack import MARKER, USED, counter_name, facts
from vector_files import Vector


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: its result, or the error that it raised."""

    result: Any
    error: Exception | None

    @property
    def value(self) -> Any:
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


def items(result: Result) -> list[Result]:
    """Return the texts of a result with their counts: items of a packing, or the one text."""
    return list(result["items"]) if "items" in result else [result]


def recount(vector: Vector, text: str) -> int:
    from promptpack import count_tokens

    return count_tokens(text, counter_name(vector["options"]))


def tokens_max(vector: Vector, must: int, answer: Answer) -> None:
    """The text's count, stated and counted again, is at most this."""
    assert answer.value["tokens"] == recount(vector, answer.value["text"]) <= must, answer.value


def total_tokens_max(vector: Vector, must: int, answer: Answer) -> None:
    """The sum of the counts, stated and counted again, is at most this."""
    result = answer.value
    counted = sum(recount(vector, item["text"]) for item in result["items"])
    assert result["total_tokens"] == sum(item["tokens"] for item in result["items"]) == counted <= must, result


def rendered_tokens_max(vector: Vector, must: int, answer: Answer) -> None:
    """The joined text counts at most this, or the library says what the joins add."""
    result = answer.value
    assert result["rendered_tokens"] == recount(vector, result["text"])
    reported = result["overhead"] > 0 and result["total_tokens"] + result["overhead"] == result["rendered_tokens"]
    assert result["rendered_tokens"] <= must or reported, result


def no_new_characters(vector: Vector, must: bool, answer: Answer) -> None:
    """No text holds a U+FFFD that its source lacks, and all of it but the marker is in the source, in order."""
    assert must is True
    given = vector["input"]
    sources = {item["id"]: item["text"] for item in given["items"]} if "items" in given else {None: given["text"]}
    for item in items(answer.value):
        source, text = sources[item.get("id")], item["text"]
        assert text.count("\ufffd") <= source.count("\ufffd"), text
        place = 0
        for part in [text] if text in source else text.split(MARKER):
            place = source.find(part, place)
            assert place >= 0, f"{part!r} is not in the source"
            place += len(part)


def tokens(vector: Vector, must: int, answer: Answer) -> None:
    """The count is exactly this."""
    assert answer.value["tokens"] == must, answer.value


def original_tokens(vector: Vector, must: dict[str, int], answer: Answer) -> None:
    """The counts of these items as they came in are exactly these."""
    found = {item["id"]: item["original_tokens"] for item in items(answer.value)}
    assert {id_: found.get(id_) for id_ in must} == must, found


def raises(vector: Vector, must: bool, answer: Answer) -> None:
    """The call raises an error of the library."""
    assert must is True
    assert answer.error is not None, f"expected an error, got {answer.result}"
    check_refusal(answer.error)


def succeeded(answer: Answer) -> Result:
    """Return what a run of the command printed; it has to end well."""
    assert answer.value["exit_code"] == 0, answer.value
    found: Result = answer.value
    return found


def total_tokens_at_most_budget(vector: Vector, must: bool, answer: Answer) -> None:
    """The figures of --stats stay within the budget, and so does the sum over the files."""
    assert must is True
    (figures,), kept, _ = facts(succeeded(answer)["stderr"])
    assert int(figures[0]) == sum(int(tokens) for _, tokens, _ in kept) <= int(figures[1]), figures


def rendered_within_budget_or_reported(vector: Vector, must: bool, answer: Answer) -> None:
    """The printed text counts at most the budget, or --stats names its count."""
    assert must is True
    result = succeeded(answer)
    (figures,), _, _ = facts(result["stderr"])
    count = recount(vector, result.get("output_file", result["stdout"].removesuffix("\n")))
    reported = re.search(rf"\b{count}\b", USED.sub("", result["stderr"]))
    assert count <= int(figures[1]) or reported, result


def text_at_most_once(vector: Vector, must: bool, answer: Answer) -> None:
    """No file is printed twice; refusing is fine."""
    assert must is True
    result = answer.value
    for text in vector["input"]["files"].values():
        assert result["stdout"].count(text) <= (1 if result["exit_code"] == 0 else 0), result


MUST: dict[str, Callable[[Vector, Any, Answer], None]] = {
    "raises_or_zero": raises_or_zero,
    "text_kept": text_kept,
    "sentence_sent_once": sentence_sent_once,
    "chunks_left": chunks_left,
    "parses_as_xml": parses_as_xml,
    "sources_in_order": sources_in_order,
    "tokens_max": tokens_max,
    "total_tokens_max": total_tokens_max,
    "rendered_tokens_max": rendered_tokens_max,
    "no_new_characters": no_new_characters,
    "tokens": tokens,
    "original_tokens": original_tokens,
    "raises": raises,
    # Unknown names are refused, which is the stricter of the two.
    "raises_or_reports_counter": raises,
    "total_tokens_at_most_budget": total_tokens_at_most_budget,
    "rendered_within_budget_or_reported": rendered_within_budget_or_reported,
    "text_at_most_once": text_at_most_once,
}
