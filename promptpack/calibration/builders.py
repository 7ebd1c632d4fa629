"""Builders to compare, from a file: a TOML file with a table for each, or a Python file that makes some.

    [fold]
    window = 8192

    [mine]
    window = 8192
    system = "You help customers."
    packing = { place = "best_last", select = "top", top_k = 9 }

    [by-curve]
    packing = { place = "curve:curve.json" }

Keys are those of `PromptBuilder`, and `system`; `packing` takes those of `Packing` that are names or numbers. In
`place`, "curve:FILE" is a curve measured before; its path is relative to the file.

A Python file has a variable for each, or all of them by name in a dict called `builders`:

    builders = {"fold": PromptBuilder(8192), "last": PromptBuilder(8192).with_packing(place="best_last")}
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, PromptpackError, quote
from promptpack.files import read_text
from promptpack.packing.curve import placement

_KEYS = ("window", "model", "template", "counter", "escape", "fields", "system", "packing")


def read_builders(path: str, window: int = 8192) -> dict[str, PromptBuilder]:
    """Return the builders of a file by name, in its order; `window` is for tables without one.

    A Python file is run; the builders in its dict `builders` are taken, or without one every `PromptBuilder` that it
    names at its top. Raises OptionError, which names the file and the builder, for what makes none.
    """
    script = path.endswith(".py")
    found = _from_python(path) if script else _from_toml(path, window)
    if not found:
        wanted = (
            "a variable for each, as in fold = PromptBuilder(8192), or a dict of them named builders" if script else
            "a table for each, as in [fold]"
        )
        raise OptionError(f"{quote(path, 200)}: holds no builder; expected {wanted}", name="compare", given=path)
    return found


def _from_toml(path: str, window: int) -> dict[str, PromptBuilder]:
    try:
        data = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise OptionError(f"{quote(path, 200)}: broken TOML: {error}", name="compare", given=path) from error
    found = {}
    for name, table in data.items():
        try:
            found[name] = _builder(table, window, Path(path).parent)
        except PromptpackError as error:
            error.args = (f"{quote(path, 200)}: {quote(name)}: {error}",)
            raise
    return found


def _builder(table: Any, window: int, folder: Path) -> PromptBuilder:
    if not isinstance(table, Mapping):
        raise OptionError(f"expected a table, got {quote(table)}", name="compare", given=table)
    given = dict(table)
    for key in given:
        if key not in _KEYS:
            raise OptionError.unknown("key", key, _KEYS)
    packing = given.pop("packing", {})
    system = given.pop("system", None)
    if not isinstance(packing, Mapping):
        raise OptionError(f"packing: expected a table, got {quote(packing)}", name="packing", given=packing)
    if isinstance(given.get("fields"), list):
        given["fields"] = tuple(given["fields"])
    if isinstance(given.get("template"), str) and (folder / given["template"]).is_dir():
        given["template"] = folder / given["template"]
    builder = PromptBuilder(given.pop("window", window), **given).with_system(system)
    if "place" in packing:
        packing = {**packing, "place": placement(packing["place"], folder)}
    return builder.with_packing(**packing)


def _from_python(path: str) -> dict[str, PromptBuilder]:
    names: dict[str, Any] = {"__name__": "builders", "__file__": path}
    try:
        # The user's own file, named on the command line, like a module that is imported.
        exec(compile(read_text(path), path, "exec"), names)  # noqa: S102
    except PromptpackError:
        raise
    except Exception as error:
        raise OptionError(
            f"{quote(path, 200)}: {type(error).__name__}: {quote(str(error))}", name="compare", given=path
        ) from error
    listed = names.get("builders")
    if not isinstance(listed, Mapping):
        return {name: value for name, value in names.items() if isinstance(value, PromptBuilder)}
    for name, value in listed.items():
        if not isinstance(name, str) or not isinstance(value, PromptBuilder):
            raise OptionError(
                f"{quote(path, 200)}: builders: expected a PromptBuilder by its name, got {quote(value)} by "
                f"{quote(name)}", name="compare", given=path,
            )
    return dict(listed)
