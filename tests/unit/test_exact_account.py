"""The account is that of a recount, also for templates, texts and counters that do not add up in the usual way."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from promptpack import PromptBuilder, Source, TemplateSet, Window, counter
from promptpack.packing import Packing
from promptpack.payload import Payload
from promptpack.templates import template_names


def recount(payload: Payload, name: str) -> int:
    count = counter(name)
    return 3 + sum(3 + count(message.text) for message in payload.messages)


@pytest.mark.parametrize(("source", "texts", "name", "fillers"), [
    ("{{ n }} {{ text }} [{{ n }}]", ["abc", "x y"], "chars", 12),
    ("{{ label }}\n{{ text }}\n/{{ label }}", ["abc", "xyz"], "chars", 12),
    ("{{ label }}\n{{ text }}\n/{{ label }}", ["\nabc", "  xyz", "/a"], "o200k_base", 12),
    ("{{ label }}: {{ text }}{{ n }}", ["year 12", "x 9"], "o200k_base", 12),
    ("({{ n }}) {{ text }}{{ n }}", ["12", "99", "7"], "cl100k_base", 0),
    ("({{ n }}) {{ text }} {{ label }}", ["12", "99", "7"], "o200k_base", 1200),
])
def test_a_label_may_stand_anywhere(source: str, texts: list[str], name: str, fillers: int) -> None:
    """If it fails, a label beside the text is priced under another number than it gets."""
    sources = [Source(f"s{at}", text, 1 - at / 100) for at, text in enumerate(texts)]
    sources += [Source(f"z{at}", "filler " * 9000 + str(at), 0.001) for at in range(fillers)]
    template = TemplateSet.from_string("<s>\n{{ sources }}\n</s>\n{{ question }}", source=source)
    payload = PromptBuilder(4000, counter=name, template=template).add_sources(sources).with_question("q").render()
    assert len(payload.sources) == len(texts)
    assert payload.tokens == recount(payload, name)


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "short"


@pytest.mark.parametrize("text", [Markup("/with never"), Markup(" <b>lead</b>"), Loud("a text with many more words")])
def test_a_text_of_another_type_is_its_letters(text: str) -> None:
    """If it fails, `Markup` escapes what stands before it, or a type of your own sends another text than it holds."""
    builder = PromptBuilder(2000).add_sources([Source("a", text, metadata={"title": "t"})]).with_question("q")
    payload = builder.render()
    assert payload.tokens == recount(payload, "o200k_base")
    assert str.__str__(text) in payload.text


def steep(text: str) -> int:
    return len(text) // 4 + (len(text) // 150) ** 2  # a whole costs more than its parts together


@pytest.mark.parametrize("size", range(230, 430, 10))
def test_no_chunk_of_a_merged_passage_is_lost_when_it_leaves_late(size: int) -> None:
    """If it fails, the chunks that went into a passage vanish with it."""
    words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    document = "".join(f"{word}{at} " for at in range(12) for word in words)
    sources = [Source("top", "unrelated words here " * 12, 0.9)] + [
        Source(f"m{at}", document[at * 100: at * 100 + 160], 0.5 - at / 100, document="D", start=at * 100,
               end=at * 100 + 160)
        for at in range(3)
    ]
    builder = PromptBuilder(Window(size, answer=0), counter=steep, packing=Packing(dedup="merge"))
    payload = builder.add_sources(sources).with_question("q").render()
    told = [id_ for one in payload.sources for id_ in one.chunk_ids] + [out.source.id for out in payload.dropped]
    assert sorted(told) == ["m0", "m1", "m2", "top"]


@pytest.mark.parametrize("name", template_names())
@pytest.mark.parametrize("words", [20, 400, 3000])
def test_the_parts_of_the_account_are_what_is_sent(name: str, words: int) -> None:
    """If it fails, the table shows sources that cost less than nothing, or a frame that is not there."""
    builder = PromptBuilder(Window(9000, answer=100), template=name).add_sources([Source("a", "word " * words)])
    budget = builder.with_question("q").render().budget
    assert budget.fixed + budget.sources == budget.input
    assert 0 <= budget.used - budget.fixed <= budget.sources
    assert 0 <= budget.metadata <= budget.enclosures < budget.used - budget.fixed


def test_a_short_form_needs_no_room_for_the_long_one() -> None:
    """If it fails, a template that repeats its rules after long sources refuses windows that would do."""
    assert len(PromptBuilder(120, template="gpt").add_sources(["Free."]).with_question("q").render().sources) == 1
