"""Answers of a folder's parts: several result files, and the label maps of all parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from promptpack.batch import Job, Options, run_divided, verify_results
from promptpack.batch.maps import map_files
from promptpack.builder import PromptBuilder
from promptpack.cli import main
from promptpack.errors import OptionError

ROWS = [{"id": f"q{n}", "question": "How long?", "sources": [{"id": f"d{n}", "text": f"Free for {n} days."}]}
        for n in range(12)]


@pytest.fixture(params=["openai-batch", "payload"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "in.jsonl").write_text("oops\n" + "".join(json.dumps(one) + "\n" for one in ROWS))
    job = Job(PromptBuilder(2000, counter="words"), request.param, model="m")
    run_divided(tmp_path / "in.jsonl", f"{tmp_path}/made/", job, Options(workers=0), size=400)
    assert len(list((tmp_path / "made").glob("part-*"))) > 3
    for name, some in (("one", ROWS[6:]), ("two", ROWS[:5])):
        (tmp_path / f"{name}.jsonl").write_text("".join(
            json.dumps({"custom_id": one["id"], "answer": "Free [S1]."}) + "\n" for one in some))
    (tmp_path / "two.jsonl").write_text((tmp_path / "two.jsonl").read_text() + "no JSON\n")
    return tmp_path


def test_results_of_many_parts_are_checked_against_their_folder(made: Path) -> None:
    """If this fails, who batched a folder has to join its parts by hand before an answer can be checked."""
    found = list(verify_results([str(made / "one.jsonl"), str(made / "two.jsonl")], str(made / "made")))
    assert [one["id"] for one in found if one["status"] == "ok"] == [f"q{n}" for n in [*range(6, 12), *range(5)]]
    assert [one["id"] for one in found if one["status"] == "missing"] == ["q5"]
    assert [(one["file"], one["line"]) for one in found if one["status"] == "unreadable"] == [
        (str(made / "two.jsonl"), 6)]
    done = CliRunner().invoke(main, [
        "batch-verify", str(made / "one.jsonl"), str(made / "two.jsonl"), "-p", str(made / "made")])
    assert done.exit_code == 3
    assert "11 ok" in done.stderr
    assert "payloads without a result: 1" in done.stderr


def test_a_part_is_never_written_over(made: Path) -> None:
    """If this fails, -o destroys a payload that was paid for."""
    part = map_files(str(made / "made"))[1]
    before = Path(part).read_bytes()
    done = CliRunner().invoke(main, ["batch-verify", str(made / "one.jsonl"), "-p", str(made / "made"), "-o", part])
    assert (done.exit_code, Path(part).read_bytes()) == (2, before)
    assert "is read, too" in done.stderr


def test_payloads_that_cannot_be_looked_up_say_what_to_do(tmp_path: Path) -> None:
    """If this fails, the error leaves who typed the command without a way on."""
    for name, said in (("a.parquet", "--format payload"), ("a.jsonl.gz", "gzip -dk"), ("a.jsonl.zst", "zstd -dk")):
        with pytest.raises(OptionError, match=said):
            map_files(str(tmp_path / name))
    with pytest.raises(OptionError, match=r"has no part-\*\.labels\.jsonl"):
        map_files(str(tmp_path))
    (tmp_path / "maps.jsonl").write_text("")
    for results in ([], ["-", "-"]):
        with pytest.raises(OptionError, match="results: expected files"):
            list(verify_results(results, str(tmp_path / "maps.jsonl")))
