"""The settings of a template set: read from its folder, checked at once, used where the builder says nothing."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from promptpack import OptionError, PromptBuilder, Source, TemplateLookupError
from promptpack.settings import DEFAULT_FIELDS, PLAIN, TemplateSettings, read_settings
from promptpack.templates import TemplateSet, template_names

FULL = """
# why
fields = ["title", "url", "updated"]
native = true
encoding = "json"
[aliases]
updated = "date"
[caps]
title = 20
"""


def test_a_file_with_every_key(tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_text(FULL, encoding="utf-8")
    settings = read_settings(tmp_path, PLAIN)
    assert settings == TemplateSettings(
        fields=("title", "url", "updated"), aliases=(("updated", "date"),), caps=(("title", 20),), native=True,
        encoding="json",
    )
    assert settings == TemplateSet.from_folder(tmp_path).settings  # settings alone make a set
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert hash(settings) == hash(TemplateSet.from_folder(tmp_path).settings)


def test_what_is_left_out_comes_from_the_fallback(tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_text("native = true", encoding="utf-8")
    base = TemplateSet.from_string(settings=TemplateSettings(fields=("url",), encoding="json"))
    made = TemplateSet.from_folder(tmp_path, fallback=base).settings
    assert (made.fields, made.encoding, made.native) == (("url",), "json", True)
    assert read_settings(tmp_path / "missing", base.settings) is base.settings
    assert TemplateSet.from_string("{{ sources }}{{ question }}", fallback="json").settings.encoding == "json"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("field = []", "unknown value 'field'; did you mean 'fields'"),
        ("fields = 'title'", "fields: expected a tuple"),
        ("fields = ['Title']", "got 'Title'"),
        ("fields = ['text']", "none of"),
        ("fields = [7]", "got 7"),
        ("fields = ['a', 'a']", "twice"),
        ("native = 1", "native: expected true or false, got 1"),
        ("encoding = 'xml'", "encoding: unknown value 'xml'"),
        ("encoding = ['json']", "encoding"),
        ("aliases = 'x'", "aliases: expected a table"),
        ("[aliases]\nupdated = 7", "got 7"),
        ("[aliases]\nupdated = 'label'", "none of"),
        ("[aliases]\nupdated = 'title'", "two fields would have one name"),
        ("[caps]\ntitle = 0", "from 1 to 512"),
        ("[caps]\ntitle = 513", "from 1 to 512"),
        ("[caps]\ntitle = true", "from 1 to 512"),
        ("[caps]\ntitle = '9'", "from 1 to 512"),
        ("[caps]\nTitle = 9", "got 'Title'"),
        ("fields = [", "end of document"),
        ("a = 1\na = 2", "overwrite"),
        ("x = " + "[" * 3000 + "]" * 3000, "nested too deeply"),
    ],
)
def test_what_cannot_be(tmp_path: Path, text: str, why: str) -> None:
    """A wrong setting is said at once, with the file, instead of a strange payload later."""
    (tmp_path / "set.toml").write_text(text, encoding="utf-8")
    with pytest.raises(OptionError) as caught:
        read_settings(tmp_path, PLAIN)
    assert why in str(caught.value)
    assert "set.toml" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateLookupError, match="cannot be read as UTF-8"):
        read_settings(tmp_path, PLAIN)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fields": ["title"]}, {"fields": "title"}, {"aliases": {"a": "b"}}, {"aliases": (("a",),)},
        {"aliases": ("ab",)},
        {"aliases": ((1, "b"),)}, {"aliases": (("a", "b"), ("a", "c"))}, {"caps": (("a", 1.5),)}, {"caps": 7},
        {"native": None}, {"encoding": None},
    ],
    ids=str,
)
def test_values_of_a_wrong_type(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        TemplateSettings(**wrong)
    with pytest.raises(OptionError):
        TemplateSet.from_string(settings=wrong)  # type: ignore[arg-type]


def test_names_and_caps() -> None:
    settings = TemplateSettings(aliases=(("updated", "date"),), caps=(("title", 5),))
    assert (settings.named("updated"), settings.named("title")) == ("date", "title")
    for text, shown in (("12345", "12345"), ("123456", "1234…"), ("123 56", "123…"), ("", "")):
        assert settings.capped("title", text) == shown
    assert settings.capped("url", "x" * 512) == "x" * 512
    assert len(settings.capped("url", "x" * 513)) == 512


def test_fields_of_a_set_are_shown_where_the_builder_names_none() -> None:
    own = TemplateSet.from_string(settings=TemplateSettings(fields=("url", "title")))
    source = Source("a", "Text.", 1.0, metadata={"title": "T", "url": "u"})
    builder = PromptBuilder(4000, template=own).add_sources([source])
    assert '<source_1 id="S1" url="u" title="T">' in builder.render().text
    assert list(builder.render().sources[0].attributes) == ["url", "title"]
    assert '<source_1 id="S1" title="T">' in builder.with_fields("title").render().text


@pytest.mark.parametrize(
    "source", [None, "[{{ label }}]{% for n, v in attributes %} {{ n|lower }}={{ v }}{% endfor %}: {{ text }}"]
)
def test_aliases_and_caps_are_shown(source: str | None) -> None:
    """With a shape and without one, the payload has the set's names and lengths; the fields keep their own."""
    settings = TemplateSettings(fields=("title", "updated"), aliases=(("updated", "date"),), caps=(("title", 8),))
    own = TemplateSet.from_string(source=source, settings=settings)
    hit = Source("a", "Text.", 1.0, updated="2026-03-01", metadata={"title": "Returns and refunds"})
    made = PromptBuilder(4000, template=own).add_sources([hit, Source("b", "More.", 0.5)]).render()
    assert made.text.count("Returns\u2026") == 1
    assert "date=" in made.text
    assert "updated=" not in made.text
    assert made.sources[0].attributes == {"title": "Returns\u2026", "updated": "2026-03-01"}


@pytest.mark.parametrize("name", template_names())
def test_shipped_settings(name: str) -> None:
    """Passages are handed over as documents by exactly the sets whose providers take them."""
    settings = TemplateSet.named(name).settings
    assert settings.native is (name in ("claude-native", "command", "granite"))
    assert (settings.encoding == "json") is (name == "json")
    assert settings.fields == DEFAULT_FIELDS
