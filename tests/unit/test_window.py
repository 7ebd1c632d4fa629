"""The window: what a plan may be, what the account adds up to, and what the error says when it does not."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack.errors import BudgetError, OptionError
from promptpack.window import LARGEST, Budget, Window, allocate, shortfall

NO_WHOLE_NUMBERS = [
    None,
    True,
    False,
    8192.0,
    "8192",
    b"8192",
    [],
    {},
    object(),
    float("nan"),
    float("inf"),
    Decimal(8192),
    Fraction(8192),
    np.float64(8192),
    1j,
]


def kind(value: object) -> str:
    return type(value).__name__  # a number of 5,000 digits has no text


def test_the_lesson() -> None:
    assert allocate(Window(2048, answer=500), system=350, question=40).sources == 1158


@pytest.mark.parametrize("size", [*NO_WHOLE_NUMBERS, 0, -1, LARGEST + 1, 10**5000], ids=kind)
def test_absurd_windows_are_refused(size: object) -> None:
    for make in (Window, Window.of, allocate):
        with pytest.raises(OptionError, match=r"^window: expected") as caught:
            make(size)  # type: ignore[operator]
        assert caught.value.name == "window"
        assert caught.value.given is size
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["answer", "margin"])
@pytest.mark.parametrize("value", [one for one in NO_WHOLE_NUMBERS if one is not None] + [-1, LARGEST + 1], ids=kind)
def test_absurd_reserves_are_refused(name: str, value: object) -> None:
    with pytest.raises(OptionError, match=f"^{name}: expected") as caught:
        Window(100, **{name: value})  # type: ignore[arg-type]
    assert caught.value.name == name


def test_margin_none_is_refused() -> None:
    with pytest.raises(OptionError, match="margin"):
        Window(100, margin=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "0.5",
        -0.1,
        1.1,
        -1,
        float("nan"),
        float("inf"),
        Decimal("0.5"),
        LARGEST + 1,
        1j,
        [],
        np.float32(2.0),
    ],
)
def test_absurd_shares_are_refused(value: object) -> None:
    with pytest.raises(OptionError, match=r"^history: ") as caught:
        Window(100, history=value)  # type: ignore[arg-type]
    assert caught.value.name == "history"


@pytest.mark.parametrize(
    ("history", "left", "room"),
    [
        (0.5, 301, 150),
        (0.0, 100, 0),
        (1.0, 100, 100),
        (0, 100, 0),
        (1, 100, 1),
        (200, 150, 150),
        (0.5, 0, 0),
        (200, 0, 0),
        (np.float32(0.25), 100, 25),
        (Fraction(1, 4), 100, 25),
        (np.int64(7), 100, 7),
        (0.5, -10, 0),
        (5, -10, 0),
    ],
)
def test_history_room(history: float, left: int, room: int) -> None:
    """An int means tokens and a float a share, also at 0 and 1."""
    found = Window(1000, history=history).history_room(left)
    assert found == room
    assert type(found) is int


@pytest.mark.parametrize(("size", "reserve"), [(1, 0), (3, 0), (4, 1), (4095, 1023), (4096, 1024), (1_000_000, 1024)])
def test_default_answer_reserve(size: int, reserve: int) -> None:
    assert Window(size).reserve == reserve
    assert Window(size, answer=0).reserve == 0


def test_numbers_of_numpy_become_plain() -> None:
    """An account with numpy numbers cannot be written as JSON."""
    window = Window(np.int64(1000), answer=np.int32(10), history=np.int16(5), margin=np.uint8(1))
    assert window == Window(1000, 10, 5, 1)
    budget = allocate(window, system=np.int64(7))
    for one in (
        window.size,
        window.answer,
        window.history,
        window.margin,
        budget.window,
        budget.system,
        budget.sources,
    ):
        assert type(one) is int


@pytest.mark.parametrize("name", ["system", "history", "question", "frame", "tools"])
@pytest.mark.parametrize("value", [*NO_WHOLE_NUMBERS, -1, LARGEST + 1], ids=kind)
def test_absurd_parts_are_refused(name: str, value: object) -> None:
    with pytest.raises(OptionError, match=f"^{name}: expected") as caught:
        allocate(1000, **{name: value})  # type: ignore[arg-type]
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("window", "x"),
        ("window", None),
        ("used", -1),
        ("sources", 1.5),
        ("exact", 1),
        ("exact", None),
        ("tools", True),
    ],
)
def test_an_account_checks_itself(field: str, value: object) -> None:
    """A stored payload with a broken account must not load."""
    with pytest.raises(OptionError, match=f"budget: {field}"):
        Budget(**{"window": 100, field: value})  # type: ignore[arg-type]


@given(
    size=st.integers(1, 5000),
    answer=st.none() | st.integers(0, 3000),
    margin=st.integers(0, 500),
    parts=st.fixed_dictionaries(
        {}, optional={name: st.integers(0, 1500) for name in ("system", "history", "question", "frame", "tools")}
    ),
)
def test_the_account_adds_up(size: int, answer: int | None, margin: int, parts: dict[str, int]) -> None:
    """The sources get exactly what is left; else the error's smallest window works and one token less does not."""
    plan = Window(size, answer=answer, margin=margin)
    fixed = sum(parts.values())
    try:
        budget = allocate(plan, **parts)
    except BudgetError as error:
        assert fixed + plan.reserve + margin > size
        assert isinstance(error.budget, Budget)  # noqa: PT017
        assert error.budget.fixed == fixed  # noqa: PT017
        assert error.needed is not None  # noqa: PT017
        assert error.needed > size  # noqa: PT017
        assert allocate(replace(plan, size=error.needed), **parts).sources >= 0  # noqa: PT017
        with pytest.raises(BudgetError):
            allocate(replace(plan, size=error.needed - 1), **parts)
        terms, total = re.search(r"tokens: (.*) = (\d+), (\d+) too many", str(error)).groups()[:2]  # type: ignore[union-attr]
        assert sum(map(int, re.findall(r"\d+", terms))) == int(total) == fixed + plan.reserve + margin
        assert f"The smallest window that works is {error.needed}" in str(error)  # noqa: PT017
    else:
        assert budget.sources == size - plan.reserve - margin - fixed
        assert budget.used == budget.fixed == fixed
        assert budget.input == size - plan.reserve - margin
        assert budget.left == budget.sources


def test_equality_with_the_window_is_allowed() -> None:
    budget = allocate(Window(100, answer=40), system=60)
    assert (budget.sources, budget.left) == (0, 0)
    with pytest.raises(BudgetError) as caught:
        allocate(Window(100, answer=40), system=61)
    assert caught.value.needed == 101


def test_the_error_says_everything() -> None:
    with pytest.raises(BudgetError) as caught:
        allocate(Window(400, answer=100, margin=20), system=350, question=40, frame=17, tools=3, history=9)
    assert str(caught.value) == (
        "the fixed parts do not fit the window of 400 tokens: system 350 + tools 3 + history 9 + question 40 + frame "
        "17 + answer reserve 100 + margin 20 = 539, 139 too many. The smallest window that works is 539. What could be "
        "shed: shorten the system text: 350 tokens; reserve less for the answer (Window.answer): 100 tokens; shorten "
        "the question: 40 tokens."
    )


def test_the_smallest_window_knows_that_the_default_reserve_grows() -> None:
    """450 would be too small: a quarter of it is kept for the answer."""
    with pytest.raises(BudgetError, match=r"works is 466 \(with an answer reserve of 116\)"):
        allocate(400, system=350)


def test_the_frame_alone_can_be_too_large() -> None:
    """The advice named nothing where only the template was too large."""
    with pytest.raises(BudgetError, match="take a template set that writes less: 20 tokens"):
        allocate(Window(10, answer=0), frame=20)


def test_required_sources_are_in_the_sum() -> None:
    account = allocate(Window(100, answer=10), system=50)
    error = shortfall(account, 50 + 60, what="the required sources", required=60, partial="so far")
    assert "system 50 + required sources 60 + answer reserve 10 = 120, 20 too many" in str(error)
    assert (error.needed, error.partial) == (120, "so far")
    late = shortfall(account, 95)  # found when the payload was counted: the sum must be true all the same
    assert "system 50 + required sources 45 + answer reserve 10 = 105" in str(late)


@pytest.mark.parametrize(
    ("budget", "lines"),
    [
        (
            Budget(100, 25, used=0),
            [
                "system     0",
                "sources    0  of 0 available",
                "question   0",
                "frame      0  template and roles",
                "used       0  of 75 allowed",
                "free      75",
                "answer    25  reserved",
                "window   100",
            ],
        ),
        (
            Budget(8192, 1024, 100, 20, 30, 40, 50, 6928, 1140, False, 10),
            [
                "system      20",
                "tools       10",
                "history     30",
                "sources    990  of 6928 available",
                "question    40",
                "frame       50  template and roles",
                "used     1,140  of 7068 allowed, estimated",
                "free     5,928",
                "margin     100",
                "answer   1,024  reserved",
                "window   8,192",
            ],
        ),
    ],
)
def test_the_table(budget: Budget, lines: list[str]) -> None:
    assert str(budget).split("\n") == lines


@pytest.mark.parametrize("value", [Window(100, 5, 0.25, 3), Budget(100, 5, exact=False)])
def test_values_can_be_kept(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == copy.copy(value) == value
    assert hash(copy.deepcopy(value)) == hash(value)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        value.margin = 7  # type: ignore[attr-defined]
