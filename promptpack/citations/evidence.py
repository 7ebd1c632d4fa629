"""What the cited texts say to the sentences that cite them: support, missing figures, quotations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from numbers import Real

from promptpack.citations.claims import Sentence
from promptpack.citations.parse import Marks
from promptpack.citations.quotes import Lookup, Quotation, quotations
from promptpack.citations.support import Claim, Judge, Passages, judged
from promptpack.errors import OptionError, quote

_NOT_THERE = ("elsewhere", "missing")
_SHOWN = 10  # labels that an error message lists


def texts_of(texts: Mapping[str, str], sent: Mapping[str, object]) -> dict[str, str]:
    """Return the text of every label that was sent; OptionError where one is missing or is no text."""
    if not isinstance(texts, Mapping):
        raise OptionError(f"texts: expected a mapping of label to text, got {quote(texts)}", name="texts", given=texts)
    without = [label for label in sent if label not in texts]
    if without:
        more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
        raise OptionError(
            f"texts: there is none for {', '.join(without[:_SHOWN])}{more}", name="texts", given=without
        )
    for label in sent:
        if not isinstance(texts[label], str):
            raise OptionError(
                f"texts: {quote(label)}: expected a text, got {quote(texts[label])}", name="texts", given=texts[label]
            )
    return {label: texts[label] for label in sent}


def threshold(min_support: object) -> float | None:
    """Return the least support as a float, or None; OptionError for what is no number from 0 to 1."""
    if min_support is None:
        return None
    if isinstance(min_support, Real) and not isinstance(min_support, bool) and 0 <= float(min_support) <= 1:
        return float(min_support)
    raise OptionError(
        f"min_support: expected a number from 0 to 1, got {quote(min_support)}", name="min_support", given=min_support
    )


def quoted(
    answer: str, marks: Marks, sentences: Sequence[Sentence], cited: Mapping[int, Sequence[str]],
    texts: Mapping[str, str],
) -> tuple[Quotation, ...]:
    """Look up every quotation of an answer; cited: the labels of each sentence, by its index."""
    spans = _spans(marks)
    starts = [one.start for one in sentences]
    lookup = Lookup(texts)
    found = []
    for start, end, text in quotations(answer, spans, marks.blocks):
        owner = bisect_right(starts, start) - 1
        labels = tuple(label for label in cited.get(owner, ()) if label in texts)
        found.append(Quotation(text, start, end, *lookup.find(text, labels)))
    return tuple(found)


def weighed(
    answer: str, marks: Marks, sentences: Sequence[Sentence], cited: Mapping[int, Sequence[str]],
    texts: Mapping[str, str], quotes: Sequence[Quotation], judge: Judge | None,
) -> tuple[Claim, ...]:
    """Return every claim that cites something, with its support by the texts that it cites."""
    passages = Passages(texts)
    spans = _spans(marks)
    starts = [start for start, _ in spans]
    quote_starts = [one.start for one in quotes]
    found = []
    for index, labels in cited.items():
        one = sentences[index]
        if not one.claim:
            continue
        known = [label for label in labels if label in texts]
        text = answer[one.start:one.end]
        if not known:
            found.append(Claim(text, one.start, one.end, tuple(labels)))
            continue
        plain = _plain(answer, one, spans, starts)
        if judge is None:
            support = passages.support(plain, known)
        else:
            support = judged(judge, plain, "\n\n".join(texts[label] for label in known))
        low, high = bisect_right(quote_starts, one.start - 1), bisect_right(quote_starts, one.end - 1)
        missing = [one.text for one in quotes[low:high] if one.found in _NOT_THERE]
        missing += [figure for figure in passages.missing(plain, known) if not any(figure in text for text in missing)]
        found.append(Claim(text, one.start, one.end, tuple(labels), support, tuple(missing)))
    return tuple(found)


def unsupported(claims: Sequence[Claim], least: float | None, judge: Judge | None) -> tuple[Claim, ...]:
    """Return the claims with less support than asked for; without a judge also those that miss something."""
    if least is None:
        return ()
    return tuple(
        one for one in claims
        if one.support is not None and (one.support < least or (judge is None and bool(one.missing)))
    )


def _spans(marks: Marks) -> list[tuple[int, int]]:
    cited = {(one.start, one.end) for one in marks.citations}
    return sorted(cited | {(one.start, one.end) for one in marks.malformed})


def _plain(answer: str, one: Sentence, spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> str:
    """Return a sentence without its marks."""
    pieces = []
    at = one.start
    first = max(0, bisect_right(starts, one.start) - 1)
    for start, end in spans[first:bisect_right(starts, one.end - 1)]:
        if start >= at:
            pieces.append(answer[at:start])
        at = max(at, end)
    return re.sub(r"[ \t]++(?=[.,;:!?](?:\s|$))", "", "".join([*pieces, answer[at:one.end]])).strip()
