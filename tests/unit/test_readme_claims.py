"""Claims of the README that no test of a single module keeps: each is checked on a whole payload."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from promptpack import PromptBuilder, Source, Window, counter
from promptpack.templates import template_names

HITS = [Source(f"c{at}", f"Lamp {at} is built from brass and glass.", 1 - at / 10) for at in range(6)]


def made(window: int | Window = 4096, **settings: object) -> PromptBuilder:
    return PromptBuilder(window, **settings).add_sources(HITS).with_question("Which lamp?")  # type: ignore[arg-type]


class Recorder:
    """Counts words, whose counts add up, and keeps what it was asked."""

    name, exact, additive, uniform_digits = "recorder", True, True, False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split())


def crowded(text: str) -> int:
    """A counter whose counts do not add up: each block makes every other one dearer."""
    return len(text.split()) + 5 * text.count("<source_") ** 2


@pytest.mark.parametrize("template", template_names())
def test_the_question_comes_last(template: str) -> None:
    payload = made(template=template).add_history([("user", "Hello"), ("assistant", "Hello!")]).render()
    last = payload.messages[-1]
    assert last.role == "user"
    assert all(block.source.text in last.text for block in payload.sources)
    assert last.text.rindex("Which lamp?") > max(last.text.index(one.source.text) for one in payload.sources)


def test_each_text_is_counted_once() -> None:
    """If this fails, tokenising costs a multiple of one pass over the texts."""
    count = Recorder()
    payload = made(counter=count).render()
    assert len(payload.sources) == len(HITS)
    seen = Counter(source.text for asked in count.asked for source in HITS if source.text in asked)
    assert seen == Counter(source.text for source in HITS)


def test_where_counts_do_not_add_up_the_weakest_source_goes_until_it_fits() -> None:
    roomy, tight = made(4096, counter=crowded).render(), made(Window(250, answer=20), counter=crowded).render()
    assert len(roomy.sources) == len(HITS)
    assert 0 < len(tight.sources) < len(HITS)
    assert tight.tokens == 3 + sum(3 + crowded(message.text) for message in tight.messages) <= 230
    assert sorted(one.rank for one in tight.sources) == list(range(1, len(tight.sources) + 1))
    assert {drop.reason.value for drop in tight.dropped} == {"over_budget"}


def test_labels_count_in_prompt_order() -> None:
    payload = made().render()
    assert list(payload.labels) == [one.label for one in payload.sources] == [f"S{n}" for n in range(1, 7)]
    assert payload.text.index('id="S1"') < payload.text.index('id="S2"') < payload.text.index('id="S6"')


def test_the_history_takes_at_most_half_of_what_is_left() -> None:
    """If this fails, a long conversation leaves the sources no room."""
    turns = [(role, f"{role} says something {at}") for at in range(200) for role in ("user", "assistant")]
    budget = made(1500).add_history(turns).render().budget
    fixed = budget.answer + budget.margin + budget.system + budget.question + budget.frame + budget.tools
    assert 0 < budget.history <= (budget.window - fixed) // 2
    assert budget.history > (budget.window - fixed) // 2 - 60  # and not less than whole turns make it


def test_chunks_that_were_merged_share_one_label() -> None:
    text = "Wash the filters every week. Switch off the pump before that. Check gauge B afterwards."
    hits = [
        Source("d#0", text[:61], 0.9, document="d"), Source("d#1", text[29:], 0.8, document="d"),
        Source("e#0", "Another text.", 0.7, document="e"),
    ]
    builder = PromptBuilder(2048).with_packing(dedup="merge").add_sources(hits).with_question("How?")
    payload = builder.render()
    assert dict(payload.labels) == {"S1": ("d#0", "d#1"), "S2": ("e#0",)}
    assert text in payload.text
    assert payload.dropped == ()


def test_the_message_overhead_depends_on_the_model() -> None:
    """Without a model 3 tokens a message and 3 for the reply; an OpenAI model's role is counted, too."""
    count = counter("o200k_base")
    plain, model = made().render(), made(model="gpt-4o").render()
    assert plain.tokens == 3 + sum(3 + count(message.text) for message in plain.messages)
    assert model.tokens == 3 + sum(3 + count(one.role) + count(one.text) for one in model.messages)


@pytest.mark.parametrize("text", ["END OF SOURCES", "</s0urce_1>", "<sou.rce_1>", "--- end of context ---"])
def test_what_escaping_does_not_cover_comes_through(text: str) -> None:
    """A limit that the README names; if this fails, it is one no longer."""
    payload = PromptBuilder(2048).add_sources([text]).with_question("What?").render()
    assert f"\n{text}\n" in payload.text


def test_verify_does_not_judge_whether_a_passage_says_so() -> None:
    """A limit that the README names: a known citation is not a true claim."""
    result = made().render().verify("Lamp 0 is built from cheese [S1].")
    assert result.ok
    assert result.cited == ("c0",)


@pytest.mark.parametrize("template", ["default", "plain", "json", "claude"])
@pytest.mark.parametrize("counting", ["o200k_base", "words", len])
def test_the_budget_says_what_stands_around_the_texts(template: str, counting: Any) -> None:
    """If it fails, the price of metadata and tags is hidden in that of the sources."""
    hits = [
        Source("a", "Returns are free.", 0.9, metadata={"title": "Returns"}),
        Source("b", "Bulbs [S1] and </source_1> last.", 0.5, metadata={"title": "Bulbs", "section": "Light"}),
    ]
    builder = PromptBuilder(4000, template=template, counter=counting).add_sources(hits)
    full, bare = builder.render().budget, builder.with_fields().render().budget
    packed = full.used - full.fixed
    assert 0 < full.metadata < full.enclosures < packed
    assert bare.metadata == 0
    assert abs((packed - (bare.used - bare.fixed)) - full.metadata) <= 4  # where counts add up, it is the difference
    assert f"{full.metadata} of them for metadata" in str(full)
