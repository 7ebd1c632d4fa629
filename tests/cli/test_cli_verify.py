"""The command `verify`: exit codes, support, links, and an answer that comes in piece by piece."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HITS = [
    {"id": "returns#1", "text": "You can return any lamp within 45 days.", "metadata": {"url": "https://a.example/r?x=1"}},
    {"id": "bulbs#2", "text": "Bulbs are free."},
]
COMMAND = [sys.executable, "-m", "promptpack"]


def run(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, input=stdin, capture_output=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("verify")
    (made / "hits.json").write_text(json.dumps(HITS), encoding="utf-8")
    done = run("render", "hits.json", "-q", "How long?", "--format", "payload", "-o", "payload.json", cwd=made)
    assert done.returncode == 0, done.stderr
    return made


def verify(folder: Path, answer: str | bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    data = answer if isinstance(answer, bytes) else answer.encode()
    return run("verify", "-", "-p", "payload.json", *options, cwd=folder, stdin=data)


def test_unsupported_claims_fail_only_where_support_is_asked_for(folder: Path) -> None:
    answer = "You can return any lamp within 46 days [S1]."
    assert verify(folder, answer).returncode == 0
    assert verify(folder, answer.replace("46", "45"), "--min-support", "0.5").returncode == 0
    done = verify(folder, answer, "--min-support", "0.5")
    assert (done.returncode, done.stdout) == (1, b"returns#1\n")
    assert b"without 46" in done.stderr


def test_links_are_written_by_a_template(folder: Path) -> None:
    done = verify(folder, "So [S1], [S9].\n", "--link", "{url}")
    assert (done.returncode, done.stdout) == (1, b"So [S1](https://a.example/r?x=1), [S9].\n")
    done = verify(folder, "So [S1, S2].", "--link", "https://d.example/{chunk}?n={number}")
    assert done.stdout == (
        b"So [S1](https://d.example/returns%231?n=1), [S2](https://d.example/bulbs%232?n=2).\n"
    )
    done = verify(folder, "So [S1].", "--link", "#{label}", "--style", "footnotes")
    assert done.stdout == b"So [^S1].\n\n[^S1]: #S1\n"


def test_a_source_without_the_field_keeps_its_label_and_is_named(folder: Path) -> None:
    done = verify(folder, "So [S1] [S2].", "--link", "{url}")
    assert done.stdout == b"So [S1](https://a.example/r?x=1) [S2].\n"
    assert b"no address for S2" in done.stderr


def test_json_holds_the_result_and_the_links(folder: Path) -> None:
    done = verify(folder, 'It says "any lamp within" [S1].', "--json", "--link", "#{label}", "--min-support", "0.1")
    found = json.loads(done.stdout)
    assert found["linked"] == 'It says "any lamp within" [S1](#S1).'
    assert found["quotes"][0]["found"] == "verbatim"
    assert found["ok"] is True
    assert 0 < found["claims"][0]["support"] <= 1
    assert done.stderr == b""


def test_a_file_and_a_stream_give_the_same(folder: Path) -> None:
    answer = "Yes `[S1]` [S1]\n```\n[S2]\n```\n[S2](x) [S"
    (folder / "answer.txt").write_text(answer, encoding="utf-8")
    file = run("verify", "answer.txt", "-p", "payload.json", "--link", "#{label}", cwd=folder)
    stream = verify(folder, answer, "--link", "#{label}")
    assert (file.stdout, file.stderr, file.returncode) == (stream.stdout, stream.stderr, stream.returncode)


def test_text_is_written_as_it_comes(folder: Path) -> None:
    """The rest of the answer is sent only after its beginning came out; a wait for it all would never end."""
    with subprocess.Popen(
        [*COMMAND, "verify", "-", "-p", "payload.json", "--link", "#{label}"],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Ja, für 45 Tage [S1] ".encode()[:-1] + " ü".encode()[:2])
        process.stdin.flush()
        os.set_blocking(process.stdout.fileno(), False)
        seen, until = b"", time.monotonic() + 60
        while b"[S1](#S1)" not in seen and time.monotonic() < until:
            seen += process.stdout.read() or b""
            time.sleep(0.01)
        assert seen == "Ja, für 45 Tage [S1](#S1) ".encode()
        process.stdin.write(" ü".encode()[2:] + b"[S2].")
        process.stdin.close()
        os.set_blocking(process.stdout.fileno(), True)
        assert process.stdout.read() == "ü[S2](#S2).\n".encode()
        assert process.wait() == 0


@pytest.mark.parametrize(("answer", "options", "told"), [
    ("x", ("--link", "{ur}"), "did you mean 'url'"), ("x", ("--link", "{"), "--link"),
    ("x", ("--min-support", "2"), "0 to 1"),
    ("x", ("--link", "javascript:{label}"), "javascript"), (b"\xff\xfe [S1]", ("--link", "#{label}"), "not UTF-8"),
    (b"\xff\xfe [S1]", (), "not UTF-8"),
])
def test_errors_are_one_line(folder: Path, answer: str | bytes, options: tuple[str, ...], told: str) -> None:
    done = verify(folder, answer, *options)
    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert b"Traceback" not in done.stderr
