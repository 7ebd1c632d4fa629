"""The parts of a page: the window, runs of text, points on the curve, the answer cut at its citations."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptpack import Budget, Cut, Payload, PromptBuilder, Source
from promptpack.citations import verify_citations
from promptpack.errors import OptionError
from promptpack.packing.trim import shorten
from promptpack.view import account
from promptpack.view.account import cells, count, further, window_parts
from promptpack.view.answer import answer_runs, checked
from promptpack.view.curve import points
from promptpack.view.facts import facts, kept_back
from promptpack.view.kept import ranges, sent_part, stretches
from promptpack.view.runs import Span, labelled, line, literal, runs, said

TOKENS = st.integers(0, 5_000)
# Citations of every kind among words, signs and characters that cannot be seen.
PIECES = st.lists(st.sampled_from([
    "[S1]", "[S1, S2]", "[S1-S3]", "[S9]", "[S01]", "(S2)", "【S1】", "[S1](http://x)", "source_2", "[S", "S1]", " ",
    "\n",
    "Yes it is so. ", "It costs 5 EUR. ", "\u202e", "\x00", "\r\n", "\ud800", '"a quotation of some length" ', "`[S1]`",
]), max_size=30).map("".join)


def payload_of(count_: int = 3, question: str | None = "Why?", **source) -> Payload:
    sources = [Source(f"c{n}", f"Text number {n} of the sources.", 1 - n / 100, **source) for n in range(count_)]
    return PromptBuilder(4_000, counter="words").add_sources(sources).with_question(question).render()


@given(st.lists(TOKENS, min_size=8, max_size=8))
def test_the_parts_add_up_to_the_window(sizes: list[int]) -> None:
    """If it fails, the bar does not show the window."""
    system, tools, history, question, frame, packed, left, answer = sizes
    used = system + tools + history + question + frame + packed
    account_ = Budget(
        window=used + left + answer, answer=answer, system=system, tools=tools, history=history, question=question,
        frame=frame, sources=packed + left, used=used,
    )
    parts = window_parts(account_)
    assert sum(part.tokens for part in parts) == account_.window
    ends = [(part.start, part.start + part.share) for part in parts]
    assert all(abs(end - start) < 1e-9 for (_, end), (start, _) in pairwise(ends))
    for width in (20, 77):
        given_ = cells(parts, width)
        assert sum(given_) == (width if account_.window else 0)
        assert all((size > 0) == (part.tokens > 0) for size, part in zip(given_, parts, strict=True))


@pytest.mark.parametrize("account_", [
    Budget(window=0), Budget(window=10, used=500, system=800), Budget(window=10, answer=50, margin=90),
])
def test_an_account_that_does_not_add_up_is_shown_all_the_same(account_: Budget) -> None:
    """If it fails, a payload from a file with odd numbers ends in a ZeroDivisionError or a bar outside of its frame."""
    parts = window_parts(account_)
    assert all(0 <= part.start <= 1 and part.share >= 0 and part.start + part.share <= 1 + 1e-9 for part in parts)
    assert sum(cells(parts, 30)) <= 30
    assert {part.name: part.tokens for part in parts}["answer"] == account_.answer


def test_what_the_account_says_besides_is_shown_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, a number that the account gains later is shown nowhere, or breaks the sum."""
    monkeypatch.setattr(account, "_TOLD", tuple(name for name in account._TOLD if name != "margin"))
    budget = Budget(window=100, margin=7, used=10)
    assert ("margin", 7, "part of the above") in further(budget)
    known = {"window", "used", *(part.name for part in window_parts(budget)), *(name for name, _, _ in further(budget))}
    every = {f.name for f in dataclasses.fields(budget) if f.type == "int" and getattr(budget, f.name)}
    assert every <= known


def test_numbers_of_any_size_are_written() -> None:
    """If it fails, a stored payload with a huge number cannot be looked at (Python refuses to write it)."""
    assert (count(0), count(-1_000), count(2**64 - 1)) == ("0", "-1,000", "18,446,744,073,709,551,615")
    assert count(-(10**9_000)) == "-about 2^29897"


@given(st.text(st.characters(codec=None), max_size=200))
def test_runs_hold_the_whole_text(text: str) -> None:
    """If it fails, something of a source is not on the page, or a page cannot be written as UTF-8."""
    found = runs(text, said(text, "S"))
    "".join(run.text for run in found).encode("utf-8")
    joined = "".join(f"[{run.text}]" if run.kind == "odd" else run.text for run in found)
    assert joined == literal(text)


@pytest.mark.parametrize(("text", "shown"), [
    ("tab\tand\nline", "tab\tand\nline"), ("a\r\nb", "a\nb"), ("a\rb", "a[U+000D]b"), ("\x00", "[U+0000]"),
    ("\u202eabc\u202c", "[U+202E]abc[U+202C]"), ("a\u200b\u200b\u200bb", "a[U+200B ×3]b"), ("\ud800", "[U+D800]"),
    ("👨‍👩‍👧 é नमस्ते مرحبا", "👨‍👩‍👧 é नमस्ते مرحبا"), ("❤️", "❤️"),
    ("a\ufe0f\ufe0e", "a[U+FE0F U+FE0E]"), ("\U000e0041", "[U+E0041]"),
    ("می\u200cخواهم", "می\u200cخواهم"), ("\ufffd", "\ufffd"),
])
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    """If it fails, hidden text stays hidden on the page, or ordinary writing is torn apart."""
    assert literal(text) == shown


def test_a_line_has_one_line() -> None:
    """If it fails, an id with line breaks forges a line of the page's title or of a description."""
    assert line("a\n\nb\tc ") == "a b c"
    assert line("x" * 100, 10) == "x" * 10 + "…"
    assert len(line("\n" * 1_000_000 + "x", 10)) <= 11


def test_labels_are_marked_outside_of_passages() -> None:
    """If it fails, a label that a text forges looks like one of the library."""
    text = 'id="S1" S1x S12 [S2] inside S1 and &#91;S1] _S1'
    apart = [(text.index("inside"), text.index(" and"))]
    assert [text[a:b] for a, b, _ in labelled(text, ["S1", "S2"], apart)] == ["S1", "S2"]
    assert labelled("S1 S1", ["S1"], [(0, 2)]) == [Span(3, 5, "label")]
    assert labelled("", ["S1"], []) == []


def test_points_stand_where_their_tokens_do() -> None:
    """If it fails, the drawing does not show the order of the prompt."""
    sources = payload_of(60).sources
    found = points(sources)
    lefts = [float(one.left.rstrip("%")) for one in found]
    assert lefts == sorted(lefts)
    assert 4 <= lefts[0] <= lefts[-1] <= 96
    assert [one.source for one in found] == list(sources)
    best = next(one for one in found if one.source.rank == 1)
    assert best.named == "always"
    assert {one.named for one in found} == {"always", "wide", "never"}
    named = sorted(float(one.left.rstrip("%")) for one in found if one.named == "always")
    assert min(b - a for a, b in pairwise(named)) >= 6.99
    assert points(()) == []
    odd = [dataclasses.replace(one, tokens=size) for one, size in zip(sources, (-5, 10**400, 0), strict=False)]
    assert len(points(odd)) == 3


@pytest.mark.parametrize("count_", [1, 2, 3, 40])
def test_the_pieces_of_the_sources_make_up_the_curve(count_: int) -> None:
    """If it fails, one source or two stand in the drawing as if they took no room."""
    found = points(payload_of(count_).sources)
    ends = []
    for one in found:
        places = [float(pair.split(",")[0]) for pair in one.piece.split()]
        assert places == sorted(places)
        assert places[0] < float(one.left.rstrip("%")) < places[-1]
        ends.append((places[0], places[-1]))
    assert ends[0][0] < 5
    assert ends[-1][1] > 95
    assert all(0 < start - end < 1.2 for (_, end), (start, _) in pairwise(ends))


@given(st.lists(st.integers(-2, 14), max_size=6), st.text("ab ", max_size=12))
def test_ranges_are_believed_where_they_can_be(edges: list[int], whole: str) -> None:
    """If it fails, a stored payload that was edited ends in an error, or a text is shown twice or out of order."""
    one = payload_of(1).sources[0]
    pairs = tuple(zip(edges[::2], edges[1::2], strict=False))
    odd = dataclasses.replace(one, source=Source("a", whole), text="x", ranges=pairs)
    told = stretches(odd)
    assert "".join(piece.text for piece in told) == (whole if told else "")
    assert all(whole[piece.start:piece.end] == piece.text for piece in told)
    assert bool(told) <= (pairs == tuple(sorted(pairs)))
    assert sent_part(odd)


WHOLE = "One is here. Two is there. Three is \u2026 nowhere. Four ends it."


@pytest.mark.parametrize(("keep", "text", "wanted"), [
    ("start", "One is here. \u2026", [(0, 12)]), ("start", "One is", [(0, 6)]),
    ("end", "\u2026 Four ends it.", [(47, 60)]), ("ends", "One is \u2026 ends it.", [(0, 6), (52, 60)]),
    ("relevant", "\u2026 Two is there. \u2026", [(13, 26)]), ("relevant", "\u2026 is \u2026", []),
    ("relevant", "\u2026 Two is there. Three is \u2026 nowhere. \u2026", [(13, 46)]),
    ("start", "Something else \u2026", []), ("start", "", []), ("start", "\u2026", []), ("start", WHOLE, []),
])
def test_a_cut_text_is_found_in_its_source(keep: Any, text: str, wanted: list[tuple[int, int]]) -> None:
    """If it fails, the page says that another part of a source was sent than that which was."""
    one = dataclasses.replace(payload_of(1).sources[0], source=Source("a", WHOLE, cut=Cut(keep)), text=text)
    assert list(ranges(one)) == wanted
    bare = dataclasses.replace(one, source=Source("a", WHOLE, cut=Cut(keep, marker="")), text="One is here.")
    assert ranges(bare) == ((0, 12),)


@example("Two! Two! a \n\n\u2026 One is here. Two! ", "ends", 32)  # its own sign was left out with the lines before it
@given(st.lists(st.sampled_from(["One is here. ", "Two! ", "a ", "\u2026 ", "\n"]), min_size=1).map("".join),
       st.sampled_from(["start", "end", "ends", "relevant"]), st.integers(1, 40))
def test_what_is_found_of_a_cut_text_was_sent(text: str, keep: Any, limit: int) -> None:
    cut = Cut(keep)
    sent = shorten(text, limit, cut, len, question="is one here?")
    one = dataclasses.replace(payload_of(1).sources[0], source=Source("a", text, cut=cut), text=sent)
    assert all(text[start:end] in sent for start, end in ranges(one))


def test_a_range_of_all_of_it_is_the_whole() -> None:
    one = payload_of(1).sources[0]
    whole = dataclasses.replace(one, ranges=((0, len(one.source.text)),))
    assert (ranges(whole), sent_part(whole), stretches(whole)) == ((), "", [])


def test_facts_tell_what_there_is() -> None:
    """If it fails, a score of 0 is not shown, or a date is shown as seconds."""
    told = dict(facts(Source("a", "x", 0.0, position=0, updated=1_772_323_200, document="d", pinned=True)))
    assert told == {"score": "0", "document": "d", "position": "0", "updated": "2026-03-01", "pinned": "yes"}
    assert dict(facts(Source("a", "x", updated=10**50)))["updated"] == "out of range"


def test_metadata_that_is_not_sent_is_named_only() -> None:
    """If it fails, a page that is passed on shows what the model was not to see."""
    payload = payload_of(metadata={"title": "T", "acl": "secret-group"})
    assert kept_back(payload.sources[0]) == ("acl",)
    page = payload.to_html()
    assert "acl" in page
    assert "secret-group" not in page + payload._repr_html_()


@given(PIECES)
def test_an_answer_is_shown_whole(answer: str) -> None:
    """If it fails, a part of the answer is lost or doubled at a citation."""
    result = verify_citations(
        answer, {"S1": "a", "S2": "b", "S3": "c"}, texts={"S1": "It costs 5 EUR.", "S2": "x", "S3": ""}, min_support=0.5
    )
    found = answer_runs(answer, result)
    joined = "".join(f"[{run.text}]" if run.kind == "odd" else run.text for run in found if run.kind != "beside")
    assert joined == literal(answer)
    numbers = [run.number for run in found if run.number]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {label for run in found for label in run.labels} == {one.label for one in result.citations}


def test_citations_and_faults_are_told_apart() -> None:
    """If it fails, a wrong citation looks like a right one."""
    payload = payload_of()
    first = payload.carry_labels()
    later = PromptBuilder(4_000, counter="words").with_labels(first).add_sources(["New."]).with_question("q").render()
    answer = "It is so [S4, S1; S9]. Bulbs are free. Broken [S01]."
    kinds = {run.text: run.kind for run in answer_runs(answer, later.verify(answer))}
    assert (kinds["S4"], kinds["S1"], kinds["S9"], kinds["S01"]) == ("known", "stale", "unknown", "malformed")
    flagged = {run.text: run.flags for run in answer_runs(answer, later.verify(answer))}
    assert flagged["Bulbs are free."] == ("uncited",)


def test_citations_beside_the_text_stand_behind_it() -> None:
    """If it fails, a provider's own citations are not on the page."""
    payload = payload_of()
    response = {"content": [{
        "type": "text", "text": "It is so.",
        "citations": [{"type": "char_location", "cited_text": "Text number 0", "document_index": 0,
                       "document_title": "S1", "start_char_index": 0, "end_char_index": 13}],
    }]}
    result = payload.verify_response(response)
    assert [one.form for one in result.citations] == ["native"]
    found = answer_runs(result.answer, result)
    assert [(run.kind, run.text) for run in found][-1] == ("beside", "S1")
    assert ">[S1]</a>" in payload.to_html(result)


def test_what_does_not_belong_together_is_refused() -> None:
    """If it fails, the marks of one answer are drawn over another, or a link leads nowhere."""
    payload = payload_of()
    result = payload.verify("Yes [S1].")
    with pytest.raises(OptionError, match="another answer"):
        payload.to_html(result, "No [S1].")
    with pytest.raises(OptionError, match="another payload"):
        payload_of(1).to_html(payload_of(2).verify("Yes [S2]."))
    with pytest.raises(OptionError, match="expected what payload"):
        payload.to_html("Yes [S1].")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="answer: expected a text"):
        payload.to_html(answer=b"x")  # type: ignore[arg-type]
    assert checked(payload, None, None) is None
    bare = dataclasses.replace(result, answer="")
    assert payload.to_html(bare, "Yes [S1].") == payload.to_html(result) == payload.to_html(answer="Yes [S1].")


def test_many_citations_take_linear_work() -> None:
    """If it fails, a long answer makes the page slow: every run would look at every flag or citation."""
    import time

    def seconds(times: int) -> float:
        answer = 'It is [S1, S2]. No one says "this cannot be found anywhere". ' * times
        result = verify_citations(answer, {"S1": "a", "S2": "b"}, texts={"S1": "x", "S2": "y"}, min_support=0.9)
        best = []
        for _ in range(3):
            start = time.perf_counter()
            answer_runs(answer, result)
            best.append(time.perf_counter() - start)
        return min(best)

    assert seconds(1600) < 6 * 4 * max(seconds(400), 1e-4)
