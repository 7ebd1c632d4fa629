"""What a template set says beside its templates: the fields it shows by default, their names and lengths, its form.

The settings of a set are in its `set.toml`; every key may be left out:

    fields = ["chunk", "title", "updated"]   # shown in this order where the builder names no fields
    native = true                            # the provider takes the passages as documents of its own
    encoding = "json"                        # passages and fields are written as the inside of JSON strings

    [aliases]                                # how a field is named in the payload
    updated = "date"

    [caps]                                   # the most characters of a field
    title = 120
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from promptpack.errors import OptionError, TemplateLookupError, quote
from promptpack.shown import RESERVED

FILE = "set.toml"
DEFAULT_FIELDS = ("chunk", "title", "section", "updated")
ENCODINGS = ("text", "json")
LONGEST = 512  # characters of a field's value, whatever a set says
ELLIPSIS = "\u2026"
_FIELD = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")


@dataclass(frozen=True, slots=True)
class TemplateSettings:
    """The settings of a template set.

    fields: the metadata that is shown, in this order, where the builder names none. aliases: pairs of a field and the
    name that the payload gives it. caps: pairs of a field and the most characters of its value, 1 to 512; what is
    longer ends in an ellipsis. native: the passages are handed over as the provider's own documents, and the templates
    are their text form. encoding: "text", or "json" where each passage is a JSON object, and its text and fields are
    written as the inside of JSON strings.

    Raises OptionError for a value that cannot be.

    >>> settings = TemplateSettings(aliases=(("updated", "date"),), caps=(("title", 8),))
    >>> settings.named("updated"), settings.capped("title", "Returns and refunds")
    ('date', 'Returns…')
    """

    fields: tuple[str, ...] = DEFAULT_FIELDS
    aliases: tuple[tuple[str, str], ...] = ()
    caps: tuple[tuple[str, int], ...] = ()
    native: bool = False
    encoding: str = "text"

    def __post_init__(self) -> None:
        for name in ("fields", "aliases", "caps"):
            if not isinstance(getattr(self, name), tuple):
                raise _wrong(name, "a tuple", getattr(self, name))
        for name in self.fields:
            _checked("fields", name)
        if len(set(self.fields)) != len(self.fields):
            raise OptionError("fields: a name occurs twice", name="fields", given=self.fields)
        for field, alias in _pairs("aliases", self.aliases):
            _checked("aliases", field)
            _checked("aliases", alias)
        shown = [self.named(field) for field in self.fields]
        if len(set(shown)) != len(shown):
            raise OptionError(
                f"aliases: two fields would have one name: {', '.join(shown)}", name="aliases", given=self.aliases
            )
        for field, cap in _pairs("caps", self.caps):
            _checked("caps", field)
            if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= LONGEST:
                raise _wrong("caps", f"a whole number from 1 to {LONGEST} for {quote(field)}", cap)
        if not isinstance(self.native, bool):
            raise _wrong("native", "true or false", self.native)
        if self.encoding not in ENCODINGS:
            raise OptionError.unknown("encoding", self.encoding, ENCODINGS)

    def pairs(self, values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Return fields and their values as a template sees them: under the names that the payload gives them."""
        return tuple((self.named(name), value) for name, value in values.items())

    def named(self, field: str) -> str:
        """Return the name that the payload gives a field."""
        return next((alias for known, alias in self.aliases if known == field), field)

    def capped(self, field: str, value: str) -> str:
        """Return a field's value, cut to its cap; the ellipsis counts."""
        cap = next((most for known, most in self.caps if known == field), LONGEST)
        return value if len(value) <= cap else value[: cap - 1].rstrip() + ELLIPSIS

    def changed(self, data: Mapping[str, Any]) -> TemplateSettings:
        """Return these settings with the keys of a `set.toml` in place of their own; OptionError for unknown keys."""
        known = tuple(one.name for one in fields(TemplateSettings))
        changes: dict[str, Any] = {}
        for key, value in data.items():
            if key not in known:
                raise OptionError.unknown("key", key, known)
            if key == "fields":
                changes[key] = tuple(value) if isinstance(value, list) else value
            elif key in ("aliases", "caps"):
                if not isinstance(value, Mapping):
                    raise _wrong(key, "a table", value)
                changes[key] = tuple(value.items())
            else:
                changes[key] = value
        return replace(self, **changes)


def read_settings(folder: Path, base: TemplateSettings) -> TemplateSettings:
    """Read the `set.toml` of a folder on top of `base`, which is what a folder without one gets.

    TemplateLookupError where the file cannot be read, OptionError that names the file where it says what cannot be.
    """
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return base
    except (OSError, ValueError) as error:
        raise TemplateLookupError(
            f"template: {quote(str(file), 200)} cannot be read as UTF-8 text ({type(error).__name__})",
            name=str(folder), searched=[str(file)],
        ) from error
    try:
        return base.changed(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{quote(str(file), 200)}: {error}", name=FILE, given=None) from error
    except OptionError as error:
        error.args = (f"{quote(str(file), 200)}: {error}",)
        raise
    except RecursionError:
        raise OptionError(f"{quote(str(file), 200)}: nested too deeply", name=FILE, given=None) from None


def _pairs(name: str, pairs: tuple[Any, ...]) -> tuple[tuple[Any, Any], ...]:
    seen = set()
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise _wrong(name, "pairs of a field and a value", pair)
        if pair[0] in seen:
            raise OptionError(f"{name}: {quote(pair[0])} occurs twice", name=name, given=pairs)
        seen.add(pair[0])
    return pairs


def _checked(where: str, name: object) -> None:
    if not isinstance(name, str) or not _FIELD.match(name) or name in RESERVED:
        raise OptionError(
            f"{where}: a field is a name of lower-case letters, digits, - and _, and none of "
            f"{', '.join(RESERVED)}; got {quote(name)}",
            name=where, given=name,
        )


def _wrong(name: str, expected: str, given: object) -> OptionError:
    return OptionError(f"{name}: expected {expected}, got {quote(given)}", name=name, given=given)


PLAIN = TemplateSettings()  # of a set that says nothing
