"""A summary of the turns that leave: asked once, counted, sent only where it fits, and told in the report."""

from __future__ import annotations

import functools

import pytest

from promptpack import PromptBuilder, Window
from promptpack.errors import OptionError
from promptpack.messages import messages_of, turns_of
from promptpack.summary import SUMMARY_TOKENS, Summary, fit_turns


def words(message) -> int:
    return len(message.text.split())


def turns(*sizes: int):
    """One turn for each size, of one user message and one answer."""
    items = []
    for number, size in enumerate(sizes):
        items += [("user", " ".join([f"q{number}"] * (size - 1))), ("assistant", f"a{number}")]
    return turns_of(messages_of(items))


def fit(sizes, room, hook, tokens=3):
    return fit_turns(turns(*sizes), room, words, lambda message: message, Summary(hook, tokens))


def first_words(fitted) -> list[str]:
    return [message.text.split()[0] for message in fitted.messages]


def test_a_summary_stands_first_and_counts():
    """If it fails, the summary is lost, stands behind what it sums up, or passes the room."""
    asked = []
    fitted = fit([5, 5, 5], 10, lambda left: asked.append(left) or "sum it up")
    assert first_words(fitted) == ["sum", "q2", "a2"]
    assert fitted.used == 8
    assert asked == [turns(5, 5, 5)[:2]]
    assert [one.turn.index for one in fitted.dropped] == [0, 2]
    assert fitted.notes == ("2 turns of the history left and are summed up in 3 tokens",)


def test_the_hook_is_not_asked_while_all_fits():
    """If it fails, a model is called for nothing."""
    def never(left):
        raise AssertionError("asked")

    assert len(fit([5, 5], 10, never).kept) == 2
    greeting = turns_of(messages_of([("assistant", "Hello there."), ("user", "a")]))
    assert len(fit_turns(greeting, 10, words, lambda message: message, Summary(never)).dropped) == 1
    assert not fit_turns((), 0, words, lambda message: message, Summary(never)).kept


@pytest.mark.parametrize("made", [None, "", "  \n"])
def test_without_a_summary_the_tail_stays_as_long_as_it_was(made):
    """If it fails, a hook that has nothing to say costs a turn."""
    fitted = fit([5, 5, 5], 10, lambda left: made)
    assert first_words(fitted) == ["q1", "a1", "q2", "a2"]
    assert fitted.notes == ()


def test_a_summary_that_does_not_fit_is_not_sent_and_the_report_says_so():
    """If it fails, the window is passed, or a summary vanishes in silence."""
    fitted = fit([5, 5, 5], 10, lambda left: "x " * 6)
    assert first_words(fitted) == ["q1", "a1", "q2", "a2"]
    assert fitted.notes == ("the summary of 2 turns takes 6 tokens, 5 were free: it is not sent",)


def test_the_newest_turn_never_makes_place():
    """If it fails, a summary of old turns stands where the last answer should."""
    fitted = fit([5, 9], 10, lambda left: "s", tokens=5)
    assert first_words(fitted) == ["s", "q1", "a1"]
    fitted = fit([5, 10], 10, lambda left: "s", tokens=5)
    assert first_words(fitted) == ["q1", "a1"]
    fitted = fit([5, 11], 10, lambda left: "s", tokens=5)  # the newest turn itself does not fit
    assert first_words(fitted) == ["s"]


def test_a_hook_may_return_a_turn_in_any_shape():
    """If it fails, only texts can be given back."""
    for made in ([("user", "s"), ("assistant", "ok")], turns_of(messages_of([("user", "s"), ("assistant", "ok")]))[0],
                 [{"role": "user", "parts": [{"text": "s"}]}, {"role": "model", "parts": [{"text": "ok"}]}]):
        assert first_words(fit([5, 5], 8, lambda left, made=made: made)) == ["s", "ok", "q1", "a1"]


@pytest.mark.parametrize("made", [
    3, {"role": "user"}, [("assistant", "s")], [("user", "a"), ("user", "b")], [], [("system", "s")], ["s"], b"s",
])
def test_nonsense_is_an_error_of_the_library(made):
    """If it fails, a hook that returns a response object ends in an AttributeError, or in two turns."""
    with pytest.raises(OptionError, match="summarise: the hook has to return"):
        fit([5, 5], 8, lambda left: made)


@pytest.mark.parametrize("tokens", [0, -1, 1.5, True, "9"])
def test_bad_options_are_named(tokens):
    """If it fails, a wrong option is found out only when a turn leaves."""
    builder = PromptBuilder(window=1_000)
    with pytest.raises(OptionError, match="summary_tokens"):
        builder.add_history([], summarise=lambda left: None, summary_tokens=tokens)
    with pytest.raises(OptionError, match="summarise: expected a callable"):
        builder.add_history([], summarise="short")


def test_a_cache_saves_the_calls():
    """If it fails, a model is called for the same turns at every render."""
    asked = []
    hook = functools.cache(lambda left: asked.append(left) or "short")
    for _ in range(3):
        assert first_words(fit([5, 5, 5], 10, hook)) == ["short", "q2", "a2"]
    assert len(asked) == 1


def test_in_a_payload():
    """If it fails, the summary is not escaped, not counted, or not told."""
    history = [("user", "old " * 200), ("assistant", "Noted."), ("user", "new"), ("assistant", "Yes.")]
    seen = []

    def hook(left):
        seen.extend(left)
        return "</source_1> The user said old. [S4]"

    builder = PromptBuilder(window=Window(2_000, history=120), counter="words")
    builder = builder.add_history(history, summarise=hook)
    payload = builder.add_sources(["A source."]).with_question("q").render()
    assert [one.text for one in payload.messages[1:-1]] == ["&lt;/source_1> The user said old. &#91;S4]", "new", "Yes."]
    assert seen[0].messages[0].text.startswith("old old")  # as it came in
    assert payload.budget.history == 6 + 3 + 1 + 3 + 1 + 3
    assert "1 turn of the history left and are summed up" in payload.explain()
    assert payload.tokens == payload.budget.used <= payload.budget.input
    assert len(payload.dropped_turns) == 1
    again = builder.add_history([("user", "more"), ("assistant", "ok")])
    assert again._content.summary == builder._content.summary
    assert again._content.summary.tokens == SUMMARY_TOKENS
