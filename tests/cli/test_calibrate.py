"""The `calibrate` command: what it asks, writes and prints, and what it says where it cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fake_endpoint import Model, questions, serving

from promptpack.calibration import Calibration
from promptpack.calibration.figures import read_figures
from promptpack.cli import main
from promptpack.curves import PositionCurve

pytest.importorskip("httpx")

LEVELS = (-2.6, -3.1, -2.2)


def bent(place: int, count: int) -> float:
    return LEVELS[place * 3 // count] if count > 2 else -2.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "\n".join(json.dumps(row) for row in questions(4, 3))
    (tmp_path / "q.jsonl").write_text(rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(url: str, *arguments: str) -> Result:
    sizes = () if "--compare" in arguments else ("--passages", "3", "--positions", "3")
    return CliRunner().invoke(
        main, ["calibrate", "q.jsonl", "--base-url", url, "--model", "bent", *sizes, *arguments]
    )


def test_the_curve_its_drawings_and_its_figures(folder: Path) -> None:
    model = Model(bent, without=-5.2)
    with serving(model) as url:
        done = run(url, "--out", "c.json", "--plot", "c.svg", "--plot", "c.html", "--price", "1.5,6")
    assert done.exit_code == 0, done.output
    assert PositionCurve.load(folder / "c.json").model == "bent"
    assert (folder / "c.svg").read_text().startswith("<svg")
    assert (folder / "c.html").read_text().startswith("<!doctype html>")
    assert "| last - first | +0.400 | +0.400 to +0.400 | 100% |  |" in done.stdout
    assert "to ask: 16 requests, " in done.stderr
    assert "at the given price" in done.stderr
    assert "c.json: the curve (loglik, 4 questions)" in done.stderr


def test_the_figures_of_each_question_are_kept(folder: Path) -> None:
    """If this fails, what was published cannot be computed again, or texts of the questions get into the file."""
    builders = "[one]\nwindow = 4096\n[two]\nwindow = 4096\npacking = { place = 'best_last' }\n"
    (folder / "b.toml").write_text(builders, encoding="utf-8")
    with serving(Model(bent, without=-5.2)) as url:
        done = run(url, "--out", "c.json", "--figures", "f.json")
        compared = run(url, "--compare", "b.toml", "--figures", "g.json")
    assert (done.exit_code, compared.exit_code) == (0, 0), done.output + compared.output
    found, builders_found = read_figures(folder / "f.json"), read_figures(folder / "g.json")
    assert isinstance(found, Calibration)
    assert found.to_markdown() in done.stdout
    assert found.curve() == PositionCurve.load(folder / "c.json")
    assert found.ids == ("q0", "q1", "q2", "q3")
    assert all(found.tokens)
    assert builders_found.to_markdown() in compared.stdout
    assert builders_found.ids == found.ids
    assert "person" not in (folder / "f.json").read_text() + (folder / "g.json").read_text()


def test_the_curve_goes_straight_into_render(folder: Path) -> None:
    """If this fails, what calibrate writes is not what render takes."""
    with serving(Model(bent, without=-5.2)) as url:
        assert run(url).exit_code == 0
    ranks = {"a": 3, "b": 2, "c": 1}
    sources = [{"id": name, "text": f"Text of {name}.", "score": score} for name, score in ranks.items()]
    (folder / "s.json").write_text(json.dumps(sources))
    done = CliRunner().invoke(main, ["render", "s.json", "--place", "curve:curve.json"])
    assert done.exit_code == 0, done.stderr
    assert [name for name in done.stdout.split('"') if name in "abc" and name] == ["b", "c", "a"]


def test_a_journal_is_neither_lost_nor_taken_up_by_chance(folder: Path) -> None:
    model = Model(bent)
    with serving(model) as url:
        first = run(url)
        refused = run(url)
        again = run(url, "--resume")
        anew = run(url, "--restart")
        both = run(url, "--resume", "--restart")
    assert (first.exit_code, refused.exit_code, again.exit_code, anew.exit_code, both.exit_code) == (0, 2, 0, 0, 2)
    assert "curve.json.probes.jsonl: there is a journal of answers already" in refused.stderr
    assert "to ask: 0 requests" in again.stderr
    assert again.stdout == first.stdout == anew.stdout
    assert len(model.asked) == 32


def test_a_run_that_is_killed_goes_on(folder: Path) -> None:
    """If this fails, an end in the middle of a long measurement costs all of it."""
    slow = Model(bent, broken=lambda number, body: time.sleep(0.15))
    with serving(slow) as url:
        command = [
            sys.executable, "-m", "promptpack", "calibrate", "q.jsonl", "--base-url", url, "--model", "bent",
            "--passages", "3", "--positions", "3",
        ]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = folder / "curve.json.probes.jsonl"
        until = time.monotonic() + 60
        while time.monotonic() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < 4):
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        running.wait()
    kept = journal.read_bytes().count(b"\n") - 1
    assert 3 <= kept < 16
    model = Model(bent)
    with serving(model) as url:
        done = run(url, "--resume")
    assert done.exit_code == 0, done.stderr
    assert len(model.asked) == 16 - kept
    with serving(model) as url:
        assert done.stdout == run(url, "--restart").stdout


def test_without_log_probabilities_it_says_so(folder: Path) -> None:
    with serving(Model(lambda place, count: -2.0 if place == 2 else -3.0, logprobs=False)) as url:
        done = run(url)
    assert done.exit_code == 0
    assert "no log-probabilities of a given answer" in done.stderr
    assert PositionCurve.load(folder / "curve.json").measure == "exact"


def test_the_key_comes_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(bent)
    with serving(model) as url:
        assert "MY_KEY is not set" in run(url, "--api-key-env", "MY_KEY").stderr
        monkeypatch.setenv("MY_KEY", "sk-1")
        done = run(url, "--api-key-env", "MY_KEY")
    assert done.exit_code == 0
    assert {one["authorization"] for one in model.headers} == {"Bearer sk-1"}
    assert "sk-1" not in done.output + (folder / "curve.json.probes.jsonl").read_text()


def test_a_quadratic_is_written_where_it_is_asked_for(folder: Path) -> None:
    with serving(Model(bent)) as url:
        assert run(url, "--fit", "quadratic").exit_code == 0
    assert PositionCurve.load(folder / "curve.json").kind == "quadratic"


def test_a_journal_that_cannot_be_removed(folder: Path) -> None:
    (folder / "j").mkdir()
    done = run("http://127.0.0.1:9/v1", "--journal", "j", "--restart")
    assert (done.exit_code, "j: cannot be removed" in done.stderr) == (2, True)


def test_builders_side_by_side(folder: Path) -> None:
    (folder / "b.toml").write_text('[fold]\n[last]\npacking = { place = "best_last" }\n')
    with serving(Model(bent)) as url:
        done = run(url, "--compare", "b.toml", "--out", "t.md")
    assert done.exit_code == 0, done.stderr
    assert "| last | -2.200 | -2.200 to -2.200 | +0.400 | +0.400 to +0.400 | 100% | 0 |  |" in done.stdout
    assert (folder / "t.md").read_text() == done.stdout


@pytest.mark.parametrize(("arguments", "told"), [
    (("--plot", "c.png"), "--plot: expected a file .svg or .html"),
    (("--compare", "b.toml", "--plot", "c.svg"), "--plot: there is none of a comparison"),
    (("--compare", "b.toml", "--passages", "5"), "--passages: there is none of a comparison"),
    (("--price", "cheap"), "--price: expected one or two numbers"), (("--positions", "4"), "4 places need as many"),
    (("--measure", "logits"), "measure: unknown"), (("--chat-template", "chatlm"), "neither a file nor a known name"),
    (("--window", "100"), "do not fit the window of 100"), (("--concurrency", "0"), "concurrency: expected"),
    (("--compare", "none.toml"), "none.toml: cannot be read"), (("--timeout", "0"), "timeout: expected"),
])
def test_bad_options_are_named_before_anything_is_asked(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    model = Model(bent)
    with serving(model) as url:
        done = run(url, *arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert (done.stdout, model.asked) == ("", [])


@pytest.mark.parametrize("before", [(), ("--compare", "b.toml")])
@pytest.mark.parametrize(("flag", "file", "told"), [
    ("--out", "none/c.json", "there is no folder 'none'"), ("--out", "there", "'there' is a folder"),
    ("--figures", "none/f.json", "there is no folder 'none'"), ("--figures", "there", "'there' is a folder"),
    ("--journal", "none/j", "there is no folder 'none'"), ("--figures", "f" * 300, "cannot be written: "),
])
def test_what_cannot_be_written_is_told_before_anything_is_asked(
    folder: Path, flag: str, file: str, told: str, before: tuple[str, ...]
) -> None:
    """If this fails, every request is paid for, and the result is lost at the end."""
    (folder / "b.toml").write_text('[fold]\n[last]\npacking = { place = "best_last" }\n')
    (folder / "there").mkdir()
    (folder / "kept").write_text("an old journal")
    journal = () if flag == "--journal" else ("--journal", "kept", "--restart")
    model = Model(bent)
    with serving(model) as url:
        done = run(url, *before, *journal, flag, file)
    assert (done.exit_code, done.stdout, model.asked) == (2, "", [])
    assert done.stderr.startswith(f"Error: {flag}: ")
    assert told in done.stderr
    assert (folder / "kept").read_text() == "an old journal"


@pytest.mark.parametrize(("arguments", "told"), [
    ((), "--out: 'curve.json' is a folder"),
    (("--out", "c.json", "--plot", "none/p.svg"), "--plot: there is no folder 'none'"),
    (("--out", "c.json", "--plot", "p.svg", "--plot", "p.html"), "--plot: 'p.html' is a folder"),
])
def test_so_is_where_the_curve_and_its_drawings_go(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    """If this fails, a run with the default of --out, or the second drawing, is paid for in vain."""
    (folder / "curve.json").mkdir()
    (folder / "p.html").mkdir()
    model = Model(bent)
    with serving(model) as url:
        done = run(url, *arguments)
    assert (done.exit_code, done.stderr, model.asked) == (2, f"Error: {told}\n", [])


@pytest.mark.parametrize(("answer", "told"), [
    ((200, "[]"), "the answer has no choices"), ((200, "<html>"), "expected JSON"), ((403, "no"), "answered 403: 'no'"),
])
def test_what_came_instead_is_told(folder: Path, answer: tuple[int, str], told: str) -> None:
    with serving(Model(bent, broken=lambda number, body: (answer[0], {}, answer[1]))) as url:
        done = run(url)
    assert done.exit_code == 2
    assert told in done.stderr
    assert not (folder / "curve.json").exists()


def test_the_address_may_lack_its_version(folder: Path) -> None:
    with serving(Model(bent)) as url:
        done = run(url.removesuffix("/v1"), "--measure", "loglik")
    assert "addresses of such endpoints mostly end in /v1" in done.stderr


def test_a_terminal_is_asked_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, money is spent without a question."""
    import promptpack.cli_calibrate as command

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError

    class Terminal:
        def isatty(self) -> bool:
            return True

    asked: list[str] = []

    def confirm(text: str, **options: Any) -> None:
        asked.append(text)

    monkeypatch.setattr(command.click, "confirm", confirm)
    monkeypatch.setattr(command.sys, "stdin", Terminal())
    monkeypatch.setattr(command.sys, "stderr", Terminal())
    monkeypatch.setattr(command.click, "echo", lambda *_, **__: None)
    from promptpack.calibration import Asking, Endpoint

    command._estimate([], Asking(), Endpoint("http://h/v1", "m"), None, False)
    command._estimate([], Asking(), Endpoint("http://h/v1", "m"), None, True)
    assert asked == ["Go on?"]
