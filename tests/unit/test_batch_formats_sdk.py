"""Every line of a provider's file against the types of its SDK, with unknown keys refused; skipped without the SDK.

A TypedDict of an SDK ignores what it does not know, so that what pydantic gives back has to be what went in. The
envelopes, which no SDK has types for, are written out here as the providers document them, and forbid other keys. vLLM
is not installed (its wheel has gigabytes): its types are OpenAI's for the messages, and for the rest written out from
its `BatchRequestInput` and `ChatCompletionRequest`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from sdk_types import accepts

from promptpack.batch import Job, Options, run_batch
from promptpack.builder import PromptBuilder
from promptpack.window import Window

pydantic = pytest.importorskip("pydantic", reason="the extra sdk is not installed")
from_json = pytest.importorskip("pydantic_core").from_json  # refuses lone surrogates, as the providers' readers do
typing_extensions = pytest.importorskip("typing_extensions", reason="the extra sdk is not installed")
TypedDict, NotRequired = typing_extensions.TypedDict, typing_extensions.NotRequired

ABSENT = "the extra sdk is not installed"
PNG = "iVBORw0KGgo="
TOOLS = [
    {"type": "function", "function": {
        "name": "look", "description": "Looks things up.", "strict": False,
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False}}},
    {"type": "custom", "custom": {"name": "run", "description": "Runs code."}},
    {"name": "ask", "description": "Asks a person.", "input_schema": {"type": "object", "properties": {}}},
]
CALLS = [
    {"role": "user", "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": "a"}'}},
        {"id": "call_2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "one"},
    {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "two"}]},
    {"role": "assistant", "content": "It is a bill."},
]
LONG = "A rule that fills the cache. " * 300
ROWS: list[dict[str, Any]] = [
    {"id": "q1", "question": "How long?", "answer": "30 days [S1].", "sources": [
        {"id": "a#1", "text": "Returns are free for 30 days.", "metadata": {"title": "Returns"}}, "Two.",
        {"id": "p#1", "text": "Returns are free. " * 400, "pinned": True}]},
    {"id": "docs/2", "question": "Why?", "sources": ["One."], "answer": "Because [S1].",
     "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]},
    {"id": "calls", "question": "And that?", "sources": ["One."], "history": CALLS, "answer": "So [S1]."},
    {"id": "lone \ud800", "question": "Lone \ud800?", "sources": ["Three \udfff."], "answer": "So.",
     "system": "\udc00"},
    {"id": "no question", "question": None, "sources": ["Four."], "answer": "So."},
    {"id": "no sources", "question": "Why?", "sources": None, "answer": "So.", "system": "You sell lamps."},
]
BUILDERS: dict[str, dict[str, Any]] = {
    "plain": {}, "tools": {"tools": TOOLS}, "cached": {"tools": TOOLS, "cache": "auto", "system": LONG},
}


def made(folder: Path, form: str, kind: str, *, builder: Mapping[str, Any] | None = None, **more: Any
         ) -> list[dict[str, Any]]:
    """Return the lines of all rows, which must all be there."""
    options = {**BUILDERS[kind], **(builder or {})}
    base = PromptBuilder(Window(100_000, answer=300), counter="words", cache=options.get("cache"),
                         **{name: options[name] for name in ("model", "template") if name in options})
    base = base.with_tools(options.get("tools", TOOLS if kind != "plain" else ()))
    if "system" in options:
        base = base.with_system(options["system"])
    given = ROWS if kind != "plain" else [one for one in ROWS if one["id"] != "calls"]
    (folder / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    summary = run_batch(folder / "in.jsonl", folder / "out.jsonl", Job(base, form, **more), Options(workers=0))
    assert not summary.failures, (folder / "out.dead.jsonl").read_text()
    read = json.loads if form == "payload" else from_json  # ours keeps the id of a row as it is
    found: list[dict[str, Any]] = [read(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]
    assert len(found) == len(given)
    if form not in ("chat-finetune", "payload"):
        names = [one.get("custom_id", one.get("key")) for one in found]
        beside = [json.loads(line) for line in (folder / "out.labels.jsonl").read_text("utf-8").splitlines()]
        assert [one["custom_id"] for one in beside] == names
        assert [one["id"] for one in beside] == [one["id"] for one in given]
        assert len(set(names)) == len(given)
    return found


def envelope(name: str, **fields: Any) -> Any:
    """Return a type with these keys, all required, and no other."""
    return pydantic.create_model(name, __config__=pydantic.ConfigDict(extra="forbid"),
                                 **{key: (kind, ...) for key, kind in fields.items()})


def test_the_check_refuses_what_a_type_does_not_know() -> None:
    """A check that takes anything would prove nothing."""
    types = pytest.importorskip("openai.types.chat.completion_create_params", reason=ABSENT)
    fine: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    accepts(types.CompletionCreateParamsNonStreaming, fine)
    for bad in ({**fine, "colour": "red"}, {**fine, "messages": [{"role": "user", "content": "a", "colour": "red"}]}):
        with pytest.raises(AssertionError):
            accepts(types.CompletionCreateParamsNonStreaming, bad)
    for bad in ({"model": "m"}, {**fine, "messages": [{"role": "king", "content": "a"}]}, {**fine, "model": 7}):
        with pytest.raises(pydantic.ValidationError):
            accepts(types.CompletionCreateParamsNonStreaming, bad)


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize(("endpoint", "model"), [("chat", "gpt-4o"), ("chat", "gpt-5.6"), ("responses", "gpt-5.6")])
def test_openai_lines(tmp_path: Path, kind: str, endpoint: str, model: str) -> None:
    chat = pytest.importorskip("openai.types.chat.completion_create_params", reason=ABSENT)
    responses = pytest.importorskip("openai.types.responses.response_create_params", reason=ABSENT)
    body, url = {
        "chat": (chat.CompletionCreateParamsNonStreaming, "/v1/chat/completions"),
        "responses": (responses.ResponseCreateParamsNonStreaming, "/v1/responses"),
    }[endpoint]
    line = envelope("Line", custom_id=str, method=Literal["POST"], url=Literal[url], body=dict[str, Any])  # type: ignore[valid-type]
    for one in made(tmp_path, "openai-batch", kind, model=model, endpoint=endpoint):
        line.model_validate(one)
        accepts(body, one["body"])


@pytest.mark.parametrize("template", ["claude", "claude-native"])
@pytest.mark.parametrize("kind", BUILDERS)
def test_anthropic_lines(tmp_path: Path, kind: str, template: str) -> None:
    types = pytest.importorskip("anthropic.types.messages.batch_create_params", reason=ABSENT)
    lines = made(tmp_path, "anthropic-batch", kind, model="claude-sonnet-4-5", builder={"template": template})
    for one in lines:
        accepts(types.Request, one)
    accepts(types.BatchCreateParams, {"requests": lines})


@pytest.mark.parametrize("kind", BUILDERS)
def test_gemini_lines(tmp_path: Path, kind: str) -> None:
    """The SDK's models forbid unknown keys themselves."""
    types = pytest.importorskip("google.genai.types", reason=ABSENT)
    request = pydantic.create_model(
        "Request", __config__=pydantic.ConfigDict(extra="forbid"), contents=(list[types.Content], ...),
        systemInstruction=(types.Content | None, None), tools=(list[types.Tool] | None, None),
        generationConfig=(types.GenerationConfig | None, None))
    line = envelope("Line", key=str, request=request)
    for one in made(tmp_path, "gemini-batch", kind):
        line.model_validate(one)
        assert all(content["parts"] for content in one["request"]["contents"])


class VllmFunction(TypedDict):
    name: str
    description: NotRequired[str | None]
    parameters: NotRequired[dict[str, Any] | None]


class VllmTool(TypedDict):
    type: Literal["function"]
    function: VllmFunction


@pytest.mark.parametrize("model", ["gpt-5.6", "Qwen/Qwen3-8B"])
@pytest.mark.parametrize("kind", BUILDERS)
def test_vllm_lines(tmp_path: Path, kind: str, model: str) -> None:
    """`vllm run-batch` reads each line with its types, and ends at the first that it cannot read."""
    types = pytest.importorskip("openai.types.chat", reason=ABSENT)
    body = pydantic.create_model(
        "Body", __config__=pydantic.ConfigDict(extra="forbid"), messages=(list[types.ChatCompletionMessageParam], ...),
        model=(str, ...), max_completion_tokens=(int, ...), tools=(list[VllmTool] | None, None))
    line = envelope("Line", custom_id=str, method=Literal["POST"], url=Literal["/v1/chat/completions"], body=body)
    for one in made(tmp_path, "vllm-batch", kind, model=model):
        line.model_validate(one)
        accepts(list[types.ChatCompletionMessageParam], one["body"]["messages"])
        accepts(list[VllmTool], one["body"].get("tools", []))
        calls = [call for message in one["body"]["messages"] for call in message.get("tool_calls", ())]
        assert {call["type"] for call in calls} <= {"function"}


@pytest.mark.parametrize("kind", BUILDERS)
def test_finetuning_lines(tmp_path: Path, kind: str) -> None:
    types = pytest.importorskip("openai.types.chat", reason=ABSENT)
    keys = {"messages", "tools"} if kind != "plain" else {"messages"}
    for one in made(tmp_path, "chat-finetune", kind, builder={"model": "gpt-5.6"}):
        assert set(one) == keys
        accepts(list[types.ChatCompletionMessageParam], one["messages"])
        accepts(list[types.ChatCompletionFunctionToolParam], one.get("tools", []))
        assert one["messages"][-1] == {"role": "assistant", "content": one["messages"][-1]["content"]}
        assert "prompt_cache" not in json.dumps(one)


@pytest.mark.parametrize("kind", BUILDERS)
def test_payload_lines_are_whole_payloads(tmp_path: Path, kind: str) -> None:
    from promptpack.payload import Payload

    for one in made(tmp_path, "payload", kind):
        data = {key: value for key, value in one.items() if key not in ("id", "custom_id")}
        assert json.loads(json.dumps(Payload.from_dict(one).to_dict())) == data


@pytest.mark.parametrize("kind", BUILDERS)
def test_rows_of_parquet_hold_the_messages_as_openai_takes_them(tmp_path: Path, kind: str) -> None:
    types = pytest.importorskip("openai.types.chat", reason=ABSENT)
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra batch is not installed")
    made(tmp_path, "payload", kind)
    builder = PromptBuilder(Window(100_000, answer=300), counter="words").with_tools(TOOLS if kind != "plain" else ())
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.parquet", Job(builder, "parquet"), Options(workers=0))
    for one in pq.read_table(tmp_path / "out.parquet").to_pylist():
        messages = [{"role": each["role"], "content": each["content"], **json.loads(each["extra"] or "{}")}
                    for each in one["messages"]]
        accepts(list[types.ChatCompletionMessageParam], messages)
        assert json.loads(one["report"])["tokens"] == one["tokens"]
        assert one["error"] is None


@pytest.mark.filterwarnings("ignore")  # its own
def test_hugging_face_datasets_read_finetuning_files(tmp_path: Path) -> None:
    """The column "messages" with role and content is what trl's trainers take."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    lines = made(tmp_path, "chat-finetune", "plain")
    read = datasets.load_dataset("json", data_files=str(tmp_path / "out.jsonl"), split="train",
                                 cache_dir=str(tmp_path / "cache"))
    assert [list(one["messages"]) for one in read] == [one["messages"] for one in lines]
    assert {key for one in read for message in one["messages"] for key in message} == {"role", "content"}
