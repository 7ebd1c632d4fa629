"""llm-ctxpack's vectors as calls of the library: counting, cutting, packing by priority, the command line."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from golden_calls import Result, number
from vector_files import Vector, same

if TYPE_CHECKING:
    from promptpack.packing import Packed
    from promptpack.source import Cut

CHILD_SECONDS = 120
HEURISTIC = "chars/4"
MARKER = "\n...\n"  # stands for what `middle` leaves out
SEPARATOR = "\n\n---\n\n"

# The names say what is cut off, `Cut.keep` says what stays.
KEEP = {"tail": "start", "head": "end", "middle": "ends"}


def counter_name(options: Vector) -> str:
    """Return the library's name of the counter: without a tokenizer the encoding plays no part."""
    if options["counter"] == "heuristic":
        return HEURISTIC
    return str(options.get("encoding", options["counter"]))


def cut_of(strategy: str, min_tokens: int = 0) -> Cut:
    """Return the cut of a strategy; what is none of theirs becomes what is none of the library's either."""
    from promptpack.source import Cut

    keep: Any = KEEP.get(strategy, f"strategy {strategy}")
    return Cut(keep, min_tokens=min_tokens, at="token", marker=MARKER if strategy == "middle" else "")


def count_tokens(vector: Vector) -> Result:
    from promptpack import counter

    # an encoding's name, never a model's: what is unknown is refused
    return {"tokens": counter(counter_name(vector["options"]))(vector["input"]["text"])}


def truncate_to_tokens(vector: Vector) -> Result:
    from promptpack import counter
    from promptpack.packing import shorten

    given, options = vector["input"], vector["options"]
    count = counter(counter_name(options))
    text = shorten(
        given["text"], given["max_tokens"], cut_of(options.get("strategy", "tail")), count,
        prefix=count.prefix, suffix=count.suffix,
    )
    return {"text": text, "tokens": count(text), "source": given["text"]}


def _packed(vector: Vector) -> tuple[Packed, Callable[[str], int]]:
    from promptpack import Packing, Source, Window, counter, pack
    from promptpack.filepack import TextCost

    given, options = vector["input"], vector["options"]
    count = counter(counter_name(options))
    sources = [
        Source(
            item["id"], item["text"], priority=number(item.get("priority", 1.0)),
            cut=cut_of(item.get("truncate_strategy", "tail"), item.get("min_tokens", 40))
            if item.get("truncatable", True) else None,
        )
        for item in given["items"]
    ]
    # A packing knows the room alone; the plan of a window is what refuses a reserve below 0.
    reserve = Window(max(1, given["budget"]), answer=options.get("reserve_tokens", 0)).reserve
    packed = pack(
        sources, max(0, given["budget"] - reserve), cost=TextCost(count),
        packing=Packing(select="priority", place="best_first", dedup="off", tie="input"),
    )
    return packed, count


def pack_items(vector: Vector) -> Result:
    packed, count = _packed(vector)
    return {
        "items": [
            {
                "id": placed.source.id, "text": placed.text, "tokens": placed.cost,
                "priority": placed.source.priority, "truncated": placed.text != placed.source.text,
                "original_tokens": count(placed.source.text), "source": placed.source.text,
            }
            for placed in packed.sources
        ],
        "dropped_ids": [drop.source.id for drop in packed.dropped],
        "total_tokens": packed.used, "budget": packed.budget, "remaining_tokens": packed.left,
    }


def render(vector: Vector) -> Result:
    packed, count = _packed(vector)
    separator = vector["options"].get("separator", SEPARATOR)
    text = packed.render(separator)
    return {
        "text": text, "total_tokens": packed.used, "rendered_tokens": count(text), "budget": packed.budget,
        "overhead": packed.overhead(count, separator),
    }


def cli(vector: Vector) -> Result:
    """Run the command in a folder with the files; the result is what it printed and wrote."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in vector["input"]["files"].items():
            data = bytes.fromhex(content["hex"]) if isinstance(content, dict) else content.encode("utf-8")
            (folder / path).write_bytes(data)
        for path in vector["input"].get("directories", ()):
            (folder / path).mkdir()
        before = {path.name for path in folder.iterdir()}
        argv = [*vector["options"]["argv"], "--counter", counter_name(vector["options"])]
        done = subprocess.run(
            [sys.executable, "-m", "promptpack", "pack", *argv], cwd=folder, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=CHILD_SECONDS, check=False,
        )
        written = [path.read_bytes().decode("utf-8") for path in folder.iterdir() if path.name not in before]
    assert len(written) <= 1, "the command wrote more than one file"
    result: Result = {
        "exit_code": done.returncode, "stdout": done.stdout.decode("utf-8"), "stderr": done.stderr.decode("utf-8"),
    }
    return result | ({"output_file": written[0]} if written else {})


def whole_clusters(source: str, text: str) -> str:
    """Return a cut text without the pieces of grapheme clusters that the cuts left at its ends.

    No cut of the library falls inside a cluster. The reference cuts between code points, which leaves a part
    of a joined emoji and shows as another sign: `split-character`, though no U+FFFD tells it.
    """
    import regex

    edges = {0, *(match.end() for match in regex.finditer(r"\X", source))}
    head, marker, tail = text.partition(MARKER)
    if text in source:
        head, marker, tail = (text, "", "") if source.startswith(text) else ("", "", text)
    if not (source.startswith(head) and source.endswith(tail)):
        return text
    while len(head) not in edges:
        head = head[:-1]
    while len(source) - len(tail) not in edges:
        tail = tail[1:]
    return head + marker + tail


def same_text(result: Result, expected: Vector) -> bool:
    """Compare a cut text; where the reference cut a cluster, the text less the pieces of it is right."""
    whole = whole_clusters(result["source"], expected["text"])
    if whole == expected["text"]:
        return same(result, expected)
    return bool(result["text"] == whole and result["tokens"] <= expected["tokens"])


def same_packing(result: Result, expected: Vector) -> bool:
    """Compare packings: all of it, or up to the first item that the reference cut inside a cluster.

    What follows such an item has more room than it had there.
    """
    for at, (item, wanted) in enumerate(zip(result["items"], expected["items"], strict=False)):
        if item["id"] != wanted["id"]:
            break
        if whole_clusters(item["source"], wanted["text"]) != wanted["text"]:
            ids = [one["id"] for one in result["items"]] + result["dropped_ids"]
            return (
                same(result["items"][:at], expected["items"][:at]) and same_text(item, wanted)
                and sorted(ids) == sorted([one["id"] for one in expected["items"]] + expected["dropped_ids"])
                and result["total_tokens"] <= result["budget"] == expected["budget"]
            )
    return same(result, expected)


USED = re.compile(r"(-?\d+)/(-?\d+) tokens used \((\d+) included, (\d+) dropped\)")
KEPT = re.compile(r"^  \+ (.*): (\d+) tok( \(truncated\))?$", re.MULTILINE)
LEFT_OUT = re.compile(r"^  - (.*): dropped$", re.MULTILINE)


def facts(stats: str) -> Any:
    """Return what the lines of --stats say: the figures, the files kept with their tokens, those dropped."""
    return USED.findall(stats), KEPT.findall(stats), LEFT_OUT.findall(stats)


def same_run(result: Result, expected: Vector) -> bool:
    """Compare two runs of the command: success by output and facts; failure by the code and empty output."""
    if expected["exit_code"] != 0:
        return bool(result["exit_code"] != 0 and result["stdout"] == "" and result["stderr"] != "")
    wanted = {name: value for name, value in expected.items() if name in ("exit_code", "stdout", "output_file")}
    if not same(result, wanted) or ("output_file" in result) is not ("output_file" in expected):
        return False
    for stream in ("stdout", "stderr"):
        empty = expected.get(f"{stream}_empty")
        if empty is not None and (result[stream] == "") is not empty:
            return False
    if "stderr" not in expected:
        return True
    if expected["stderr"] == "":
        return bool(result["stderr"] == "")
    assert facts(expected["stderr"])[0], f"no figures in {expected['stderr']!r}"
    return bool(facts(result["stderr"]) == facts(expected["stderr"]))


CALLS: dict[str, Callable[[Vector], Any]] = {
    "count_tokens": count_tokens, "truncate_to_tokens": truncate_to_tokens, "pack": pack_items,
    "render": render, "cli": cli,
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "truncate_to_tokens": same_text, "pack": same_packing, "cli": same_run,
}
