"""What escaping costs: tokens, time and changed places on ordinary text, beside other ways to do it.

    python benchmarks/escape.py [--files N]

The texts are those of this Python: the standard library's source, and the Markdown, reStructuredText, HTML and XML
files of the installed packages. Tokens are o200k_base. bleach joins the table where it is installed. Times are the best
of three on one core, of the whole set; they vary with the machine, the other columns do not.
"""

from __future__ import annotations

import argparse
import html
import importlib.util
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import markupsafe

from promptpack.escape import LiveLabels, Rules, escape_attribute, escape_text, scan
from promptpack.tokens.vocabulary import encoding

RULES = Rules(labels=LiveLabels(12))
KINDS = {
    "Python": (".py",), "Markdown, reST": (".md", ".rst"), "HTML, XML": (".html", ".xml"),
    "package metadata": ("METADATA",),
}
HOSTILE = ("<", "</source_1>", "&lt;", "<|a|>", "[S1, ", "<!--", "\u200b", "<\u0301/", "\uff1c/source_1\uff1e")


def ways() -> dict[str, Callable[[str], str]]:
    found: dict[str, Callable[[str], str]] = {
        "promptpack tags": lambda t: escape_text(t, RULES),
        "promptpack strict": lambda t: escape_text(t, Rules(labels=LiveLabels(12), level="strict")),
        "html.escape": html.escape,
        "markupsafe": lambda t: str(markupsafe.escape(t)),
    }
    if importlib.util.find_spec("bleach"):
        import bleach

        found["bleach.clean"] = bleach.clean
    return found


def texts(limit: int) -> dict[str, list[str]]:
    roots = [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]
    sets: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted({p for root in roots for p in root.rglob("*") if p.is_file()}):
        for kind, ends in KINDS.items():
            if path.name.endswith(ends) and len(sets[kind]) < limit:
                try:
                    sets[kind].append(path.read_text("utf-8")[:100_000])
                except (UnicodeError, OSError):
                    continue
    return {kind: found for kind, found in sets.items() if found}


def seconds(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=300, help="files of each kind")
    options = parser.parse_args()

    start = time.perf_counter()
    escape_text("</sources> &lt; \uff1c", RULES)
    first = time.perf_counter() - start

    count = encoding("o200k_base").encode_ordinary
    print("| text | files | way | files changed | more tokens | ms per MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, found in texts(options.files).items():
        size = sum(map(len, found)) / 1e6
        before = sum(len(count(t)) for t in found)
        for way, escape in ways().items():
            shown = [escape(t) for t in found]
            changed = sum(a != b for a, b in zip(shown, found, strict=True))
            more = sum(len(count(str(t))) for t in shown) / before - 1
            took = seconds(lambda e=escape, f=found: [e(t) for t in f]) / size
            print(f"| {kind} | {len(found)} | {way} | {changed} | {more:.2%} | {took * 1e3:.1f} |")

    print("\n| hostile text, 1 MB of | seconds |")
    print("| --- | --- |")
    for unit in HOSTILE:
        text = unit * (1_000_000 // len(unit))
        took = seconds(lambda t=text: escape_text(t, RULES))
        print(f"| `{unit.encode('ascii', 'backslashreplace').decode()}` | {took:.2f} |")

    chunk = ("The quick brown fox jumps over the lazy dog, and then it rests for a while. " * 14)[:1024]
    title = "Returns and refunds policy"
    payload = "\n".join(f'<source_{i} id="S{i}" title="{title}">\n{chunk}\n</source_{i}>' for i in range(1, 1001))
    steps = {
        "a chunk of 1 KB of prose, us": lambda: [escape_text(chunk, RULES) for _ in range(1000)],
        "a title, us": lambda: [escape_attribute(title, RULES) for _ in range(1000)],
        "the check of a payload of 1 MB, ms": lambda: scan(payload, RULES),
    }
    print("\n| single steps | time |")
    print("| --- | --- |")
    print(f"| first use (patterns compiled, markers read), ms | {first * 1e3:.0f} |")
    for step, run in steps.items():
        print(f"| {step} | {seconds(run) * 1e3:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
