"""The proof of the seams against the reading that it spares: what is proven, reading never contradicts."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.escape import LiveLabels, Rules, escape_attribute, escape_text, scan
from promptpack.escape.seams import Seams, ends_closed, first_parts
from promptpack.escape.seams import seams as seams_of
from promptpack.shape import Shape
from promptpack.veil import veil

RULES = Rules(
    names=frozenset({"sources", "question", "doc-item", "Note"}), numbered=frozenset({"source", "doc{}"}),
    labels=LiveLabels(9),
)
BEGUN = first_parts(RULES.names, RULES.numbered)
# What hostile values are made of, and what fixed text has that could go on with them.
PIECES = [
    "<", "</", "<\\", "sources", "source", "source_1", "question", "doc", "item", "-", "Note", "system", "prompt",
    ">", "/>",
    " ", "\n", "=", ' a="b"', " a", "|", "<|", "|>", "im_start", "[", "]", "S", "S1", "1", ",", "INST", "<<", "SYS",
    ">>",
    "<role>", "</role>", "SYSTEM", "]~b", "]~", "~", "b]", "[e~", "<!--", "-->", "<![CDATA[", "]]>", "(", ")", "x",
    "word",
    ":", '"', "'", "\u200b", "\uff1c", "\u2039", "\u3010", "\u0301", "&lt;", "&", "bos", "think", "s", "/", "_",
    ".", "#", "\ufffd",
    "[|", "user", "tool_call",
]


def seams(literals: Sequence[str], gaps: Sequence[str], blocks: Seams | None = None) -> Seams:
    return seams_of(literals, gaps, blocks, begun=BEGUN)


texts = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
# Fixed text as templates have it, and anything else.
FIXED = [
    "", "\n", "\n\n", " ", "<q>", "</q>", "\n</q>", ">\n", '">', '">\n', "] ", "]", "[", " | ", ": ", "\nUrl: ",
    "(", ")", "<", "</",
    "Question: ", "\n\nQuestion: ", "\nSource: ", "\nDoc: ", "\n\nAnswer this, please: ", "# ", "\n# [", "\n- ",
    "'", '"', '" title="', ' a="', "<doc", "<a b=",
    "\nS1. ", "\n1. ", "=", ">", "|", "\n> ", "\n| ", "~", "{", "}", "*", "`", "<Note>", "<system>", "<sources>\n",
    "\n</sources>", " \u00b7 ", "\u3000",
]
fixed = st.one_of(st.sampled_from(FIXED), texts, st.tuples(texts, st.sampled_from(FIXED)).map("".join))


@st.composite
def shapes(draw: st.DrawFn, gaps: list[str], most: int) -> Shape:
    names = draw(st.lists(st.sampled_from(gaps), min_size=1, max_size=most))
    return Shape(tuple(draw(fixed) for _ in range(len(names) + 1)), tuple(names))


def filled(shape: Shape, number: int, body: str, field: str, *, real: bool) -> str:
    show = str if real else (lambda text: str(veil(text)))
    values = {"n": str(number), "label": f"S{number}"}
    return shape.fill(values | {
        name: show(escape_attribute(field, RULES) if name[0] == "@" else escape_text(body, RULES))
        for name in shape.gaps if name not in values
    })


@settings(max_examples=300, deadline=None)
@given(
    shapes(["n", "label", "text", "@title", "@url"], 4), shapes(["n", "text", "@title"], 3),
    shapes(["sources", "question"], 2), st.lists(texts, min_size=4, max_size=4), texts,
)
def test_what_is_proven_needs_no_reading(
    one: Shape, other: Shape, frame: Shape, values: list[str], question: str
) -> None:
    """A failure lets a text forge a tag, a marker or a label through a template whose payloads nobody reads again."""
    blocks = seams(one.literals, one.gaps) & seams(other.literals, other.gaps)
    known = seams(frame.literals, frame.gaps, blocks)
    if not known.proven or frame.gaps.count("sources") > 1:
        return
    asked = escape_text(question, RULES)
    whole = []
    for real in (True, False):
        parts = [
            filled(one, 1, values[0], values[1], real=real), filled(other, 2, values[2], values[3], real=real),
            filled(one, 3, values[3], values[2], real=real),
        ]
        if real and known.tails and not all(map(ends_closed, (*parts, str(asked)))):
            return
        whole.append(frame.fill({"sources": "\n".join(parts), "question": str(asked) if real else str(veil(asked))}))
    assert scan(whole[0], RULES) == scan(whole[1], RULES), whole


def test_templates_as_people_write_them_are_proven() -> None:
    """A failure makes ordinary templates pay for a reading of every payload."""
    fixed_texts = ("<source_", ' id="', '" title="', '">\n', "\n</source_", ">")
    default = seams(fixed_texts, ("n", "label", "@title", "text", "n"))
    assert default == Seams()
    assert seams(("<sources>\n", "\n</sources>\n\n<question>", "</question>"), ("sources", "question"), default).proven
    heading = seams(("## [", "] ", " \u00b7 ", "\n\n", "\n"), ("label", "@title", "@updated", "text"))
    assert heading == Seams(value_last=True)
    assert seams(("# Sources\n\n", "\n\n# Question\n\n", "\n"), ("sources", "question"), heading).proven
    assert seams(("", "\n\nQuestion: ", "\nAnswer:"), ("sources", "question"), heading).proven


def test_templates_that_could_join_are_not_proven() -> None:
    """A failure is a hole: each of these lets some text make a tag, a marker or a label."""
    for literals, gaps in (
        (("<", ">"), ("text",)), (("[S", "]"), ("text",)), (("</", ">"), ("@title",)), (("", "urces>"), ("text",)),
        (("x", "\n/sources>"), ("text",)), (("x", "|>"), ("text",)), (("x", "\nsources>"), ("text",)),
        (("x", "\nS1]"), ("text",)), (("x", "\n\n", ""), ("text", "text")), (("x", "", "y"), ("@a", "@b")),
        (("<sources a=", ">"), ("@a",)), (("x", "~b]"), ("text",)), (("x", "<Note>"), ("text",)),
        (("<!", "->"), ("text",)), (("<role>", "</role>"), ("text",)), (("<", "", ">"), ("n", "text")),
    ):
        assert not seams(literals, gaps).proven, literals


def test_a_frame_knows_what_its_blocks_end_in() -> None:
    """A failure lets the last passage join up with the question."""
    frame = (("", "\n\n", ""), ("sources", "question"))
    assert seams(*frame, Seams()) == Seams()
    assert seams(*frame, Seams(value_last=True)) == Seams(tails=True)
    assert (Seams(value_first=True) & Seams(value_last=True)).tails
    for text in ("a <", "a [", "a </", "a \u200b", "a \uff1c ", "a \u3010"):
        assert not ends_closed(text)
