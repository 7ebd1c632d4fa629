"""What escaping costs: tokens, time and changed files on ordinary text, beside other ways to do it.

    python benchmarks/escape.py [--files N] [--data FOLDER] [--summary]

The texts are those of this Python: the standard library's source, and the Markdown, reStructuredText, HTML and XML
files and descriptions of the installed packages; with --data also every text in a folder of .jsonl or .jsonl.gz files
(all strings of their objects). Tokens are o200k_base. bleach joins the table where it is installed (extra `bench`).
Times are processor time, the best of three, of a whole set; they vary with the machine, the other columns do not.

A file that holds a true marker is changed, and should be (parsers with "<!--", descriptions of tokenizers); files with
raw control characters alone are counted apart.
"""

from __future__ import annotations

import argparse
import gzip
import html
import importlib.util
import json
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import markupsafe

from promptpack.escape import LiveLabels, Rules, escape_attribute, escape_text, scan
from promptpack.tokens.vocabulary import encoding

RULES = Rules(labels=LiveLabels(12))
STRICT = Rules(labels=LiveLabels(12), level="strict")
KINDS = {
    "Python": (".py",), "Markdown, reST": (".md", ".rst"), "HTML, XML": (".html", ".xml"),
    "package descriptions": ("METADATA",),
}
HOSTILE = ("<", "</source_1>", "&lt;", "<|a|>", "[S1, ", "<!--", "\u200b", "<\u0301/", "\uff1c/source_1\uff1e")
LONGEST = 100_000  # characters of one file
Way = Callable[[str], str]


def ways() -> dict[str, Way]:
    found: dict[str, Way] = {
        "promptpack, `tags`": lambda text: escape_text(text, RULES),
        "promptpack, `strict`": lambda text: escape_text(text, STRICT),
        "html.escape": html.escape,
        "markupsafe.escape": lambda text: str(markupsafe.escape(text)),
    }
    if importlib.util.find_spec("bleach"):
        import bleach

        found["bleach.clean"] = bleach.clean
    else:
        print("bleach is not installed and left out (pip install 'promptpack-rag[bench]')", file=sys.stderr)
    return found


def texts(limit: int, data: Path | None) -> dict[str, list[str]]:
    roots = [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]
    sets: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted({path for root in roots for path in root.rglob("*") if path.is_file()}):
        for kind, ends in KINDS.items():
            if path.name.endswith(ends) and len(sets[kind]) < limit:
                try:
                    sets[kind].append(path.read_text("utf-8")[:LONGEST])
                except (UnicodeError, OSError):
                    continue
    if data is not None:
        for path in sorted(data.glob("*.jsonl*")):
            sets[path.name.split(".")[0]] = sets.get(path.name.split(".")[0], []) + list(strings_of(path))
    return {kind: [text for text in found if text] for kind, found in sets.items() if found}


def strings_of(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            yield from _strings(json.loads(line))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def seconds(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


class Row:
    """What one way does to a set of texts."""

    def __init__(self, found: list[str], way: Way) -> None:
        count = encoding("o200k_base").encode_ordinary
        shown = [way(text) for text in found]
        self.files, self.size = len(found), sum(map(len, found)) / 1e6
        pairs = [(one, text) for one, text in zip(shown, found, strict=True) if one != text]
        edits = [getattr(one, "edits", None) for one, _ in pairs]
        self.controls = sum(kinds is not None and all(edit.kind == "hidden" for edit in kinds) for kinds in edits)
        self.changed = len(pairs) - self.controls
        self.tokens = sum(len(count(text)) for text in found)
        self.more = sum(len(count(str(one))) - len(count(text)) for one, text in pairs)
        self.seconds = seconds(lambda: [way(text) for text in found])


def cells(rows: list[Row]) -> str:
    files, changed, controls = (sum(getattr(row, name) for row in rows) for name in ("files", "changed", "controls"))
    more = sum(row.more for row in rows) / sum(row.tokens for row in rows)
    speed = 1e3 * sum(row.seconds for row in rows) / sum(row.size for row in rows)
    odd = f" (+{controls})" if controls else ""
    return f"{files:,} | {changed:,}{odd} | {more:.2%} | {speed:.1f} |"


def tables(sets: dict[str, list[str]], summary: bool) -> float:
    every = ways()
    rows = {way: {kind: Row(found, escape) for kind, found in sets.items()} for way, escape in every.items()}
    if summary:
        print("| way | files | changed (raw controls) | more tokens | ms per MB |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for way, of in rows.items():
            print(f"| {way} | {cells(list(of.values()))}")
    else:
        print("| text | way | files | changed (raw controls) | more tokens | ms per MB |")
        print("| --- | --- | ---: | ---: | ---: | ---: |")
        for kind in sets:
            for way, of in rows.items():
                print(f"| {kind} | {way} | {cells([of[kind]])}")
    default = list(next(iter(rows.values())).values())
    return sum(row.changed for row in default) / sum(row.files for row in default)


def hostile() -> None:
    print("\n| hostile text, 1 MB of | seconds |")
    print("| --- | ---: |")
    for unit in HOSTILE:
        text = unit * (1_000_000 // len(unit))
        took = seconds(lambda text=text: escape_text(text, RULES))
        print(f"| `{unit.encode('ascii', 'backslashreplace').decode()}` | {took:.2f} |")


def single_steps(first: float) -> None:
    chunk = ("The quick brown fox jumps over the lazy dog, and then it rests for a while. " * 14)[:1024]
    title = "Returns and refunds policy"
    payload = "\n".join(f'<source_{i} id="S{i}" title="{title}">\n{chunk}\n</source_{i}>' for i in range(1, 1001))
    steps = {
        "a chunk of 1 KB of prose, us": lambda: [escape_text(chunk, RULES) for _ in range(1000)],
        "a title, us": lambda: [escape_attribute(title, RULES) for _ in range(1000)],
        "reading a payload of 1 MB, ms": lambda: scan(payload, RULES),
    }
    print("\n| single steps | time |")
    print("| --- | ---: |")
    print(f"| first use (patterns compiled, markers read), ms | {first * 1e3:.0f} |")
    for step, run in steps.items():
        print(f"| {step} | {seconds(run) * 1e3:.1f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=300, help="files of each kind")
    parser.add_argument("--data", type=Path, help="a folder of .jsonl or .jsonl.gz files")
    parser.add_argument("--summary", action="store_true", help="one row for each way, and nothing else")
    options = parser.parse_args()

    start = time.process_time()
    escape_text("</sources> &lt; \uff1c", RULES)
    first = time.process_time() - start

    share = tables(texts(options.files, options.data), options.summary)
    if not options.summary:
        hostile()
        single_steps(first)
    print(f"changed at the default level: {share * 1000:.2f} in 1,000 files", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
