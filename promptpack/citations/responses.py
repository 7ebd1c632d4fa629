"""What a provider's response says: the text of the answer, and the citations that stand beside it.

Responses are read by their shape alone, as objects of an SDK or as mappings; a new shape is one more line in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptpack.errors import OptionError, PromptpackError, quote
from promptpack.plain_data import plain

Among = Literal["document", "search_result"]
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Beside:
    """One citation of a response: which part of the answer, and what it names.

    start, end: the span in the answer. names: what it calls the source (an id, a label, an address, a title, the most
    telling first). cited_text: the words of the source, where the provider gives them. among, index: the place of the
    source among the documents or the search results of the request. mark: whether the span is a mark behind the
    claim, such as a link, and not the claim itself.
    """

    start: int
    end: int
    names: tuple[str, ...] = ()
    cited_text: str | None = None
    among: Among = "document"
    index: int | None = None
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of a response, and the citations beside it, in order.

    faults: citations beside it that are not in order (places outside of the text, no source): start, end, and why.
    refused: whether the provider says that the model declined to answer; refusals: the spans where the text is no more
    than that.
    """

    text: str
    beside: tuple[Beside, ...] = ()
    faults: tuple[tuple[int, int, str], ...] = ()
    refused: bool = False
    refusals: tuple[tuple[int, int], ...] = ()


def read_response(response: object) -> Answer:
    """Read the first answer in a response of Anthropic, Bedrock, Cohere, Gemini or OpenAI (chat or Responses).

    Also a message of these, a message of LangChain, and a plain text. Offsets count the characters of the whole text,
    also where it came in several blocks, which are joined as they are. Raises OptionError for anything else.

    >>> block = {"type": "text", "text": "30 days.", "citations": [
    ...     {"type": "search_result_location", "source": "a#1", "search_result_index": 0, "cited_text": "30 days"}]}
    >>> read_response({"content": [block]}).beside[0].names
    ('a#1',)
    """
    if isinstance(response, str):
        return Answer(response)
    try:
        data = plain(response, "response")
        if not isinstance(data, Mapping):
            data = {name: plain(getattr(response, name)) for name in _FIELDS if hasattr(response, name)}
        for fits, read in _READERS:
            if fits(data):
                return read(data)
    except PromptpackError as error:
        raise OptionError(f"response: {error}", name="response", given=None) from error
    except Exception as error:  # data from outside can be wrong in any way
        raise OptionError(
            f"response: not in the shape that it seems to have ({type(error).__name__}: {quote(str(error))})",
            name="response", given=None,
        ) from error
    raise OptionError(
        f"response: expected one of Anthropic, Bedrock, Cohere, Gemini or OpenAI, or a text, got {quote(response)}",
        name="response", given=None,
    )


class _Text:
    """Joins the pieces of an answer and collects the citations beside them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._beside: list[Beside] = []
        self._faults: list[tuple[int, int, str]] = []
        self._refusals: list[tuple[int, int]] = []
        self.refused = False
        self.length = 0

    def add(self, text: object) -> tuple[int, int]:
        """Append a piece and return its span, white space around it left out."""
        if text is None:
            text = ""
        if not isinstance(text, str):
            raise TypeError(f"expected a text, got {quote(text)}")
        start = self.length
        self._pieces.append(text)
        self.length += len(text)
        return start + len(text) - len(text.lstrip()), start + len(text.rstrip())

    def refuse(self, text: object) -> None:
        """Append what the provider marks as a refusal."""
        self._refusals.append(self.add(text))
        self.refused = True

    def cite(self, span: tuple[int, int], names: Iterable[object], since: int = 0, **more: Any) -> None:
        """Add a citation; names that are no texts, or say nothing, are left out. since: where its part of the text is.

        A span outside of that part is cut to it, and told.
        """
        told = tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name.strip()))
        self._beside.append(Beside(*self._within(span, since), told, **more))

    def fault(self, span: tuple[int, int], why: str) -> None:
        """Tell what is wrong with a citation."""
        self._faults.append((*self._within(span, 0), why))

    def _within(self, span: tuple[int, int], since: int) -> tuple[int, int]:
        if not all(isinstance(place, int) for place in span):
            raise TypeError(f"expected whole numbers as places, got {quote(span[0])} and {quote(span[1])}")
        start = min(max(span[0], since), self.length)
        end = min(max(span[1], start), self.length)
        if (start, end) != span:
            places = f"{span[0] - since} to {span[1] - since}"
            why = f"the citation is for {places} of a text of {self.length - since} characters"
            self._faults.append((start, end, why))
        return start, end

    def answer(self) -> Answer:
        """Return what was collected, the citations by their place."""
        beside = tuple(sorted(self._beside, key=lambda one: (one.start, one.end)))
        return Answer("".join(self._pieces), beside, tuple(self._faults), self.refused, tuple(self._refusals))


def _anthropic(data: Data) -> Answer:
    text = _Text()
    for block in _list(data["content"]):
        if isinstance(block, str):
            text.add(block)
        elif block.get("type", "text") in ("text", "output_text"):
            span = text.add(block.get("text"))
            for one in _list(block.get("citations")):
                _located(text, span, one)
    text.refused = data.get("stop_reason") == "refusal"
    return text.answer()


def _located(text: _Text, span: tuple[int, int], one: Data) -> None:
    """Add a citation of Anthropic: of a place in a document, a search result, or a page of the web."""
    among: Among = "search_result" if "search_result_index" in one else "document"
    index = one.get("search_result_index", one.get("document_index"))
    names = (one.get("source"), one.get("file_id"), one.get("url"), one.get("document_title"), one.get("title"))
    text.cite(span, names, cited_text=_text(one.get("cited_text")), among=among, index=_whole(index))


def _bedrock(data: Data) -> Answer:
    text = _Text()
    for block in _list(data["output"]["message"]["content"]):
        inner = block.get("citationsContent")
        if not isinstance(inner, Mapping):
            text.add(block.get("text"))
            continue
        spans = [text.add(one.get("text")) for one in _list(inner.get("content"))]
        span = (spans[0][0], spans[-1][1]) if spans else (text.length, text.length)
        for one in _list(inner.get("citations")):
            place: Data = next(iter((one.get("location") or {}).values()), {})
            among: Among = "search_result" if "searchResultIndex" in place else "document"
            cited = "".join(str(part.get("text", "")) for part in _list(one.get("sourceContent")))
            text.cite(
                span, (one.get("source"), place.get("url"), one.get("title")), cited_text=cited or None, among=among,
                index=_whole(place.get("searchResultIndex", place.get("documentIndex"))),
            )
    return text.answer()


def _cohere(data: Data) -> Answer:
    message = data.get("message", data)
    text = _Text()
    content = message.get("content", message.get("text"))
    starts: dict[int, int] = {}
    for number, block in enumerate([content] if isinstance(content, str) else _list(content)):
        if isinstance(block, str) or block.get("type", "text") == "text":
            starts[number] = text.length
            text.add(block if isinstance(block, str) else block.get("text"))
    for one in _list(message.get("citations")):
        base = starts.get(one.get("content_index") or 0, next(iter(starts.values()), 0))
        if one.get("type") not in (None, "TEXT_CONTENT"):
            continue  # it stands in the model's thinking or plan, which are no part of the answer
        span = (base + (one.get("start") or 0), base + one["end"] if one.get("end") is not None else text.length)
        if not one.get("sources") and not one.get("document_ids"):
            text.fault(span, "a citation that names no source")
        for source in _list(one.get("sources")):
            document = source.get("document") or source.get("tool_output") or {}
            text.cite(span, (source.get("id"), *(document.get(key) for key in ("id", "url", "title"))),
                      index=_numbered(source.get("id")))
        for id_ in _list(one.get("document_ids")):  # the older API
            text.cite(span, (id_,), index=_numbered(id_))
    return text.answer()


def _chat(data: Data) -> Answer:
    message = data["choices"][0]["message"] if "choices" in data else data
    text = _Text()
    content = message.get("content")
    for part in [content] if isinstance(content, str) else _list(content):
        text.add(part if isinstance(part, str) else part.get("text"))
    if message.get("refusal"):  # beside a text it says why the text stops there
        text.refused = True
        if not text.length:
            text.refuse(message["refusal"])
    for one in _list(message.get("annotations")):
        _annotated(text, 0, one)
    return text.answer()


def _responses(data: Data) -> Answer:
    text = _Text()
    for item in _list(data["output"]):
        for part in _list(item.get("content")) if item.get("type", "message") == "message" else ():
            start = text.length
            if part.get("refusal") and not part.get("text"):
                text.refuse(part["refusal"])
                continue
            text.add(part.get("text"))
            for one in _list(part.get("annotations")):
                _annotated(text, start, one)
    return text.answer()


def _annotated(text: _Text, base: int, one: Data) -> None:
    """Add an annotation of OpenAI: of a page of the web or a file. Its span is that of the mark in the answer."""
    kind = one.get("type")
    nested = one.get(kind) if isinstance(kind, str) else None
    inner: Data = nested if isinstance(nested, Mapping) else one
    start = inner.get("start_index", inner.get("index"))
    end = inner.get("end_index", start)
    span = (base + start, base + end) if isinstance(start, int) and isinstance(end, int) else (text.length, text.length)
    if kind in ("url_citation", "file_citation", "container_file_citation"):
        names = (inner.get("file_id"), inner.get("url"), inner.get("filename"), inner.get("title"))
        text.cite(span, names, base, cited_text=_text(inner.get("quote")), mark=True)


def _gemini(data: Data) -> Answer:
    text = _Text()
    for part in _list((data["candidates"][0].get("content") or {}).get("parts")):
        if not part.get("thought"):
            text.add(part.get("text"))
    return text.answer()


def _is_cohere(data: Data) -> bool:
    message = data.get("message", data)
    if not isinstance(message, Mapping):
        return False
    older = "text" in message and ("citations" in message or "generation_id" in message)
    return older or "message" in data or "tool_plan" in message or ("citations" in message and "content" in message)


_FIELDS = ("output", "choices", "candidates", "message", "content", "citations", "text", "refusal", "stop_reason")
_READERS: Sequence[tuple[Callable[[Data], bool], Callable[[Data], Answer]]] = (
    (lambda data: isinstance(data.get("output"), list | tuple), _responses),
    (lambda data: isinstance(data.get("output"), Mapping), _bedrock),
    (lambda data: "choices" in data, _chat),
    (lambda data: "candidates" in data, _gemini),
    (_is_cohere, _cohere),
    (lambda data: isinstance(data.get("content"), list | tuple) and "annotations" not in data, _anthropic),
    (lambda data: "content" in data, _chat),
)


def _list(value: Any) -> Iterator[Any]:
    if value is not None and not isinstance(value, list | tuple):
        raise TypeError(f"expected a list, got {quote(value)}")
    return iter(value or ())


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _numbered(id_: object) -> int | None:
    """Return the number in an id that Cohere gave by itself, `doc:0` or `doc_0`."""
    digits = id_[4:] if isinstance(id_, str) and id_[:4] in ("doc:", "doc_") else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else None
