"""Calibration: simulated usage figures give back the numbers that made them, and nonsense is refused."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack import PromptBuilder, Window, calibrate, counter
from promptpack.errors import OptionError
from promptpack.tokens.calibration import LEAST, CalibratedCounter

WORDS = [
    "you", "can", "return", "any", "lamp", "within", "days", "refund", "warranty", "three", "years", "of", "the",
]


def usage(n: int, scale: float, overhead: int, noise: float, seed: int, low: int = 200, high: int = 9000) -> list[Any]:
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        counted = rng.randint(low, high)
        pairs.append((counted, max(1, round(overhead + scale * counted * (1 + rng.uniform(-noise, noise))))))
    return pairs


@pytest.mark.parametrize(("scale", "overhead"), [(0.8, 0), (1.0, 12), (1.27, 350), (2.4, 40)])
@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_come_back(scale: float, overhead: int, seed: int) -> None:
    """If this fails a calibrated counter is no better than the one it was made from."""
    found = calibrate("estimate", usage(60, scale, overhead, 0.02, seed))
    assert found.scale == pytest.approx(scale, rel=0.02)
    assert abs(found.overhead - overhead) < 60
    assert not found.exact
    assert not found.additive
    assert 0 <= found.margin < 0.06


def test_exact_figures_need_no_margin() -> None:
    found = calibrate("words", [(n, 2 * n + 30) for n in range(100, 2000, 100)])
    assert (found.scale, found.overhead, found.margin) == (2.0, 30, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_odd_requests_do_not_bend_the_line(seed: int) -> None:
    """One in six without its cached tokens, or with an image: least squares would follow them."""
    pairs = usage(60, 1.2, 50, 0.01, seed)
    for index in range(0, 60, 6):
        pairs[index] = (pairs[index][0], pairs[index][1] // 5)
    found = calibrate("estimate", pairs)
    assert found.scale == pytest.approx(1.2, rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_the_margin_covers_requests_like_those(seed: int) -> None:
    """Of new requests as large as is let through 95 of 100 fit; a margin for requests a tenth larger is not paid."""
    found = calibrate("estimate", usage(200, 1.3, 100, 0.15, seed))
    window = 10_000
    full = int((window * (1 - found.margin) - found.overhead) / found.scale)
    for size, least, most in ((full, 930, 1000), (full * 11 // 10, 0, 900)):
        fresh = usage(1000, 1.3, 100, 0.15, seed + 1000, low=size, high=size)
        assert least <= sum(reported <= window for _, reported in fresh) <= most
    everything = calibrate("estimate", usage(200, 1.3, 100, 0.15, seed), covered=1.0)
    assert everything.margin >= found.margin


def test_requests_of_one_size_give_a_ratio() -> None:
    """Payloads that fill the window are all of one size: no line through them tells the overhead."""
    rng = random.Random(3)
    pairs = [(rng.randint(7900, 8000), 0) for _ in range(30)]
    found = calibrate("estimate", [(x, round(1.25 * x)) for x, _ in pairs])
    assert found.overhead == 0
    assert found.scale == pytest.approx(1.25, rel=0.001)


def test_an_overhead_below_nothing_is_nothing() -> None:
    found = calibrate("estimate", [(n, round(1.5 * n) - 90) for n in range(200, 4000, 100)])
    assert found.overhead == 0
    assert 1.3 < found.scale <= 1.5


def test_texts_and_counts_mean_the_same() -> None:
    rng = random.Random(5)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(20, 400))) for _ in range(20)]
    base = counter("estimate")
    by_text = calibrate(base, [(text, 2 * base(text) + 7) for text in texts])
    by_count = calibrate("estimate", [(base(text), 2 * base(text) + 7) for text in texts])
    assert (by_text.scale, by_text.overhead, by_text.margin) == (by_count.scale, by_count.overhead, by_count.margin)


@given(st.permutations(usage(12, 1.1, 20, 0.05, 1)))
def test_the_order_of_the_pairs_is_no_matter(pairs: list[Any]) -> None:
    found = calibrate("words", pairs)
    same = calibrate("words", sorted(pairs))
    assert (found.scale, found.overhead, found.margin) == (same.scale, same.overhead, same.margin)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "expected 8 or more pairs, got 0"),
        ([(100, 110)] * (LEAST - 1), "expected 8 or more pairs, got 7"),
        ("text", "expected pairs"),
        (None, "expected pairs"),
        ([(100, 110)] * 8 + [5], "pair 8: expected a request and its reported tokens, got 5"),
        ([(100, 110, 3)] * 8, "pair 0: expected a request"),
        (["ab"] * 8, "pair 0: expected a request"),
        ([(100, 0)] * 8, "pair 0: reported tokens: expected a whole number of 1 or more"),
        ([(100, -5)] * 8, "pair 0: reported tokens"),
        ([(100, 11.5)] * 8, "pair 0: reported tokens"),
        ([(100, True)] * 8, "pair 0: reported tokens"),
        ([(100, None)] * 8, "pair 0: reported tokens"),
        ([("", 5)] * 8, "pair 0: request: expected a whole number of 1 or more tokens, got 0"),
        ([(0, 5)] * 8, "pair 0: request"),
        ([(None, 5)] * 8, "pair 0: request"),
        ([(100, 3)] * 8, "0.03 times the counted ones"),
        ([(100, 4000)] * 8, "40 times the counted ones"),
        ([(n, n if n % 3 else 4 * n) for n in range(100, 120)], "Do they belong to these texts"),
    ],
)
def test_nonsense_is_refused(pairs: Any, message: str) -> None:
    """A counter learned from swapped columns would be wrong by any factor, and trusted."""
    with pytest.raises(OptionError, match=r"^usage_pairs: ") as caught:
        calibrate("estimate", pairs)
    assert message in str(caught.value)
    assert caught.value.name == "usage_pairs"


@pytest.mark.parametrize("covered", [0.1, 1.5, "0.9", True, None, float("nan")])
def test_a_share_that_cannot_be_is_refused(covered: Any) -> None:
    with pytest.raises(OptionError, match=r"^covered: "):
        calibrate("estimate", usage(20, 1.0, 0, 0.0, 1), covered=covered)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"scale": 0}, "scale"), ({"scale": True}, "scale"), ({"scale": "2"}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"overhead": -1}, "overhead"), ({"overhead": 1.5}, "overhead"), ({"margin": 1.0}, "margin"),
        ({"margin": -0.1}, "margin"),
    ],
)
def test_numbers_that_cannot_be_are_refused(options: Any, name: str) -> None:
    with pytest.raises(OptionError, match=f"^{name}: expected") as caught:
        CalibratedCounter("words", **options)
    assert caught.value.name == name


@given(st.integers(1, 30_000), st.text(alphabet="ab \n", max_size=60), st.integers(0, 40))
def test_counts_are_rounded_up_and_cuts_fit(parts: int, text: str, limit: int) -> None:
    scale = max(0.01, parts / 10_000)
    count = CalibratedCounter("chars", scale)
    assert count(text) == -(-len(text) * round(count.scale * 10_000) // 10_000)
    assert count(count.prefix(text, limit)) <= limit
    assert count(count.suffix(text, limit)) <= limit
    assert count.floor(text, limit) <= count(text)
    longer = text[: len(count.prefix(text, limit)) + 1]
    assert len(longer) > len(text) or longer == text or count(longer) > limit or limit == 0


def test_it_keeps_what_it_learned() -> None:
    found = calibrate("estimate", usage(30, 1.2, 40, 0.05, 2))
    for again in (
        pickle.loads(pickle.dumps(found)), CalibratedCounter("estimate", found.scale, found.overhead, found.margin)
    ):
        assert (again.scale, again.overhead, again.margin) == (found.scale, found.overhead, found.margin)
        assert (again.name, again("any lamp within 45 days")) == (found.name, found("any lamp within 45 days"))
    assert counter(found) is found
    assert found.name.startswith("estimate x ")
    assert found.count_many(["a b", "c"]) == [found("a b"), found("c")]


def test_a_builder_uses_overhead_and_margin() -> None:
    """If this fails a calibrated payload is counted without what every request costs, and passes the window."""
    count = CalibratedCounter("words", 1.5, overhead=70, margin=0.1)
    builder = PromptBuilder(2000, counter=CalibratedCounter("words", 1.5)).add_sources(["Any lamp."])
    plain = builder.with_question("Why?").render()
    payload = PromptBuilder(2000, counter=count).add_sources(["Any lamp."]).with_question("Why?").render()
    assert payload.tokens == plain.tokens + 70
    assert payload.budget.margin == 200
    assert not payload.budget.exact
    assert "counts by words x 1.5 are estimates" in " ".join(payload.report.notes)
    explicit = PromptBuilder(Window(2000, margin=5), counter=count).with_question("Why?").render()
    assert explicit.budget.margin == 5


def test_the_account_stays_within_the_window() -> None:
    rng = random.Random(8)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(5, 60))) for _ in range(60)]
    count = CalibratedCounter("estimate", 1.33, overhead=25, margin=0.05)
    payload = PromptBuilder(1500, counter=count).add_sources(texts).with_question("How long?").render()
    whole = sum(count(message.text) for message in payload.messages) + 3 * len(payload.messages) + 3 + 25
    assert payload.tokens == whole
    assert payload.tokens <= 1500 - 75 - payload.budget.answer
    assert payload.dropped
