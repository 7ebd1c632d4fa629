"""Many prompts: rows a CPU second, scaling, and memory of the engines, against a plain loop.

    python benchmarks/batch.py [--rows 20000] [--data FOLDER] [--only loop,1,2,ray] [--repeat 1] [--short 100000]

A row is a real question with 50 chunks of about 210 tokens. With --data (a folder with `*.questions.jsonl.gz`, key q,
and `*.docs.jsonl.gz`, key text; or one with such a folder `data`) questions and texts are those of public data sets;
without it they are sentences of Python's reference pages. Each run is a process of its own, and the output of each
engine has to be that of the first. CPU seconds are those of its whole tree; "start" are those of a run of 4 rows, and
rows per CPU second are counted beyond it where a target says so. Peak memory is the largest sum of the proportional
set sizes (PSS) of the tree and of its files in memory, looked at twice a second, in the first and in the second half of
the run. It should not depend on how many rows there are: that is looked at on many short ones (4 chunks of some 30
tokens), which soon fill what a worker remembers. --repeat takes the middle of several runs of each engine, in turns.
"""

from __future__ import annotations

import argparse
import filecmp
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
from itertools import islice
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
        made = {{"id": row["id"], "custom_id": row["id"], **payload.to_dict()}}
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
    if not questions or not texts:
        raise SystemExit(f"{folder}: there are no questions or documents in it")
    return questions, texts


def strings(path: Path, keys: tuple[str, ...]) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield next((row[key] for key in keys if isinstance(row.get(key), str)), "")


def write_rows(
    path: Path, rows: int, folder: Path | None, *, chunks: int = CHUNKS, characters: int = CHARACTERS
) -> None:
    rng = random.Random(7)
    questions, pool = sentences(folder)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            sources = []
            for chunk in range(chunks):
                text: list[str] = []
                length = 0
                while length < characters:
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


def in_memory(pids: list[int]) -> float:
    """Kilobytes of the files in memory that processes have open and do not map, which no set size counts."""
    held: dict[int, int] = {}
    for pid in pids:
        try:
            for one in Path(f"/proc/{pid}/fd").iterdir():
                if str(one.readlink()).startswith("/memfd:promptpack"):
                    held[one.stat().st_ino] = one.stat().st_blocks
        except OSError:
            continue
    return sum(held.values()) * 512 / 1024


def measure(command: list[str]) -> tuple[float, float, float, float]:
    """Run a command: CPU seconds, wall seconds, peak MB in the first half and in the second."""
    ticks = os.sysconf("SC_CLK_TCK")
    start = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    cpu: dict[int, float] = {}
    sizes: list[tuple[float, float]] = []
    over = threading.Event()

    def watch() -> None:
        turn = 0
        while not over.wait(0.1):
            pids = tree(process.pid)
            size = in_memory(pids) if turn % 5 == 0 else 0.0
            for pid in pids:
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    cpu[pid] = (int(fields[11]) + int(fields[12])) / ticks
                    if turn % 5 == 0:  # it costs the kernel some time
                        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                            if line.startswith("Pss:"):
                                size += int(line.split()[1])
                except (OSError, IndexError):
                    continue
            if turn % 5 == 0:
                sizes.append((time.monotonic(), size / 1000))
            turn += 1

    thread = threading.Thread(target=watch)
    thread.start()
    code = process.wait()
    over.set()
    thread.join()
    assert code == 0, f"{command}: exit code {code}"
    middle = (start + time.monotonic()) / 2
    first, second = ([size for at, size in sizes if (at < middle) is early] or [0.0] for early in (True, False))
    return sum(cpu.values()), time.monotonic() - start, max(first), max(second)


def command_of(what: str, source: Path, target: Path) -> list[str]:
    """How an engine is run: the plain loop, n workers, or Ray with as many processes as there are processors."""
    if what == "loop":
        return [sys.executable, "-c", LOOP.format(window=WINDOW), str(source), str(target)]
    engine = ["--engine", "ray"] if what == "ray" else ["-j", what]
    return [sys.executable, "-m", "promptpack", "batch", str(source), str(target), "-w", str(WINDOW), "-q", *engine]


def middle(runs: list[tuple[float, float, float, float]]) -> tuple[float, float, float, float]:
    found = [sorted(each)[len(runs) // 2] for each in zip(*runs, strict=True)]
    return found[0], found[1], found[2], found[3]


def targets(
    rows: int, starts: dict[str, float], found: dict[str, tuple[float, float, float, float]],
    short: dict[str, tuple[float, float, float, float]], many: int,
) -> Iterator[str]:
    """What is asked of the engines, as far as they were run. short: what they took for `many` short rows."""
    if {"loop", "1"} <= set(found):
        yield f"1 worker, rows per CPU second of the plain loop: {found['loop'][0] / found['1'][0]:.3f} (0.9 or more)"
    if {"1", "2"} <= set(found):
        yield f"2 workers, times the speed of 1: {found['1'][1] / found['2'][1]:.3f} (1.7 or more, on two free cores)"
    for what in ("1", "2"):
        if what in found:
            name = f"{what} worker{'s' * (what != '1')}"
            yield f"peak memory with {name}: {max(found[what][2:]):.0f} MB (below 600)"
            if what in short:
                _, _, first, second = short[what]
                yield (f"peak memory with {name}, {many:,} short rows: {first:.0f} MB, and {second:.0f} MB in the "
                       f"second half, {second / first:.2f} times as much (1.05 or less: flat in the number of rows)")
    if {"2", "ray"} <= set(found):
        local, ray = (found[one][0] - starts[one] for one in ("2", "ray"))
        yield f"Ray, CPU of the local engine beyond the starts: {ray / local:.2f} (1.1 or less)"
        more = (starts["ray"] - starts["2"]) / (local / rows)
        yield f"Ray's start costs {starts['ray'] - starts['2']:.1f} CPU seconds more: the work of {more:,.0f} rows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="loop,1,2,ray")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--short", type=int, default=100_000, help="look at memory over so many short rows; 0: do not")
    given = parser.parse_args()
    engines = given.only.split(",")
    folder = given.data / "data" if given.data and (given.data / "data").is_dir() else given.data
    with tempfile.TemporaryDirectory() as name:
        source, few, many = (Path(name) / f"{one}.jsonl" for one in ("in", "few", "many"))
        write_rows(source, given.rows, folder)
        write_rows(many, given.short, folder, chunks=4, characters=100)
        with source.open("rb") as file, few.open("wb") as some:
            some.writelines(islice(file, 4))
        starts = {}
        for what in engines:
            apart = ["--shard-size", "1"] if what == "ray" else []  # a task for each row, so that all processes start
            starts[what] = measure([*command_of(what, few, Path(name) / f"few-{what}.jsonl"), *apart])[0]
        runs: dict[str, list[tuple[float, float, float, float]]] = {what: [] for what in engines}
        for _ in range(given.repeat):
            for what in engines:
                target = Path(name) / f"out-{what}.jsonl"
                runs[what].append(measure(command_of(what, source, target)))
                sys.stderr.write(f"{what}: {runs[what][-1][0]:.1f} CPU seconds\n")
                first = Path(name) / f"out-{engines[0]}.jsonl"
                assert what == engines[0] or filecmp.cmp(first, target, shallow=False), f"{what}: another output"
        found = {what: middle(each) for what, each in runs.items()}
        short = {what: measure(command_of(what, many, Path(name) / f"many-{what}.jsonl"))
                 for what in engines if what in ("1", "2") and given.short}
        print(f"{given.rows:,} rows of {CHUNKS} chunks, {source.stat().st_size / 1e6:,.0f} MB of input\n")
        print("| engine | CPU s | of it start | rows per CPU s | wall s | peak MB, first and second half |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        titles = {"loop": "plain loop", "1": "1 worker", "ray": "Ray, a task for each shard"}
        for what, (cpu, wall, early, late) in found.items():
            print(f"| {titles.get(what, f'{what} workers')} | {cpu:.1f} | {starts[what]:.1f} | {given.rows / cpu:.0f} "
                  f"| {wall:.1f} | {early:.0f}, {late:.0f} |")
        print()
        for line in targets(given.rows, starts, found, short, given.short):
            print(f"* {line}")


if __name__ == "__main__":
    main()
