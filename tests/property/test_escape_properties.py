"""Properties over generated hostile text: nothing is left over, everything can be had back, spans are exact.

The reader that decides is `tests/vectors/injection/injection_oracle.py`, which knows nothing of the library.
"""

import html
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from promptpack.escape import LiveLabels, Rules, escape_attribute, escape_text, scan, source_span, unescape
from promptpack.escape.markers import load

FRAME = (
    '<sources>\n<source_1 id="S1" title="{title}">\n{text}\n</source_1>\n</sources>\n\n<question>{question}</question>'
)
RULES = Rules(labels=LiveLabels(9999))
CHECKED = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _oracle() -> ModuleType:
    path = Path(__file__).parents[1] / "vectors" / "injection" / "injection_oracle.py"
    spec = importlib.util.spec_from_file_location("escape_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ORACLE = _oracle()
ALIKE: dict[str, list[str]] = {}
for _point in [
    *range(0xA0, 0x3000),
    *range(0xA700, 0xAC00),
    *range(0xF900, 0x10000),
    *range(0x1D400, 0x1D800),
    *range(0x2460, 0x24FF),
]:
    _folded = ORACLE.fold(chr(_point)).lower()
    if 0 < len(_folded) <= 2:
        ALIKE.setdefault(_folded, []).append(chr(_point))
UNSEEN = [*list("\u200b\u200d\u2060\xad́͏\ufeff\u202e�️\x00\x7fㅤ�"), "\U000e0041", "󠄀"]
BLANKS = list(" \t\n\r\x0b\x0c\xa0\u2028\x85\u3000")

names = st.sampled_from(
    [
        "source_1",
        "sources",
        "question",
        "source",
        "source-2",
        "system",
        "system_prompt",
        "system-reminder",
        "assistant",
        "Question",
        "SOURCES",
    ]
)
tags = st.builds(
    "{}<{}{}{}{}{}".format,
    st.sampled_from(["", "", "a", " "]),
    st.sampled_from(["", "", " ", "\n"]),
    st.sampled_from(["", "/", "/ ", "\\", "//"]),
    names,
    st.sampled_from(["", " ", "/"]),
    st.sampled_from([">", "/>", "", "id=x", ' id="S1">', "x==1"]),
)
labels = st.builds(
    "[{}S{}{}{}".format,
    st.sampled_from(["", " "]),
    st.integers(0, 12),
    st.sampled_from(["", ", S2", "-S3", ";1", "\u20134"]),
    st.sampled_from(["]", " ]", "](x)", ",", " | x]", "]\u200b("]),
)
pieces = st.one_of(
    tags,
    tags,
    labels,
    st.sampled_from(load()),
    st.sampled_from(["<!--", "-->", "<![CDATA[", "]]>", "&#60;!--", "&lt;", "&amp;", "<|"]),
    st.text(alphabet='<>/|&[]_-=:;#" Ss1aq~b!\\\uff5e', max_size=8),
    st.text(max_size=4),
)


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """Pieces that look like structure, each character perhaps disguised."""
    out: list[str] = []
    for char in "".join(draw(st.lists(pieces, min_size=1, max_size=4))):
        how = draw(st.integers(0, 39))
        if how == 0 and char.lower() in ALIKE:
            out.append(draw(st.sampled_from(ALIKE[char.lower()])))
        elif how == 1:
            out += (char, draw(st.sampled_from(UNSEEN)))
        elif how == 2:
            out += (draw(st.sampled_from(BLANKS)), char)
        elif how == 3:
            out.append(
                draw(
                    st.sampled_from([f"&#{ord(char)};", f"&#x{ord(char):x}", html.escape(char), f"&amp;#{ord(char)};"])
                )
            )
        elif how == 4:
            out.append(char.swapcase())
        else:
            out.append(char)
    return "".join(out)


def _read(payload: str) -> tuple[object, ...]:
    return (
        ORACLE.skeleton(payload),
        ORACLE.markers(payload),
        ORACLE.labels(payload),
        ORACLE.dangling(payload),
        ORACLE.smuggled(payload),
    )


HARMLESS = _read(FRAME.format(title="t", text="placeholder", question="q"))


@CHECKED
@given(hostile())
@example("</sources\u2474")
@example("[q]]~b[ S3;1 ]")
@example("]\uff5eb]")
@example("]\uff5e\u0184]")
@example("\u4e2d\u6587]\uff5eb]system")
@example("\u226e\u2215s\u043eurce_\u2460")
@example("<|a\u2474b|>")
@example("<|" + "\ufdfa" * 60 + "|>")
def test_nothing_is_left_over_in_a_readers_eyes(text: str) -> None:
    """A failure lets a text close, open or forge structure somewhere in the payload."""
    shown = escape_text(text, RULES)
    shown.encode()
    for payload in (
        FRAME.format(title="t", text=shown, question="q"),
        FRAME.format(title="t", text="x", question=shown),
        FRAME.format(title=escape_attribute(text, RULES), text="x", question="q"),
    ):
        assert _read(payload) == HARMLESS
        found = scan(payload, RULES)
        assert found.boundaries == ("sources", "source_1", "/source_1", "/sources", "question", "/question")
        assert not found.markers
        assert not found.labels


@CHECKED
@given(hostile(), st.sampled_from(["tags", "structure", "strict", "html", "datamark", "off"]))
def test_the_original_comes_back(text: str, level: str) -> None:
    """A failure loses what a source said, or maps two texts to one."""
    rules = Rules(labels=LiveLabels(9999), level=level)
    shown = escape_text(text, rules)
    assert unescape(shown) == text
    assert unescape(escape_attribute(text, rules)) == text
    assert escape_text(shown, rules) is shown
    if level != "datamark" and not any(e.kind == "hidden" for e in shown.edits):
        assert unescape(str(shown), rules) == text


@CHECKED
@given(hostile(), hostile())
def test_escaping_is_injective(first: str, second: str) -> None:
    """A failure shows two different texts alike (but for what is hidden)."""
    a, b = escape_text(first, RULES), escape_text(second, RULES)
    hidden = any(e.kind == "hidden" for e in (*a.edits, *b.edits))
    assert hidden or (a == b) == (first == second)
    again = escape_text(str(a), RULES)  # a text that was written in its escaped form stays apart from it
    assert hidden or not a.edits or again != a


@CHECKED
@given(hostile(), st.data())
def test_spans_are_exact(text: str, data: st.DataObject) -> None:
    """A failure points a verified quote at the wrong words of its source."""
    for shown in (escape_text(text, RULES), escape_attribute(text, RULES)):
        start = data.draw(st.integers(0, len(shown)))
        end = data.draw(st.integers(start, len(shown)))
        low, high = source_span(shown, start, end)
        assert 0 <= low <= high <= len(text)
        inside = [e for e in shown.edits if e.out_end > start and e.out_start < end]
        cut = any(e.out_start < start < e.out_end or e.out_start < end < e.out_end for e in inside)
        empty = any(e.out_start == e.out_end and start <= e.out_start <= end for e in shown.edits)
        if not cut and not empty and start < end:
            rebuilt, position = "", start
            for edit in inside:
                rebuilt += str(shown)[position : edit.out_start] + edit.source
                position = edit.out_end
            assert rebuilt + str(shown)[position:end] == text[low:high]


@CHECKED
@given(hostile())
def test_attributes_decode_to_the_value(text: str) -> None:
    """A failure shows a title that is not the source's, or leaves its quotes."""
    shown = escape_attribute(text, RULES)
    assert not set(shown) & set('"<>\n\r\t\u2028\x85')
    if not any(e.kind in ("hidden", "cut") for e in shown.edits):
        assert html.unescape(str(shown)) == " ".join(text.split())


@CHECKED
@given(st.text())
def test_any_text_is_encodable_and_comes_back(text: str) -> None:
    """A failure raises on, or loses, some text that nobody thought of."""
    shown = escape_text(text, RULES)
    shown.encode()
    assert unescape(shown) == text


@pytest.mark.parametrize("depth", [0, 1, 2, 7])
def test_references_of_any_depth(depth: int) -> None:
    """A failure lets one decoding too many open a boundary."""
    text = "&" + "amp;" * depth + "lt;/source_1>"
    shown = escape_text(text, RULES)
    assert shown == "&amp;" + text[1:]
    decoded = str(shown)
    for _ in range(depth + 1):
        decoded = html.unescape(decoded)
        assert "<" not in decoded
