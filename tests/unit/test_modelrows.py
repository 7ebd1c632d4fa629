"""Models of your own: rows from a file or a mapping, tried before those of the package."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from promptpack import PromptBuilder, Window
from promptpack.errors import OptionError
from promptpack.profiles import Models, load_models, model_patterns, profile, required_profile

FILE = """
updated = "2026-11-30"

[[model]]
match = ["Our-Model*", "gpt-4o-ours"]
window = 16384
counter = "cl100k_base"
template = "plain"
message = 5
reply = 7

[[model]]
match = ["old-*"]
window = 2048
system_role = false
margin = 0.1
exact_counter = "llama3"
source = "our own model card"
checked = 2026-11-30
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_models_of_your_own(file: Path) -> None:
    """A row of your own goes before those of the package; what it leaves out has the defaults."""
    ours = profile("org/Our-Model-v3", file)
    assert (ours.window, ours.counter, ours.template, ours.message, ours.reply) == (16384, "cl100k_base", "plain", 5, 7)
    assert ours.known
    assert profile("gpt-4o-ours", file).window == 16384
    assert profile("gpt-4o", file) == profile("gpt-4o")
    old = required_profile("old-7b", str(file))
    assert (old.system_role, old.margin, old.exact_counter) == (False, 0.1, "llama3")
    assert (old.counter, old.source, old.checked) == ("estimate", "our own model card", date(2026, 11, 30))
    assert not profile("our-model-v3").known


def test_a_loaded_file_is_used_again(file: Path) -> None:
    models = load_models(file)
    file.unlink()
    assert isinstance(models, Models)
    assert load_models(models) is models
    assert profile("old-7b", models).window == 2048
    assert "our-model*" in models.patterns()
    assert set(model_patterns()) < set(models.patterns())


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "sets" / "ours"
    folder.mkdir(parents=True)
    (folder / "source.j2").write_text("({{ label }}) {{ text }}", encoding="utf-8")
    (tmp_path / "models.toml").write_text(
        '[[model]]\nmatch = ["ours"]\nwindow = 4000\ntemplate = "sets/ours"\ncounter = "tokenizer.json"\n',
        encoding="utf-8",
    )
    found = profile("ours", tmp_path / "models.toml")
    assert found.counter == str(tmp_path / "tokenizer.json")
    payload = PromptBuilder.for_model("ours", models=tmp_path / "models.toml", counter="words").add_sources(["One."])
    assert "(S1) One." in payload.render().messages[-1].text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("", r"model 1: match is missing"),
        ('match = ["a"]', r"model 1 \('a'\): window is missing"),
        ('match = []\nwindow = 5', r"match: expected a list of patterns"),
        ('match = [" "]\nwindow = 5', r"match: expected a pattern of a name, got ' '"),
        ('match = [5]\nwindow = 5', r"match: expected a pattern of a name, got 5"),
        ('match = ["a"]\nwindow = 0', r"window: expected a whole number of 1 to"),
        ('match = ["a"]\nwindow = 8192.0', r"window: expected a whole number"),
        ('match = ["a"]\nwindow = true', r"window: expected a whole number"),
        ('match = ["a"]\nwindow = 5\nwindows = 6', r"key: unknown value 'windows'; did you mean 'window'\?"),
        ('match = ["a"]\nwindow = 5\ncounter = "o200k"', r"counter: unknown value 'o200k'"),
        ('match = ["a"]\nwindow = 5\nexact_counter = "lama3"', r"exact_counter: unknown value 'lama3'; did you mean"),
        ('match = ["a"]\nwindow = 5\ntemplate = "clawd"', r"unknown set 'clawd'; did you mean 'claude'"),
        ('match = ["a"]\nwindow = 5\ntemplate = "no/such"', r"is no folder"),
        ('match = ["a"]\nwindow = 5\ntemplate = 5', r"template: expected a text, got 5"),
        ('match = ["a"]\nwindow = 5\nmessage = -1', r"message: expected a whole number of 0 to"),
        ('match = ["a"]\nwindow = 5\nmargin = 1.0', r"margin: expected a share of 0.0 to below 1.0, got 1.0"),
        ('match = ["a"]\nwindow = 5\nmargin = nan', r"margin: expected a share"),
        ('match = ["a"]\nwindow = 5\nsystem_role = "no"', r"system_role: expected true or false, got 'no'"),
        ('match = ["a"]\nwindow = 5\nchecked = "today"', r"checked: expected a date like"),
        ('match = ["a"]\nwindow = 5\nsource = ""', r"source: expected a text"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    """A typing error that was passed over would leave the default in its place, in silence."""
    path = tmp_path / "ours.toml"
    path.write_text(f"[[model]]\n{row}\n", encoding="utf-8")
    with pytest.raises(OptionError, match=message) as caught:
        load_models(path)
    assert "ours.toml: model 1" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read as a TOML file"), (b"\xff\xfe", "cannot be read as a TOML file"),
        (b"[[model]\n", "cannot be read as a TOML file"), (b"", r"expected at least one \[\[model\]\] table"),
        (b"[models]\n", "unknown key 'models'; known: model, updated"), (b"model = 5\n", "expected at least one"),
        (b"model = [5]\n", "model 1: expected a table, got 5"),
        (b"model = " + b"[" * 5000, "cannot be read as a TOML file"),
    ],
    ids=str,
)
def test_a_file_that_is_none_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "ours.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OptionError, match=message) as caught:
        profile("x", path)
    assert "ours.toml" in str(caught.value)


@pytest.mark.parametrize("models", [5, ["x"], b"x"], ids=repr)
def test_models_that_are_none(models: Any) -> None:
    with pytest.raises(OptionError, match=r"^models: expected the path of a TOML file or a mapping"):
        load_models(models)


def test_a_builder_for_a_model_of_your_own(file: Path) -> None:
    builder = PromptBuilder.for_model("our-model-v3", models=file)
    payload = builder.add_sources(["Lamps."]).with_question("Why?").render()
    assert (payload.budget.window, payload.report.model, payload.report.template) == (16384, "our-model-v3", "plain")
    assert payload.report.counter == "cl100k_base"
    file.unlink()  # the row is in the builder: rendering reads no file, and gives the same in every process
    again = pickle.loads(pickle.dumps(builder)).add_sources(["Lamps."]).with_question("Why?").render()
    assert again == payload


def test_with_model_takes_models_too() -> None:
    mine = {"model": [{"match": ["ours"], "window": 900, "counter": "words"}]}
    builder = PromptBuilder(500).with_model("ours", models=mine)
    assert Window.of(builder.window).size == 500
    assert builder.with_question("Why?").render().report.counter == "words"
    assert builder.with_model(None).model is None


def test_marker_families_are_those_of_the_list() -> None:
    """If it fails, a row names markers that nothing escapes."""
    from promptpack.escape.markers import families
    from promptpack.profiles import profile

    assert profile("llama-3.1-8b-instruct").markers == ("llama3",)
    assert set(profile("qwen2.5-7b-instruct").markers) <= set(families())
    with pytest.raises(OptionError, match="did you mean 'llama3'"):
        load_models({"model": [{"match": ["our-*"], "window": 8192, "markers": ["lama3"]}]})
