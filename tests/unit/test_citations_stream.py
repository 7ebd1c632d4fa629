"""A stream of pieces gives the events and the result of the whole answer, and holds back only what it has to."""

from __future__ import annotations

import pytest

from promptpack import PromptBuilder, PromptpackError
from promptpack.citations import CitationStream, read_marks, verify_citations
from promptpack.errors import CitationError, OptionError

LABELS = {"S1": "a", "S2": ["b", "c"]}

ANSWERS = [
    "It is 30 days [S1]. It is free [S2, S9].", "[S1](https://example.com/a_(b)?q=[S2]) and (S2).",
    "a [[S1]](x) [[S2]]",
    "```python\nx = row[S1]\n```\nThat is it [S2].", "~~~\n[S1]\n~~~ no\n[S2]\n~~~\n[S1]", "`get[S1]` [S2] ` open [S1]",
    "`a\n\nb` [S1]", "<a title=\"[S1]\">[S2]</a> <code>[S1]</code> <code>[S2]",
    "http://a.b/[S1]/c (see www.a.b/(S2)) [S1]",
    "【S1†L1】［S1，S2］（S2）", "source_1, source_2.", "source_12345 my_source_1 source_1.txt", r"\[S1\] \\[S2]",
    "\ue200cite\ue202S1\ue202S2\ue201 \ue200cite\ue202S1", "[as said (S1)] [S2 (S1)] [S1](S2)", "[S1 [S2 [S3",
    "[S]he [S] [1998]",
    "- a [S1]\n  ```\n  [S2]\n  ```\n> b [S2]", "😀 [S1] \u200d [S2]", "[S1\n, S2]", "", "[", "plain",
    "[S1-S1000]" * 11,
]


def events(pieces, **options):
    stream = CitationStream(LABELS, carried={"S7": "z"}, **options)
    return list(stream.over(pieces)), stream


def marks_of(found):
    return [one for event in found for one in event.citations]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000_000])
def test_pieces_of_every_size_give_the_same_as_the_whole(answer, size):
    """If it fails, what a user sees while the answer streams in differs from what is stored afterwards."""
    found, stream = events([answer[at:at + size] for at in range(0, len(answer), size)])
    whole = verify_citations(answer, LABELS, carried={"S7": "z"})
    assert "".join(event.text for event in found) == answer
    assert [(event.start, event.end) for event in found] == [
        (start, start + len(event.text)) for event, start in zip(found, starts(found), strict=True)
    ]
    assert marks_of(found) == list(whole.citations)
    assert stream.close() == whole


def starts(found):
    at = 0
    for event in found:
        yield at
        at += len(event.text)


def test_each_event_says_what_its_labels_are():
    """If it fails, an unknown or a stale label looks like a known one while it streams."""
    found, _ = events(["x [S1, S9] [S7] [S2]"])
    cited = [event for event in found if event.kind == "citation"]
    assert [event.statuses for event in cited] == [("known", "unknown"), ("stale",), ("known",)]
    assert [event.known for event in cited] == [False, False, True]
    assert cited[2].citations[0].chunk_ids == ("b", "c")
    assert not found[0].known


@pytest.mark.parametrize(("before", "passes", "held"), [
    ("Plain text passes at once", "Plain text passes at once", ""),
    ("so [", "so ", "["), ("so [S1", "so ", "[S1"), ("so [S1]", "so ", "[S1]"), ("so (S1", "so ", "(S1"),
    ("so (but not", "so (but not", ""), ("arr[0] and", "arr[0] and", ""), ("[x]", "[x]", ""), ("at sou", "at ", "sou"),
    ("`code", "`code", ""), ("`code [S1] and", "`code ", "[S1] and"), ("`code [S1]`.", "`code [S1]`.", ""),
    ("```\n[S1] is code", "```\n[S1] is code", ""), ("http://a.b/[S1]", "http://a.b/[S1]", ""), ("a \\", "a ", "\\"),
    ("[S1](http://a", "", "[S1](http://a"), ("[text](http://a", "[text](http://a", ""), ("word s", "word ", "s"),
    ("words", "words", ""), ("[S1] and", "[S1] and", ""), ("【S1", "", "【S1"), ("\ue200cite", "", "\ue200cite"),
    ("[" + "x" * 401, "[" + "x" * 401, ""),
])
def test_only_what_may_still_become_a_citation_is_held_back(before, passes, held):
    """If it fails, text comes late, or a mark is shown before it is known to be one."""
    stream = CitationStream(LABELS)
    found = stream.feed(before)
    assert "".join(event.text for event in found) == passes
    stream.close()
    assert "".join(event.text for event in stream.rest) == held


@pytest.mark.parametrize(
    "unit", ["[S1", "` [S1] ", "<code>[S1] ", "<a b='[S1] ", "(S1,", "\ue200cite\ue202", "[S1](", "[[", "~~~ ["]
)
def test_what_is_held_back_is_bounded(unit):
    """If it fails, one sign that never closes stops a stream until its end."""
    stream = CitationStream(LABELS)
    most = fed = told = 0
    for _ in range(12_000 // len(unit)):
        told += sum(len(event.text) for event in stream.feed(unit))
        fed += len(unit)
        most = max(most, fed - told)
    assert most <= 6_100


def test_halves_of_a_surrogate_pair_are_joined():
    """If it fails, a stream of UTF-16 pieces breaks characters, or its offsets are those of another text."""
    found, stream = events(["a \ud83d", "\ude00 [S1] \ud83d"])
    assert "".join(event.text for event in found) == "a 😀 [S1] \ud83d"
    assert marks_of(found)[0].start == 4
    assert stream.close() == verify_citations("a 😀 [S1] \ud83d", LABELS, carried={"S7": "z"})


def test_a_payload_brings_its_labels_and_its_texts():
    """If it fails, a stream over a payload knows less than `payload.verify`."""
    payload = PromptBuilder(2000, counter="words").add_sources(["It costs 5 EUR.", "It is free."]).render()
    for given in (payload, payload.labels):
        stream = CitationStream(given, **({"min_support": 0.5} if given is payload else {}))
        stream.feed("It costs 6 EUR [S1].")
        result = stream.close()
        assert result.known == ("S1",)
    stream = CitationStream(payload, min_support=0.5)
    stream.feed("It costs 6 EUR [S1].")
    assert stream.close() == payload.verify("It costs 6 EUR [S1].", min_support=0.5)
    assert [str(one) for one in stream.close().unsupported] == ["It costs 6 EUR [S1]."]


def test_options_reach_the_reader():
    """If it fails, padded labels, superscripts or another prefix are read in the whole answer only."""
    options = {"zero_padded": True, "superscripts": True, "prefix": "Doc"}
    stream = CitationStream({"Doc1": "a"}, **options)
    found = [one for piece in ("x [Doc0", "1] y", "¹", "⁻² z") for one in stream.feed(piece)]
    assert [one.label for one in marks_of(found)] == ["Doc1", "Doc1", "Doc2"]
    assert stream.close() == verify_citations("x [Doc01] y¹⁻² z", {"Doc1": "a"}, **options)


def test_wrong_use_is_named():
    """If it fails, a wrong piece or option ends in a TypeError, or shows only when the answer is complete."""
    stream = CitationStream(LABELS)
    with pytest.raises(OptionError, match="feed: expected a text"):
        stream.feed(b"x")
    stream.close()
    assert stream.close() is stream.close()
    with pytest.raises(OptionError, match="closed"):
        stream.feed("x")
    wrong = [(["S1"], {}), ({"bad": "a"}, {}), (LABELS, {"min_support": 0.5}), (LABELS, {"prefix": "1"})]
    for given, options in wrong:
        with pytest.raises(PromptpackError):
            CitationStream(given, **options)


def test_the_result_raises_as_the_whole_one_does():
    """If it fails, a stream cannot be used where an unknown label is an error."""
    _, stream = events(["x [S", "9]"])
    with pytest.raises(CitationError, match="S9"):
        stream.close().raise_for_unknown()


def test_malformed_parts_of_a_mark_come_with_it():
    """If it fails, what could not be read is lost when a mark is written as a link."""
    found, _ = events(["[S1, page 4]"])
    assert [one.text for one in found[0].malformed] == ["page 4"]
    assert [one.text for one in read_marks("[S1, page 4]").malformed] == ["page 4"]
