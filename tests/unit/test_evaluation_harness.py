"""Comparing policies: the limits that hold, what is measured, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from promptpack import BudgetError, Cut, OptionError, Source, SourceError
from promptpack.cli import main
from promptpack.evaluation.cases import Answer, Case, read_case
from promptpack.evaluation.harness import compare
from promptpack.evaluation.policies import MEANINGS, POLICIES

LINE = {
    "query": "Which pot?",
    "chunks": [
        {"id": "a", "text": "a lamp is blue", "score": 0.2}, {"id": "b", "text": "the copper pot", "score": 0.9},
        {"id": "c", "text": "a lamp is blue!", "score": 0.4}, {"id": "d", "text": "a red kettle", "score": 0.3},
    ],
    "keyPoints": ["copper pot"], "relevantIds": ["b"], "prediction": "The copper pot", "references": ["copper pot"],
}


def test_policies_differ_where_they_should() -> None:
    found = compare([read_case(LINE)], top_k=1).rows
    assert found["retrieved"]["key_point_recall"] == 0
    assert all(row["key_point_recall"] == 1 for name, row in found.items() if name != "retrieved")
    assert compare([read_case(LINE)], top_k=4).rows["near"]["sources"] == 3
    assert compare([read_case(LINE)], top_k=4).rows["fold"]["sources"] == 4


@pytest.mark.parametrize("policy", POLICIES)
def test_the_limits_hold_for_each(policy: str) -> None:
    """A policy that sends more would win for that alone."""
    for top_k, budget in ((1, None), (None, 7), (2, 4), (3, 0)):
        row = compare([read_case(LINE)], [policy], top_k=top_k, budget=budget).rows[policy]
        assert row["sources"] <= (4 if top_k is None else top_k)
        assert budget is None or row["tokens"] <= budget


def test_a_mean_runs_over_the_cases_that_have_the_metric() -> None:
    bare = Case(read_case(LINE).sources)
    found = compare([read_case(LINE), bare], ["fold"], top_k=4)
    assert found.count == 2
    assert found.rows["fold"]["recall_at_k"] == 1.0
    assert "recall_at_k" not in compare([bare], ["fold"]).rows["fold"]
    assert (found.measured("recall_at_k"), found.measured("sources"), found.measured("span_recall")) == (1, 2, 0)
    with pytest.raises(SourceError, match="cases: there are none"):
        compare([], ["fold"])


def hits(*scores: float) -> tuple[Source, ...]:
    return tuple(Source(name, f"text {name}", score) for name, score in zip("abcdef", scores, strict=False))


def test_ndcg_goes_by_what_is_relevant() -> None:
    """A retriever's scores are no judgement of it: any sorted list got 1, and one of negative scores even more."""
    gains = {"a": 1.0, "c": 3.0, "z": 2.0}
    found = compare([Case(hits(-1.0, -2.0, -3.0), relevant=gains)], ["retrieved", "best_first"], top_k=3)
    best = 3 + 2 / 1.5849625007211562 + 1 / 2
    for row in found.rows.values():
        assert row["ndcg"] == pytest.approx((1 + 3 / 2) / best)
        assert row["recall_at_k"] == pytest.approx(2 / 3)
        assert row["precision_at_k"] == pytest.approx(2 / 3)
    assert (found.relevant, found.unretrieved) == (3, 1)
    ids = compare([Case(hits(3, 2, 1), relevant={"a": 1.0, "b": 1.0})], ["best_first", "fold"], top_k=3).rows
    assert ids["best_first"]["ndcg"] == 1.0
    assert ids["fold"]["ndcg"] == pytest.approx((1 + 1 / 2) / (1 + 1 / 1.5849625007211562))
    assert ids["fold"]["position_effectiveness"] == 1.0


@pytest.mark.parametrize("relevant", [None, {}])
def test_what_nobody_judged_is_not_measured(relevant: Any) -> None:
    """A number that is invented looks like one that was measured."""
    row = compare([Case(hits(3, -2, 1), relevant=relevant)], ["fold"]).rows["fold"]
    assert set(row) == {"sources", "tokens"}


def test_copies_count_together() -> None:
    """Who leaves out the second copy of a text sends no less: deduplication must not cost recall."""
    sources = (Source("a", "the same  text", 3), Source("b", "the same text", 2), Source("c", "another", 1))
    case = Case(sources, relevant={"a": 1.0, "b": 1.0}, needs=(("b",),))
    for row in compare([case]).rows.values():
        assert (row["recall_at_k"], row["ndcg"], row["answer_in_window"]) == (1.0, 1.0, 1.0)


def test_an_id_that_occurs_twice_is_one() -> None:
    case = Case((Source("a", "x", 2), Source("a", "y", 1), Source("b", "z", 0.5)), relevant={"a": 1.0})
    for name, row in compare([case]).rows.items():
        assert (row["sources"], row["recall_at_k"], row["ndcg"]) == (3.0, 1.0, 1.0), name


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "retrieved"])
def test_measured_is_what_is_sent_of_a_source(policy: str) -> None:
    """The whole source has every key point: what was left out of it would count as sent."""
    kinds = (("red", "two"), ("tin", "three"), ("big", "nine"))
    text = " ".join(f"The {name} pot of the kitchen upstairs holds {number} litres." for name, number in kinds)
    case = Case(
        (Source("a", text, 0.9, cut=Cut(keep="start", min_tokens=1)),), "How much does the red pot hold?",
        key_points=("two litres", "three litres", "nine litres"),
    )
    row = compare([case], [policy], top_k=None, budget=20).rows[policy]
    assert 0 < row["key_point_recall"] < 1
    assert 0 < row["tokens"] <= 20


def answered(text: str, **changes: Any) -> dict[str, float]:
    sources = (Source("p", "The copper pot holds two litres."), Source("q", "A lamp is blue."))
    case = Case(sources, "Why?", **{"references": ("The copper pot",), "prediction": Answer(text), **changes})
    return dict(compare([case], ["fold"]).rows["fold"])


def test_marks_are_no_part_of_an_answer() -> None:
    """`[S1]` is a word to exact match: an answer that cites would be wrong for citing."""
    with_marks = answered("The copper [S1] pot [S2, S3].", key_points=("copper pot",))
    assert with_marks == answered("The copper pot.", key_points=("copper pot",))
    assert (with_marks["exact_match"], with_marks["f1"], with_marks["key_points_stated"]) == (1.0, 1.0, 1.0)
    assert (with_marks["faithfulness"], with_marks["citation_coverage"]) == (1.0, 1.0)
    marked = answered("pot", references=("The pot [S1]",))
    assert marked["exact_match"] == 1.0


def test_who_refuses_says_nothing() -> None:
    """Where there is no answer, saying so is right; where there is one, it is not."""
    refusal = "I cannot find that in the sources."
    unknown = answered(refusal, references=())
    assert (unknown["answerability"], unknown["exact_match"], unknown["f1"]) == (1.0, 1.0, 1.0)
    assert "faithfulness" not in unknown
    known = answered(refusal)
    assert (known["answerability"], known["exact_match"], known["f1"]) == (0.0, 0.0, 0.0)
    assert answered("The copper pot.", references=())["answerability"] == 0.0
    assert answered("The sources do not say why. The copper pot.")["answerability"] == 1.0


def test_citations_are_judged_where_it_is_known_what_they_stand_for() -> None:
    text = "The copper pot holds two litres [S1][S2]. A lamp is blue [S1]."
    labels = {"S1": ("p",), "S2": ("q",)}
    assert "citation_recall" not in answered(text)
    row = answered(text, prediction=Answer(text, labels))
    assert (row["citation_recall"], row["citation_precision"]) == (0.5, pytest.approx(1 / 3))
    other = answered(text.replace("S", "D"), prediction=Answer(text.replace("S", "D"), {"D1": ("p",), "D2": ("q",)}))
    assert (other["citation_recall"], other["exact_match"]) == (0.5, row["exact_match"])
    assert "citation_recall" not in answered("", prediction=Answer("I do not know.", labels))
    case = Case((Source("p", "x"),), prediction=Answer("Anything [S1].", {"S1": ("p",)}))
    judged = compare([case], ["fold"], entails=lambda premise, statement: premise == "x").rows["fold"]
    assert judged["citation_recall"] == 1.0


def test_each_policy_may_have_its_own_answer() -> None:
    """An answer that was given to other sources says nothing of a policy."""
    case = Case(
        hits(1, 2), references=("yes",), prediction=Answer("no"), predictions={"fold": Answer("yes")},
    )
    rows = compare([case], ["retrieved", "fold"]).rows
    assert (rows["retrieved"]["exact_match"], rows["fold"]["exact_match"]) == (0.0, 1.0)


def test_what_a_policy_raises_names_the_case() -> None:
    case = Case((Source("a", "one two three", required=True),), where="data.jsonl: line 9")
    with pytest.raises(BudgetError, match=r"^data\.jsonl: line 9: policy fold: required"):
        compare([case], ["fold"], budget=1)


def test_every_policy_is_explained() -> None:
    assert list(MEANINGS) == list(POLICIES)


def test_an_unknown_policy() -> None:
    with pytest.raises(OptionError, match="did you mean 'fold'"):
        compare([], ["fol"])
    with pytest.raises(OptionError, match="policy: unknown value a value of type list"):
        compare([], [["fold"]])  # type: ignore[list-item]


def test_a_mapping_is_no_case_yet() -> None:
    """A line of a data set that was not read ended in a bare AttributeError."""
    with pytest.raises(SourceError, match=r"^cases\[1\]: expected a Case, got .*; read_case makes one") as caught:
        compare([read_case(LINE), LINE], ["fold"])  # type: ignore[list-item]
    assert (caught.value.index, caught.value.field) == (1, "case")


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def test_the_command_prints_and_reports(tmp_path: Path) -> None:
    data, report = tmp_path / "data.jsonl", tmp_path / "report.md"
    data.write_text(json.dumps(LINE) + "\n\n" + json.dumps(LINE) + "\n", encoding="utf-8")
    done = run("eval", str(data), "--policy", "retrieved", "--policy", "fold", "-k", "2", "--report", str(report))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == f"2 questions of `{data}`; at most 2 sources for each policy; tokens counted with o200k_base."
    assert row_of(done.stdout, "mean") == ["questions", "retrieved", "fold"]
    assert row_of(done.stdout, "key point recall") == ["2", "1.000", "1.000"]
    assert row_of(done.stdout, "span recall") == ["0", "-", "-"], "what nobody judged is a dash"
    assert row_of(done.stdout, "exact match") == ["2", "1.000", "1.000"]
    assert "* **nDCG**: " in done.stdout
    assert lines[0] in report.read_text(encoding="utf-8")
    assert "| key point recall " in report.read_text(encoding="utf-8")
    assert done.stderr == "", "the bar is for terminals only"


def row_of(table: str, name: str) -> list[str]:
    line = next(line for line in table.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("| ").split("|")][1:]


def test_a_terminal_sees_the_progress(tmp_path: Path) -> None:
    """Bars in a log are noise; a terminal that says nothing for minutes looks dead."""
    pty = pytest.importorskip("pty", reason="needs a Unix terminal")
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    ours, theirs = pty.openpty()
    code = "from promptpack.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", str(data), "-p", "fold"], stdout=subprocess.PIPE, stderr=theirs,
        check=True, text=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    shown = os.read(ours, 65_536).decode(errors="replace")
    os.close(ours)
    assert "Evaluating" in shown
    assert "Evaluating" not in done.stdout
    assert row_of(done.stdout, "sources") == ["1", "4.0"]


def test_the_command_says_once_what_it_does_not_read(tmp_path: Path) -> None:
    """If it fails, a field that was meant to be measured by is left out in silence, or told for every line."""
    data = tmp_path / "data.jsonl"
    lines = [{**LINE, "topic": "a"}, {**LINE, "topic": "b", "author": "c"}, LINE]
    data.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = run("eval", str(data), "-p", "fold")
    assert done.exit_code == 0
    said = f"{data}: fields that are not read, with the questions that have them: 'topic' (2), 'author' (1)\n"
    assert done.stderr == said
    data.write_text(json.dumps(LINE) + "\n" + json.dumps({"sources": ["x"], "key_pionts": ["x"]}), encoding="utf-8")
    done = run("eval", str(data), "-p", "fold")
    assert (done.exit_code, done.stdout) == (2, "")
    told = f"Error: {data}: line 2: unknown field 'key_pionts'; did you mean 'key_points'?\n"
    assert done.stderr.endswith(told)


def test_the_command_gives_data(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(LINE) + "\n" + json.dumps({**LINE, "relevantIds": ["b", "a"]}) + "\n", encoding="utf-8")
    found = json.loads(run("eval", str(data), "-p", "best_first", "-k", "1", "--json").stdout)
    assert found["questions"] == 2
    assert found["measured"]["recall_at_k"] == 2
    assert found["policies"]["best_first"]["recall_at_k"] == {"mean": 0.75, "interval": [0.5, 1.0]}
    assert found["policies"]["best_first"]["span_recall"] is None
    done = run("eval", str(data), "--json", "--report", "-")
    assert (done.exit_code, done.stdout) == (2, "")


@pytest.mark.parametrize("policy", [*POLICIES, None])
@pytest.mark.parametrize("score", ["NaN", "Infinity", "1e999"])
def test_a_score_that_is_no_number_names_its_line(tmp_path: Path, policy: str | None, score: str) -> None:
    """Some policies took it for 0, others failed without saying where."""
    data = tmp_path / "data.jsonl"
    bad = '{"sources": [{"id": "a", "text": "x", "score": 1}, {"id": "b", "text": "y", "score": ' + score + "}]}"
    data.write_text(json.dumps(LINE) + "\n\n" + bad + "\n", encoding="utf-8")
    done = run("eval", str(data), *(() if policy is None else ("-p", policy)))
    assert (done.exit_code, done.stdout) == (2, "")
    number = "nan" if score == "NaN" else "inf"
    assert done.stderr == (
        f"Error: {data}: line 3: sources[1] 'b': score: expected a finite number, got {number}\n"
    )


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_data_set_without_questions_says_so(tmp_path: Path, text: str) -> None:
    """A table without numbers looks like a run that went well."""
    data, report = tmp_path / "data.jsonl", tmp_path / "report.md"
    data.write_text(text, encoding="utf-8")
    done = run("eval", str(data), "-r", str(report))
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"Error: {data}: there are no questions\n")
    assert not report.exists()


def test_a_budget_alone_limits_no_numbers(tmp_path: Path) -> None:
    """Selecting by spans shows what it can do only where it may take parts of many sources."""
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"sources": [f"text {at}" for at in range(9)]}), encoding="utf-8")
    assert row_of(run("eval", str(data), "-p", "fold").stdout, "sources") == ["1", "4.0"]
    assert row_of(run("eval", str(data), "-p", "fold", "-b", "100").stdout, "sources") == ["1", "9.0"]


def test_questions_may_share_their_sources(tmp_path: Path) -> None:
    """A data set of questions over one collection need not repeat it in each line."""
    data, hits = tmp_path / "data.jsonl", tmp_path / "hits.json"
    data.write_text(json.dumps({"question": "Which pot?", "answered_by": ["b"]}), encoding="utf-8")
    hits.write_text(json.dumps(LINE["chunks"]), encoding="utf-8")
    none = f"Error: {data}: line 1: sources: there are none, and no shared ones are given\n"
    assert run("eval", str(data)).stderr == none
    done = run("eval", str(data), "--sources", str(hits), "-p", "fold", "-k", "1")
    assert [row_of(done.stdout, name)[1] for name in ("sources", "tokens", "recall@k")] == ["1.0", "3.0", "1.000"]


@pytest.mark.parametrize(
    "args", [["eval", "missing.jsonl"], ["eval", "-p", "nope", "DATA"], ["eval", "-c", "nope", "DATA"]],
)
def test_faults_of_the_command_are_one_line(tmp_path: Path, args: list[str]) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(LINE), encoding="utf-8")
    done = run(*(str(data) if arg == "DATA" else arg for arg in args))
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1
