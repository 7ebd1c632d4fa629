"""Where template sets are found: names, folders, texts, and what is said where there is none."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from promptpack.errors import OptionError, TemplateLookupError, TemplateRenderError
from promptpack.templates import FILES, TemplateSet, root, template_names

DEFAULT = TemplateSet.named("default")


def folder(path: Path, **files: str | bytes) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.j2").write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_shipped_sets() -> None:
    assert {"default", "plain"} <= set(template_names())
    assert list(template_names()) == sorted(template_names())
    for name in template_names():
        found = TemplateSet.named(name)
        assert found.name == name
        assert [file for file, _ in found.files()] == list(FILES)
        assert found.user.strip()
        assert found.source.strip()
        assert found.compiled() is TemplateSet.named(name).compiled()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("defualt", "did you mean 'default'?"),
        ("Default", "did you mean 'default'?"),
        ("plian", "did you mean 'plain'?"),
        ("", None),
        ("zzz", None),
        ("../default", None),
        ("default/", None),
        ("models.toml", None),
        ("\x00", None),
        ("\ud800", None),
        ("x" * 10**6, None),
        (".", None),
        ("..", None),
    ],
    ids=ascii,
)
def test_unknown_names(name: str, hint: str | None) -> None:
    with pytest.raises(TemplateLookupError) as caught:
        TemplateSet.named(name)
    error, message = caught.value, str(caught.value)
    assert error.name == name
    assert error.known == template_names()
    assert error.searched
    assert f"Known: {', '.join(template_names())}" in message
    assert hint is None or hint in message
    assert isinstance(error, LookupError)
    message.encode("utf-8")
    assert len(message) < 500


@pytest.mark.parametrize("value", [5, 1.5, True, b"default", [], {}, object()], ids=lambda v: type(v).__name__)
def test_values_that_are_no_set(value: Any) -> None:
    for make in (TemplateSet.of, TemplateSet.named, TemplateSet.from_folder):
        with pytest.raises(OptionError, match=r"^template: expected") as caught:
            make(value)
        assert caught.value.given is value
    with pytest.raises(OptionError):
        TemplateSet.from_string("x", fallback=value)


def test_of(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", user="{{ sources }}{{ question }}")
    assert TemplateSet.of(None) == DEFAULT
    assert TemplateSet.of(DEFAULT) is DEFAULT
    assert TemplateSet.of("plain").name == "plain"
    assert TemplateSet.of(own) == TemplateSet.of(str(own)) == TemplateSet.from_folder(own)
    with pytest.raises(TemplateLookupError):
        TemplateSet.of(Path("default"))  # a path is a folder, never a name


class TestFolder:
    def test_missing_files_come_from_the_fallback(self, tmp_path: Path) -> None:
        own = folder(tmp_path / "own", user="U {{ sources }}{{ question }}")
        assert TemplateSet.from_folder(own) == TemplateSet(
            "own", DEFAULT.system, DEFAULT.source, "U {{ sources }}{{ question }}"
        )
        plain = TemplateSet.named("plain")
        assert TemplateSet.from_folder(own, fallback="plain").source == plain.source
        assert TemplateSet.from_folder(str(own), fallback=plain).system == plain.system

    def test_an_empty_file_is_a_file(self, tmp_path: Path) -> None:
        assert TemplateSet.from_folder(folder(tmp_path / "own", system="")).system == ""

    def test_byte_order_mark_and_line_ends(self, tmp_path: Path) -> None:
        own = folder(tmp_path / "own", user=b"\xef\xbb\xbfA\r\n{{ sources }}\r\n{{ question }}")
        assert TemplateSet.from_folder(own).user == "A\n{{ sources }}\n{{ question }}"

    @pytest.mark.parametrize("bad", [b"\xff\xfe{{ sources }}", b"a\x80"])
    def test_no_utf8(self, tmp_path: Path, bad: bytes) -> None:
        with pytest.raises(
            TemplateLookupError, match=r"source\.j2' cannot be read as UTF-8 text \(UnicodeDecodeError\)"
        ):
            TemplateSet.from_folder(folder(tmp_path / "own", source=bad))

    @pytest.mark.parametrize(
        "make",
        [
            lambda p: p / "missing",
            lambda p: p / "file" / "x",
            lambda p: p / "file",
            lambda p: folder(p / "empty"),
            lambda p: p / ("x" * 5000),
            lambda p: str(p / "a\x00b"),
            lambda p: p / "dir",
            lambda p: "\ud800/",
        ],
    )
    def test_folders_that_are_none(self, tmp_path: Path, make: Any) -> None:
        (tmp_path / "file").write_text("x")
        (tmp_path / "dir" / "user.j2").mkdir(parents=True)  # a folder where a file should be
        path = make(tmp_path)
        with pytest.raises(TemplateLookupError, match=r"^template: ") as caught:
            TemplateSet.from_folder(path)
        assert caught.value.name == str(path)
        assert caught.value.searched
        str(caught.value).encode("utf-8")

    @pytest.mark.skipif(
        os.name != "posix" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything"
    )
    def test_a_file_that_may_not_be_read(self, tmp_path: Path) -> None:
        own = folder(tmp_path / "own", user="x")
        (own / "user.j2").chmod(0)
        with pytest.raises(TemplateLookupError, match="PermissionError"):
            TemplateSet.from_folder(own)

    def test_an_unknown_fallback(self, tmp_path: Path) -> None:
        with pytest.raises(TemplateLookupError, match="did you mean 'plain'"):
            TemplateSet.from_folder(folder(tmp_path / "own", user="x"), fallback="plein")


class TestTexts:
    def test_parts_that_are_none_come_from_the_fallback(self) -> None:
        found = TemplateSet.from_string(source="[{{ label }}] {{ text }}", fallback="plain", name="mine")
        plain = TemplateSet.named("plain")
        assert found == TemplateSet("mine", plain.system, "[{{ label }}] {{ text }}", plain.user)
        assert TemplateSet.from_string() == TemplateSet("<string>", DEFAULT.system, DEFAULT.source, DEFAULT.user)

    @pytest.mark.parametrize("part", ["user", "system", "source", "name"])
    @pytest.mark.parametrize("value", [5, b"x", [], True, object()], ids=lambda v: type(v).__name__)
    def test_parts_of_a_wrong_type(self, part: str, value: Any) -> None:
        with pytest.raises(OptionError, match=f"template: {part} has to be a text") as caught:
            TemplateSet.from_string(**{part: value})
        assert caught.value.name == part

    @pytest.mark.parametrize("part", ["user", "system", "source", "name"])
    @pytest.mark.parametrize("value", ["a\x00b", "\ud800", "x" * 1_000_001], ids=["nul", "surrogate", "long"])
    def test_texts_that_no_payload_can_hold(self, part: str, value: str) -> None:
        """The mark of a shape's gaps is a NUL; a lone surrogate cannot be encoded."""
        with pytest.raises((TemplateRenderError, OptionError), match="template") as caught:
            TemplateSet.from_string(**{part: value})
        str(caught.value).encode("utf-8")
        assert len(str(caught.value)) < 400

    @pytest.mark.parametrize("name", ["", "  ", "x" * 256])
    def test_names_that_no_error_could_show(self, name: str) -> None:
        with pytest.raises(OptionError, match="name has to be a text of 1 to 255"):
            TemplateSet.from_string(name=name)


def test_sets_are_values() -> None:
    one = TemplateSet.from_string("{{ sources }}{{ question }}")
    for same in (
        pickle.loads(pickle.dumps(one)),
        copy.copy(one),
        copy.deepcopy(one),
        TemplateSet.from_string(one.user),
    ):
        assert same == one
        assert hash(same) == hash(one)
        assert same.compiled() is one.compiled()  # compiled once for equal sets


def test_the_shipped_sets_are_found_beside_or_inside_the_package() -> None:
    assert (root() / "default" / "system.j2").is_file()
    assert root().name == "templates"
