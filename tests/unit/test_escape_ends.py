"""What the end of a text cuts off is replaced, because nobody knows what comes next; all else stays."""

from __future__ import annotations

import pytest

from promptpack.escape import LiveLabels, Rules, escape_attribute, escape_text, unescape

RULES = Rules(labels=LiveLabels(3), names=frozenset({"sources", "doc-item"}), numbered=frozenset({"source"}))


@pytest.mark.parametrize(
    "text",
    [
        "</", "x </ \n", "x <\\", "</source", "<source", "</source_", "</source\n", "<sources", "<sources foo",
        "<sources foo \n",
        "<source_1 a", "</doc", "<doc-", "<|", "<|im_start", "</|x", "<system", "</system \n", "<system_prompt",
        "<think", "<bos \n",
        "</s", "[S1", "[S1 \n", "[ S3", "\uff1c/", "<\u200b/", "\u2039/", "<s\u043eurce", "&lt;/", "&lt;|im",
    ],
)
def test_open_ends_are_closed(text: str) -> None:
    """A failure lets what stands behind a text complete a tag, a marker or a label."""
    shown = escape_text(text, RULES)
    assert shown.edits
    assert shown != text
    assert unescape(shown) == text
    assert unescape(str(shown), RULES) == text


@pytest.mark.parametrize(
    "text",
    ["a <", "a [", "x = [", "a <b", "a </b", "<div", "<sour", "[S9", "[INST", "a ]",
     "xs |> f <| ys", "a <- b <", "List<", "&", "&lt"]
)
def test_ordinary_ends_stay(text: str) -> None:
    """A failure changes chunks that are cut at an ordinary place."""
    assert escape_text(text, RULES) == text


@pytest.mark.parametrize(
    "value", ["a [", "a [S1", "a [INST", "[|user|", "a [S", "x ]~b", "x ]~!b", "[e~",
              "\u3010S", "a \u2039", "[\u200bS1"]
)
def test_fields_end_in_no_open_bracket(value: str) -> None:
    """A failure lets a title join up with the bracket or bar that a template writes behind it."""
    shown = escape_attribute(value, RULES)
    assert shown.edits[-1].kind == "end"
    assert unescape(shown) == value


@pytest.mark.parametrize("value", ["a [b]", "a ]", "f(x) [1], [2].", "[a] (b", "\u2039a\u203a", "[draft: x"])
def test_ordinary_fields_stay(value: str) -> None:
    """A failure costs tokens in titles."""
    assert escape_attribute(value, RULES) == value
