"""pack(): the stages together, the limits, what must be sent, and the reason for every drop."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

from promptpack import PromptBuilder
from promptpack.errors import BudgetError, DuplicateIdError, OptionError, SourceError
from promptpack.packing import Auto, DropReason, Packing, Spread, pack
from promptpack.packing.diversity import Diversity
from promptpack.source import Cut, Source


def source(id_, n_words, score=None, **fields):
    """A source whose text has so many words, all different from other sources' words."""
    return Source(id_, " ".join(f"{id_}{n}" for n in range(n_words)), score, **fields)


def reasons(packed):
    return {drop.source.id: drop.reason.value for drop in packed.dropped}


RANKED = [source("a", 4, 0.9), source("b", 9, 0.8), source("c", 3, 0.7), source("d", 3, 0.6)]


@pytest.mark.parametrize(
    ("select", "budget", "ids", "dropped"),
    [
        ("top", 10, ["a", "c", "d"], {"b": "over_budget"}),
        ("prefix", 10, ["a"], {"b": "over_budget", "c": "after_cut", "d": "after_cut"}),
        ("density", 10, ["a", "c", "d"], {"b": "over_budget"}),
        ("optimal", 10, ["a", "c", "d"], {"b": "not_selected"}),
        ("optimal", 9, ["a", "c"], {"b": "not_selected", "d": "not_selected"}),
        ("edges", 7, ["a", "c"], {"b": "over_budget", "d": "over_budget"}),
        ("top", 0, [], {"a": "over_budget", "b": "over_budget", "c": "over_budget", "d": "over_budget"}),
        ("top", None, ["a", "b", "c", "d"], {}),
        ("optimal", None, ["a", "b", "c", "d"], {}),
        (lambda costs, values, budget: [2], 10, ["c"], dict.fromkeys("abd", "not_selected")),
    ],
)
def test_strategies(select, budget, ids, dropped):
    """If this fails, a strategy sends another set, or gives another reason, than its rule says."""
    packed = pack(RANKED, budget, packing=Packing(select=select, place="best_first"))
    assert list(packed.ids) == ids
    assert reasons(packed) == dropped
    assert packed.used == sum(placed.cost for placed in packed)
    assert packed.left == (None if budget is None else budget - packed.used)


def test_every_drop_says_where_and_how_much():
    """If this fails, a user cannot find out why a source is missing."""
    packed = pack([*RANKED, source("e", 5, 0.1)], 10, packing=Packing(min_score=0.5))
    told = [(drop.source.id, drop.rank, drop.cost, drop.stage, drop.detail) for drop in packed.dropped]
    assert told == [
        ("b", 2, 9, "select", "needs 9 tokens, 6 left"),
        ("e", 5, 5, "admit", "min_score=0.5: its score 0.1 is below it"),
    ]


def test_ranks_survive_drops_and_positions_count_the_prompt():
    packed = pack(RANKED, 10)
    assert [(placed.id, placed.rank, placed.position, placed.region) for placed in packed] == [
        ("a", 1, 0, "start"), ("d", 4, 1, "middle"), ("c", 3, 2, "end"),
    ]


def test_a_duplicate_carries_the_rank_of_its_copy():
    """If this fails, ranks have gaps that no drop explains, or the weaker copy stays."""
    copies = [Source("y", "Same text.", 0.5), Source("x", "Same  text.", 0.8)]
    packed = pack([source("b", 1, 0.9), *copies, source("c", 1, 0.7)], packing=Packing(place="best_first"))
    assert [(placed.id, placed.rank) for placed in packed] == [("b", 1), ("x", 2), ("c", 3)]
    (drop,) = packed.dropped
    assert (drop.source.id, drop.rank, drop.of, drop.reason, drop.cost) == ("y", 2, "x", "duplicate", 2)


def test_min_score_spares_required_sources_and_drops_unscored_ones():
    sources = [source("a", 1, 0.9), source("b", 1, 0.1, required=True), source("c", 1), source("d", 1, 0.5)]
    packed = pack(sources, packing=Packing(min_score=0.5, place="best_first"))
    assert packed.ids == ("a", "d", "b")
    assert "no score" in packed.dropped[0].detail


def test_required_sources_come_first_whatever_the_strategy():
    """If this fails, a source that was promised is dropped for a better one."""
    sources = [source("a", 6, 0.9), source("b", 6, 0.1, required=True), source("c", 2, 0.5, pinned=True)]
    for select in ("top", "prefix", "density", "optimal", "priority", "edges", lambda *_: []):
        packed = pack(sources, 10, packing=Packing(select=select))
        assert set(packed.ids) == {"b", "c"}
        assert packed.ids[0] == "c"  # pinned sources open the prompt
    limits = Packing(top_k=1, max_per_document=1)
    assert len(pack([source(str(n), 1, document="d", required=True) for n in range(3)], packing=limits)) == 3


def test_required_sources_that_cannot_fit_are_an_error_with_the_numbers():
    with pytest.raises(BudgetError, match="'a' 6, 'b' 7") as caught:
        pack([source("a", 6, required=True), source("b", 7, required=True), source("c", 1)], 10)
    assert (caught.value.budget, caught.value.needed) == (10, 13)
    assert "3 too few" in str(caught.value)
    pickle.loads(pickle.dumps(caught.value))


def test_required_sources_are_shortened_before_that():
    cut = Cut(at="word", min_tokens=2, marker="")
    sources = [source("a", 6, 0.9, required=True, cut=cut), source("b", 7, 0.8, required=True, cut=cut)]
    packed = pack(sources, 10, packing=Packing(place="best_first"))
    assert [(placed.cost, placed.cut) for placed in packed] == [(6, False), (4, True)]
    packed = pack(sources, 7, packing=Packing(place="best_first"))
    assert [placed.cost for placed in packed] == [5, 2]
    with pytest.raises(BudgetError):
        pack(sources, 3)


def test_cuts():
    """If this fails, a source that may be shortened is dropped, or one that may not is cut."""
    long = source("long", 20, 0.9, cut=Cut(at="word", min_tokens=3))
    rest = source("rest", 2, 0.5)
    packed = pack([long, rest], 6, packing=Packing(place="best_first"))
    assert packed.sources[0].text == "long0 long1 long2 long3 long4 …"
    assert (packed.sources[0].cost, packed.sources[0].cut) == (6, True)
    assert reasons(packed) == {"rest": "over_budget"}
    assert packed.sources[0].source is long
    few = pack([source("first", 4, 1.0), long], 6)
    assert few.dropped[0].detail == "needs 20 tokens, 2 left; a cut needs at least 3"
    none = pack([source("huge", 20, cut=Cut(min_tokens=0, marker="a b c d"))], 3)
    assert none.dropped[0].detail == "needs 20 tokens, 3 left; no part of it fits"
    for select in ("prefix", "priority", "density", "edges"):
        assert pack([long], 6, packing=Packing(select=select)).used == 6
    assert len(pack([long], 6, packing=Packing(select="optimal"))) == 0


def test_prefix_ends_with_the_source_that_was_cut():
    long = source("long", 20, 0.9, cut=Cut(at="word", min_tokens=3, marker=""))
    packed = pack([long, source("b", 0, 0.5)], 6, packing=Packing(select="prefix"))
    assert reasons(packed) == {"b": "after_cut"}


def test_a_piece_is_priced_as_a_source_without_a_known_count():
    """If this fails, a cut text is priced at the count of the whole."""
    seen = []

    def cost(one):
        seen.append((one.text, one.tokens))
        return one.tokens if one.tokens is not None else len(one.text.split())

    whole = source("a", 20, cut=Cut(at="word", min_tokens=1), tokens=20)
    assert pack([whole], 5, cost=cost).used == 5
    assert seen[0] == (whole.text, 20)
    assert all(tokens is None for _, tokens in seen[1:])
    assert len({text for text, _ in seen}) == len(seen)


def test_top_k_and_documents_are_filled_up_from_behind():
    """If this fails, a document's limit leaves places empty that other documents could take."""
    sources = [
        source("a1", 1, 0.9, document="a"), source("a2", 1, 0.8, document="a"),
        source("a3", 1, 0.7, document="a"), source("b1", 1, 0.6, document="b"),
        source("n1", 1, 0.5), source("n2", 1, 0.4),
    ]
    for select in ("top", "optimal", "density"):
        packing = Packing(select=select, max_per_document=2, top_k=4, place="best_first")
        packed = pack(sources, 50, packing=packing)
        assert packed.ids == ("a1", "a2", "b1", "n1")
        assert reasons(packed) == {"a3": "per_document", "n2": "top_k"}
        assert "document 'a'" in packed.dropped[0].detail
    assert len(pack(sources, packing=Packing(top_k=0))) == 0
    misfit = [source("a1", 9, 0.9, document="a"), source("a2", 1, 0.8, document="a")]
    assert pack(misfit, 5, packing=Packing(max_per_document=1)).ids == ("a2",)


def test_min_sources_may_pass_the_budget_and_says_so():
    packed = pack(RANKED, 5, packing=Packing(min_sources=3, place="best_first"))
    assert packed.ids == ("a", "b", "c")
    assert packed.flagged == ("b", "c")
    assert packed.left == -11
    assert reasons(packed) == {"d": "over_budget"}
    assert pack(RANKED, 50, packing=Packing(min_sources=3)).flagged == ()
    assert len(pack(RANKED[:2], 5, packing=Packing(min_sources=9))) == 2


def test_priority_ranks_by_priority_then_density_then_input():
    """If this fails, files given in order of priority are packed in another order."""
    sources = [source("a", 4, priority=1), source("b", 2, priority=1), source("c", 2, priority=1),
               source("d", 1, 0.9), source("e", 9, priority=5)]
    packed = pack(sources, 14, packing=Packing(select="priority", place="best_first"))
    assert packed.ids == ("e", "b", "c", "d")
    assert [(drop.source.id, drop.rank) for drop in packed.dropped] == [("a", 4)]


def test_priority_takes_nothing_once_nothing_is_left():
    full = [source("a", 3, priority=2), Source("empty", "", priority=1)]
    assert reasons(pack(full, 3, packing=Packing(select="priority"))) == {"empty": "over_budget"}
    assert len(pack(full, 3)) == 2  # elsewhere an empty text costs nothing and stays


def test_edges_keep_the_edges_of_the_prompt():
    scores = [0.1, 0.9, 0.8, 0.2]
    sources = [source(f"p{n}", 2, score, document="d", position=n) for n, score in enumerate(scores)]
    packed = pack(sources, 4, packing=Packing(select="edges", place="document"))
    assert packed.ids == ("p0", "p3")
    packed = pack(sources, 4, packing=Packing(select="edges", place=Spread(1, 1)))
    assert packed.ids == ("p1", "p2")  # a placement by rank has the best at its edges


class Floored:
    """Prices by words, with a lower bound; remembers what was priced in full."""

    def __init__(self):
        self.priced = []

    def __call__(self, one):
        self.priced.append(one.id)
        return len(one.text.split())

    def floor(self, one, limit):
        return min(len(one.text.split()), limit + 1)


@pytest.mark.parametrize("select", ["top", "prefix", "edges"])
def test_what_cannot_fit_is_not_tokenised(select):
    """If this fails, sources are counted only to be dropped."""
    cost = Floored()
    sources = [source("a", 2, 0.9), source("huge", 500, 0.8), source("b", 2, 0.7), source("c", 2, 0.6)]
    packed = pack(sources, 4, packing=Packing(select=select, top_k=2), cost=cost)
    assert "huge" not in cost.priced
    assert len(cost.priced) == len(set(cost.priced))
    huge = next(drop for drop in packed.dropped if drop.source.id == "huge")
    assert (huge.cost, huge.detail) == (3, "needs at least 3 tokens, 2 left")
    assert "at least" in packed.dropped[-1].detail


def test_auto_goes_by_the_question():
    sources = [source("new", 1, 0.9, updated="2024-05-01"), source("old", 1, 0.8, updated="2023-05-01"),
               source("mid", 1, 0.7, updated="2023-09-01")]
    assert pack(sources, packing=Packing(place="auto"), question="When was it?").ids == ("old", "mid", "new")
    assert pack(sources, packing=Packing(place="auto"), question="What is it?").ids == ("new", "mid", "old")
    assert pack(sources, packing=Packing(place=Auto(intent="temporal"))).ids == ("old", "mid", "new")


def test_unread_dates_are_noted():
    packed = pack([source("a", 1, updated="spring")], packing=Packing(place="chronological"))
    assert len(packed.notes) == 1
    assert "'spring'" in packed.notes[0]
    assert pack([source("a", 1, updated="spring")]).notes == ()


def test_group_by():
    sources = [source(id_, 1, document=document) for id_, document in (("a", "x"), ("b", "y"), ("c", "x"))]
    assert pack(sources, packing=Packing(group_by="document", place="best_first")).ids == ("a", "c", "b")


def test_merged_chunks_are_sent_or_dropped_as_one():
    """If this fails, the chunks of a stitched passage are lost, or listed as dropped though they are sent."""
    first = Source("d#0", "Wash the filters. Switch off the pump.", 0.9, document="d")
    second = Source("d#1", "Switch off the pump. Check gauge B.", 0.8, document="d")
    packing = Packing(dedup="merge")
    packed = pack([first, second], 20, packing=packing)
    assert [(placed.chunk_ids, placed.cost) for placed in packed] == [(("d#0", "d#1"), 10)]
    assert packed.dropped == ()
    none = pack([first, second], 5, packing=packing)
    assert [(drop.source, drop.reason, drop.cost) for drop in none.dropped] == [
        (first, "over_budget", 10), (second, "over_budget", 10),
    ]


def test_repeated_sentences_are_counted_and_sent_once():
    first = Source("a", "It blinks when it is ready. Then open the app.", 0.9)
    second = Source("b", "Plug in the lamp. It blinks when it is ready.", 0.8)
    packed = pack([first, second], packing=Packing(dedup="sentences"))
    assert [placed.text for placed in packed] == [first.text, "Plug in the lamp."]
    assert (packed.sentences_sent, packed.sentences_total) == (3, 4)


def test_a_scorer_and_diversity_make_the_rank():
    """If this fails, ranks are those of the retrieval although the packing ranks anew."""
    sources = [Source("a", "late fee", 0.1), Source("b", "cats sleep", 0.9), Source("c", "late fee due", 0.5)]
    packing = Packing(score="overlap", place="best_first")
    assert pack(sources, packing=packing, question="late fee").ids == ("a", "c", "b")
    reverse = Packing(score=lambda given: [-source.score for source in given], place="best_first")
    turned = pack(sources, packing=reverse)
    assert [(placed.id, placed.rank) for placed in turned] == [("a", 1), ("c", 2), ("b", 3)]
    spread = Packing(score="overlap", place="best_first", diversity=Diversity(relevance=0.3))
    assert pack(sources, packing=spread, question="late fee").ids == ("a", "b", "c")


def test_no_sources():
    packed = pack([], 10)
    assert (packed.sources, packed.dropped, packed.used, packed.render()) == ((), (), 0, "")
    assert pack(iter(()), None).ids == ()


def test_render_joins_in_prompt_order():
    sources = [Source("a", "One."), Source("b", ""), Source("c", "Two.")]
    assert pack(sources, packing=Packing(place="best_first")).render("|") == "One.||Two."


@pytest.mark.parametrize(
    "settings",
    [{"validate": "lax"}, {"min_score": float("nan")}, {"min_score": "0.5"}, {"min_score": 10**400},
     {"dedup": "exakt"}, {"dedup": None}, {"dedup": 0.9}, {"diversity": 0.7}, {"select": "best"},
     {"select": 3}, {"select": ["top"]}, {"score": "bm25"}, {"top_k": -1}, {"top_k": 2.0},
     {"top_k": True}, {"min_sources": -1}, {"max_per_document": 0}, {"top_k": 2, "min_sources": 3},
     {"place": "fild"}, {"place": 3}, {"group_by": ""}, {"group_by": 3},
     {"tie": "random"}, {"validate": ["strict"]}],
)
def test_settings_that_cannot_be_are_refused(settings):
    """If this fails, a typo is silently a default, or surfaces as a bare TypeError."""
    with pytest.raises(OptionError) as caught:
        Packing(**settings)
    assert caught.value.name.split(".")[0] in settings


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (OptionError, lambda: pack([], -1)),
        (OptionError, lambda: pack([], float("nan"))),
        (OptionError, lambda: pack([], "10")),
        (OptionError, lambda: pack([], True)),
        (OptionError, lambda: pack([], packing="top")),
        (OptionError, lambda: pack([], question=3)),
        (OptionError, lambda: pack([], cost=3)),
        (SourceError, lambda: pack("text")),
        (SourceError, lambda: pack([None])),
        (SourceError, lambda: pack([Source("a", "x", float("nan"))])),
        (DuplicateIdError, lambda: pack([Source("a", "x"), Source("a", "x")])),
    ],
)
def test_bad_input_is_an_error_of_the_library(error, call):
    with pytest.raises(error):
        call()


def test_coerce_packs_what_strict_refuses():
    sources = [Source("a", "one", float("nan")), Source("a", "two", 0.5)]
    packed = pack(sources, packing=Packing(validate="coerce"))
    assert packed.ids == ("a~2", "a")
    assert len(packed.notes) == 2


def test_results_and_settings_are_values():
    packing = Packing()
    with pytest.raises(dataclasses.FrozenInstanceError):
        packing.top_k = 3
    packed = pack(RANKED, 10)
    assert pickle.loads(pickle.dumps(packed)) == packed
    assert packed == pack(RANKED, 10)
    assert dataclasses.replace(packing, top_k=3).top_k == 3
    assert DropReason.TOP_K == "top_k"


def test_importing_loads_no_heavy_package():
    """If this fails, every program that imports the packing pays for numpy or a tokenizer."""
    code = (
        "import sys, promptpack.packing.pipeline as p; from promptpack.source import Source;"
        "p.pack([Source('a', 'x')], 5);"
        "print([m for m in ('numpy', 'regex', 'tiktoken', 'jinja2', 'socket', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_work_grows_with_the_number_of_sources():
    """If this fails, something in the packing is quadratic: counted as calls into the cost and the source."""
    def calls(n):
        cost = Floored()
        pack([source(f"s{i}", 2, i / n, document=f"d{i % 7}") for i in range(n)], n,
             packing=Packing(max_per_document=n, place="document"), cost=cost)
        return len(cost.priced)

    assert calls(400) <= 2.1 * calls(200)


def test_a_copy_has_the_final_rank_of_the_one_that_stays_and_names_it():
    """If this fails, a copy is told under a rank that no source has in the result."""
    near = "The late fee for invoices that are unpaid after thirty days is charged by the finance team of the branch"
    sources = [
        Source("a (rank 4)", "One text.", 0.9), Source("b", "One text.", 0.8), Source("c", "One text.", 0.7),
        Source("d", "Two text.", 0.6), Source("e", "Two text.", 0.5, required=True), Source("f", near, 0.4),
        Source("g", near + ".", 0.3), Source("h", "Two text.", 0.2),
    ]
    for dedup in ("exact", "near", "sentences", "merge"):
        packed = pack(sources, packing=Packing(dedup=dedup))
        ranks = {placed.id: placed.rank for placed in packed}
        assert sorted(ranks.values()) == list(range(1, len(ranks) + 1))
        copies = [drop for drop in packed.dropped if drop.of]
        assert {drop.source.id for drop in copies} >= {"b", "c", "d", "h"}
        for drop in copies:
            assert drop.rank == ranks[drop.of]
            assert repr(drop.of) in drop.detail
            assert "(rank" not in drop.detail.replace("a (rank 4)", "")
    builder = PromptBuilder(2000, counter="words").add_sources(sources)
    assert "same text as 'e'; at least 2 tokens (rank 2, " in builder.render().why("d")
    chunks = [
        Source("x", "Alpha beta gamma.", 0.9), Source("y", "Alpha beta gamma.", 0.8),
        Source("z", "Gamma delta. Epsilon zeta.", 0.7, document="d", start=0, end=26),
        Source("inside", "Epsilon zeta.", 0.6, document="d", start=13, end=26),
    ]
    merged = pack(chunks, packing=Packing(dedup="merge"))
    assert {chunk for placed in merged for chunk in placed.chunk_ids} >= {"z", "inside"}
