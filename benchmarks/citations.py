"""The time to read, check and stream one megabyte of answer text, and how it grows for hostile text.

    python benchmarks/citations.py [--rounds N] [--markdown]

The answer is sentences of Python's reference pages in an order made with a fixed seed, with a citation behind two of
three, in paragraphs and lists. CPU time, the least of the rounds. For hostile text the time for 1 MB is divided by that
for 500 KB: linear work gives about 2.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable
from functools import partial
from pydoc_data import topics

from promptpack.citations import CitationStream, read_marks, verify_citations

SIZE = 1_000_000
LABELS = {f"S{number}": f"chunk#{number}" for number in range(1, 21)}
SENTENCE = re.compile(r"[^.!?]{20,300}[.!?](?=\s)")
HOSTILE = ("[", "[S1", "(S1,", "`", "<a b='", "](", "[S1-S100]", '"abcdefghijklm ')


def answer(seed: int = 7) -> str:
    rng = random.Random(seed)
    pool = [" ".join(one.split()) for page in topics.topics.values() for one in SENTENCE.findall(page)]
    pieces: list[str] = []
    length = 0
    while length < SIZE:
        sentence = rng.choice(pool)
        if rng.random() < 0.67:
            sentence = f"{sentence[:-1]} [S{rng.randint(1, 20)}]{sentence[-1]}"
        piece = rng.choice(("- ", "", "")) + sentence + rng.choice((" ", " ", "\n", "\n\n"))
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces)[:SIZE]


def seconds(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def streamed(text: str, size: int) -> None:
    stream = CitationStream(LABELS)
    for at in range(0, len(text), size):
        stream.feed(text[at:at + size])
    stream.close()


def rows(rounds: int) -> list[tuple[str, str]]:
    text = answer()
    texts = dict.fromkeys(LABELS, text[:5_000])
    result = verify_citations(text, LABELS)
    works: dict[str, Callable[[], object]] = {
        "parse": lambda: read_marks(text, LABELS),
        "parse and verify": lambda: verify_citations(text, LABELS),
        "the same with min_support": lambda: verify_citations(text, LABELS, texts=texts, min_support=0.5),
        "strip": result.strip,
        "link": lambda: result.link(dict.fromkeys(LABELS, "https://a.example")),
        "stream in pieces of 20 characters": lambda: streamed(text, 20),
    }
    found = [(name, f"{1_000 * seconds(work, rounds):.0f} ms") for name, work in works.items()]
    for unit in HOSTILE:
        half, whole = (
            seconds(partial(verify_citations, unit * (length // len(unit)), LABELS), rounds)
            for length in (SIZE // 2, SIZE)
        )
        found.append((f"1 MB of `{unit}`", f"{1_000 * whole:.0f} ms, ratio {whole / half:.1f}"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    found = rows(options.rounds)
    if options.markdown:
        print("| what, for 1 MB of answer text | CPU time |\n| --- | ---: |")
    for name, value in found:
        print(f"| {name} | {value} |" if options.markdown else f"{name:<40}{value}")


if __name__ == "__main__":
    main()
