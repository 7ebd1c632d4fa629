"""Measuring as a whole, against an endpoint that answers as a known model would."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from fake_endpoint import Model, questions, serving

from promptpack.builder import PromptBuilder
from promptpack.calibration import (
    Asking,
    CalibrationError,
    ChatForm,
    Endpoint,
    EndpointError,
    calibrate,
    compare_builders,
    plan,
)
from promptpack.calibration.asking import ask
from promptpack.calibration.builders import read_builders
from promptpack.calibration.measure import Plan, cost
from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, SourceError

pytest.importorskip("httpx")

LEVELS = (-2.6, -2.9, -3.1, -2.8, -2.2)


def bent(place: int, count: int) -> float:
    return LEVELS[place * len(LEVELS) // count] if count >= 5 else -2.0


def spread(question: str) -> float:
    """A share of its own for each question, which has nothing to do with the place."""
    return (sum(map(ord, question)) * 7919 % 101 - 50) / 20


def planned(count: int = 12, passages: int = 5) -> Plan:
    return plan(questions(count, passages), PromptBuilder(window=8192), passages=passages, positions=passages)


def test_a_known_curve_comes_back(tmp_path: Path) -> None:
    """If this fails, what is measured is not what the model does."""
    model = Model(bent, without=-5.2, noise=spread)
    with serving(model) as url:
        found = calibrate(Endpoint(url, "bent"), planned())
    assert found.measure == "loglik"
    shift = sum(spread(f"What does person {number} own?") for number in range(12)) / 12
    assert found.means() == pytest.approx([level + shift for level in LEVELS])
    assert found.baseline().mean == pytest.approx(-5.2 + shift)
    for one, level in zip(found.table(), LEVELS, strict=True):
        assert one.p == pytest.approx((level + 5.2) / 3.0)
        assert one.estimate.low <= level + shift <= one.estimate.high
        assert one.high - one.low == pytest.approx(0, abs=1e-9)  # the questions differ by a level alone
    gaps = found.differences()
    assert gaps["last - first"].mean == pytest.approx(0.4)
    assert gaps["ends - middle"].mean == pytest.approx(0.7)
    assert all(gap.clear for gap in gaps.values())
    found.curve().save(tmp_path / "curve.json")
    curve = PositionCurve.load(tmp_path / "curve.json")
    assert (curve.model, curve.measure, curve.questions) == ("bent", "loglik", 12)
    assert [round(point.x, 1) for point in curve.points] == [0.1, 0.3, 0.5, 0.7, 0.9]
    assert len(model.asked) == 12 * 6


def test_noise_by_question_and_place_stays_within_its_interval() -> None:
    """If this fails, the intervals promise more than they hold."""
    model = Model(bent, without=-5.2)
    own = model.value
    model.value = lambda text: own(text) + crc32(text.encode()) / 2**32 - 0.5  # type: ignore[method-assign]
    with serving(model) as url:
        found = calibrate(Endpoint(url, "noisy"), planned(40))
    held = [one.estimate.low <= level <= one.estimate.high for one, level in zip(found.table(), LEVELS, strict=True)]
    assert sum(held) >= 4
    assert all(one.low < one.p < one.high or one.p == 1 for one in found.table())


def test_without_log_probabilities_exact_matches_are_counted_and_it_says_so() -> None:
    model = Model(lambda place, count: -2.0 if place in (0, count - 1) else -3.0, logprobs=False)
    with serving(model) as url:
        found = calibrate(Endpoint(url, "chat-only"), planned(4))
    assert found.measure == "exact"
    assert [one.p for one in found.table()] == [1, 0, 0, 0, 1]
    assert found.baseline().mean == 0
    assert "no log-probabilities of a given answer" in found.remarks[-1]
    assert "Only no echo is supported" in found.remarks[-1]
    assert "share of right answers" in (found.curve().note or "")


def test_plain_text_is_told() -> None:
    """If this fails, a chat model is measured outside of a chat, and nobody says so."""
    with serving(Model(bent)) as url:
        plain = calibrate(Endpoint(url, "m"), planned(1))
        chat = calibrate(Endpoint(url, "m"), planned(1), Asking(form=ChatForm.of("chatml")))
    assert [("plain text" in " ".join(one.remarks)) for one in (plain, chat)] == [True, False]


def test_a_measure_that_was_asked_for_is_never_replaced() -> None:
    with serving(Model(bent, logprobs=False)) as url, pytest.raises(EndpointError, match="answered 400"):
        calibrate(Endpoint(url, "m"), planned(2), Asking("loglik"))
    model = Model(lambda place, count: -1.0)
    with serving(model) as url:
        assert calibrate(Endpoint(url, "m"), planned(2), Asking("exact")).measure == "exact"
    assert {path for path, _ in model.asked} == {"/v1/chat/completions"}


def test_a_refused_key_is_no_reason_to_count_exact_matches() -> None:
    """If this fails, a wrong key is told as a lack of log-probabilities."""
    with (
        serving(Model(bent, broken=lambda number, body: (401, {}, "bad key"))) as url,
        pytest.raises(EndpointError, match="answered 401: 'bad key'"),
    ):
        calibrate(Endpoint(url, "m"), planned(2))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_rerun_asks_only_for_what_is_missing(tmp_path: Path, concurrency: int) -> None:
    """If this fails, an end in the middle costs all that was asked for, or the result depends on it."""
    todo, journal = planned(4), tmp_path / "probes.jsonl"
    asking = Asking(concurrency=concurrency, journal=journal)
    model = Model(bent, noise=spread)
    with serving(model) as url:
        whole = calibrate(Endpoint(url, "m"), todo)
    breaking = Model(bent, noise=spread, broken=lambda number, body: (400, {}, "stop") if number > 9 else None)
    told_so = r"'stop'; \d+ of 24 probes are answered and kept"
    with serving(breaking) as url, pytest.raises(EndpointError, match=told_so):
        calibrate(Endpoint(url, "m"), todo, asking)
    kept = len(journal.read_text().splitlines()) - 1
    assert kept == 9
    with journal.open("a") as file:
        file.write('{"key": "cut off in the mid')
    again = Model(bent, noise=spread)
    told: list[tuple[int, int]] = []
    with serving(again) as url:
        found = calibrate(Endpoint(url, "m"), todo, Asking(concurrency=concurrency, journal=journal,
                                                           on_done=lambda done, total: told.append((done, total))))
    assert len(again.asked) == 24 - kept
    assert told == [(done, 24) for done in range(kept + 1, 25)]
    assert (found.values, found.without) == (whole.values, whole.without)
    assert cost(todo.all(), asking, Endpoint("http://h/v1", "m")).requests == 0
    with serving(again) as url:  # nothing is asked for, whether the endpoint answers or not
        assert calibrate(Endpoint("http://127.0.0.1:9/v1", "m"), todo, asking).values == whole.values
    six = cost(planned(5).all(), asking, Endpoint("http://h/v1", "m"))
    assert (six.requests, six.tokens_out) == (6, 6)  # one token each: the journal knows that they are log-likelihoods
    more = Model(bent, noise=spread)
    with serving(more) as url:
        calibrate(Endpoint(url, "m"), planned(5), asking)
    assert len(more.asked) == 6


def test_a_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    """If this fails, the values of two models are mixed in one curve."""
    journal, todo = tmp_path / "probes.jsonl", planned(2)
    with serving(Model(bent)) as url:
        calibrate(Endpoint(url, "m"), todo, Asking(journal=journal))
        with pytest.raises(OptionError, match="was made with model 'm', not 'other'"):
            calibrate(Endpoint(url, "other"), todo, Asking(journal=journal))
        with pytest.raises(OptionError, match="was made with measure 'loglik', not 'exact'"):
            calibrate(Endpoint(url, "m"), todo, Asking("exact", journal=journal))
        (tmp_path / "j").write_text('{"promptpack_pro')  # never whole: it begins anew
        calibrate(Endpoint(url, "m"), todo, Asking(journal=tmp_path / "j"))
        for held, told in (("{}\n", "is no journal"), (journal.read_text() + "{}\n", "line 14 holds no")):
            (tmp_path / "j").write_text(held)
            with pytest.raises(OptionError, match=told):
                calibrate(Endpoint(url, "m"), todo, Asking(journal=tmp_path / "j"))
        with pytest.raises(OptionError, match=r"journal: .* cannot be read"):
            calibrate(Endpoint(url, "m"), todo, Asking(journal=tmp_path))


def test_equal_prompts_are_asked_for_once() -> None:
    model = Model(bent)
    probes = planned(1).all()
    with serving(model) as url:
        answers = ask(Endpoint(url, "m"), [*probes, *probes], Asking("loglik"))
    assert (len(model.asked), answers.asked) == (6, 6)


def test_a_passage_that_does_not_help_makes_no_curve() -> None:
    """If this fails, a division by nothing or by noise becomes a curve."""
    with serving(Model(lambda place, count: -6.0)) as url, pytest.raises(CalibrationError, match="no better with the"):
        calibrate(Endpoint(url, "m"), planned(2))


def test_the_cost_is_told_beforehand() -> None:
    todo = planned(3)
    found = cost(todo.all(), Asking("exact", limit=20), Endpoint("http://h/v1", "m"), (2.0, 10.0))
    assert (found.requests, found.tokens_out) == (18, 360)
    assert found.tokens_in == sum(one.tokens for one in todo.all())
    assert found.price == pytest.approx((found.tokens_in * 2 + 360 * 10) / 1e6)
    assert "18 requests" in str(found)
    assert "at the given price" in str(found)
    for price in ((1.0,), (-1.0, 1.0), (float("nan"), 1.0)):
        with pytest.raises(OptionError, match="price: expected two numbers"):
            cost([], Asking(), Endpoint("http://h/v1", "m"), price)


@pytest.mark.parametrize(("options", "told"), [
    ({"measure": "logits"}, "measure: unknown"), ({"concurrency": 0}, "concurrency: expected"),
    ({"limit": True}, "limit: expected"),
])
def test_options_that_cannot_be(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        Asking(**options)


def retrieved(count: int) -> list[dict[str, Any]]:
    """Rows as a retriever ranks them: the needed passage is the best for most, the third best for some."""
    rows = []
    for row in questions(count, 5):
        sources = [{"id": "needed", "text": row["passage"]}]
        sources += [{"id": f"d{at}", "text": text} for at, text in enumerate(row["distractors"])]
        if int(row["id"][1:]) % 4 == 3:
            sources[0], sources[2] = sources[2], sources[0]
        ranked = [{**source, "score": 1 - at / 10} for at, source in enumerate(sources)]
        rows.append({"id": row["id"], "question": row["question"], "answers": row["answers"], "sources": ranked})
    return rows


def test_two_builders_are_compared_on_the_same_questions() -> None:
    """If this fails, the difference is not that of the builders, or noise is called a difference."""
    whole = PromptBuilder(window=8192).with_packing(select="top")
    builders = {
        "fold": whole, "last": whole.with_packing(place="best_last"), "same": whole.with_packing(place="spread"),
    }
    model = Model(bent, noise=spread)
    with serving(model) as url:
        found = compare_builders(retrieved(16), builders, Endpoint(url, "m"))
    gaps = found.differences()
    # Rank 1: first against last. Rank 3: second of fold, middle of best_last.
    expected = (12 * (LEVELS[4] - LEVELS[0]) + 4 * (LEVELS[2] - LEVELS[1])) / 16
    assert gaps["last"].mean == pytest.approx(expected)
    assert gaps["last"].clear
    assert gaps["last"].wins == pytest.approx(12 / 16)
    assert (gaps["same"].mean, gaps["same"].clear, found.same["same"]) == (0, False, 16)
    assert len(model.asked) == 32
    table = found.to_markdown()
    assert "| same |" in table
    assert table.count("may be noise") == 1


@pytest.mark.parametrize(("builders", "told"), [
    ({}, "expected two or more"), ({"a": PromptBuilder(1000)}, "expected two or more"),
    ({"a": PromptBuilder(1000), "b": "fold"}, "'b' is no PromptBuilder"),
])
def test_builders_that_cannot_be_compared(builders: Any, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        compare_builders(retrieved(1), builders, Endpoint("http://h/v1", "m"))


def test_what_goes_wrong_in_a_builder_names_it() -> None:
    tight = {"a": PromptBuilder(1000), "b": PromptBuilder(40)}
    with pytest.raises(Exception, match="builder 'b', question 'q0': "):
        compare_builders(retrieved(1), tight, Endpoint("http://h/v1", "m"))
    with pytest.raises(CalibrationError, match="there are no questions"):
        compare_builders([], {"a": PromptBuilder(1000), "b": PromptBuilder(900)}, Endpoint("http://h/v1", "m"))


def test_builders_are_read_from_files(tmp_path: Path) -> None:
    PositionCurve([(0, 0.5), (1, 0.9)]).save(tmp_path / "curve.json")
    (tmp_path / "b.toml").write_text(
        '[fold]\n[other]\nwindow = 4000\nsystem = "Be brief."\nfields = ["title"]\n'
        'packing = { place = "curve:curve.json", top_k = 3 }\n'
    )
    found = read_builders(str(tmp_path / "b.toml"), 6000)
    assert list(found) == ["fold", "other"]
    assert (found["fold"].window, found["other"].window, found["other"].fields) == (6000, 4000, ("title",))
    assert found["other"].packing.top_k == 3
    assert getattr(found["other"].packing.place, "curve").points[1].p == 0.9  # noqa: B009
    (tmp_path / "b.py").write_text("from promptpack import PromptBuilder\none = PromptBuilder(500)\nother = 7\n")
    assert list(read_builders(str(tmp_path / "b.py"))) == ["one"]
    (tmp_path / "c.py").write_text(
        "from promptpack import PromptBuilder\nbase = PromptBuilder(500)\n"
        "builders = {'by hand': base, 'last': base.with_packing(place='best_last')}\n"
    )
    assert list(read_builders(str(tmp_path / "c.py"))) == ["by hand", "last"]


def test_the_builders_of_the_manual_are_read(tmp_path: Path) -> None:
    """If this fails, who copies builders.toml from docs/position.md gets an error."""
    manual = Path(__file__).parents[2] / "docs" / "position.md"
    (block,) = re.findall(r"^```toml\n(.*?)^```", manual.read_text(encoding="utf-8"), re.S | re.M)
    (tmp_path / "builders.toml").write_text(block, encoding="utf-8")
    PositionCurve([(0, 0.5), (1, 0.9)]).save(tmp_path / "curve.json")
    assert list(read_builders(str(tmp_path / "builders.toml"))) == ["fold", "best_first", "best_last", "curve"]


@pytest.mark.parametrize(("name", "held", "told"), [
    ("b.toml", "[", "broken TOML"), ("b.toml", "", "holds no builder"), ("b.toml", "a = 1", "'a': expected a table"),
    ("b.toml", "[a]\nplace = 'fold'", "'a': key: unknown value 'place'"),
    ("b.toml", "[a]\npacking = {place = 'fild'}", "'a': .*did you mean 'fold'"),
    ("b.toml", "[a]\npacking = 1", "'a': packing: expected a table"),
    ("b.toml", "[a]\npacking = {place = 'curve:none.json'}", "'a': curve: .*cannot be read"),
    ("b.toml", "[a]\nwindow = 'x'", "'a': "), ("b.toml", "[a]\npacking = {colour = 1}", "'a': "),
    ("b.py", "x = 1 / 0", "ZeroDivisionError"), ("b.py", "def", "SyntaxError"),
    ("b.py", "x = 1", r"holds no builder; expected a variable for each, as in fold = PromptBuilder\(8192\), or a dict"),
    ("b.py", "builders = {}", "holds no builder"), ("b.py", "builders = [1]", "holds no builder"),
    ("b.py", "builders = {'a': 1}", "builders: expected a PromptBuilder by its name, got 1 by 'a'"),
])
def test_files_that_hold_no_builders(tmp_path: Path, name: str, held: str, told: str) -> None:
    (tmp_path / name).write_text(held)
    with pytest.raises(OptionError, match=told):
        read_builders(str(tmp_path / name))
    with pytest.raises(SourceError, match="cannot be read"):
        read_builders(str(tmp_path / f"none-{name}"))


def test_a_curve_and_its_raw_values_are_plain_data() -> None:
    with serving(Model(bent)) as url:
        found = calibrate(Endpoint(url, "m"), planned(2))
    assert json.loads(json.dumps(found.to_dict()))["values"] == [list(row) for row in found.values]
