"""Turns a golden vector into a call of the library, and the result into the shape of `expected`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vector_files import Vector

if TYPE_CHECKING:
    from promptpack import Payload

Result = dict[str, Any]
ROOMY = 100_000  # a window that holds every vector about the layout of a payload

# What the vectors call a measure, and the library's counter of that name.
MEASURES = {"words": "words", "characters": "chars"}
NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def number(value: Any) -> Any:
    """Read a number of a vector; three texts stand for the floats that JSON lacks."""
    return NUMBERS.get(value, value) if isinstance(value, str) else value


def plan_budget(vector: Vector) -> Result:
    from promptpack import Window, allocate

    reserved = dict(vector["input"]["reserved"])
    window = Window(vector["input"]["context_window"], answer=reserved.pop("answer", 0), margin=0)
    known = {"system", "question", "history", "tools"} & set(reserved)
    parts = {name: reserved.pop(name) for name in sorted(known)}
    # A reserve under any other name is text around the known parts, which is what `frame` stands for.
    return {"budget": allocate(window, **parts, frame=sum(reserved.values())).sources}


def fill_budget(vector: Vector) -> Result:
    from promptpack import Packing, Source, pack

    prices = {chunk["id"]: chunk["tokens"] for chunk in vector["input"]["chunks"]}
    packed = pack(
        [Source(id_, f"text of {id_}") for id_ in prices],
        vector["input"]["budget"],
        packing=Packing(select="top", place="best_first", dedup="off"),
        cost=lambda source: prices[source.id],
    )
    return {
        "kept": [placed.source.id for placed in packed.sources],
        "skipped": [{"id": drop.source.id, "tokens": drop.cost} for drop in packed.dropped],
        "used": packed.used,
    }


def dedupe_sentences(vector: Vector) -> Result:
    from promptpack import Packing, Source, pack

    packed = pack(
        [Source(chunk["id"], chunk["text"]) for chunk in vector["input"]["chunks"]],
        packing=Packing(place="best_first", dedup="sentences"),
    )
    return {
        "chunks": [{"id": placed.source.id, "text": placed.text} for placed in packed.sources],
        "sentences_sent": packed.sentences_sent,
        "sentences_total": packed.sentences_total,
    }


def _fold(ranked: list[Any]) -> Result:
    from promptpack import Packing, Source, pack

    sources = [Source(str(index), f"text {index}") for index in range(len(ranked))]
    packed = pack(sources, packing=Packing(place="fold", dedup="off"))
    places = [int(placed.source.id) for placed in packed.sources]
    order: Result = {"order": [ranked[place] for place in places]}
    if ranked:
        order["index_of_weakest"] = places.index(len(ranked) - 1)
    return order


def best_at_edges(vector: Vector) -> Result:
    return _fold(vector["input"]["ranked"])


def fold(vector: Vector) -> Result:
    return _fold(vector["input"]["ranks"])


def pack_by_units(items: list[Any], options: dict[str, Any]) -> Result:
    """Pack as u-pack does: the longest prefix of the ranking that fits, folded."""
    from promptpack import Packing, Source, counter, pack

    count = counter(MEASURES[options.get("measure", "words")])
    packed = pack(
        [Source(item["id"], item["content"], number(item.get("score"))) for item in items],
        number(options.get("max_units")),
        packing=Packing(select="prefix", place="fold", dedup="off"),
        cost=lambda source: count(source.text),
    )
    return {
        "order": [placed.source.id for placed in packed.sources],
        "placements": [
            {"id": placed.source.id, "rank": placed.rank, "index": placed.position}
            for placed in packed.sources
        ],
        "dropped": [
            {"id": drop.source.id, "rank": drop.rank, "score": drop.source.score, "units": drop.cost}
            for drop in packed.dropped
        ],
        "used_units": packed.used,
    }


def pack_units(vector: Vector) -> Result:
    return pack_by_units(vector["input"]["items"], vector["options"])


def pack_each(vector: Vector) -> Result:
    """Run every list; each must give `expected`, so all must give the same."""
    results = [pack_by_units(items, vector["options"]) for items in vector["input"]["item_lists"]]
    assert results, "a vector without lists would compare nothing"
    assert all(result == results[0] for result in results), "the order of the input changed the result"
    return results[0]


def content(payload: Payload, role: str) -> str:
    """Return the text of the only message of a role; empty where there is none."""
    texts = [message.content for message in payload.messages if message.role == role]
    assert len(texts) <= 1, f"{len(texts)} messages of role {role}"
    return str(texts[0]) if texts else ""


def label_lines(vector: Vector) -> Result:
    from promptpack import Packing, PromptBuilder, Source, Window

    by_date = {"relevance": False, "date": True}[vector["options"]["order"]]
    # Without scores the order of the input is the ranking, which is what breaks ties between equal dates.
    sources = [
        Source(chunk["id"], chunk["text"], None if by_date else chunk["score"], updated=chunk["updated"])
        for chunk in vector["input"]["chunks"]
    ]
    place = "chronological" if by_date else "best_first"
    payload = PromptBuilder(
        Window(ROOMY, answer=0), template="plain", packing=Packing(tie="input", place=place, dedup="off")
    ).add_sources(sources).render()
    text = content(payload, "user")
    labels = {label: ids[0] for label, ids in payload.labels.items() if len(ids) == 1}
    assert len(labels) == len(payload.labels), "a label stands for several chunks"
    return {"lines": text.split("\n") if text else [], "labels": labels}


def lesson_payload(vector: Vector, escape: str = "tags") -> Payload:
    """Build the lesson's payload: its system lines as they are, the default template for everything else."""
    from promptpack import Packing, PromptBuilder, Source, TemplateSet, Window

    given = vector["input"]
    sources = [
        Source(
            source["id"], source["text"], updated=source.get("updated"),
            metadata={name: source[name] for name in ("title", "section") if name in source},
        )
        for source in given["sources"]
    ]
    system = given["system"] if isinstance(given["system"], str) else "\n".join(given["system"])
    builder = PromptBuilder(
        Window(ROOMY, answer=0),
        template=TemplateSet.from_string(system="{{ system }}"),
        packing=Packing(place="best_first", dedup="off"),
        escape=escape,
    )
    return builder.add_sources(sources).with_system(system).with_question(given["question"]).render()


def format_payload(vector: Vector) -> Result:
    payload = lesson_payload(vector)
    return {"system": content(payload, "system"), "user": content(payload, "user")}


CALLS: dict[tuple[str, str], Callable[[Vector], Result]] = {
    ("lesson-context-packing", "plan_budget"): plan_budget,
    ("lesson-context-packing", "fill_budget"): fill_budget,
    ("lesson-context-packing", "dedupe_sentences"): dedupe_sentences,
    ("lesson-context-packing", "best_at_edges"): best_at_edges,
    ("lesson-context-packing", "label_lines"): label_lines,
    ("lesson-context-packing", "format_payload"): format_payload,
    ("u-pack", "fold"): fold,
    ("u-pack", "pack"): pack_units,
    ("u-pack", "pack_each"): pack_each,
}
