"""Questions for `promptpack calibrate` from a set of questions with the places of their answers.

    python benchmarks/smollm_questions.py DATA SET fit 100 > fit.jsonl          # a needed passage and 8 others
    python benchmarks/smollm_questions.py DATA SET compare 100 > compare.jsonl  # 9 passages as a retriever ranks them

DATA holds SET.docs.jsonl.gz and SET.questions.jsonl.gz (their form is described in the README of that folder). Passages
are runs of sentences of about 95 tokens. The others of a question are those that share most with it, weighted by
rarity, without one that holds its answer or stands in the same paragraph. Questions of `fit` and `compare` differ:
both walk through the set in strides, so that every document has its share.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from promptpack import count_tokens
from promptpack.calibration.questions import holds
from promptpack.evaluation.answers import STOP_WORDS, words
from promptpack.packing.sentences import spans as sentence_spans

SIZE = 95       # tokens of a passage, about
PASSAGES = 9


class Passage(NamedTuple):
    doc: str
    paragraph: int
    start: int
    end: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.doc}#{self.start}-{self.end}"


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def cut(doc: dict[str, Any]) -> list[Passage]:
    """Cut a document into runs of sentences of one paragraph, as even as its size allows."""
    found = []
    start = 0
    for number, paragraph in enumerate(doc["text"].split("\n\n")):
        spans = [(a, b) for a, b in sentence_spans(paragraph) if paragraph[a:b].strip()]
        sizes = [count_tokens(paragraph[a:b], "o200k_base") for a, b in spans]
        share = sum(sizes) / max(1, round(sum(sizes) / SIZE))
        taken = done = 0
        first = 0
        for at, size in enumerate(sizes):
            taken += size
            done += size
            if taken >= share - size / 2 or at == len(sizes) - 1:
                a, b = spans[first][0], spans[at][1]
                text = paragraph[a:b].strip()
                found.append(Passage(doc["id"], number, start + a, start + b, text))
                first, taken = at + 1, 0
        start += len(paragraph) + 2
    return found


class Index:
    """Passages by what they share with a question: BM25 (k1 = 1.2, b = 0.75)."""

    def __init__(self, passages: list[Passage]) -> None:
        self.passages = passages
        self.counts = [Counter(words(one.text)) for one in passages]
        self.sizes = [sum(one.values()) for one in self.counts]
        self.mean = sum(self.sizes) / len(self.sizes)
        held = Counter(word for one in self.counts for word in one)
        self.rarity = {word: log(1 + (len(passages) - n + 0.5) / (n + 0.5)) for word, n in held.items()}

    def ranked(self, question: str) -> list[tuple[float, Passage]]:
        asked = [word for word in words(question) if word not in STOP_WORDS]
        scores = []
        for count, size in zip(self.counts, self.sizes, strict=True):
            norm = 1.2 * (0.25 + 0.75 * size / self.mean)
            scores.append(sum(self.rarity[w] * count[w] * 2.2 / (count[w] + norm) for w in asked if w in count))
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
        return [(scores[at], self.passages[at]) for at in order]


def shown(passage: Passage, score: float | None = None) -> dict[str, Any]:
    held: dict[str, Any] = {"id": passage.name, "text": passage.text}
    return held if score is None else {**held, "score": round(score, 4)}


def main(folder: Path, name: str, kind: str, count: int) -> None:
    index = Index([one for doc in rows(folder, f"{name}.docs") for one in cut(doc)])
    questions = rows(folder, f"{name}.questions")
    # Odd questions fit, even ones compare; in both, every seventh of those in turn.
    own = questions[1::2] if kind == "fit" else questions[0::2]
    made = 0
    seen: set[str] = set()  # a passage is asked about once, so that questions stand for themselves
    for question in (one for offset in range(7) for one in own[offset::7]):
        alternatives = [tuple(one) for need in question["needs"] for one in need]
        needed = [
            one for one in index.passages
            if any(doc == one.doc and one.start <= a and b <= one.end for doc, a, b in alternatives)
        ]
        if len(question["needs"]) != 1 or len(needed) != 1 or needed[0].name in seen:
            continue
        ranked = index.ranked(question["q"])
        row: dict[str, Any] = {"id": question["id"], "question": question["q"], "answers": question["answers"][:1]}
        if kind == "fit":
            others = [
                one for _, one in ranked
                if not holds(one.text, question["answers"]) and (one.doc, one.paragraph) != needed[0][:2]
            ]
            row |= {"passage": shown(needed[0]), "distractors": [shown(one) for one in others[:PASSAGES - 1]]}
        else:
            top = ranked[:PASSAGES]
            if needed[0] not in [one for _, one in top]:
                continue
            row |= {"sources": [shown(one, score) for score, one in top], "relevant": [needed[0].name]}
        seen.add(needed[0].name)
        print(json.dumps(row, ensure_ascii=False))
        made += 1
        if made == count:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
