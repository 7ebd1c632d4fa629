"""Linear time on every text we could think of, and ordinary files left alone."""

import sysconfig
import time
from pathlib import Path

import pytest

from promptpack.escape import LiveLabels, Rules, escape_attribute, escape_text, reserved_names, scan, unescape
from promptpack.escape.shapes import shapes_for

RULES = Rules(labels=LiveLabels(3))
UNITS = [
    "<",
    "</",
    "</source_",
    "<source_1 ",
    "&amp;",
    "&lt;",
    "[S1, ",
    "<|",
    "< ",
    "\u200b",
    "<s",
    "<sources a ",
    "<source_1",
    "<!--",
    "&#60;",
    "&lt;|a|>",
    "<\u200b",
    "\uff1c/source_1\uff1e",
    "\u3008",
    "\u3010",
    "<|\xe9",
    "&lt;/source_1&gt;",
    "]~b]",
    "<role>",
    "<<",
    "&#x3c;\u0301",
    "\U000e0041x",
    "a\ufe01",
    "[S1-",
    "&amp",
    "&#38;#60;!--",
    "<a:",
    "<a|",
    "S1] ",
    "\xad<",
    "'",
    "<\u0301/",
    "</source ",
    "<|a ",
    "<think ",
    "<sources a b ",
    "[S1 ",
]
WRAPPED = [
    ("<", " "),
    ("<sources ", "a"),
    ("</s", "\u0301"),
    ("<source_1 a", " "),
    ("[S1", ",1"),
    ("&", "amp;"),
    ("<|a", " "),
    ("&#", "0"),
    ("<!--", "-->"),
    ("<", "\\"),
    ("</source", "."),
    ("<system", "/"),
    ("[S1", " "),
    ("</sources", "\u0301"),
]


def _time(text: str, level: str) -> float:
    rules = Rules(labels=LiveLabels(3), level=level)
    best = 9e9
    for _ in range(3):
        start = time.process_time()
        escape_text(text, rules)
        escape_attribute(text, rules)
        scan(text, rules)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize(("prefix", "unit"), [*(("", u) for u in UNITS), *WRAPPED])
def test_time_grows_with_the_length_and_not_faster(prefix: str, unit: str) -> None:
    """A failure lets one crafted chunk stop the whole service.

    Doubling three times must cost about 8 times as much; quadratic work would cost 64 times.
    """
    size = 4000
    small = _time(prefix + unit * (size // len(unit)), "tags")
    for _ in range(3):  # a busy machine may spoil a measurement, not three of them
        large = _time(prefix + unit * (8 * size // len(unit)), "tags")
        if large < 24 * small + 0.005:
            return
        small = max(small, _time(prefix + unit * (size // len(unit)), "tags"))
    pytest.fail(f"8 times the length took {large / small:.0f} times as long")


@pytest.mark.parametrize(
    "unit", ["<a ", "&x", "\u200d", "\u2764\ufe0f", "{{ x }}<a_{{ n }}>", "{{ '", "{# ", "{% raw %}"]
)
def test_the_other_entries_are_linear_too(unit: str) -> None:
    """A failure hides a quadratic pattern in the strict level, the inverse, or the reading of templates."""

    def run(text: str) -> float:
        best = 9e9
        for _ in range(3):
            start = time.process_time()
            escape_text(text, Rules(level="strict"))
            escape_text(text, Rules(level="datamark"))
            unescape(text, RULES)
            reserved_names(text)
            best = min(best, time.process_time() - start)
        return best

    small = run(unit * (4000 // len(unit)))
    for _ in range(3):
        large = run(unit * (32000 // len(unit)))
        if large < 24 * small + 0.005:
            return
        small = max(small, run(unit * (4000 // len(unit))))
    pytest.fail(f"8 times the length took {large / small:.0f} times as long")


def test_ordinary_files_come_through() -> None:
    """A failure changes source code and documentation that holds no marker: tokens and sense are lost.

    The standard library's own files hold a handful of true markers (parsers that spell an open comment,
    test data with `</s>`), raw control characters aside.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix in (".py", ".md", ".rst", ".txt", ".html", ".xml", ".toml") and "site-packages" not in path.parts
    ]
    changed: list[str] = []
    read = 0
    for path in files:
        try:
            text = path.read_text("utf-8")
        except (UnicodeError, OSError):
            continue
        read += 1
        shown = escape_text(text, RULES)
        if any(e.kind != "hidden" for e in shown.edits):
            changed.append(str(path.relative_to(root)))
    assert read > 500
    assert len(changed) <= max(4, read // 1000), changed


def test_a_run_of_wide_brackets_is_not_read_again_at_each_of_them() -> None:
    """A failure makes a megabyte of full-width brackets cost several seconds, or misses the marker behind them."""
    shapes = shapes_for(RULES)
    for run in ("\uff1c" * 500, "\uff1c\u3008" * 250, "<\uff1c" * 250):
        looked_at = sum(1 for pattern in (shapes.tags, shapes.others) for _ in pattern.finditer(run))
        assert looked_at < 10
        assert "&#65308;\uff1cSYS" in escape_text(run + "\uff1c\uff1cSYS\uff1e\uff1e", RULES)
