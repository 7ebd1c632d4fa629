"""Escaped text as a type, its edits, and the way back to the source."""

import copy
import pickle

import markupsafe
import pytest

from promptpack.errors import OptionError
from promptpack.escape import (
    Edit,
    Escaped,
    EscapedAttribute,
    LiveLabels,
    Rules,
    escape_attribute,
    escape_text,
    source_span,
    unescape,
)

RULES = Rules(labels=LiveLabels(3))
TEXT = "see </sources>, [S1] and &lt;/sources> \x00\x01 end"


def test_edits_say_what_stood_where() -> None:
    """A failure makes reports and quotes point at the wrong place."""
    escaped = escape_text(TEXT, RULES)
    assert [e.kind for e in escaped.edits] == ["close", "label", "reference", "hidden"]
    for edit in escaped.edits:
        assert TEXT[edit.src_start : edit.src_end] == edit.source
    assert [escaped[e.out_start : e.out_end] for e in escaped.edits] == ["&lt;", "&#91;", "amp;", "\ufffd"]


def test_the_repr_of_an_edit_shows_no_text() -> None:
    """A failure writes hidden text from sources into logs."""
    assert "secret" not in repr(Edit("cut", 0, 1, 0, 6, "secret"))


def test_spans_map_to_the_source() -> None:
    """A failure highlights the wrong words of a cited source."""
    escaped = escape_text(TEXT, RULES)
    for words in ("see ", "/sources>, ", "S1] and &", "lt;/sources> ", " end"):
        start = escaped.index(words)
        low, high = source_span(escaped, start, start + len(words))
        assert TEXT[low:high] == words
    assert source_span(escaped, 0, len(escaped)) == (0, len(TEXT))
    assert source_span(escaped, 5, 6) == (4, 5)  # inside a replacement: all that was replaced
    assert source_span(escaped, 2, 2) == (2, 2)
    for bad in ((-1, 2), (3, 2), (0, len(escaped) + 1)):
        with pytest.raises(OptionError):
            source_span(escaped, *bad)


def test_spans_of_attributes_map_through_both_steps() -> None:
    """A failure mixes up the two steps of attributes, white space and references."""
    value = '  a \n "b"  [S1] '
    escaped = escape_attribute(value, RULES)
    assert escaped == "a &quot;b&quot; &#91;S1]"
    for words in ("a", "b", "S1]"):
        start = escaped.index(words)
        low, high = source_span(escaped, start, start + len(words))
        assert value[low:high] == words
    assert unescape(escaped) == value


def test_results_of_text_methods_are_markup_without_edits() -> None:
    """A failure hands out `Escaped` whose edits belong to another text."""
    escaped = escape_text(TEXT, RULES)
    for made in (escaped[1:], escaped + "<", escaped.strip(), escaped.upper(), escaped % (), escaped.format()):
        assert type(made) is markupsafe.Markup
    assert escaped + "<" == str(escaped) + "&lt;"  # as Markup does
    assert markupsafe.escape(escaped) == str(escaped)
    assert escaped.__html__() == str(escaped)


@pytest.mark.parametrize("kind", [Escaped, EscapedAttribute])
def test_copies_keep_type_and_edits(kind: type[Escaped]) -> None:
    """A failure escapes twice behind a process pool or a cache."""
    escaped = escape_text(TEXT, RULES) if kind is Escaped else escape_attribute(TEXT, RULES)
    for made in (pickle.loads(pickle.dumps(escaped)), copy.deepcopy(escaped), copy.copy(escaped)):
        assert type(made) is kind
        assert made == escaped
        assert made.edits == escaped.edits
        assert unescape(made) == TEXT


def test_a_plain_text_needs_rules_to_go_back() -> None:
    """A failure would guess from the content what was escaped."""
    with pytest.raises(OptionError):
        unescape("&lt;/sources>")


def test_rules_are_hashable_values() -> None:
    """A failure compiles patterns again for every payload."""
    assert Rules(names={"a"}) == Rules(names=frozenset({"a"}))  # type: ignore[arg-type]
    assert len({Rules(), Rules(), Rules(prefix="Q")}) == 2
