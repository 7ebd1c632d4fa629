"""Questions to measure with: the passage that answers each of them, and passages that do not.

A row has one of two forms:

    {"question": "...", "answers": ["..."], "passage": "...", "distractors": ["...", "..."]}
    {"question": "...", "answers": ["..."], "sources": [{"id": "a", "text": "..."}, ...], "relevant": ["a"]}

`answer` may stand for `answers`, and `id` may name the row. Passages are texts or anything else that
`PromptBuilder.add_sources` takes. Missing distractors are filled from the passages of other rows. Other fields are
passed over, but for one that looks like a misspelt one of these where that is missing: it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.evaluation.answers import words
from promptpack.misspelt import is_slip
from promptpack.reading import read_sources
from promptpack.source import Source

_SPELLINGS = {
    "question": ("question", "query", "q"), "answers": ("answers", "answer", "references", "reference"),
    "passage": ("passage", "context"), "distractors": ("distractors",), "sources": ("sources", "chunks"),
    "relevant": ("relevant", "relevantIds", "relevant_ids", "answered_by"),
}

_KNOWN = frozenset(key for keys in _SPELLINGS.values() for key in keys) | {"id"}
_LONGEST = 80  # characters; a longer name is no slip


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its right answers (the first is the one that is weighed), and passages.

    needed: the passage that answers it; None in a row that names none, which can only compare builders. others:
    passages that do not, in the order in which they are shown. sources: what was retrieved, as it was given; empty for
    a row with a passage. left_out: further relevant sources, which would answer from another place. filled: how many of
    `others` come from other rows.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    needed: Source | None
    others: tuple[Source, ...]
    sources: tuple[Source, ...] = ()
    left_out: int = 0
    filled: int = 0


def read_questions(items: Iterable[Any]) -> list[Question]:
    """Return the question in each row; SourceError names the row and the field that is wrong.

    >>> read_questions([{"question": "Who?", "answer": "Ada", "passage": "Ada did.", "distractors": ["No one."]}])[0].id
    '0'
    """
    found = [_read(item, index) for index, item in enumerate(items)]
    seen: dict[str, int] = {}
    for index, one in enumerate(found):
        if one.id in seen:
            raise _wrong(index, "id", f"{quote(one.id)} is that of questions[{seen[one.id]}], too")
        seen[one.id] = index
    return found


def _read(item: Any, index: int) -> Question:
    if not isinstance(item, Mapping):
        raise SourceError(f"questions[{index}]: expected an object, got {quote(item)}", index=index, field="question")
    found = {
        name: next((item[key] for key in keys if item.get(key) is not None), None) for name, keys in _SPELLINGS.items()
    }
    _no_slip(item, found, index)
    question = found["question"]
    if not isinstance(question, str) or not question.strip():
        raise _wrong(index, "question", f"expected a text, got {quote(question)}")
    answers = [found["answers"]] if isinstance(found["answers"], str) else found["answers"]
    if not isinstance(answers, list | tuple) or not answers or not all(isinstance(one, str) for one in answers):
        raise _wrong(index, "answers", f"expected a text or a list of texts, got {quote(found['answers'])}")
    if not all(words(one) for one in answers):
        raise _wrong(index, "answers", "an answer has no word in it")
    name = item.get("id", index)
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise _wrong(index, "id", f"expected a text or a whole number, got {quote(name)}")
    if (found["passage"] is None) == (found["sources"] is None):
        raise _wrong(index, "passage", "expected either a passage, or sources and which of them are relevant")
    made = Question(str(name), question.strip(), tuple(one.strip() for one in answers), None, ())
    if found["passage"] is not None:
        (needed,) = _sources([found["passage"]], index, "passage")
        return replace(made, needed=needed, others=tuple(_sources(found["distractors"] or [], index, "distractors")))
    return _split(made, _sources(found["sources"], index, "sources"), found["relevant"], index)


def _no_slip(item: Mapping[Any, Any], found: Mapping[str, Any], index: int) -> None:
    """Raise SourceError for a field that is none, and looks like a misspelt one that the row has need of.

    A row with sources needs no passage, and one with a passage nothing of the other form: there a field is another's.
    """
    unneeded = {name for name, value in found.items() if value is not None}
    if found["sources"] is not None:
        unneeded |= {"passage", "distractors"}
    elif found["passage"] is not None:
        unneeded |= {"sources", "relevant"}
    wanted = [key for name, keys in _SPELLINGS.items() if name not in unneeded for key in keys]
    for key in item:
        if not isinstance(key, str) or key in _KNOWN or len(key) > _LONGEST or item[key] is None:
            continue
        said = _plain(key)
        meant = next((name for name in wanted if len(name) > 1 and said == _plain(name)), None) or next(
            (name for name in wanted if is_slip(said, _plain(name))), None
        )
        # A text under `source` is where a question comes from, in many data sets.
        if meant is not None and not (meant == "sources" and isinstance(item[key], str)):
            message = f"questions[{index}]: unknown field {quote(key)}; did you mean {meant!r}?"
            raise SourceError(message, index=index, field=key)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _split(made: Question, sources: Sequence[Source], relevant: Any, index: int) -> Question:
    """Tell the needed passage from the others: the first relevant one; further relevant ones are left out."""
    if relevant is None:
        return replace(made, sources=tuple(sources))
    named = [relevant] if isinstance(relevant, str | int) else relevant
    if not isinstance(named, list | tuple) or not all(isinstance(one, str | int) for one in named):
        raise _wrong(index, "relevant", f"expected a list of ids, got {quote(relevant)}")
    ids = {str(one) for one in named}
    hits = [source for source in sources if source.id in ids]
    others = tuple(source for source in sources if source.id not in ids)
    needed = hits[0] if hits else None  # nothing relevant was retrieved: still good for comparing
    return replace(made, needed=needed, others=others, sources=tuple(sources), left_out=max(0, len(hits) - 1))


def _sources(items: Any, index: int, name: str) -> list[Source]:
    try:
        return list(read_sources(items))
    except SourceError as error:
        error.args = (f"questions[{index}]: {name}: {error}",)
        raise


def _wrong(index: int, name: str, told: str) -> SourceError:
    return SourceError(f"questions[{index}]: {name}: {told}", index=index, field=name)


def holds(text: str, answers: Iterable[str]) -> bool:
    """Tell whether one of the answers stands in the text, word for word: without case and punctuation.

    >>> holds("It was Paris, of course.", ["paris"]), holds("Parisian", ["paris"])
    (True, False)
    """
    said = " ".join(["", *words(text), ""])
    return any(" ".join(["", *words(answer), ""]) in said for answer in answers)


def prepared(
    questions: Sequence[Question], passages: int, limit: int | None = None
) -> tuple[list[Question], list[str]]:
    """Return questions with exactly `passages - 1` other passages each, and remarks on how they were made.

    The first `limit` questions that name a needed passage are taken. Where a row has too few distractors, the needed
    passages of the rows behind it (round to the first) fill up, but for those that hold its answer or repeat a text.
    Raises OptionError for a number that cannot be, SourceError for a question that cannot be filled up.
    """
    if isinstance(passages, bool) or not isinstance(passages, int) or passages < 2:
        raise OptionError(f"passages: expected 2 or more, got {quote(passages)}", name="passages", given=passages)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise OptionError(f"questions: expected 1 or more, got {quote(limit)}", name="questions", given=limit)
    usable = [one for one in questions if one.needed is not None]
    taken = usable[:limit]
    if not taken:
        raise OptionError("questions: none of them names the passage that answers it", name="questions", given=0)
    made = [_filled(one, index, usable, passages) for index, one in enumerate(taken)]
    return made, _remarks(made, len(questions) - len(usable), len(usable) - len(taken))


def _filled(one: Question, index: int, rows: Sequence[Question], passages: int) -> Question:
    others = list(one.others[: passages - 1])
    known = {source.text for source in (*others, one.needed) if source is not None}
    for step in range(1, len(rows)):
        if len(others) == passages - 1:
            break
        source = rows[(index + step) % len(rows)].needed
        if source is not None and source.text not in known and not holds(source.text, one.answers):
            known.add(source.text)
            others.append(source)
    if len(others) < passages - 1:
        raise SourceError(
            f"question {quote(one.id)}: {passages} passages need {passages - 1} distractors, and there are "
            f"{len(others)}, those of other questions included; take fewer passages",
            index=index, field="distractors",
        )
    return replace(one, others=tuple(others), filled=max(0, passages - 1 - len(one.others)))


def _remarks(made: Sequence[Question], without: int, unused: int) -> list[str]:
    counts = (
        (without, "questions name no passage that answers them and are left out"),
        (unused, "further questions are not used"),
        (sum(one.filled > 0 for one in made), "questions have distractors from other questions"),
        (sum(one.left_out > 0 for one in made), "questions have further relevant sources, which are not shown"),
        (sum(one.needed is not None and not holds(one.needed.text, one.answers) for one in made),
         "questions have a needed passage without their answer, word for word"),
        (sum(any(holds(source.text, one.answers) for source in one.others) for one in made),
         "questions have a distractor that holds their answer, which flattens the curve"),
    )
    return [f"{count:,} {told}" for count, told in counts if count]
