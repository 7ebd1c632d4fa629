"""Model profiles: what a model's name says about window, counter, message overhead and template set.

The facts are in `templates/models.toml`; rows of your own, from a file or a mapping of the same form, are tried first.
An OpenAI message costs 3 tokens beyond its text and one for its role; without a model the overhead is 3 a message
and 3 for the start of the reply.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from math import ceil
from pathlib import Path
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.misspelt import corrected, first_other, respelled, stems
from promptpack.modelrows import Row, read_file, read_rows
from promptpack.templates import root
from promptpack.window import Window

LONGEST_NAME = 256  # characters; what is longer is no model's name
_KEPT = 1024  # names
UNKNOWN_MARGIN = 0.05  # of the window, for a model of which nothing is known but that it is estimated


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model: `window` is None and `known` False where its name says nothing.

    counter: a counter's name, or the path of a tokenizer.json. template: a template set; None means the default.
    message, reply: tokens that a message and the start of the reply cost beyond their text. margin: the share of
    the window to keep free because the counter estimates. system_role: False where the chat format has no system
    message; its text then opens the first user message. exact_counter: a counter (of an extra) that counts exactly
    where `counter` estimates. markers: the families of chat markers that the model reads; those of
    all are escaped in any case. source, checked: where the figures come from, and when they were checked.

    A builder takes a profile wherever it takes a model name, so that one can be written by hand.

    >>> Profile("our-model", window=8192, counter="words").known
    True
    """

    model: str | None = None
    window: int | None = None
    counter: str = "o200k_base"
    template: str | None = None
    message: int = 3
    reply: int = 3
    margin: float = 0.0
    known: bool = True
    system_role: bool = True
    exact_counter: str | None = None
    markers: tuple[str, ...] = ()
    source: str | None = None
    checked: date | None = None

    def __post_init__(self) -> None:
        if self.model is not None and (not isinstance(self.model, str) or not self.model.strip()):
            raise OptionError(f"model: expected a name, got {quote(self.model)}", name="model", given=self.model)
        for name in ("message", "reply"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise OptionError(
                    f"profile: {name}: expected a whole number of 0 or more tokens, got {quote(value)}",
                    name=name, given=value,
                )
        if isinstance(self.margin, bool) or not isinstance(self.margin, int | float) or not 0 <= self.margin < 1:
            raise OptionError(
                f"profile: margin: expected a share of 0.0 to below 1.0, got {quote(self.margin)}",
                name="margin", given=self.margin,
            )
        if self.window is not None:
            Window.of(self.window)


class Models:
    """Rows of a models file, tried before those of the package; build it with `load_models`.

    own: how many of the rows, from the first, are the user's. What fits one of these is no misspelling.
    """

    __slots__ = ("_found", "_stems", "own", "rows")

    def __init__(self, rows: tuple[Row, ...], own: int = 0) -> None:
        self.rows, self.own = rows, own
        self._stems = stems(self.patterns())
        self._found: dict[str, tuple[Row | None, str | None]] = {}  # a builder asks for its model at each step

    def patterns(self) -> tuple[str, ...]:
        """Return the name patterns, in the order in which they are tried."""
        return tuple(pattern for row in self.rows for pattern in row.match)

    def find(self, model: str) -> Row | None:
        """Return the first row that fits a model's name, or None; None, too, for a misspelt name (`meant`).

        A name that has other signs between its parts than a longer known one is taken for that.
        """
        return self._look_up(model)[0]

    def meant(self, model: str) -> str | None:
        """Return the name that a misspelt one seems to stand for; None for all others."""
        return self._look_up(model)[1]

    def _look_up(self, model: str) -> tuple[Row | None, str | None]:
        name = bare_name(model)
        if len(name) > LONGEST_NAME:
            return None, None
        if name not in self._found:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[name] = self._settled(name)
        return self._found[name]

    def _settled(self, name: str) -> tuple[Row | None, str | None]:
        at, pattern = self._first(name)
        if at is not None and (at < self.own or pattern == name):
            return self.rows[at], None
        longer = [one for one in self._stems if len(one) > len(pattern.strip("*"))]
        other = first_other(respelled(name, longer), self._row, at)
        if other is not None:
            return self.rows[self._row(other) or 0], None
        meant = first_other(corrected(name, self._stems), self._row, at)
        return (None if at is None or meant is not None else self.rows[at]), meant

    def _first(self, name: str) -> tuple[int | None, str]:
        fits = (
            (at, pattern) for at, row in enumerate(self.rows) for pattern in row.match if fnmatchcase(name, pattern)
        )
        return next(fits, (None, ""))

    def _row(self, name: str) -> int | None:
        return self._first(name)[0]


ModelsLike = str | Path | Mapping[str, Any] | Models


def load_models(source: ModelsLike | None = None) -> Models:
    """Return the rows of a models file (its path), or of a mapping of the same form, followed by the package's own.

    Raises OptionError naming file, row and key where something in it is unknown or cannot be.

    >>> mine = load_models({"model": [{"match": ["our-*"], "window": 16384, "counter": "cl100k_base"}]})
    >>> profile("our-model-v3", mine).window, profile("gpt-4o", mine).window
    (16384, 128000)
    """
    if source is None:
        return _shipped()
    if isinstance(source, Models):
        return source
    if isinstance(source, Mapping):
        rows = read_rows(source)
    elif isinstance(source, str | Path):
        rows = read_file(source)
    else:
        raise OptionError(
            f"models: expected the path of a TOML file or a mapping, got {quote(source)}", name="models", given=source
        )
    return Models(rows + _shipped().rows, len(rows))


_NONE = Profile()


def profile(model: str | Profile | None, models: ModelsLike | None = None) -> Profile:
    """Return the profile of a model name; an unknown one counts with the estimate and is marked so.

    >>> profile("openai/gpt-4o-mini").counter, profile("our-own-model-v3").known
    ('o200k_base', False)
    """
    if model is None:
        return _NONE
    if isinstance(model, Profile):
        return model
    if not isinstance(model, str) or not model.strip():
        raise OptionError(f"model: expected a name, got {quote(model)}", name="model", given=model)
    row = load_models(models).find(model)
    if row is None:
        return Profile(model, None, "estimate", margin=UNKNOWN_MARGIN, known=False)
    return Profile(
        model, row.window, row.counter, row.template, row.message, row.reply, row.margin, True, row.system_role,
        row.exact_counter, row.markers, row.source, row.checked,
    )


def required_profile(model: str | Profile, models: ModelsLike | None = None) -> Profile:
    """Return the profile of a model whose window is known; OptionError with suggestions for others."""
    if model is None:
        raise OptionError("model: expected a name, got None", name="model", given=None)
    found = profile(model, models)
    if found.window is None:
        loaded = load_models(models)
        known = loaded.patterns()
        close = _close(found.model or "", loaded)
        hint = f"; did you mean {' or '.join(repr(one) for one in close)}?" if close else "."
        raise OptionError(
            f"model: unknown value {quote(found.model)}{hint} No window is known of it: give "
            "PromptBuilder(window=..., model=...), or rows of your own (models=...). "
            f"{len(known)} patterns of names are known; `promptpack models` lists them.",
            name="model", given=found.model, known=sorted(known),
        )
    return found


def _close(model: str, models: Models) -> list[str]:
    meant = models.meant(model)
    near = difflib.get_close_matches(bare_name(model)[:LONGEST_NAME], models.patterns(), n=3, cutoff=0.6)
    return near if meant is None else [meant]


def model_patterns() -> tuple[str, ...]:
    """Return the name patterns that the package knows, in the order in which they are tried."""
    return _shipped().patterns()


def model_names() -> tuple[str, ...]:
    """Return what the patterns say of names for certain: `gpt-4o` for `gpt-4o*`.

    >>> "gpt-4o" in model_names()
    True
    """
    return stems(model_patterns())


def bare_name(model: str) -> str:
    """Return the base model's name: lower case, without provider prefix and fine-tune frame.

    >>> bare_name("ft:gpt-4.1:org::id"), bare_name("OpenAI/GPT-4o")
    ('gpt-4.1', 'gpt-4o')
    """
    name = model.strip().lower().rsplit("/", 1)[-1]
    if name.startswith("ft:"):
        name = name[3:]
    return name.split(":", 1)[0]


@functools.lru_cache(maxsize=256)
def planned(window: int | Window, margin: float) -> Window:
    """Return the plan of a window given as a number, with the share `margin` of it kept free; a `Window` as it is.

    The margin is rounded up to whole tokens. Where real counts are up to q times the estimated ones, the
    share 1 - 1/q keeps them inside.

    >>> planned(8192, 0.05).margin, planned(Window(8192), 0.05).margin
    (410, 0)
    """
    plan = Window.of(window)
    return plan if isinstance(window, Window) or not margin else Window(plan.size, margin=ceil(plan.size * margin))


def estimate_note(found: Profile, counter: str, *, plain: bool, margin: int = 0) -> str:
    """Return what a report says of counts that are not exact; plain: the counter is the profile's own.

    >>> estimate_note(profile("qwen2.5-7b-instruct"), "estimate", plain=True)
    "counts by estimate are estimates and may differ from the model's. Exact: counter='qwen3'"
    """
    kept = f"; {margin} tokens are kept free for that" if margin else ""
    if not found.known and plain:
        meant = _shipped().meant(found.model or "")
        hint = f" (did you mean {quote(meant)}?)" if meant else ""
        return f"the model {quote(found.model)} is not known{hint}: its tokens are estimated{kept}"
    exact = f". Exact: counter={found.exact_counter!r}" if found.exact_counter and plain else ""
    return f"counts by {counter} are estimates and may differ from the model's{kept}{exact}"


@functools.cache
def _shipped() -> Models:
    return Models(read_file(root() / "models.toml"))
