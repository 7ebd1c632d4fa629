"""Everything that docs/position.md tells of the small model, measured anew by one command; an end loses nothing.

    python benchmarks/smollm.py setup FOLDER                 # once
    python benchmarks/smollm_measure.py FOLDER DATA          # about half an hour on two cores that are free

DATA holds the question sets (see smollm_questions.py). It serves the model, measures the curve, compares placements on
other questions, asks some questions in other forms, and writes examples/curves and the tables of docs/position.md. The
answers stand in journals in FOLDER: run it again and it asks only for what is missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smollm_figures import CURVES, FEWER, FORMS, NAME, ROOT

MODEL = "SmolLM2-135M-Instruct"
SET = "xquad-en"
QUESTIONS = 100
ORDERS = """\
[fold]
packing = { select = "top", dedup = "off" }
[best_first]
packing = { select = "top", dedup = "off", place = "best_first" }
[best_last]
packing = { select = "top", dedup = "off", place = "best_last" }
[curve]
packing = { select = "top", dedup = "off", place = "curve:curve.json" }
"""


@contextmanager
def served(folder: Path, port: int, engines: int) -> Iterator[str]:
    """Run the endpoint while something is asked of it."""
    python = folder / "venv" / "bin" / "python"
    command = [str(python), str(ROOT / "benchmarks" / "smollm.py"), "serve", str(folder), "--port", str(port)]
    log = (folder / "serve.log").open("w", encoding="utf-8")
    with log, subprocess.Popen([*command, "--engines", str(engines)], stdout=subprocess.PIPE, stderr=log) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():  # it says so when it is ready
                sys.exit(f"{folder}: the endpoint did not start, see serve.log; was `smollm.py setup` run?")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def questions(folder: Path, data: Path, kind: str) -> Path:
    path = folder / f"{kind}.jsonl"
    made = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/smollm_questions.py"), str(data), SET, kind, str(QUESTIONS)],
        check=True, stdout=subprocess.PIPE,
    )
    path.write_bytes(made.stdout)
    return path


def calibrate(rows: Path, url: str, journal: str, figures: str, *given: str) -> None:
    kept = rows.parent / f"{journal}.probes.jsonl"
    print(f"== {journal}", flush=True)
    subprocess.run(
        [sys.executable, "-m", "promptpack", "calibrate", str(rows), "--base-url", url, "--model", MODEL, "-y",
         "--measure", "loglik", "--window", "2048", "--journal", str(kept), "--resume",
         "--figures", str(CURVES / "measured" / f"{NAME}{figures}.json"), *given],
        check=True, cwd=ROOT,
    )


def rank(row: dict[str, list[dict[str, str]]]) -> int:
    return 1 + [one["id"] for one in row["sources"]].index(str(row["relevant"][0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--engines", type=int, default=2)
    options = parser.parse_args()
    folder = options.folder.resolve()
    (CURVES / "measured").mkdir(exist_ok=True)
    fit, compare = (questions(folder, options.data, kind) for kind in ("fit", "compare"))
    held = [json.loads(line) for line in compare.read_text(encoding="utf-8").splitlines()]
    ranks = json.dumps({row["id"]: rank(row) for row in held}, indent=0)
    (CURVES / "measured" / f"{NAME}.ranks.json").write_text(ranks + "\n", encoding="utf-8")
    (folder / "orders.toml").write_text(ORDERS, encoding="utf-8")
    both = ("--concurrency", str(options.engines))
    chat = ("--chat-template", "chatml", *both)
    with served(folder, options.port, options.engines) as url:
        calibrate(fit, url, "fit", "", *chat, "--positions", "9", "--out", str(folder / "curve.json"))
        calibrate(compare, url, "compare", ".compare", *chat, "--compare", str(folder / "orders.toml"))
        for name, form in FORMS.items():
            (folder / f"{name}.jinja").write_text(form.template, encoding="utf-8")
            calibrate(
                fit, url, name, f".{name}", *both, "--positions", "3", "--questions", str(FEWER),
                "--template", form.prompt, "--chat-template", str(folder / f"{name}.jinja"),
                "--out", str(folder / f"{name}.json"),
            )
    subprocess.run([sys.executable, str(ROOT / "benchmarks/smollm_figures.py"), "--write"], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
