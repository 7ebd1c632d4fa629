"""A builder as plain data: what a framework stores of a pipeline makes the same prompts when it is loaded again."""

from __future__ import annotations

import dataclasses
import importlib
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from promptpack import (
    Auto,
    ByKey,
    Chronological,
    Cut,
    Dedup,
    Diversity,
    DocumentOrder,
    Labels,
    OptionError,
    Packing,
    Profile,
    PromptBuilder,
    Rerank,
    Scoring,
    Source,
    Spread,
    TemplateSet,
    Window,
    overlap,
    presets,
    recency,
    weighted,
)
from promptpack.adapters.written import _HOMES, builder_of, read_builder, write_builder

FRESH = weighted({"score": 1.0, recency(now="2026-11-30", half_life=180): 0.2})
TEMPLATE = TemplateSet.from_string(source="[{{ label }}] {{ text }}", user="{{ sources }}\n\n{{ question }}")
BUILDERS = {
    "plain": PromptBuilder(1000),
    "window": PromptBuilder(Window(4000, answer=100, history=0.25, margin=7), counter="words", escape="strict"),
    "model": PromptBuilder.for_model("gpt-4o", cache="auto", fields=("title", "chunk")),
    "profile": PromptBuilder(2000, model=Profile("own", window=8192, counter="words", checked=date(2026, 11, 1))),
    "labels": PromptBuilder(2000, labels=Labels("Q", {"Q3": ("a", "b")})),
    "template": PromptBuilder(2000, template=TEMPLATE),
    "packing": PromptBuilder(2000, packing=Packing(
        dedup=Dedup(threshold=0.9, merge=True), score=FRESH, diversity=Diversity(0.5), place=Spread(2, 1), top_k=9)),
    "auto": PromptBuilder(2000, packing=Packing(place=Auto(intent="temporal"), score=Scoring(recency=0.5))),
    "places": PromptBuilder(2000, packing=Packing(place=Chronological(newest_first=True), score=overlap("lamp"))),
    "document": PromptBuilder(2000, packing=Packing(place=DocumentOrder("chapter"))),
    "content": PromptBuilder(3000)
    .with_system("You are brief.")
    .add_sources([
        Source("rules", "Be kind.", 0.5, pinned=True, cut=Cut(keep="ends"), updated=datetime(2026, 1, 2, 3, 4),
               metadata={"tags": ["a", ("b", 1)], "deep": {"k": [1.5, None, True]}, "day": date(2026, 1, 2)}),
    ])
    .add_history([
        ("user", "Why?"),
        {"role": "assistant", "content": [{"type": "text", "text": "So."}]},
        {"role": "user", "content": [{"type": "text", "text": "And?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]},
    ])
    .with_tools([{"type": "function", "function": {"name": "f", "parameters": {"required": ["q"]}}}]),
    **{name: preset(3000) for name, preset in presets.PRESETS.items()},
}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_builder_comes_back_equal_through_json(name: str) -> None:
    """If it fails, a stored pipeline makes other prompts than the one that was tested."""
    builder = BUILDERS[name]
    plain = json.loads(json.dumps(write_builder(builder)))
    again = read_builder(plain)
    assert again == builder
    assert write_builder(again) == plain
    ask = [builder, again]
    first, second = ({**one.with_question("Which?").add_sources(["A lamp."]).render().to_dict()} for one in ask)
    assert first == second


def test_a_path_stays_a_path(tmp_path: Path) -> None:
    (tmp_path / "user.j2").write_text("{{ sources }} {{ question }}", encoding="utf-8")
    builder = PromptBuilder(1000, template=tmp_path)
    assert read_builder(write_builder(builder)) == builder


class Reranker:
    def rerank(self, query: str, sources: Any) -> list[float]:
        return [0.0 for _ in sources]


@pytest.mark.parametrize(
    ("builder", "where"),
    [
        (PromptBuilder(1000, counter=len), "counter"), (PromptBuilder(1000, on_step=print), "on_step"),
        (PromptBuilder(1000, escape="spotlight"), "escape"),
        (PromptBuilder(1000, packing=Packing(place=ByKey(lambda source: 1))), "packing.place.key"),
        (PromptBuilder(1000, packing=Packing(select=lambda costs, values, budget: [])), "packing.select"),
        (PromptBuilder(1000, rerank=Rerank(Reranker())), "rerank"),
        (PromptBuilder(1000).add_sources([Source("a", "x", metadata={"k": object()})]), r"_content\.sources"),
        (PromptBuilder(1000).add_sources([Source("a", "x", metadata={"$": 1})]), r"_content\.sources"),
        (PromptBuilder(1000).add_history([("user", "x")], summarise=lambda turns: None), r"_content\.summary"),
    ],
)
def test_what_cannot_be_written_is_named(builder: PromptBuilder, where: str) -> None:
    """If it fails, a stored pipeline has lost a part, or a secret lies in a YAML file."""
    with pytest.raises(OptionError, match=rf"^{where}.*cannot be written"):
        write_builder(builder)


@pytest.mark.parametrize(
    "data",
    [
        {}, {"$": "Window", "size": 5}, {"$": "os.system", "command": "x"}, {"$": "PromptBuilder"},
        {"$": "PromptBuilder", "window": 1000, "other": 1}, {"$": "PromptBuilder", "window": "x"}, {"$": "date"},
        {"$": "PromptBuilder", "window": {"$": "date", "value": "x"}}, {"$": ["x"]}, [], 5,
        {"$": "PromptBuilder", "window": {"$": "Path", "x": 1}},
    ],
    ids=str,
)
def test_other_data_is_refused(data: Any) -> None:
    """If it fails, stored data may make any object, or end in a KeyError."""
    with pytest.raises(OptionError):
        read_builder(data)


def test_a_component_takes_a_builder_its_data_or_a_window() -> None:
    builder = PromptBuilder(Window(500))
    assert builder_of(builder) is builder
    assert builder_of(write_builder(builder)) == builder
    assert builder_of(Window(500)) == builder
    for wrong in (None, "x", True, -1, [], 1.5):
        with pytest.raises(OptionError):
            builder_of(wrong)


def test_every_policy_that_a_packing_may_have_can_be_written() -> None:
    """If it fails, a policy was added that stored pipelines cannot hold: add it to `_HOMES`."""
    for name, home in _HOMES.items():
        assert dataclasses.is_dataclass(getattr(importlib.import_module(f"promptpack.{home}"), name)), name
    for module in ("place", "scorers", "scoring", "dedup", "diversity", "route"):
        held = vars(importlib.import_module(f"promptpack.packing.{module}"))
        made = {
            name for name, value in held.items()
            if dataclasses.is_dataclass(value) and value.__module__ == f"promptpack.packing.{module}"
        }
        public = {name for name in made if not name.startswith("_")} - {"Coverage", "Diversified", "Deduplicated"}
        assert public <= set(_HOMES), sorted(public - set(_HOMES))
