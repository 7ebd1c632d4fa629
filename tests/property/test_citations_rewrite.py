"""Properties of changed answers: what is taken out is gone, all else stays, and offsets lead there and back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.citations import read_marks, verify_citations

LABELS = {"S1": "a", "S2": "b", "S3": "c"}
MARKS = [
    "[S1]", "[S9]", "[S1, S9]", "[S9; S2]", "[S1-S5]", "(S9)", "【S3】", "［S9，S1］", "[[S9]]",
    "[S9](http://a.b)", " source_9 ", " source_2 ",
    "\ue200cite\ue202S9\ue202S1\ue201", "[S9 (S1)]", "[S1 (S9)]", "[S9, 2]", "[S9, page 4]",
    "[S7]", "[S01]",
]
words = st.sampled_from(
    ["It is so", "free", ".", ",", " and ", " ", "\n", "(", ")", "- ", "日本", "。", "“x” ", "`[S9]`", ""]
)
answers = st.lists(st.one_of(words, st.sampled_from(MARKS)), max_size=12).map("".join)
# Signs that make links, code, addresses and comments of the text around a mark, if the mark is taken out of it.
SHARP = [
    "`", "``", "```", "](", "[x](", ")(", "]", "http://a", "<a b=", ">", "<!-", "-", "->", "~~~", "<", "\\", "(see ",
    "See ", "; see ", "Source: ", "1. ", "source_", "*", "**", "[S1](", "[S1]([S1, S9])", "([S5 - S7])",
]
hostile = st.lists(st.one_of(words, st.sampled_from(MARKS), st.sampled_from(SHARP)), max_size=14).map("".join)


def letters(text):
    """Return the words and signs of a text, without blanks, joints and brackets."""
    return [char for char in text if char.isalnum() or char in "。“”"]


@given(st.one_of(answers, hostile))
@settings(max_examples=400, deadline=None)
def test_what_is_stripped_is_gone_and_everything_else_stays(answer):
    """If it fails, an unknown label stays in the answer, a known one is lost, or a word is."""
    found = verify_citations(answer, LABELS, carried={"S7": "z"})
    text = found.strip()
    after = verify_citations(text, LABELS, carried={"S7": "z"})
    assert (after.unknown, after.stale) == ((), ())
    assert after.known == found.known
    assert [one.label for one in after.citations] == [one.label for one in found.citations if one.label in LABELS]
    at = 0
    for edit in text.edits:
        assert answer[at:edit.start] == text[text.after(at):edit.out_start]
        at = edit.end
    assert answer[at:] == text[text.after(at):]


@given(answers)
@settings(max_examples=300, deadline=None)
def test_renumbering_keeps_the_order_and_what_each_mark_stands_for(answer):
    """If it fails, a renumbered answer cites other sources."""
    found = verify_citations(answer, LABELS, carried={"S7": "z"})
    text = found.renumber()
    order = [*found.known, *found.stale, *found.unknown]
    new = {label: f"S{number}" for number, label in enumerate(order, 1)}
    assert [one.label for one in read_marks(text).citations] == [new[one.label] for one in found.citations]
    after = verify_citations(text, text.labels)
    assert after.cited == found.cited
    assert len(after.unknown) == len(found.unknown) + len(found.stale)


@given(answers, st.sampled_from(["markdown", "footnotes"]))
@settings(max_examples=300, deadline=None)
def test_a_linked_answer_cites_the_same(answer, style):
    """If it fails, writing links changes what an answer cites."""
    found = verify_citations(answer, LABELS, carried={"S7": "z"})
    text = found.link({"S1": "https://a.example/1", "b": "https://a.example/2"}, style=style)
    after = verify_citations(text, LABELS, carried={"S7": "z"})
    assert (after.known, after.unknown, after.stale) == (found.known, found.unknown, found.stale)
    assert letters(answer[:1]) == letters(text[:1]) or found.citations


@given(answers, st.integers(0, 60))
def test_offsets_between_the_edits_lead_there_and_back(answer, at):
    """If it fails, a mark in a user interface moves."""
    text = verify_citations(answer, LABELS).strip()
    at = min(at, len(answer))
    if not any(edit.start <= at < edit.end or edit.start == at for edit in text.edits):
        assert text.before(text.after(at)) == at
    assert 0 <= text.after(at) <= len(text)
