"""The calls of the cases: each turns the input of a case into calls of the library, with their outcomes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import case_adapters
import case_stages
import case_verify
from case_build import Given, Outcome, Run, attempt, build, builder

if TYPE_CHECKING:
    from promptpack import Payload

HERE = Path(__file__).parent
SHIPPED_COUNTERS = ("o200k_base", "cl100k_base", "estimate", "words", "chars", "chars/4")
CHILD_SECONDS = 120


def one_build(given: Given) -> Run:
    return Run(given, (attempt(given, build),))


def build_each(given: Given) -> Run:
    entries = [{**given, **entry} for entry in given["each"]]
    return Run(given, tuple(attempt(entry, build) for entry in entries))


STEP = re.compile(
    r"(?P<name>\w+): window (?P<window>[\w +-]+?)(?:; let T = count\(payload (?P<let>\w+)\))?\Z"
)


def build_steps(given: Given) -> Run:
    """Build once a step; "A: window 5000; let T = count(payload A)" names a size for the steps after it."""
    outcomes: dict[str, Outcome] = {}
    size = 0
    for step in given["steps"]:
        found = STEP.match(step)
        if found is None:
            raise ValueError(f"cannot read the step {step!r}")
        window = 0
        for sign, part in _terms(found["window"]):
            window += sign * (size if part == "T" else int(part))
        outcomes[found["name"]] = attempt({**given, "window": window}, build)
        if found["let"]:
            size = outcomes[found["let"]].payload.tokens
    return Run(given, tuple(outcomes.values()), tuple(outcomes))


def _terms(text: str) -> list[tuple[int, str]]:
    """Read "T + 300" as its terms with their signs."""
    return [(-1 if sign == "-" else 1, part) for sign, part in re.findall(r"([+-]?)\s*(\w+)", text)]


def build_in_processes(given: Given) -> Run:
    """Build in one new process for each hash seed; the outcome is the SHA-256 of the payload."""
    import promptpack

    package = Path(promptpack.__file__).resolve().parent.parent
    path = os.pathsep.join([str(package), str(HERE)])

    def child(values: Given) -> str:
        run = subprocess.run(
            [sys.executable, str(HERE / "case_child.py")],
            input=json.dumps(values), capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": values["seed"], "PYTHONPATH": path},
            encoding="utf-8", timeout=CHILD_SECONDS, check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    return Run(given, tuple(attempt({**given, "seed": seed}, child) for seed in given["hash_seeds"]))


def every_counter() -> tuple[str, ...]:
    """Return the counters that ship, and those of the extras that are installed."""
    from promptpack import TokenizerError, count_tokens
    from promptpack.tokens import counter_names

    found = list(SHIPPED_COUNTERS)
    for name in counter_names():
        if name in SHIPPED_COUNTERS:
            continue
        try:
            count_tokens("Is this extra installed?", name)
        except TokenizerError:
            continue
        found.append(name)
    return tuple(found)


COUNTER_SETS: dict[str, Callable[[], tuple[str, ...]]] = {
    "every counter the library ships": every_counter,
    "the fallback estimator used when no exact tokenizer is available": lambda: ("estimate",),
}


def count_each(given: Given) -> Run:
    """Count every text with every counter or model named."""
    from promptpack import count_tokens

    if "models" in given:
        names = tuple(given["models"])
    else:
        named = given["counters"]
        names = COUNTER_SETS[named]() if isinstance(named, str) else tuple(named)
    entries = [{**given, "counter": name, "text": text} for name in names for text in given["texts"]]


    def count(one: Given) -> Any:
        return count_tokens(one["text"], one["counter"])

    return Run(given, tuple(attempt(one, count) for one in entries))


def session(given: Given) -> Run:
    """Build every turn with the labels of the one before, then verify an answer in the turn named."""
    from promptpack import Labels

    shared = {key: value for key, value in given.items() if key not in ("turns", "then")}
    outcomes: list[Outcome] = []
    labels = Labels()

    def ask(one: Given) -> Payload:
        return builder(one).with_labels(labels).render()

    for turn in given["turns"]:
        outcomes.append(attempt({**shared, **turn}, ask))
        labels = outcomes[-1].payload.carry_labels()
    answer = None
    given_labels: dict[str, str] = {}
    if "then" in given:
        payload = outcomes[given["then"]["verify_in_turn"] - 1].payload
        text, given_labels = fill_labels(given["then"]["answer"], outcomes)
        answer = attempt({**given["then"], "answer": text}, lambda one: payload.verify(one["answer"]))
    return Run(given, tuple(outcomes), answer=answer, notes=given_labels)


def fill_labels(text: str, outcomes: list[Outcome]) -> tuple[str, dict[str, str]]:
    """Replace "{label of a}" by the label that the chunk a has in the conversation; also return the map."""
    found: dict[str, str] = {}
    for outcome in outcomes:
        for label, ids in outcome.payload.labels.items():
            found |= {f"{{label of {id_}}}": label for id_ in ids}
    return re.sub(r"\{label of [^}]*\}", lambda match: found[match.group()], text), found


def build_then_verify(given: Given) -> Run:
    built = attempt(given, build)
    return Run(given, (built,), answer=attempt(given, lambda one: built.payload.verify(one["answer"])))


def render_with_each_template(given: Given) -> Run:
    from promptpack.templates import template_names

    if given["templates"] != "every template the library ships":
        raise ValueError(f"unknown templates {given['templates']!r}")
    entries = [{**given, "template": name} for name in template_names()]


    def render(one: Given) -> Payload:
        return build(one, template=one["template"])

    return Run(given, tuple(attempt(one, render) for one in entries))


def command(given: Given) -> Run:
    """Run `promptpack render` on a file of exactly these bytes."""

    def run(values: Given) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "sources.jsonl"
            file.write_bytes(values["file_bytes_utf8"].encode("utf-8"))
            done = subprocess.run(
                [
                    sys.executable, "-m", "promptpack", "render", str(file),
                    "--question", values["question"], "--window", str(values["window"]),
                    "--answer", str(values["reserve"]), "--counter", "words",
                ],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=CHILD_SECONDS, check=False,
            )
        streams = {"stdout": done.stdout.decode("utf-8"), "stderr": done.stderr.decode("utf-8")}
        return {"exit": done.returncode, **streams}

    return Run(given, (attempt(given, run),))


def flagged(name: str) -> bool:
    """Whether a payload counted for this model says that its count is an estimate, and names the model."""
    from promptpack import PromptBuilder

    payload = PromptBuilder(window=4096, model=name).with_question("How many tokens?").render()
    return not payload.budget.exact and not payload.report.exact and payload.report.model == name


CALLS: dict[str, Callable[[Given], Run]] = {
    "build": one_build,
    "build_each": build_each,
    "build_two": build_steps,
    "build_three": build_steps,
    "build_in_processes": build_in_processes,
    "build_then_verify": build_then_verify,
    "count_each": count_each,
    "session": session,
    "render_custom": one_build,
    "render_with_each_template": render_with_each_template,
    "cli": command,
    **case_adapters.CALLS,
    **case_stages.CALLS,
    **case_verify.CALLS,
}
