"""The command line: data on standard output, talk on standard error, exit codes, files of every kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HITS = [
    {
        "id": "returns#1", "text": "You can return any lamp within 45 days.", "score": 0.9,
        "metadata": {"title": "Returns"},
    },
    {"id": "returns#2", "text": "Money comes back in 6 working days.", "score": 0.8},
]
LINES = "\n".join(json.dumps(hit) for hit in HITS) + "\n"


def run(*arguments: str, cwd: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "promptpack", *arguments], cwd=cwd, input=stdin, capture_output=True, check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hits.jsonl").write_text(LINES, encoding="utf-8")
    (tmp_path / "hits.json").write_text(json.dumps(HITS), encoding="utf-8")
    return tmp_path


def test_render_prints_the_payload_and_nothing_else(folder: Path) -> None:
    done = run("render", "hits.jsonl", "-q", "How long?", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.decode().endswith("<question>How long?</question>\n")
    assert '<source_1 id="S1" chunk="returns#1" title="Returns">' in done.stdout.decode()


@pytest.mark.parametrize("name", ["hits.json", "hits.jsonl", "wrapped.json", "windows.jsonl", "-"])
def test_every_form_of_input_gives_the_same_payload(folder: Path, name: str) -> None:
    (folder / "wrapped.json").write_text(json.dumps({"sources": HITS}), encoding="utf-8")
    (folder / "windows.jsonl").write_bytes(b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n\r\n").encode())
    expected = run("render", "hits.json", "-q", "How long?", cwd=folder).stdout
    done = run("render", name, "-q", "How long?", cwd=folder, stdin=LINES.encode())
    assert (done.returncode, done.stdout) == (0, expected)


def test_output_is_utf_8_whatever_the_locale(folder: Path) -> None:
    (folder / "ja.jsonl").write_text('{"text": "ランプ 😀"}\n', encoding="utf-8")
    done = run("render", "ja.jsonl", cwd=folder, LC_ALL="C", LANG="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "ランプ 😀" in done.stdout.decode("utf-8")


@pytest.mark.parametrize(("form", "check"), [
    ("messages", lambda data: [one["role"] for one in data] == ["system", "user"]),
    ("openai", lambda data: set(data[0]) == {"role", "content"}),
    ("payload", lambda data: data["labels"]["carried"] == {"S1": ["returns#1"], "S2": ["returns#2"]}),
])
def test_formats_are_json(folder: Path, form: str, check: object) -> None:
    done = run("render", "hits.jsonl", "-q", "How long?", "--format", form, cwd=folder)
    assert check(json.loads(done.stdout))  # type: ignore[operator]


def test_explain_talks_on_standard_error(folder: Path) -> None:
    plain = run("render", "hits.jsonl", "-q", "How long?", "--window", "140", "--answer", "20", cwd=folder)
    done = run("render", "hits.jsonl", "-q", "How long?", "-w", "140", "--answer", "20", "--explain", cwd=folder)
    assert done.stdout == plain.stdout
    told = done.stderr.decode()
    for word in ("window", "140", "not sent", "over_budget", "returns#2"):
        assert word in told


def test_the_options_of_render_reach_the_builder(folder: Path) -> None:
    done = run(
        "render", "hits.jsonl", "-q", "How long?", "--template", "plain", "--counter", "words",
        "-s", "You are the desk.", "--place", "best_last",
        "--top-k", "2", "--min-score", "0.1", "--fields", "chunk", "--dedup", "off",
        "--select", "prefix", "--escape", "html", cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "You are the desk.\n\nAnswer only" in text
    assert "[S1 | returns#2] Money comes back" in text
    assert text.index("returns#2") < text.index("returns#1")


def test_history_is_read_from_a_file(folder: Path) -> None:
    (folder / "talk.json").write_text(json.dumps([{"role": "user", "content": "Hi there"}]), encoding="utf-8")
    done = run("render", "hits.jsonl", "-q", "And?", "--history", "talk.json", "--format", "openai", cwd=folder)
    assert [one["role"] for one in json.loads(done.stdout)] == ["system", "user", "user"]


@pytest.mark.parametrize(("arguments", "code", "told"), [
    (("render", "missing.jsonl"), 2, "missing.jsonl: cannot be read"),
    (("render", "."), 2, "cannot be read"),
    (("render", "broken.jsonl"), 2, "broken.jsonl: line 2"),
    (("render", "broken.json"), 2, "broken.json"),
    (("render", "latin.jsonl"), 2, "not UTF-8"),
    (("render", "bad.jsonl"), 2, "bad.jsonl: line 2: there is no text"),
    (("render", "number.json"), 2, "expected a list"),
    (("render", "deep.json"), 2, "nested too deep"),
    (("render", "hits.jsonl", "--place", "fild"), 2, "did you mean 'fold'"),
    (("render", "hits.jsonl", "--counter", "o200k"), 2, "did you mean 'o200k_base'"),
    (("render", "hits.jsonl", "--template", "defualt"), 2, "did you mean 'default'"),
    (("render", "hits.jsonl", "--window", "-5"), 2, "window"),
    (("render", "hits.jsonl", "--window", "20"), 1, "smallest window that works"),
    (("render", "hits.jsonl", "--min-score", "5", "--require-sources"), 2, "no source is left"),
    (("render", "hits.jsonl", "--fields", "Title"), 2, "fields"),
    (("render",), 2, "Missing argument"),
    (("count", "missing.txt"), 2, "cannot be read"),
    (("count", "hits.jsonl", "--counter", "nonsense"), 2, "counter"),
    (("templates", "show", "nonsense"), 2, "unknown set"),
    (("verify", "answer.txt", "-p", "hits.json"), 2, "payload"),
    (("verify", "-", "-p", "-"), 2, "only one"),
    (("pack", "hits.jsonl"), 2, "--budget"),
    (("pack", "hits.jsonl", "-b", "9", "--reserve", "-1"), 2, "reserve"),
])
def test_errors_are_one_line_with_the_place(folder: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    (folder / "broken.jsonl").write_text('{"text": "a"}\n{"text": \n{"text": "c"}\n', encoding="utf-8")
    (folder / "broken.json").write_text('[{"text": "a"},\n {"text" "b"}]\n', encoding="utf-8")
    (folder / "latin.jsonl").write_bytes('{"text": "café"}\n'.encode("latin-1"))
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"title": "no text"}\n', encoding="utf-8")
    (folder / "number.json").write_text("5", encoding="utf-8")
    (folder / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    (folder / "answer.txt").write_text("Yes [S1].", encoding="utf-8")
    done = run(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert done.stdout == b""
    assert told in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_verify_prints_the_cited_chunks_and_fails_where_one_is_wrong(folder: Path) -> None:
    payload = run("render", "hits.jsonl", "-q", "How long?", "--format", "payload", "-o", "payload.json", cwd=folder)
    assert (payload.returncode, payload.stdout) == (0, b"")
    good = run("verify", "-", "-p", "payload.json", cwd=folder, stdin=b"45 days [S1]. Money in 6 days [S2].")
    assert (good.returncode, good.stdout) == (0, b"returns#1\nreturns#2\n"), good.stderr
    bad = run("verify", "-", "-p", "payload.json", "--json", cwd=folder, stdin=b"45 days [S1]. Money [S9].")
    assert bad.returncode == 1
    assert json.loads(bad.stdout)["unknown"] == ["S9"]
    told = run("verify", "-", "-p", "payload.json", cwd=folder, stdin=b"45 days [S1]. Money [S9].")
    assert b"S9" in told.stderr


def test_count_counts_each_file_and_all(folder: Path) -> None:
    (folder / "a.txt").write_text("one two three", encoding="utf-8")
    (folder / "b.txt").write_text("<|endoftext|>", encoding="utf-8")
    assert run("count", "a.txt", "-c", "words", cwd=folder).stdout == b"3\n"
    assert run("count", "a.txt", "b.txt", "-c", "words", cwd=folder).stdout == b"3\ta.txt\n1\tb.txt\n4\ttotal\n"
    assert run("count", "-m", "gpt-4", cwd=folder, stdin=b"<|endoftext|>").stdout == b"7\n"
    assert b"estimates" in run("count", "-m", "claude-sonnet-4", cwd=folder, stdin=b"hello").stderr


def test_templates_lists_sets_and_prints_one(folder: Path) -> None:
    assert b"default" in run("templates", cwd=folder).stdout
    assert b"<source_{{ n }}" in run("templates", "show", "default", cwd=folder).stdout


def test_pack_keeps_the_first_files_and_tells_what_it_did(folder: Path) -> None:
    for name, text in (("one.md", "one two three"), ("two.md", "four five six seven"), ("three.md", "eight")):
        (folder / name).write_text(text, encoding="utf-8")
    done = run("pack", "one.md", "two.md", "three.md", "-b", "4", "-c", "words", "--stats", cwd=folder)
    assert done.stdout == b"one two three\n\n---\n\neight\n"
    assert b"4/4 tokens used (2 included, 1 dropped)" in done.stderr
    assert b"- two.md: dropped" in done.stderr
    cut = run("pack", "two.md", "-b", "2", "-c", "words", "--min-tokens", "1", cwd=folder)
    assert cut.stdout == b"four five\n"


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    lines = (json.dumps({"text": f"text number {n}"}) for n in range(3000))
    (folder / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    shell = f"{sys.executable} -m promptpack render many.jsonl --window 900000 | head -n 1"
    done = subprocess.run(shell, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "SYSTEM\n"
    assert "Traceback" not in done.stderr
