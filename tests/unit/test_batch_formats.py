"""Lines for providers, fine-tuning sets, and the way back from results to checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import Job, Options, run_batch, verify_results
from promptpack.batch.verify import Verified
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, SourceError
from promptpack.window import Window

TOOLS = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}]
HISTORY = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
ROWS: list[dict[str, Any]] = [
    {"id": "q1", "question": "How long?", "answer": "30 days [S1].",
     "sources": [{"id": "a#1", "text": "Returns are free for 30 days.", "metadata": {"title": "Returns"}}, "Two."]},
    {"id": "docs/2", "question": "Why?", "sources": ["One."], "history": HISTORY, "answer": "Because [S1]."},
    {"id": "lone \ud800", "question": "Lone \ud800?", "sources": ["Three \udfff."], "answer": "So."},
]


def make(tmp_path: Path, form: str, builder: PromptBuilder | None = None, **more: Any) -> list[dict[str, Any]]:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS))
    job = Job(builder or PromptBuilder(Window(4000, answer=300)).with_tools(TOOLS), form, **more)
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0))
    assert not summary.failures, (tmp_path / "out.dead.jsonl").read_text()
    return read(tmp_path / "out.jsonl")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_finetuning_lines_end_with_the_answer(tmp_path: Path) -> None:
    made = make(tmp_path, "chat-finetune")
    assert [line["messages"][-1] for line in made] == [
        {"role": "assistant", "content": row["answer"]} for row in ROWS
    ]
    assert [one["role"] for one in made[1]["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    (tmp_path / "in.jsonl").write_text(json.dumps({**ROWS[0], "answer": " "}) + "\n")
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "o.jsonl", Job(PromptBuilder(4000), "chat-finetune"),
                        Options(workers=0))
    assert summary.failures == 1


def test_a_lone_surrogate_in_an_answer_is_a_bad_row(tmp_path: Path) -> None:
    """The reader of such a file refuses all of it; prompts have none, an answer comes as it is."""
    rows = [{**ROWS[0], "answer": "So \ud83d."}, ROWS[1]]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(PromptBuilder(4000), "chat-finetune"),
                        Options(workers=0))
    assert (summary.failures, summary.payloads) == (1, 1)
    (dead,) = read(tmp_path / "out.dead.jsonl")
    assert "a lone surrogate in what would be sent" in dead["error"]["message"]
    assert len(read(tmp_path / "out.labels.jsonl")) == 1


@pytest.mark.parametrize(("builder", "form", "more", "message"), [
    (PromptBuilder(1000), "openai-batch", {}, "needs the name of a model"),
    (PromptBuilder(1000), "anthropic", {}, "did you mean 'anthropic-batch'"),
    (PromptBuilder(1000), "openai-batch", {"model": "m", "endpoint": "completions"}, "endpoint"),
    (PromptBuilder(Window(1000, answer=0)), "anthropic-batch", {"model": "m"}, "needs a limit"),
    (PromptBuilder(1000), "vllm-batch", {"model": "m", "endpoint": "responses"}, "no other than chat, got responses"),
    (PromptBuilder(1000), "anthropic-batch", {"model": "m", "endpoint": "responses"}, "no other than chat"),
    (PromptBuilder(1000).with_tools([{"type": "web_search"}]), "vllm-batch", {"model": "m"}, "has functions only"),
    (PromptBuilder(1000).with_tools([{"type": "web_search"}]), "chat-finetune", {}, "has functions only"),
])
def test_what_would_make_every_row_fail_is_an_error_at_once(
    builder: PromptBuilder, form: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        Job(builder, form, **more)


ANSWER = "It is free for 30 days [S1]."
RESULTS = {
    "openai": lambda name, text: {"id": "b", "custom_id": name, "error": None, "response": {
        "status_code": 200, "request_id": "r", "body": {"choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}}]}}},
    "responses": lambda name, text: {"custom_id": name, "error": None, "response": {"status_code": 200, "body": {
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]}}},
    "anthropic": lambda name, text: {"custom_id": name, "result": {"type": "succeeded", "message": {
        "role": "assistant", "content": [{"type": "text", "text": text}]}}},
    "gemini": lambda name, text: {"key": name, "response": {"candidates": [{"content": {"parts": [{"text": text}]}}]}},
    "plain": lambda name, text: {"custom_id": name, "answer": text},
}
FAILED = [
    ({"custom_id": "q1", "response": {"status_code": 429, "body": {}}, "error": None}, "status 429"),
    ({"custom_id": "q1", "response": None, "error": {"code": "batch_expired"}}, "error"),
    ({"custom_id": "q1", "result": {"type": "expired"}}, "expired"),
    ({"custom_id": "q1", "result": {"type": "errored", "error": {"type": "overloaded"}}}, "errored"),
    ({"key": "q1", "error": {"code": 3}}, "error"),
    ({"custom_id": "q1"}, "no answer"),
    ({"custom_id": "q1", "response": {"status_code": 200, "body": {"choices": []}}}, "unreadable"),
]


def check(tmp_path: Path, results: list[Any], payloads: str, **more: Any) -> tuple[list[dict[str, Any]], Verified]:
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in results))
    totals = Verified()
    found = verify_results(str(tmp_path / "results.jsonl"), str(tmp_path / payloads), totals=totals, **more)
    return list(found), totals


@pytest.mark.parametrize("provider", RESULTS)
@pytest.mark.parametrize("form", ["payload", "openai-batch"])
def test_results_are_joined_in_any_order_and_checked(tmp_path: Path, provider: str, form: str) -> None:
    make(tmp_path, form, **({"model": "gpt-4o"} if form == "openai-batch" else {}))
    payloads = "out.jsonl" if form == "payload" else "out.labels.jsonl"
    names = [one["custom_id"] for one in read(tmp_path / payloads)]
    texts = ["It is free [S9].", ANSWER, ANSWER]
    results = [RESULTS[provider](name, text) for name, text in zip(names[::-1], texts, strict=True)]
    found, totals = check(tmp_path, results, payloads)
    assert [(one["custom_id"], one["id"], one["status"]) for one in found] == [
        (names[2], ROWS[2]["id"], "wrong"), (names[1], "docs/2", "ok"), (names[0], "q1", "ok")]
    assert found[0]["unknown"] == ["S9"]
    assert found[2]["cited"] == ["a#1"]
    assert (totals.ok, totals.wrong, totals.labels, totals.fine) == (2, 1, {"unknown": 1}, False)


@pytest.mark.parametrize(("result", "status"), FAILED)
def test_results_without_an_answer_are_told_apart(tmp_path: Path, result: dict[str, Any], status: str) -> None:
    make(tmp_path, "payload")
    found, totals = check(tmp_path, [result], "out.jsonl")
    assert [one["status"] for one in found] == [status, "missing", "missing"]
    assert (totals.failed, totals.missing) == ({status: 1}, 2)


def test_results_that_belong_to_nothing_are_named(tmp_path: Path) -> None:
    make(tmp_path, "payload")
    good = RESULTS["plain"]("q1", ANSWER)
    results = [good, good, {"custom_id": "other", "answer": "x"}, [1], {"answer": "x"}]
    found, totals = check(tmp_path, results, "out.jsonl")
    assert [one["status"] for one in found[:5]] == ["ok", "repeated", "unknown", "unreadable", "unknown"]
    assert (totals.repeated, totals.unknown, totals.results) == (1, 2, 5)


def test_support_needs_the_texts(tmp_path: Path) -> None:
    make(tmp_path, "payload")
    results = [RESULTS["plain"]("q1", "Wolves howl at 40 moons [S1].")]
    found, _ = check(tmp_path, results, "out.jsonl", min_support=0.5)
    assert found[0]["status"] == "wrong"
    assert found[0]["unsupported"]
    make(tmp_path, "openai-batch", model="m")
    with pytest.raises(OptionError, match="min_support"):
        check(tmp_path, results, "out.labels.jsonl", min_support=0.5)


def test_payload_files_are_checked(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"custom_id": "a", "labels": {}}\n{"custom_id": "a", "labels": {}}\n')
    with pytest.raises(SourceError, match="line 2: custom_id 'a' occurs twice"):
        check(tmp_path, [], "bad.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"custom_id": "a"}\n')
    with pytest.raises(SourceError, match="line 1: expected a label map"):
        check(tmp_path, [], "bad.jsonl")
    with pytest.raises(OptionError, match="plain lines"):
        check(tmp_path, [], "bad.jsonl.gz")
