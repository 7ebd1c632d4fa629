"""Models without a system role: the system text opens the first user message, counted to the token."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack import Message, PromptBuilder, Source, Window
from promptpack.folding import fold_system, saved_tokens
from promptpack.tokens import counter

SYSTEM = Message("system", "Be brief.")
IMAGE = {"type": "image_url", "image_url": {"url": "data:,x"}}


def test_the_text_opens_the_first_user_message() -> None:
    folded = fold_system([SYSTEM, Message("user", "Why?"), Message("assistant", "So."), Message("user", "And?")])
    assert [(one.role, one.text) for one in folded] == [
        ("user", "Be brief.\n\nWhy?"), ("assistant", "So."), ("user", "And?")
    ]


def test_parts_and_other_fields_stay() -> None:
    """An image before the question must not be lost when the text moves."""
    first = Message("user", ({"type": "text", "text": "What is this?"}, IMAGE), name="reader")
    folded = fold_system([SYSTEM, first])[0]
    assert folded.content == ({"type": "text", "text": "Be brief."}, {"type": "text", "text": "What is this?"}, IMAGE)
    assert folded.name == "reader"


@pytest.mark.parametrize("messages", [[], [Message("user", "Why?")], [SYSTEM], [SYSTEM, Message("assistant", "So.")]])
def test_what_cannot_be_folded_stays(messages: list[Message]) -> None:
    assert fold_system(messages) == tuple(messages)
    assert saved_tokens(messages, len, 3) == 0


TEXTS = st.text(alphabet="ab1. \n/é日", max_size=30)


@settings(deadline=None)
@given(
    TEXTS.filter(str.strip), TEXTS,
    st.sampled_from(["o200k_base", "cl100k_base", "estimate", "words", "chars", "chars/4"]),
)
def test_the_difference_is_exact(system: str, user: str, name: str) -> None:
    """If this fails payload.tokens is wrong for every model without a system role."""
    count = counter(name)
    messages = [Message("system", system), Message("user", user)]
    before = sum(4 + count(one.text) for one in messages)
    after = sum(4 + count(one.text) for one in fold_system(messages))
    assert saved_tokens(messages, count, 4) == before - after


def test_a_long_message_is_not_counted_again() -> None:
    counted: list[int] = []

    class Additive:
        additive = True

        def __call__(self, text: str) -> int:
            counted.append(len(text))
            return len(text)

    saved_tokens([SYSTEM, Message("user", "word " * 10_000)], Additive(), 3)
    assert sum(counted) < 100


def built(model: str | None, window: int = 1000, **options: Any) -> PromptBuilder:
    return (
        PromptBuilder(Window(window, answer=200), model=model, **options)
        .with_system("You are the desk of a lamp shop.")
        .with_question("How long is the refund period?")
        .add_sources([Source(f"c{n}", f"Refunds are possible for {n} days. " * 5, 1 - n / 100) for n in range(40)])
    )


@pytest.mark.parametrize("name", ["o200k_base", "estimate", "words", "chars/4"])
@pytest.mark.parametrize("history", [(), (("user", "Hi there."), ("assistant", "Hello."))], ids=["alone", "history"])
@pytest.mark.parametrize("template", [None, "default", "plain"])
def test_a_payload_without_a_system_message(name: str, history: Any, template: str | None) -> None:
    """The request was refused until the text was moved; nothing of it may be lost, and the count has to be exact."""
    payload = built("gemma-2-9b-it", counter=name, template=template).add_history(history).render()
    roles = [message.role for message in payload.messages]
    assert roles == [*(role for role, _ in history), "user"]
    assert payload.messages[0].text.startswith("You are the desk of a lamp shop.\n")
    count = counter(name)
    assert payload.tokens == sum(5 + count(message.text) for message in payload.messages) + 4
    assert payload.tokens <= payload.budget.input
    assert payload.budget.fixed <= payload.tokens
    assert payload.dropped  # the window was used
    assert payload.budget.left < 120
    assert payload.layout is not None
    assert payload.layout.system
    assert payload.messages[0].text.startswith(payload.layout.system)


def test_the_account_adds_up() -> None:
    """The system text is the system's share, and no message is counted that is not sent."""
    folded, plain = built("gemma-2-9b-it", counter="words").render(), built("gemma-4-31b-it", counter="words").render()
    assert plain.messages[0].role == "system"
    assert folded.budget.system == plain.budget.system
    assert folded.budget.frame < plain.budget.frame


def test_models_with_a_system_role_keep_it() -> None:
    for model in (None, "gpt-4o", "gemma-4-31b-it", "llama-3.1-8b"):
        assert built(model).render().messages[0].role == "system"
