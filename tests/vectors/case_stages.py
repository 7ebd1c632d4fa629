"""The calls of the cases on single stages: shortening, selecting, ordering, diversity, fitting sections."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from case_build import Given, Run, attempt, case_counter

if TYPE_CHECKING:
    from promptpack import Source
    from promptpack.source import Cut

# In these cases the mode says what stays.
MODES = {"head": "start", "tail": "end", "middle": "ends"}
STRATEGIES = {"fold (strongest at the edges)": ("fold",), "chronological, oldest first": ("chronological",)}


def cut_of(given: Given) -> Cut:
    from promptpack.source import Cut

    keep: Any = MODES[given["mode"]]
    marker = None if given["marker"] == "library default" else given["marker"]
    return Cut(keep, min_tokens=0, at="character", marker=marker)


def shortened(given: Given) -> str:
    """Shorten the text to the limit, by the case's counter."""
    from promptpack.packing import shorten

    return shorten(given["text"], given["limit"], cut_of(given), case_counter(given))


def _cuts(given: Given) -> list[Given]:
    modes = given["modes"] if "modes" in given else [given["mode"]]
    return [
        {**given, "mode": mode, "text": text, "limit": limit}
        for mode in modes for text in given["texts"] for limit in given["limits"]
    ]


def truncate_each(given: Given) -> Run:
    return Run(given, tuple(attempt(one, shortened) for one in _cuts(given)))


def truncate_twice(given: Given) -> Run:
    """Shorten every text twice; the outcome is the second, its `given` holds the first as `once`."""
    entries = []
    for one in _cuts(given):
        first = attempt(one, shortened)
        entries.append({**one, "once": first.result})
    return Run(given, tuple(attempt(one, lambda one: shortened({**one, "text": one["once"]})) for one in entries))


def fit_sections(given: Given) -> Run:
    """Render the sections as the parts of a payload that they are named after."""
    from promptpack import Packing, PromptBuilder, Source, Window

    def build(one: Given) -> Any:
        window = Window(one["window"], answer=one["reserve"], margin=0)
        builder = PromptBuilder(window, counter=case_counter(one), packing=Packing())
        for section in one["sections"]:
            name, text = section["name"], section["text"]
            if name == "system":
                builder = builder.with_system(text)
            elif name == "question":
                builder = builder.with_question(text)
            elif name == "sources":
                source = Source(
                    name, text, priority=section.get("priority", 0), required=section.get("required", False)
                )
                builder = builder.add_sources([source])
            elif name == "history":
                builder = builder.add_history([{"role": "user", "content": text}])
            else:
                raise AssertionError(f"no part of a payload is called {name!r}")
        return builder.render()

    return Run(given, (attempt(given, build),))


def sources_of(given: Given) -> list[Source]:
    """Return the sources of an entry: its chunks, or one for each score."""
    from promptpack import Source
    from promptpack.reading import read_sources

    if "chunks" in given:
        return list(read_sources(given["chunks"]))
    return [Source(str(index), f"text {index}", score) for index, score in enumerate(given["scores"])]


def places(strategy: str) -> tuple[str, ...]:
    """Return the library's names of a strategy."""
    from promptpack.packing.route import PLACERS

    return tuple(PLACERS) if strategy == "every strategy the library ships" else STRATEGIES[strategy]


@contextmanager
def in_zone(name: str | None) -> Iterator[None]:
    """Set the time zone of the process for a while, where the case names one."""
    before = os.environ.get("TZ")
    try:
        if name is not None:
            os.environ["TZ"] = name
            time.tzset()
        yield
    finally:
        if name is not None:
            os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
            time.tzset()


def reordered(given: Given) -> list[str]:
    """Place the sources of an entry; nothing is left out, since there is no budget."""
    from promptpack import Packing, pack

    packed = pack(sources_of(given), packing=Packing(place=given["place"], dedup="off", tie="input"))
    assert packed.dropped == ()
    return list(packed.ids)


def reorder_each(given: Given) -> Run:
    entries = [{**one, "place": place} for place in places(given["strategy"]) for one in given["each"]]
    with in_zone(given.get("timezone_of_process")):
        return Run(given, tuple(attempt(one, reordered) for one in entries))


def mmr_each(given: Given) -> Run:
    """Pick k chunks; the outcome holds the ids picked and all numbers on the way."""
    from promptpack.packing import mmr
    from promptpack.packing.similarity import cosine, cosine_matrix

    vectors = [chunk["embedding"] for chunk in given["chunks"]]

    def pick(one: Given) -> Any:
        relevance, similarity = cosine(one["query"], vectors), cosine_matrix(vectors)
        picks = mmr(relevance, similarity, one["lambda"], one["k"])
        numbers = [*relevance, *(number for row in similarity for number in row)]
        return {"ids": [given["chunks"][index]["id"] for index in picks], "numbers": numbers}

    return Run(given, tuple(attempt({**given, **one}, pick) for one in given["each"]))


def select(given: Given) -> Run:
    """Choose items by their costs and values."""
    from promptpack.packing.knapsack import optimal
    from promptpack.packing.select import density, prefix, top

    methods = {"exact": optimal, "top": top, "prefix": prefix, "density": density}

    def choose(one: Given) -> Any:
        items = one["items"]
        costs, values = [item["cost"] for item in items], [item["value"] for item in items]
        return [items[index] for index in methods[one["method"]](costs, values, one["budget"])]

    return Run(given, (attempt(given, choose),))


CALLS: dict[str, Callable[[Given], Run]] = {
    "truncate_each": truncate_each, "truncate_twice": truncate_twice, "fit_sections": fit_sections,
    "reorder_each": reorder_each, "mmr_each": mmr_each, "select": select,
}
