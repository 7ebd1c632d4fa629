"""The tables behind the matching, checked for every character that Unicode has."""

import re
import sys

import pytest

from promptpack.escape import Rules, escape_text
from promptpack.escape.fold import FILLER, PLAIN_BLOCKS, WEAK, fold
from promptpack.escape.markers import load
from promptpack.escape.shapes import shapes_for


def test_plain_blocks_never_fold_to_what_a_pattern_reads() -> None:
    """A failure lets the quick search pass over a look-alike."""
    block = re.compile(f"[{PLAIN_BLOCKS}]")
    for point in range(0x80, 0x110000):
        if block.match(chr(point)):
            folded = fold(chr(point))
            assert folded, hex(point)
            assert not any(c.isascii() or c in (WEAK, FILLER, "\u2581") for c in folded), hex(point)


def test_ascii_folds_to_itself() -> None:
    """A failure makes plain ASCII and folded text disagree, although the engine matches both."""
    for point in range(0x80):
        char = chr(point)
        control = (point < 32 and char not in "\t\n\x0b\x0c\r") or point == 127
        assert fold(char) == ("" if control else char)


@pytest.mark.parametrize("marker", sorted(set(load())))
def test_every_listed_marker_is_broken_up(marker: str) -> None:
    """A failure lets a control token of a known model family through, alone or inside a sentence."""
    rules = Rules()
    for text in (marker, f"a {marker} b", marker + marker, f"x{marker}\n"):
        assert marker not in escape_text(text, rules)


def test_patterns_are_kept() -> None:
    """A failure compiles the patterns again for every chunk."""
    assert shapes_for(Rules()) is shapes_for(Rules(level="html"))


def test_import_is_light() -> None:
    """A failure makes `import promptpack.escape` compile patterns or load the marker list."""
    import subprocess

    code = (
        "import sys, promptpack.escape\n"
        "from promptpack.escape import shapes, markers\n"
        "assert shapes._build.cache_info().currsize == 0 and markers.shapes.cache_info().currsize == 0\n"
        "assert not {'jinja2', 'tiktoken', 'numpy', 'html.entities'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
