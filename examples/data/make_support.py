"""Cut the example articles into the chunks of support.jsonl, as a retriever would return them.

Usage: python examples/data/make_support.py [--check]

Each file in articles/ opens with a header (document, title, url, updated, size, scores), a blank line,
and then the text of the document in sections that start with "## ". `size` is the greatest number of
words in a chunk, or `whole` for one chunk a section; neighbouring chunks of a section share one
sentence. `scores` gives one score a chunk, in order: what an embedding model might say for the question
"How long do I have to return a lamp, and when do I get my money back?". The scores are made up.

`start` and `end` are character offsets into the text after the header, so that
`document_text[start:end] == chunk["text"]` holds for every chunk. Output order is by score, best first,
then by id. With --check nothing is written; the exit status is 1 where support.jsonl differs.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECTION = re.compile(r"^## (.+)\n", re.M)
SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s)|。|\Z)", re.S)

Span = tuple[int, int]


def read_article(path: Path) -> tuple[dict[str, str], str]:
    """Return the header fields and the document's text."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return fields, body


def sections(body: str) -> list[tuple[str, Span]]:
    """Return each section's heading with the span of its text, outer white space left out."""
    marks = list(SECTION.finditer(body))
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        text = body[mark.end():end]
        start = mark.end() + len(text) - len(text.lstrip())
        found.append((mark.group(1), (start, start + len(text.strip()))))
    return found


def cut(body: str, span: Span, size: str) -> list[Span]:
    """Cut one section into spans of whole sentences; each span repeats the last sentence before it."""
    if size == "whole":
        return [span]
    sentences = [m.span() for m in SENTENCE.finditer(body, *span)]
    spans: list[Span] = []
    first, words = 0, 0
    for i, (start, end) in enumerate(sentences):
        count = len(body[start:end].split())
        if words and words + count > int(size):
            spans.append((sentences[first][0], sentences[i - 1][1]))
            first = i - 1
            words = len(body[slice(*sentences[first])].split())
        words += count
    spans.append((sentences[first][0], sentences[-1][1]))
    return spans


def chunks() -> list[dict[str, Any]]:
    """Return every chunk of every article, best score first."""
    found = []
    for path in sorted((HERE / "articles").glob("*.txt")):
        fields, body = read_article(path)
        spans = [(name, s) for name, span in sections(body) for s in cut(body, span, fields["size"])]
        scores = [float(score) for score in fields["scores"].split()]
        if len(scores) != len(spans):
            raise SystemExit(f"{path.name}: {len(spans)} chunks but {len(scores)} scores")
        for number, ((name, (start, end)), score) in enumerate(zip(spans, scores, strict=True), 1):
            found.append({
                "id": f"{fields['document']}#{number}",
                "text": body[start:end],
                "score": score,
                "document": fields["document"],
                "position": number,
                "updated": fields["updated"],
                "start": start,
                "end": end,
                "metadata": {"title": fields["title"], "section": name, "url": fields["url"]},
            })
    return sorted(found, key=lambda chunk: (-chunk["score"], chunk["id"]))


def main(arguments: list[str]) -> int:
    """Write support.jsonl, or compare it with what would be written."""
    lines = "".join(json.dumps(chunk, ensure_ascii=False) + "\n" for chunk in chunks())
    target = HERE / "support.jsonl"
    if "--check" in arguments:
        same = target.is_file() and target.read_bytes() == lines.encode()
        print("support.jsonl is up to date" if same else "support.jsonl differs from the articles")
        return 0 if same else 1
    target.write_bytes(lines.encode())
    print(f"{target.name}: {lines.count(chr(10))} chunks")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
