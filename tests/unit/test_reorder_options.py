"""The options of the reorderer: both spellings, what is refused, how calls override them."""

from __future__ import annotations

from typing import Any

import pytest

from promptpack import OptionError, Reorderer
from promptpack.reorder import detect_query_intent, get_preset, merge_config, reorderer_presets, validate_config
from promptpack.reorder.options import CHECKS, DEFAULTS, LATE, NAMES, NESTED, camel, snake

SCORES = {"a": 0.9, "b": 0.2, "c": 0.7, "d": 0.5}
CHUNKS = [{"id": name, "text": f"text {name}", "score": score} for name, score in SCORES.items()]


def ids(chunks: Any) -> list[str]:
    return [chunk["id"] for chunk in chunks]


@pytest.mark.parametrize("name", NAMES)
def test_each_name_has_one_spelling_each(name: str) -> None:
    """A name that does not come back from camelCase could not be given in it."""
    assert snake(camel(name)) == name
    assert (name in CHECKS) + (name in NESTED) + (name in LATE) == 1


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"topK": 2}, {"top_k": 2}), ({"strategy": "score_spread"}, {"strategy": "scoreSpread"}),
        ({"packing": "edge_aware"}, {"packing": "edgeAware"}),
        ({"deduplicate_keep": "highest_score"}, {"deduplicateKeep": "highestScore"}),
        ({"score_normalization": "min_max"}, {"scoreNormalization": "minMax"}),
        ({"weights": {"source_reliability": 0.5}}, {"weights": {"sourceReliability": 0.5}}),
        ({"top_k": None, "weights": {"time": None}}, {}), ({"top_k": 2.0}, {"top_k": 2}),
    ],
)
def test_both_spellings_mean_the_same(options: dict[str, Any], same: dict[str, Any]) -> None:
    assert Reorderer(**options).config == Reorderer(**same).config


def test_none_is_a_wrong_value_in_a_mapping() -> None:
    """A configuration file is checked as its own tool checks it."""
    for config in ({"topK": None}, {"weights": {"time": None}}):
        with pytest.raises(OptionError):
            Reorderer(config)
        with pytest.raises(OptionError):
            validate_config(config)
    assert Reorderer({"topK": 3}, top_k=2).config["top_k"] == 2, "keywords win"


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "preserve_order"}, {"packing": "edge_aware"}, {"deduplicate_keep": "highest_score"},
        {"score_normalization": "z_score"}, {"max_tokens": 9, "token_counter": "char4"},
        {"maxTokens": 9, "tokenCounter": "gpt-4o"},
    ],
)
def test_a_mapping_takes_what_keywords_take(options: dict[str, Any]) -> None:
    """If it fails, an option that works by keyword is refused in a configuration."""
    assert Reorderer(options).config == Reorderer(**options).config


def test_the_check_of_a_configuration_wants_the_spelling_of_the_reference() -> None:
    for config in ({"strategy": "score_spread"}, {"maxTokens": 5, "tokenCounter": "char4"}):
        with pytest.raises(OptionError):
            validate_config(config)


def test_a_counter_may_be_named_by_a_model() -> None:
    """If it fails, who knows the model but not its vocabulary cannot give a budget in tokens."""
    long = [{**chunk, "text": "hello world " * 20} for chunk in CHUNKS]
    found = [Reorderer(max_tokens=90, token_counter=name).reorder(long) for name in ("gpt-4o", "o200k_base")]
    assert found[0] == found[1]
    assert len(found[0]) == 2
    with pytest.raises(OptionError, match=r"token_counter: unknown value 'gtp-9'.*the name of a known model"):
        Reorderer(max_tokens=50, token_counter="gtp-9")


def test_a_detector_that_answers_something_unknown_is_named() -> None:
    """If it fails, a router of one's own that is misspelt has no effect, and nothing says so."""
    reorderer = Reorderer(strategy="auto", auto_strategy={"intent_detector": lambda query: "foo"})
    with pytest.raises(OptionError, match=r"intent: unknown value 'foo'.*factoid, narrative, temporal"):
        reorderer.reorder(CHUNKS, "when?")
    assert detect_query_intent("when?", {"intent_detector": lambda query: "foo"}) == "temporal", "as the reference"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"top_k": 0}, "top_k"), ({"top_k": True}, "top_k"), ({"top_k": "3"}, "top_k"), ({"top_k": 10**400}, "top_k"),
        ({"max_tokens": 5}, "max_tokens"), ({"max_tokens": 5, "token_counter": 7}, "max_tokens"),
        ({"token_counter": int}, "token_counter"), ({"token_counter": "nope"}, "token_counter"),
        ({"strategy": "custom"}, "custom_comparator"), ({"strategy": ["auto"]}, "strategy"),
        ({"strategy": "auto", "custom_comparator": max}, "custom_comparator"),
        ({"strategy": "preserve_order", "group_by": "sourceId"}, "group_by"),
        ({"top_k": 2, "min_top_k": 3}, "min_top_k"),
        ({"max_input_chunks_behavior": "truncate"}, "max_input_chunks_behavior"),
        ({"weights": 5}, "weights"), ({"weights": {"time": float("nan")}}, "weights.time"),
        ({"diversity": {"max_candidates": 1}}, "diversity.max_candidates"), ({"weights": {"tme": 1}}, "weights"),
        ({"auto_strategy": {"temporal_query_terms": "when"}}, "auto_strategy.temporal_query_terms"),
        ({"score_clamp": (1, 0)}, "score_clamp"), ({"score_clamp": "01"}, "score_clamp"),
        ({"reranker": object()}, "reranker"), ({"reranker_abort_signal": object()}, "reranker_abort_signal"),
        ({"tpo_k": 3}, "option"), ({"topK": 2, "top_k": 3}, "top_k"), ({"on_trace_step": 3}, "on_trace_step"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], name: str) -> None:
    """What goes wrong later, in another stage, names nothing that the caller wrote."""
    with pytest.raises(OptionError) as caught:
        Reorderer(**options)
    assert caught.value.name == name


def test_an_unknown_option_gets_a_suggestion() -> None:
    with pytest.raises(OptionError, match="did you mean 'top_k'"):
        Reorderer(top_kk=3)
    with pytest.raises(OptionError, match="expected a mapping"):
        Reorderer([("top_k", 3)])  # type: ignore[arg-type]


def test_overrides_hold_for_one_call() -> None:
    reorderer = Reorderer(top_k=2, weights={"time": 0.5})
    assert len(reorderer.reorder(CHUNKS, top_k=3)) == 3
    assert len(reorderer.reorder(CHUNKS, top_k=None)) == 4, "None lifts an option for one call"
    assert len(reorderer.reorder(CHUNKS)) == 2
    assert reorderer.config["weights"] == {**DEFAULTS["weights"], "time": 0.5}
    with pytest.raises(OptionError):
        reorderer.reorder(CHUNKS, top_k=0)


def test_a_cap_can_be_lifted_with_its_behaviour() -> None:
    reorderer = Reorderer(max_input_chunks=2, max_input_chunks_behavior="truncate")
    assert sorted(ids(reorderer.reorder(CHUNKS))) == ["a", "b"]
    assert len(reorderer.reorder(CHUNKS, max_input_chunks=None)) == 4
    with pytest.raises(OptionError, match="4 chunks came in, at most 2 may") as caught:
        Reorderer(max_input_chunks=2).reorder(CHUNKS)
    assert caught.value.context["chunkCount"] == 4


def test_another_strategy_drops_the_comparator() -> None:
    reorderer = Reorderer(strategy="custom", custom_comparator=lambda a, b: (a["id"] > b["id"]) - (a["id"] < b["id"]))
    assert ids(reorderer.reorder(CHUNKS)) == ["a", "b", "c", "d"]
    assert ids(reorderer.reorder(CHUNKS, strategy="auto")) == ["a", "d", "b", "c"]


def test_the_config_is_a_copy() -> None:
    reorderer = Reorderer(weights={"time": 0.5}, score_clamp=[0, 1])
    reorderer.config["weights"]["time"] = 9
    reorderer.config["top_k"] = 1
    assert reorderer.config["weights"]["time"] == 0.5
    assert "top_k" not in reorderer.config
    assert reorderer.config["score_clamp"] == (0, 1)
    assert Reorderer(**reorderer.config).config == reorderer.config, "a config can be given back"


def test_presets_are_copies() -> None:
    reorderer_presets()["diverse"]["diversity"]["lambda"] = 9
    get_preset("diverse")["diversity"]["lambda"] = 9
    assert get_preset("diverse")["diversity"]["lambda"] == 0.7
    for options in reorderer_presets().values():
        assert Reorderer(**options).reorder(CHUNKS)
    with pytest.raises(OptionError, match="did you mean 'diverse'"):
        get_preset("divers")


def test_merging_checks_nothing() -> None:
    assert merge_config({"topK": -4})["top_k"] == -4
    assert merge_config(None)["strategy"] == "scoreSpread"


def test_the_representation_shows_what_differs() -> None:
    assert repr(Reorderer(top_k=3)) == "Reorderer(top_k=3)"


@pytest.mark.parametrize("config", [{"topK": 2}, {"top_k": 2}])
def test_the_ready_functions_take_a_mapping_as_the_reference_does(config):
    """Who ports a call would get a TypeError about positional arguments."""
    from promptpack.reorder import reorder_for_docs_qa, reorder_for_logs

    scored = zip("abc", (0.9, 0.2, 0.7), strict=True)
    chunks = [{"id": name, "text": f"text {name}", "score": score} for name, score in scored]
    assert len(reorder_for_docs_qa(chunks, "why?", config)) == 2
    assert len(reorder_for_logs(chunks, None, config)) == 2
    assert len(reorder_for_logs(chunks, None, config, top_k=1)) == 1
    assert len(reorder_for_docs_qa(chunks, "why?", {"top_k": 1, "max_tokens": 1, "tokenCounter": "char4"})) == 1
    with pytest.raises(OptionError, match="config: expected a mapping"):
        reorder_for_logs(chunks, None, 3)  # type: ignore[arg-type]


def test_the_ready_functions_read_a_mapping_as_a_reorderer_does():
    """A keyword of nested options threw away those of the mapping, and None passed where `Reorderer` refuses it."""
    from promptpack.reorder import reorder_for_docs_qa

    marks = (("a", 0.5, 9, 0), ("b", 0.5, 0, 9), ("c", 0.5, 9, 9))
    chunks = [
        {"id": id_, "text": f"text {id_}", "score": score, "metadata": {"timestamp": at, "sectionIndex": place}}
        for id_, score, at, place in marks
    ]
    rated = reorder_for_docs_qa(
        chunks, None, {"weights": {"time": 1}, "includePriorityScore": True, "strategy": "scoreSpread"},
        weights={"section": 0.5},
    )
    found = {one["id"]: one["metadata"]["priorityScore"] for one in rated}
    assert found == {"a": 1.5, "b": 1.0, "c": 2.0}
    with pytest.raises(OptionError, match="top_k"):
        reorder_for_docs_qa(chunks, None, {"topK": None})
