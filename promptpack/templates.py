"""Template sets: where the three files of a set are found, and how they are rendered, safely.

A set has a file for each part of the payload: `system.j2` (the rules), `source.j2` (one passage), `user.j2`
(the passages and the question). It overrides only the files in which it differs from the set it falls back to.
Templates are rendered by Jinja's immutable sandbox with autoescape on; a name that does not exist raises. What a set
says beside its templates is in its `set.toml` (`promptpack.settings`).
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, TemplateLookupError, TemplateRenderError, quote
from promptpack.settings import FILE as SETTINGS_FILE
from promptpack.settings import PLAIN, TemplateSettings, read_settings
from promptpack.wellformed import encodes

if TYPE_CHECKING:
    from promptpack.environment import Compiled

FILES = ("system.j2", "source.j2", "user.j2")
FALLBACK = "default"
_LARGEST = 1_000_000  # characters of one template file
_LARGEST_UNTRUSTED = 20_000


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """The three template texts that a payload is rendered with, and the set's settings; build it with a class method.

    >>> TemplateSet.named("default").name
    'default'
    >>> TemplateSet.from_string("{{ sources }}\\n\\n{{ question }}").name
    '<string>'
    """

    name: str
    system: str
    source: str
    user: str
    settings: TemplateSettings = PLAIN
    restricted: bool = False  # comes from outside: see `untrusted`

    def __post_init__(self) -> None:
        for part in ("name", "system", "source", "user"):
            value = getattr(self, part)
            if not isinstance(value, str):
                raise OptionError(f"template: {part} has to be a text, got {quote(value)}", name=part, given=value)
            if "\x00" in value or len(value) > _LARGEST or not encodes(value):
                raise TemplateRenderError(
                    f"template {quote(self.name)}: {part} holds a NUL character, a lone surrogate or more than "
                    f"{_LARGEST:,} characters",
                    template=f"{part}.j2",
                )
        if not isinstance(self.settings, TemplateSettings):
            raise OptionError(
                f"template: settings: expected TemplateSettings, got {quote(self.settings)}",
                name="settings", given=self.settings,
            )
        if not self.name.strip() or len(self.name) > 255:
            raise OptionError(
                f"template: name has to be a text of 1 to 255 characters, got {quote(self.name)}",
                name="name", given=self.name,
            )

    @classmethod
    def named(cls, name: str) -> TemplateSet:
        """Return a set that is shipped with the library; TemplateLookupError where there is none of that name."""
        if not isinstance(name, str):
            raise OptionError(f"template: expected a name, got {quote(name)}", name="template", given=name)
        return _shipped(name)

    @classmethod
    def from_folder(cls, path: str | Path, fallback: str | TemplateSet = FALLBACK) -> TemplateSet:
        """Read a set from a folder; files that are not there come from `fallback`, and so do settings.

        Raises TemplateLookupError where the folder is missing, cannot be read or holds none of the three files and no
        `set.toml`, OptionError where that file says what cannot be.
        """
        if not isinstance(path, str | Path):
            raise OptionError(f"template: expected the path of a folder, got {quote(path)}", name="path", given=path)
        folder = Path(path)
        base = fallback if isinstance(fallback, TemplateSet) else cls.named(fallback)
        texts = _read_files(path)
        settings = read_settings(folder, base.settings)
        if not texts and not (folder / SETTINGS_FILE).is_file():
            fault = f"holds none of {', '.join(FILES)}" if folder.is_dir() else "is no folder"
            raise TemplateLookupError(
                f"template: {quote(str(folder), 200)} {fault}", name=str(path),
                searched=[str(folder / name) for name in FILES],
            )
        return cls(
            folder.name or str(folder), texts.get(FILES[0], base.system), texts.get(FILES[1], base.source),
            texts.get(FILES[2], base.user), settings,
        )

    @classmethod
    def from_string(
        cls, user: str | None = None, system: str | None = None, source: str | None = None,
        *, fallback: str | TemplateSet = FALLBACK, name: str = "<string>", settings: TemplateSettings | None = None,
    ) -> TemplateSet:
        """Build a set from texts; a part that is None comes from `fallback`, and so do the settings.

        In `user`, `sources` prints as the joined passages and iterates over them; `question`, `system`, `history` and
        `long` (whether the passages have 8,000 characters or more) are there too. In `source`: `n`, `label`, `text`,
        `attributes` (pairs of what is there), and `source` with every shown field by name (empty where a source lacks
        it).
        """
        base = fallback if isinstance(fallback, TemplateSet) else cls.named(fallback)
        return cls(
            name, base.system if system is None else system, base.source if source is None else source,
            base.user if user is None else user, base.settings if settings is None else settings,
        )

    @classmethod
    def untrusted(
        cls, user: str | None = None, system: str | None = None, source: str | None = None,
        *, folder: str | Path | None = None, fallback: str | TemplateSet = FALLBACK, name: str = "<untrusted>",
    ) -> TemplateSet:
        """Build a set from texts, or the files of a folder, that come from outside; see `promptpack.restricted`.

        Only printing, `if`, `for`, and listed filters and tests are there, in bounded amounts; whatever else the texts
        use is a TemplateRenderError, all of it at once, when the set is compiled, and so is a file of more than 20,000
        characters. A `set.toml` in the folder is not read. OptionError for texts beside a folder.

        >>> TemplateSet.untrusted("{{ sources }}\\n\\n{{ question }}").restricted
        True
        """
        if folder is not None:
            if (user, system, source) != (None, None, None):
                raise OptionError("template: untrusted takes a folder or texts, not both", name="folder", given=folder)
            if not isinstance(folder, str | Path):
                raise OptionError(
                    f"template: expected the path of a folder, got {quote(folder)}", name="folder", given=folder
                )
            read = _read_files(folder)
            if not read:
                raise TemplateLookupError(
                    f"template: {quote(str(folder), 200)} holds none of {', '.join(FILES)}", name=str(folder),
                    known=FILES, searched=[str(Path(folder) / file) for file in FILES],
                )
            system, source, user = (read.get(file) for file in FILES)
            name = Path(folder).name or str(folder)
        made = replace(cls.from_string(user, system, source, fallback=fallback, name=name), restricted=True)
        for file, text in made.files():
            if len(text) > _LARGEST_UNTRUSTED:
                raise TemplateRenderError(
                    f"template {quote(made.name)}: {file} has {len(text):,} characters; in an untrusted set "
                    f"{_LARGEST_UNTRUSTED:,} are the most", template=file,
                )
        return made

    @classmethod
    def of(cls, value: str | Path | TemplateSet | None) -> TemplateSet:
        """Return the set that a builder's `template` means: a set, a shipped name, or a folder."""
        if value is None:
            return cls.named(FALLBACK)
        if isinstance(value, TemplateSet):
            return value
        if isinstance(value, Path):
            return cls.from_folder(value)
        if isinstance(value, str) and ("/" in value or "\\" in value):
            return cls.from_folder(value)
        return cls.named(value)

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the file names with their texts."""
        yield from zip(FILES, (self.system, self.source, self.user), strict=True)

    def compiled(self) -> Compiled:
        """Return the compiled set (cached); TemplateRenderError where a file does not compile."""
        from promptpack.environment import compile_set

        return compile_set(self)


def _read_files(folder: str | Path) -> dict[str, str]:
    """Return the texts of those of the three files that are in a folder."""
    texts = {}
    for name in FILES:
        file = Path(folder) / name
        try:
            texts[name] = file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
            raise TemplateLookupError(
                f"template: {quote(str(file), 200)} cannot be read as UTF-8 text ({type(error).__name__})",
                name=str(folder), searched=[str(file)],
            ) from error
    return texts


def template_names() -> tuple[str, ...]:
    """Return the names of the shipped sets, sorted.

    >>> "default" in template_names()
    True
    """
    return tuple(sorted(entry.name for entry in root().iterdir() if _overrides(entry)))


@functools.cache
def root() -> Path:
    """Return the folder of the shipped sets: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    searched = [package / "templates", package.parent / "templates"]
    for folder in searched:
        if (folder / FALLBACK / FILES[0]).is_file():
            return folder
    raise TemplateLookupError(
        "the template sets that ship with promptpack were not found; reinstall the package",
        name=FALLBACK, searched=[str(folder) for folder in searched],
    )


def _overrides(folder: Path) -> bool:
    return folder.is_dir() and any((folder / name).is_file() for name in FILES)


@functools.lru_cache(maxsize=64)
def _shipped(name: str) -> TemplateSet:
    names = template_names()
    if name not in names:
        close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise TemplateLookupError(
            f"template: unknown set {quote(name)}{hint} Known: {', '.join(names)}. "
            "A folder of your own is given as a pathlib.Path or TemplateSet.from_folder(path).",
            name=name, known=names, searched=[str(root() / name)],
        )
    folder = root() / name
    texts: Mapping[str, Any] = {
        file: (folder / file).read_text(encoding="utf-8") for file in FILES if (folder / file).is_file()
    }
    base = {} if name == FALLBACK else dict(_shipped(FALLBACK).files())
    system, source, user = (texts.get(file, base.get(file, "")) for file in FILES)
    return TemplateSet(name, system, source, user, read_settings(folder, PLAIN))
