"""The way back: the answers of a finished batch, joined to their payloads and checked.

Read are the result files of OpenAI (chat and Responses), vLLM, Anthropic and Gemini, and plain lines with an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from promptpack.batch.codecs import open_lines
from promptpack.batch.maps import Maps, lines_of
from promptpack.batch.rows import parse_line
from promptpack.errors import OptionError, SourceError, quote

_NAMES = ("custom_id", "key", "id")
_ANSWERS = ("answer", "response", "text", "output", "completion", "prediction")


@dataclass(slots=True)
class Verified:
    """Totals of checked answers.

    results: lines that were read. ok, wrong: answers that pass and that do not. failed: results without an answer, by
    the reason. unknown: results whose name no payload has. repeated: those whose name came before. missing: payloads
    without a result. labels: unknown labels that answers cite, and so on, by kind. coverage: of the checked answers,
    their mean.
    """

    results: int = 0
    ok: int = 0
    wrong: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    repeated: int = 0
    missing: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    covered: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether every payload has an answer and every answer passes."""
        return not (self.wrong or self.failed or self.unknown or self.repeated or self.missing)

    @property
    def coverage(self) -> float:
        """The mean share of claims with a known citation; 1.0 where nothing was checked."""
        checked = self.ok + self.wrong
        return self.covered / checked if checked else 1.0

    def lines(self) -> list[str]:
        """Return the totals as lines of text.

        >>> Verified(results=3, ok=2, wrong=1, covered=2.5, labels={"unknown": 4}).lines()[0]
        '3 results: 2 ok, 1 not ok; coverage 0.83'
        """
        found = [f"{self.results:,} results: {self.ok:,} ok, {self.wrong:,} not ok; coverage {self.coverage:.2f}"]
        found += [f"citations, {kind}: {count:,}" for kind, count in sorted(self.labels.items())]
        found += [f"without an answer, {reason}: {count:,}" for reason, count in sorted(self.failed.items())]
        for told, count in (
            ("results that no payload belongs to", self.unknown), ("results that came twice", self.repeated),
            ("payloads without a result", self.missing),
        ):
            if count:
                found.append(f"{told}: {count:,}")
        return found


def verify_results(
    results: str | Sequence[str], payloads: str, *, min_support: float | None = None, totals: Verified | None = None,
    stdin: BinaryIO | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield a line for each result: its name, the row's id, and the verification of the answer, or why there is none.

    results: the file that the provider gave back, in any order ("-" reads `stdin`), or several; each line then names
    its `file`. payloads: the label maps that were written beside the requests, or the lines of the format `payload`,
    which also hold the texts that quotations, `min_support` and native citations are checked against; or a folder that
    a batch wrote, all of its parts. Joined by custom_id; a line {"custom_id", "id", "status": "missing"} follows for
    each payload without a result, in their order. totals: is counted into.

    Memory grows with the number of payloads by some 300 bytes each, never with their size. Raises SourceError where a
    file cannot be read, with the line; OptionError for min_support without texts.
    """
    counted = totals if totals is not None else Verified()
    files = [results] if isinstance(results, str) else list(results)
    if not files or files.count("-") > 1:
        raise OptionError(
            f"results: expected files, and standard input (-) once, got {', '.join(files) or 'none'}", name="results",
            given=results,
        )
    with closing(Maps(payloads)) as maps:
        open_ = dict.fromkeys(maps.places)
        for path in files:
            named = {"file": path} if len(files) > 1 else {}
            source = open_lines(path) if path != "-" else stdin
            if source is None:
                raise OptionError("results: there is no standard input", name="results", given="-")
            try:
                for number, data in enumerate(lines_of(source, path), 1):
                    counted.results += 1
                    yield named | _checked(data, number, maps, open_, min_support, counted)
            finally:
                if path != "-":
                    source.close()
        for name in open_:
            counted.missing += 1
            yield {"custom_id": name, "id": maps.id_of(name), "status": "missing"}


def _checked(
    data: bytes, number: int, maps: Maps, open_: dict[str, None], min_support: float | None, counted: Verified
) -> dict[str, Any]:
    try:
        value = parse_line(data)
        if not isinstance(value, Mapping):
            raise SourceError(f"expected an object, got {quote(value)}", field="results")
        name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    except SourceError as error:
        counted.failed["unreadable"] = counted.failed.get("unreadable", 0) + 1
        return {"line": number, "custom_id": None, "status": "unreadable", "error": str(error)}
    said: dict[str, Any] = {"custom_id": name}
    if name is None or name not in maps.places:
        counted.unknown += 1
        return {"line": number, **said, "status": "unknown", "error": "no payload has this custom_id"}
    said["id"] = maps.id_of(name)
    if name not in open_:
        counted.repeated += 1
        return {"line": number, **said, "status": "repeated", "error": "a result with this custom_id came before"}
    del open_[name]
    response, reason = answer_of(value)
    if reason is not None:
        counted.failed[reason] = counted.failed.get(reason, 0) + 1
        return {**said, "status": reason, "error": _told(value)}
    try:
        found = _verified(maps.line(name), response, min_support)
    except OptionError as error:
        if error.name != "response":
            raise
        counted.failed["unreadable"] = counted.failed.get("unreadable", 0) + 1
        return {**said, "status": "unreadable", "error": str(error)}
    counted.ok += found.ok
    counted.wrong += not found.ok
    counted.covered += found.coverage
    for kind in ("unknown", "stale", "malformed", "unsupported"):
        if count := len(getattr(found, kind)):
            counted.labels[kind] = counted.labels.get(kind, 0) + count
    return {**said, "status": "ok" if found.ok else "wrong", **found.to_dict(), "answer": found.answer}


def _verified(value: Mapping[str, Any], response: Any, min_support: float | None) -> Any:
    if "messages" in value:
        from promptpack.payload import Payload

        payload = Payload.from_dict(value)
        return payload.verify_response(response, min_support=min_support)
    from promptpack.citations.native import verify_response

    if min_support is not None:
        raise OptionError(
            "min_support: the texts of the sources are needed; give the lines of the format payload (--payloads)",
            name="min_support", given=min_support,
        )
    return verify_response(
        response, value["labels"], carried=value.get("stale") or {}, prefix=value.get("prefix", "S")
    )


def answer_of(value: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return the response in a line of a result file, or the reason why there is none.

    >>> answer_of({"custom_id": "a", "result": {"type": "expired"}})
    (None, 'expired')
    >>> answer_of({"custom_id": "a", "answer": "Yes [S1]."})
    ('Yes [S1].', None)
    """
    result = value.get("result")
    if isinstance(result, Mapping) and "type" in result:  # Anthropic
        succeeded = result["type"] == "succeeded" and "message" in result
        return (result["message"], None) if succeeded else (None, str(result["type"]))
    response = value.get("response")
    if isinstance(response, Mapping):
        if "body" in response:  # OpenAI, vLLM
            status = response.get("status_code", 200)
            if status != 200 or value.get("error"):
                return None, f"status {status}" if status != 200 else "error"
            return response["body"], None
        return response, None
    if value.get("error") or value.get("status"):
        return None, "error"
    for key in _ANSWERS:
        if isinstance(value.get(key), str | Mapping):
            return value[key], None
    return (value, None) if "choices" in value or "candidates" in value or "content" in value else (None, "no answer")


def _told(value: Mapping[str, Any]) -> str:
    """Return what a result says of its failure, in at most 500 characters."""
    for key in ("error", "status", "result", "response"):
        if value.get(key):
            return json.dumps(value[key], ensure_ascii=False)[:500]
    return "the line holds no answer"
