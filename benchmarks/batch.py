"""Many prompts: rows a CPU second, scaling, and memory of the local engine, against a plain loop.

    python benchmarks/batch.py [--rows 20000] [--data FOLDER] [--only loop,0,1,2]

A row is a real question with 50 chunks of about 210 tokens. With --data (a folder with `*.questions.jsonl.gz`, key q,
and `*.docs.jsonl.gz`, key text) questions and texts are those of public data sets; without it they are sentences of
Python's reference pages. Each run is a process of its own; CPU seconds are those of its whole tree, peak memory the
largest sum of the proportional set sizes (PSS) of the tree, looked at every quarter of a second.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

CHUNKS, CHARACTERS, WINDOW = 50, 850, 8192
LOOP = '''
import json, sys
from promptpack.builder import PromptBuilder
builder = PromptBuilder({window})
with open(sys.argv[1], encoding="utf-8") as rows, open(sys.argv[2], "w", encoding="utf-8") as out:
    for line in rows:
        row = json.loads(line)
        payload = builder.with_question(row["question"]).add_sources(row["sources"]).render()
        made = {{"id": row["id"], **payload.to_dict()}}
        out.write(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\\n")
'''


def sentences(folder: Path | None) -> tuple[list[str], list[str]]:
    """Questions, and sentences that chunks are made of."""
    if folder is None:
        from pydoc_data import topics

        found = [" ".join(one.split()) for page in topics.topics.values()
                 for one in re.findall(r"[^.!?]{20,300}[.!?](?=\s)", page)]
        return [f"What is meant by: {one[:60]}?" for one in found], found
    questions: list[str] = []
    texts: list[str] = []
    for path in sorted(folder.glob("*.questions.jsonl.gz")):
        questions += [text for text in strings(path, ("q", "question")) if text]
    for path in sorted(folder.glob("*.docs.jsonl.gz")):
        for text in strings(path, ("text",)):
            texts += [" ".join(one.split()) for one in re.findall(r"[^.!?]{20,300}[.!?](?=\s)", text)]
            if len(texts) > 200_000:
                return questions, texts
    return questions, texts


def strings(path: Path, keys: tuple[str, ...]) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield next((row[key] for key in keys if isinstance(row.get(key), str)), "")


def write_rows(path: Path, rows: int, folder: Path | None) -> None:
    rng = random.Random(7)
    questions, pool = sentences(folder)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            sources = []
            for chunk in range(CHUNKS):
                text: list[str] = []
                length = 0
                while length < CHARACTERS:
                    text.append(rng.choice(pool))
                    length += len(text[-1]) + 1
                sources.append({"id": f"d{number}#{chunk}", "text": " ".join(text), "score": round(rng.random(), 6),
                                "metadata": {"title": f"Article {rng.randrange(10**6)}"}})
            row = {"id": f"q{number}", "question": rng.choice(questions), "sources": sources}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def tree(pid: int) -> list[int]:
    """The process and all below it."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            below.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += below.get(one, [])
    return found


def measure(command: list[str]) -> tuple[float, float, float, int]:
    """Run a command: CPU seconds, wall seconds, peak MB, exit code."""
    ticks = os.sysconf("SC_CLK_TCK")
    start = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    peak, cpu, over = 0.0, {}, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.25):
            size = 0
            for pid in tree(process.pid):
                try:
                    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                        if line.startswith("Pss:"):
                            size += int(line.split()[1])
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    cpu[pid] = (int(fields[11]) + int(fields[12])) / ticks
                except (OSError, IndexError):
                    continue
            peak = max(peak, size / 1000)

    thread = threading.Thread(target=watch)
    thread.start()
    code = process.wait()
    over.set()
    thread.join()
    return sum(cpu.values()), time.monotonic() - start, peak, code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="loop,1,2")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "in.jsonl", arguments.rows, arguments.data)
        size = (folder / "in.jsonl").stat().st_size / 1e6
        rows = []
        for what in arguments.only.split(","):
            if what == "loop":
                command = [sys.executable, "-c", LOOP.format(window=WINDOW), str(folder / "in.jsonl"),
                           str(folder / "loop.jsonl")]
            else:
                command = [sys.executable, "-m", "promptpack", "batch", str(folder / "in.jsonl"),
                           str(folder / f"out{what}.jsonl"), "-j", what, "-w", str(WINDOW), "-q"]
            cpu, wall, peak, code = measure(command)
            assert code == 0, f"{what}: exit code {code}"
            rows.append((what, cpu, wall, peak))
        first = rows[0][1]
        print(f"{arguments.rows:,} rows of {CHUNKS} chunks, {size:,.0f} MB of input\n")
        print("| engine | CPU s | rows per CPU s | of the first | wall s | peak MB |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for what, cpu, wall, peak in rows:
            title = "plain loop" if what == "loop" else f"{what} workers" if what != "1" else "1 worker"
            print(f"| {title} | {cpu:.1f} | {arguments.rows / cpu:.0f} | {first / cpu:.2f} | {wall:.1f} | {peak:.0f} |")


if __name__ == "__main__":
    main()
