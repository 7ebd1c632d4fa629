"""The time of `render()` as a ratio to one plain `encode_ordinary` pass over the same candidate texts.

    python benchmarks/build.py [--rounds N] [--sizes 50,500,5000] [--markdown]

Candidates are texts of about 200 tokens, sentences of Python's reference pages in new orders, with title, section and
date, made with a fixed seed; each round makes new ones, so the first render of a round has never counted them (cold);
the second renders the same again (warm). CPU time, all in one process, interleaved, the median over the rounds;
small requests are timed several together, each with texts of its own.
Building the `Source` objects and loading the vocabulary are not part of it.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import random
import re
import statistics
import time
from pydoc_data import topics

from promptpack import PromptBuilder, Source
from promptpack.tokens import counter
from promptpack.tokens.vocabulary import encoding

CASES = {50: 8_192, 500: 131_072, 5_000: 1_000_000}
SENTENCE = re.compile(r"[^.!?]{20,300}[.!?](?=\s)")


def sentences() -> list[str]:
    """Real sentences, on every machine: the reference pages that come with Python."""
    return [" ".join(one.split()) for page in topics.topics.values() for one in SENTENCE.findall(page)]


def text(rng: random.Random, pool: list[str], characters: int = 850) -> str:
    """About 200 tokens of sentences in an order that no other call gives."""
    out: list[str] = []
    while sum(len(one) + 1 for one in out) < characters:
        out.append(rng.choice(pool))
    return " ".join(out)


def candidates(n: int, seed: int) -> list[Source]:
    rng, pool = random.Random(seed), sentences()
    return [
        Source(
            f"kb/article-{rng.randrange(10**6):06d}#{i}", text(rng, pool), round(rng.random(), 6),
            document=f"article-{i // 8}",
            updated=f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
            metadata={"title": f"Article {i // 8} of the handbook", "section": f"Part {i % 8}"},
        )
        for i in range(n)
    ]


def clock(work) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(n: int, window: int, rounds: int, fast: bool) -> tuple[float, float, float, int]:
    """(plain pass in ms, cold ratio, warm ratio, sources sent): medians over the rounds."""
    count = counter("o200k_base", fast=fast)
    encode = encoding("o200k_base").encode_ordinary
    plain, cold, warm, sent = [], [], [], 0
    many = max(1, 500 // n)  # requests that are timed together, so that what is measured is long enough
    for round_ in range(rounds + 1):
        requests = [candidates(n, 1000 * n + many * round_ + one) for one in range(many)]
        builders = [
            PromptBuilder(window, counter=count).add_sources(sources).with_question("What is the rule, and since when?")
            for sources in requests
        ]

        def pass_over(requests: list[list[Source]] = requests) -> None:
            for sources in requests:
                for one in sources:
                    encode(one.text)

        def render(builders: list[PromptBuilder] = builders) -> None:
            for one in builders:
                one.render()

        if round_ % 2:  # who goes first finds the texts cold in the machine's caches, so they take turns
            a, b = clock(pass_over), clock(render)
        else:
            b, a = clock(render), clock(pass_over)
        c = clock(render)
        if round_:  # the first round warms up code paths
            plain.append(a)
            cold.append(b / a)
            warm.append(c / a)
        sent = len(builders[-1].render().sources)
    return statistics.median(plain) * 1000 / many, statistics.median(cold), statistics.median(warm), sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", default="50,500,5000")
    args = parser.parse_args()
    has_fast = importlib.util.find_spec("toktok") is not None
    extra = " cold, `fast` | warm, `fast` |" if has_fast else ""
    print("| candidates | window | sent | plain pass | cold | warm |" + extra)
    print("| ---: | ---: | ---: | ---: | ---: | ---: |" + (" ---: | ---: |" if has_fast else ""))
    for size in (int(one) for one in args.sizes.split(",")):
        rounds = max(5, args.rounds if size <= 500 else args.rounds // 3)
        plain, cold, warm, sent = measure(size, CASES[size], rounds, fast=False)
        row = f"| {size:,} | {CASES[size]:,} | {sent:,} | {plain:.1f} ms | {cold:.2f} | {warm:.2f} |"
        if has_fast:
            _, cold, warm, _ = measure(size, CASES[size], rounds, fast=True)
            row += f" {cold:.2f} | {warm:.2f} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
