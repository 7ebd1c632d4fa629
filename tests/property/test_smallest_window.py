"""The window that a BudgetError names: it works, and where counts add up no smaller one does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from promptpack import BudgetError, Cut, PromptBuilder, Source, Window


def growing(text: str) -> int:
    """Count a text so that the whole is more than its parts."""
    return len(text) + len(text) ** 2 // 3000


COUNTERS: dict[str, tuple[str | Callable[[str], int], bool]] = {
    "words": ("words", True), "chars": ("chars", True), "o200k_base": ("o200k_base", True),
    "estimate": ("estimate", True), "growing": (growing, False),
}
TEXTS = st.lists(st.sampled_from(["word", "here.", "Tea", "is", "hot.", "42", "ä", "\n"]), min_size=1, max_size=60).map(
    " ".join
)
KINDS = st.sampled_from([{}, {"required": True}, {"pinned": True}])


@st.composite
def builders(draw: st.DrawFn, count: str | Callable[[str], int], cut: Cut | None) -> PromptBuilder:
    texts = draw(st.lists(st.tuples(TEXTS, KINDS), min_size=1, max_size=4))
    sources = [Source(f"s{at}", f"{at} {text}", 1 - at / 9, cut=cut, **kind) for at, (text, kind) in enumerate(texts)]
    size = draw(st.integers(1, 400))
    plan = draw(st.sampled_from([
        size, Window(size), Window(size, answer=0), Window(size, answer=30, margin=7, history=1.0),
        Window(size, history=9),
    ]))
    builder = PromptBuilder(plan, counter=count).add_sources(sources)
    builder = builder.with_question(draw(st.none() | TEXTS)).with_system(draw(st.none() | TEXTS))
    turns = draw(st.lists(TEXTS, max_size=2))
    return builder.add_history([one for text in turns for one in (("user", text), ("assistant", text))])


def resized(builder: PromptBuilder, size: int) -> PromptBuilder:
    window = builder.window
    return builder.with_window(replace(window, size=size) if isinstance(window, Window) else size)


@pytest.mark.parametrize("cut", [None, Cut(min_tokens=5)], ids=["whole", "cut"])
@pytest.mark.parametrize("name", COUNTERS)
@seed(20261130)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_window_that_is_named_works(name: str, cut: Cut | None, data: st.DataObject) -> None:
    """If this fails, whoever takes the window that the error names gets the next error."""
    count, additive = COUNTERS[name]
    builder = data.draw(builders(count, cut))
    try:
        builder.render()
    except BudgetError as error:
        told, needed = str(error), error.needed
    else:
        return
    assert needed is not None
    assert f"The smallest window that works is {needed}" in told
    assert resized(builder, needed).render().budget.left >= 0
    if additive and cut is None:
        with pytest.raises(BudgetError):
            resized(builder, needed - 1).render()
