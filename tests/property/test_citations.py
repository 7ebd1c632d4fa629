"""Properties of reading citations: what was put in is found, nothing else is, and the work is linear."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.citations import read_marks, verify_citations

# Text that holds no citation and no Markdown of its own: letters, digits, stops, blanks, several scripts.
plain = st.text(alphabet="abSs19 .,;!?\n'\"-äßд中。हไa\u0301\U0001f600€", max_size=30)
numbers = st.integers(1, 9999)


@st.composite
def marks(draw):
    """Return a mark in some allowed spelling, with the numbers that it names."""
    first = draw(numbers)
    several = draw(st.lists(numbers, min_size=1, max_size=4))
    last = min(9999, first + draw(st.integers(0, 5)))
    letter = draw(st.sampled_from("Ss"))
    blank = draw(st.sampled_from(["", " "]))
    comma = draw(st.sampled_from([",", ", ", ";", " ; ", "，", "、", " & ", " and ", "/"]))
    opener, closer = draw(st.sampled_from([
        ("[", "]"), ("[[", "]]"), ("(", ")"), ("【", "】"), ("［", "］"), ("（", "）"),
        ("〔", "〕"), ("\\[", "\\]"),
    ]))
    dash = draw(st.sampled_from(["-", "–", "—", " - "]))
    kind = draw(st.sampled_from(["one", "group", "range", "dagger", "link", "marker", "name"]))
    if kind == "one":
        return f"{opener}{blank}{letter}{first}{blank}{closer}", [first]
    if kind == "group":
        return f"{opener}{comma.join(f'{letter}{one}' for one in several)}{closer}", several
    if kind == "range":
        return f"{opener}S{first}{dash}S{last}{closer}", list(range(first, last + 1))
    if kind == "dagger":
        return f"【S{first}†source】", [first]
    if kind == "link":
        return f"[S{first}](https://example.com/a?b=[S7]&c=(d))", [first]
    if kind == "marker":
        return "\ue200cite" + "".join(f"\ue202S{one}" for one in several) + "\ue201", several
    return f" source_{first} ", [first]


@given(st.lists(st.tuples(plain, marks()), max_size=6), plain)
def test_every_inserted_citation_is_found_with_its_span_and_nothing_else(parts, rest):
    """If it fails, a citation is lost, invented, or has the wrong place."""
    answer, expected = "", []
    for text, (mark, labels) in parts:
        answer += text
        visible = mark.strip()
        start = len(answer) + mark.index(visible)
        expected += [(f"S{one}", start, start + len(visible)) for one in labels]
        answer += mark
    answer += rest
    found = read_marks(answer)
    assert [(one.label, one.start, one.end) for one in found.citations] == expected
    assert found.malformed == ()
    for one in found.citations:
        assert answer[one.start:one.end] == one.text


@given(
    st.lists(st.tuples(plain, st.integers(1, 9999), st.booleans()), max_size=5), st.sampled_from(["S", "Doc", "ref"])
)
def test_the_spellings_that_are_a_choice_are_found_where_chosen(parts, prefix):
    """If it fails, padded numbers, superscripts or another prefix are read elsewhere, or not at all."""
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    answer, expected = "", []
    for text, number, raised in parts:
        answer += f"{text} "
        mark = str(number).translate(digits) if raised else f"[{prefix}{number:04}]"
        expected.append((f"{prefix}{number}", len(answer), len(answer) + len(mark)))
        answer += f"{mark} "
    found = read_marks(answer, prefix=prefix, zero_padded=True, superscripts=True)
    assert [(one.label, one.start, one.end) for one in found.citations] == expected
    plainly = read_marks(answer, prefix=prefix)
    assert [one.label for one in plainly.citations] == [
        f"{prefix}{number}" for _, number, raised in parts if not raised and number > 999
    ]


@given(st.text(alphabet="S1[](),-【】 `<>\"'=:/\\a.\n†\ue200\ue201\ue202|#*~", max_size=60))
@settings(max_examples=300)
def test_any_text_is_read_without_an_error_and_with_true_spans(answer):
    """If it fails, some odd text crashes the check, or a span points at another text."""
    found = verify_citations(answer, {"S1": "a"}, carried={"S11": "b"})
    for one in (*found.citations, *found.malformed, *found.uncited):
        assert answer[one.start:one.end] == one.text != ""
    for citation in found.citations:
        assert citation.start <= citation.inner[0] < citation.inner[1] <= citation.end
    assert [one.start for one in found.citations] == sorted(one.start for one in found.citations)
    assert set(found.known) | set(found.unknown) | set(found.stale) == {one.label for one in found.citations}
    assert 0 <= found.coverage <= 1
    assert not found.ok or found.citations or found.refusal


@given(st.lists(st.sampled_from(["It is so [S1].", "It is not.", "Is it?", "# T\n", "- a [S2]\n", "\n\n"])))
def test_uncited_and_cited_claims_make_up_the_coverage(parts):
    """If it fails, coverage and the list of uncited sentences contradict each other."""
    found = verify_citations(" ".join(parts), {"S1": "a", "S2": "b"})
    if found.uncited:
        assert found.coverage < 1
    elif not found.unknown:
        assert found.coverage == 1


HOSTILE = [
    "[", "[S1", "[S1]", "[S1] ", "[[S1]", "[[", "(S1", "((", "([", "[(S1)", "`", "` ", "`a``b",
    "```\n", "``` `\n", "~~~\n",
    "<a b='", "<a x=\"' ", "<code>", "<", "http://", "http://a)", "http://(.,", "](", "](a '",
    "[S1-S100]", "[S1,", ",1",
    "【Ｓ１】", "\ue200cite\ue202", "\ue202", "source_", "source_1 ", "\\", "[S9999999]", "[ ", "[S  -",
    "a. ", "a\n\n", "\n",
    "- a\n", "| a |\n", "**a\n", "*", "---\n", "a\n---\n", "# ", "> ", "why? ", "S", "a[S1]. ",
    "[S1]\n", "。", "ก ข",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_growth_is_linear_for_hostile_text(unit):
    """If it fails, a hostile answer can stop a service. Fourfold text may take at most tenfold time."""
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            verify_citations(text, {"S1": "a"})
            best = min(best, time.process_time() - start)
        return best

    small = seconds(10_000)
    large = seconds(40_000)
    assert large < max(10 * small, 0.25)
