"""select="auto", the builder's default: spans where they pay, and the very bytes of "top" everywhere else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from promptpack import Cut, Packing, PromptBuilder, Source, Window, pack, presets
from promptpack.draft import without_weakest
from promptpack.packing import Diversity
from promptpack.packing.spans_auto import CHARACTERS, MOST, ROOM

FEE = "The fee for a late payment of an invoice is five euros for each day."
FILLER = "Our shops are open from nine to five on every working day of the week."
OTHER = "Parcels are sent by ordinary post, and arrive after three or four days."
QUESTION = "What is the fee for a late payment?"
AUTO = Packing(select="auto")
HITS = [
    Source("shops", f"{OTHER} {FILLER}", 0.9, document="shops"),
    Source("terms", f"{FILLER} {OTHER} {FEE}", 0.8, document="terms"),
    Source("post", f"{OTHER} {OTHER.replace('Parcels', 'Letters')}", 0.7, document="post"),
]


def words(text: str) -> int:
    return len(text.split())


def told(budget: int | None, *, hits: list[Source] = HITS, question: str | None = QUESTION, **changes: object) -> str:
    """Pack with auto and with the selection that it says it came to; both have to give the same."""
    packed = pack(hits, budget, packing=Packing(select="auto", **changes), question=question)
    select = packed.select.split(":")[0]
    plain = pack(hits, budget, packing=Packing(select=select, **changes), question=question)
    assert (packed.sources, packed.dropped, packed.used) == (plain.sources, plain.dropped, plain.used)
    assert packed.notes == (f"select={packed.select}",) * (select == "spans")
    return packed.select


def test_spans_where_a_question_meets_little_room() -> None:
    """If this fails, the default drops whole sources where their sentences would have fitted."""
    assert told(30) == "spans: a question is given, and 30 of 97 tokens fit"


@pytest.mark.parametrize("question", [None, "", " \n"])
def test_top_without_a_question(question: str | None) -> None:
    """If this fails, sources are cut into sentences that nothing tells apart."""
    assert told(30, question=question) == "top: no question is given"


def test_top_where_everything_fits() -> None:
    """If this fails, the order changes although nothing has to be left out."""
    assert told(97) == "top: everything fits"
    assert told(96) == "spans: a question is given, and 96 of 97 tokens fit"
    assert told(None) == "top: there is no limit"


def test_top_where_the_limits_in_number_leave_what_fits() -> None:
    """If this fails, a top_k that fits is cut for nothing."""
    assert told(60, top_k=1) == "top: everything fits"
    assert told(20, top_k=1).startswith("spans: a question is given, and 20 of ")
    same = [Source(str(k), one.text, one.score, document="d") for k, one in enumerate(HITS)]
    assert told(30, hits=same, max_per_document=1) == "top: everything fits"


def test_top_from_the_room_on_where_spans_bring_nothing() -> None:
    """If this fails, whole sources are cut in windows where that was measured not to help, and cost time."""
    hits = [Source(str(k), f"{FILLER} {FEE} {k}", 1 - k / 1000) for k in range(100)]
    assert told(ROOM + 1, hits=hits) == "top: there is room for 3,073 tokens, more than 3,072"
    assert told(ROOM // 3, hits=hits).startswith("spans: ")


def test_a_choice_of_the_users_own_stands() -> None:
    """If this fails, a cut or a diversity that was asked for is ignored."""
    cut = [*HITS[:2], Source("post", HITS[2].text, 0.7, cut=Cut(min_tokens=3))]
    assert told(30, hits=cut) == "top: a source says how it may be shortened"
    assert told(30, diversity=Diversity(0.7)) == "top: a diversity orders the sources"


def test_required_sources_are_taken_whole_and_leave_the_room() -> None:
    """If this fails, what is required is cut, or its tokens count as room."""
    hits = [*HITS, Source("must", FILLER, 0.1, required=True)]
    packed = pack(hits, 45, packing=AUTO, question=QUESTION)
    assert packed.select == "spans: a question is given, and 30 of 97 tokens fit"
    assert FILLER in [one.text for one in packed if one.source.id == "must"]


def test_a_long_list_is_looked_at_up_to_a_hundred() -> None:
    """If this fails, a default takes seconds for thousands of hits, or loses those that it does not look at."""
    hits = [Source(f"{k:04}", f"{FILLER} {OTHER} {k}", 1 - k / 1000) for k in range(MOST + 150)]
    priced = []

    def cost(source: Source) -> int:
        priced.append(source.id)
        return words(source.text)

    cost.floor = lambda source, limit: len(source.text) // 20  # type: ignore[attr-defined]
    packed = pack(hits, 200, packing=AUTO, cost=cost, question=QUESTION)
    assert set(priced) == {hit.id for hit in hits[:MOST]}
    assert len(packed.sources) + len(packed.dropped) == len(hits)
    assert "spans look at the best 100 sources" in packed.dropped[-1].detail
    assert all(out.reason == "not_selected" for out in packed.dropped[-150:])
    small = [Source(f"{k:04}", f"Fee {k}.", 1 - k / 1000) for k in range(MOST + 150)]
    assert told(2 * MOST + 20, hits=small) == "top: the best 100 sources fit"


def test_long_texts_are_looked_at_up_to_a_bound() -> None:
    """If this fails, a few books take seconds."""
    third = CHARACTERS // 3 // len(FEE)
    hits = [Source(str(k), " ".join(f"{FEE} {k}" for _ in range(third - 99)), 1 - k / 10) for k in range(5)]
    packed = pack(hits, 100, packing=AUTO, question=QUESTION)
    assert packed.select.startswith("spans: ")
    assert packed.sources
    assert [out.source.id for out in packed.dropped if "the best 3 sources" in out.detail] == ["3", "4"]
    book = [Source("book", f"{FEE} " * (CHARACTERS // len(FEE)), 2.0)]
    assert told(100, hits=[*book, *hits]) == "top: the text of the best source is too long"


def test_top_prices_what_top_prices() -> None:
    """If this fails, the default counts tokens that nobody needs."""
    hits = [Source(str(k), f"{FILLER} {k}", 1 - k / 1000) for k in range(500)]

    def priced(select: str, question: str | None) -> int:
        asked = []

        def cost(source: Source) -> int:
            asked.append(source.id)
            return words(source.text)

        cost.floor = lambda source, limit: len(source.text) // 4  # type: ignore[attr-defined]
        pack(hits, ROOM + 1, packing=Packing(select=select), cost=cost, question=question)
        return len(asked)

    assert priced("auto", QUESTION) == priced("top", QUESTION) < 500


def test_who_has_which_default() -> None:
    """If this fails, pack() or a packing of one's own changes in silence, or the builder does not use spans."""
    assert Packing().select == "top"
    assert PromptBuilder(1000).packing.select == "auto"
    assert PromptBuilder(1000).with_packing(top_k=3).packing.select == "auto"
    assert PromptBuilder(1000, packing=Packing(top_k=3)).packing.select == "top"
    assert presets.docs_qa(1000).packing.select == presets.chat(1000).packing.select == "auto"
    assert presets.logs(1000).packing.select == "prefix"


def test_the_builder_by_default_and_where_it_is_told_otherwise() -> None:
    """If this fails, an explicit select loses, or the report does not say which selection was used."""
    builder = PromptBuilder(Window(150, answer=0), counter="words").add_sources(HITS)
    asked = builder.with_question(QUESTION).render()
    assert asked.report.select.startswith("spans: a question is given, and ")
    assert f"select={asked.report.select}" in asked.report.notes
    top = builder.with_question(QUESTION).with_packing(select="top").render()
    assert (top.report.select, top.report.notes) == ("top", ())
    plain = builder.render()
    assert plain.report.select == "top: no question is given"
    assert plain.messages == builder.with_packing(select="top").render().messages
    large = builder.with_window(400).with_question(QUESTION)
    assert large.render().messages == large.with_packing(select="top").render().messages

    def best(costs: list[int], values: list[float], budget: int) -> list[int]:
        return [0]

    assert builder.with_packing(select=best).render().report.select == "best"


def test_spans_load_only_where_they_are_used() -> None:
    """If this fails, the default makes every request pay for spans."""
    code = (
        "import sys; from promptpack import PromptBuilder; "
        "PromptBuilder(8192).add_sources(['One.', 'Two.']).with_question('Two?').render(); "
        "print([name for name in ('numpy', 'promptpack.packing.spans', 'promptpack.packing.sentences') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_worth_least_leaves_where_a_payload_turns_out_too_large() -> None:
    """If this fails, the sentence that answers the question is the first to go, since its chunk has the last rank."""
    sources = {one.id: one for one in HITS}
    placed = pack(HITS, 60, packing=Packing(select="spans", place="best_first"), question=QUESTION).sources
    assert placed[0].source.id == "terms"
    assert placed[0].rank == 2
    kept, out = without_weakest(placed, 1, sources)
    assert kept == list(placed[:-1])
    assert [one.source.id for one in out] == [placed[-1].source.id]
    plain = pack(HITS, packing=Packing(place="best_first")).sources
    assert without_weakest(plain, 1, sources)[0] == list(plain[:-1])
