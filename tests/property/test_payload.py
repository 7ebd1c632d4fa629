"""What must hold of every payload, whatever goes in."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from promptpack import BudgetError, Payload, PromptBuilder, Source, Window, counter
from promptpack.escape import LiveLabels, Rules, scan

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

HOSTILE = st.sampled_from([
    "</source_1>", "</sources>", "<question>", "</question>", '<source_2 id="S2">', "<|im_start|>", "[S1]", "[S1 | a]",
    "&lt;/source_1>", "{{ question }}", "{% endfor %}", "\x00", "\ud800", "\u200b", "[INST]", "</s>", "\n", "/", " ",
    "\t",
    "\r\n", "<system>", "\u017f", "'\u017f", "<!--", "<source_", "1>", "source_1", "<", "/", ">", "[", "S1", "]", "&",
])
WORDS = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
PIECES = st.one_of(HOSTILE, WORDS, st.sampled_from(["a word ", "42 lamps. ", "ランプ", "😀"]))
TEXT = st.lists(PIECES, max_size=12).map("".join)
SOURCE = st.builds(
    lambda n, text, score, title, when, required: Source(
        f"c{n}", text, score, updated=when, required=required and bool(text.strip()) and len(text) < 40,
        metadata={"title": title} if title else {},
    ),
    st.integers(0, 10**6), TEXT, st.one_of(st.none(), st.floats(-10, 10)), TEXT,
    st.one_of(st.none(), st.dates(), st.integers(0, 2 * 10**9)), st.sampled_from([False] * 9 + [True]),
)
SOURCES = st.lists(SOURCE, max_size=14, unique_by=lambda one: one.id)


def pieces(text: str) -> int:
    """A counter whose counts do not add up over joins."""
    return len(re.findall(r"\w+|[^\w\s]|\n\n?", text))


COUNTERS = {"o200k_base": "o200k_base", "cl100k_base": "cl100k_base", "estimate": "estimate", "words": "words",
            "chars": "chars", "chars/4": "chars/4", "callable": pieces}


def whole(payload: Payload, count: object) -> int:
    """The payload counted again from its messages."""
    counting = counter(count)  # type: ignore[arg-type]
    return 3 + sum(3 + counting(str(message.content)) for message in payload.messages)


@pytest.mark.parametrize("template", ["default", "plain"])
@pytest.mark.parametrize("count", COUNTERS)
@QUICK
@given(
    sources=SOURCES, question=TEXT, window=st.integers(150, 1500),
    select=st.sampled_from(["top", "prefix", "density", "optimal", "priority", "edges"]),
    place=st.sampled_from(["fold", "best_first", "best_last", "document", "chronological", "buried"]),
)
def test_it_fits_and_the_account_is_right(
    count: str, template: str, sources: list[Source], question: str, window: int, select: str, place: str
) -> None:
    """Counted as a whole, no payload passes its window, and the account is the count of what is sent."""
    builder = PromptBuilder(Window(window, answer=30, margin=5), template=template, counter=COUNTERS[count])
    builder = builder.add_sources(sources).with_question(question).with_packing(select=select, place=place)
    try:
        payload = builder.render()
    except BudgetError as error:
        needed = error.needed
    else:
        needed = None
    if needed is not None:
        assert needed > window
        return
    assert whole(payload, COUNTERS[count]) == payload.tokens
    assert payload.tokens <= window - 35
    assert payload.budget.input == window - 35


@QUICK
@given(sources=SOURCES, question=TEXT, window=st.integers(200, 1200))
def test_nothing_is_lost(sources: list[Source], question: str, window: int) -> None:
    """Every source is sent or dropped, once, and `why` answers for it."""
    try:
        payload = PromptBuilder(window, counter="words").add_sources(sources).with_question(question).render()
    except BudgetError:
        return
    sent = [chunk for one in payload.sources for chunk in one.chunk_ids]
    dropped = [out.source.id for out in payload.dropped]
    assert sorted(sent + dropped) == sorted(one.id for one in sources)
    for one in sources:
        assert one.id in payload.why(one.id)
    assert all(out.reason and out.stage and out.detail for out in payload.dropped)
    assert [one.label for one in payload.sources] == [f"S{n + 1}" for n in range(len(payload.sources))]
    assert dict(payload.labels) == {one.label: one.chunk_ids for one in payload.sources}


@QUICK
@given(sources=SOURCES, question=TEXT, order=st.randoms(use_true_random=False))
def test_the_order_of_the_input_never_matters_when_there_are_scores(
    sources: list[Source], question: str, order: object
) -> None:
    scored = [one for one in sources if one.score is not None]
    other = list(scored)
    order.shuffle(other)  # type: ignore[attr-defined]
    builder = PromptBuilder(700, counter="words").with_question(question)
    try:
        a, b = builder.add_sources(scored).render(), builder.add_sources(other).render()
    except BudgetError:
        return
    assert a.messages == b.messages
    assert a.labels == b.labels


@QUICK
@given(sources=SOURCES, question=TEXT)
@example(sources=[Source("c1", "</source_1", 0.9), Source("c2", ">x", 0.8)], question="</quest")
def test_only_the_tags_of_the_template_survive(sources: list[Source], question: str) -> None:
    """The boundaries, markers and live labels of the payload are those of the same payload with harmless text."""
    builder = PromptBuilder(100_000, counter="words").with_packing(dedup="off")
    payload = builder.add_sources(sources).with_question(question).render()
    harmless = [
        Source(one.source.id, f"harmless {index}", -one.rank, updated=None,
               metadata={"title": "harmless"} if "title" in one.attributes else {})
        for index, one in enumerate(payload.sources)
    ]
    asked = "harmless" if question.strip() else ""
    plain = builder.add_sources(harmless).with_question(asked).render()
    rules = Rules(labels=LiveLabels(len(payload.sources)))  # [S1] is no label where nothing was sent
    assert scan(payload.messages[-1].text, rules) == scan(plain.messages[-1].text, rules)
    payload.text.encode("utf-8")


@QUICK
@given(sources=SOURCES, question=TEXT, window=st.integers(200, 1200))
def test_a_payload_survives_the_way_through_json(sources: list[Source], question: str, window: int) -> None:
    builder = PromptBuilder(window, counter="chars/4").add_sources(sources).with_question(question)
    builder = builder.add_history([("user", "Hello there"), ("assistant", "Hi. " * 200), ("user", question or "x")])
    try:
        payload = builder.render()
    except BudgetError:
        return
    again = Payload.from_dict(json.loads(json.dumps(payload.to_dict())))
    assert again == payload
    assert again.to_openai() == payload.to_openai()


@QUICK
@given(
    numbers=st.lists(st.integers(1, 6), max_size=8),
    between=st.lists(
        st.sampled_from(["Lamps last long", "see [1998]", "`x[S1]`", "[sic]", "a[1]", "(2)", "S1 is"]), max_size=8
    ),
)
def test_verify_finds_every_inserted_citation_and_nothing_else(numbers: list[int], between: list[str]) -> None:
    facts = [f"Fact {n}." for n in range(4)]
    payload = PromptBuilder(2000, counter="words").add_sources(facts).with_question("?").render()
    answer = ""
    for index, n in enumerate(numbers):
        answer += (between[index % len(between)] if between else "Fact") + f" [S{n}]. "
    result = payload.verify(answer)
    assert [one.label for one in result.citations] == [f"S{n}" for n in numbers]
    assert [answer[one.start:one.end] for one in result.citations] == [f"[S{n}]" for n in numbers]
    assert set(result.known) == {f"S{n}" for n in numbers if n <= 4}
    assert set(result.unknown) == {f"S{n}" for n in numbers if n > 4}


@QUICK
@given(sources=SOURCES, question=TEXT, day=st.dates(date(2020, 1, 1), date(2030, 1, 1)))
def test_rendering_twice_gives_the_same_bytes(sources: list[Source], question: str, day: date) -> None:
    builder = PromptBuilder(3000, counter="words").add_sources(sources).with_question(question)
    builder = builder.add_sources([Source("dated", "A dated text.", 1.0, updated=day)])
    assert builder.render().text == builder.render().text
