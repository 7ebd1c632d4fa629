"""The level `spotlight`: tag names of this payload alone, so that a text cannot even name its own enclosure.

Every tag that the template set writes gets a suffix, `<source_1-kdfwqz>`, which follows from a secret and from what
the payload is made of. A writer of sources cannot know it, and the next payload has another one. It costs some
three tokens a tag, and no two payloads share a prefix: prompt caching of the providers finds nothing. The structure
is safe at the default level, too; this level is for models that are thought to heed a boundary more if it is unique.
"""

from __future__ import annotations

import functools
import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from promptpack.errors import OptionError, quote
from promptpack.protocols import Escaper
from promptpack.source import Source
from promptpack.templates import TemplateSet

if TYPE_CHECKING:
    from promptpack.environment import Compiled

LETTERS = "bcdfghjklmnpqrstvwxz"  # no vowels, no words
LENGTH = 6  # 64 million suffixes
MARK = "spotlight_suffix"  # what stands for the suffix in a set that is compiled for all of them
# Statements in which the suffix would be no expression, or be more than printed.
_MORE = re.compile(r"\{%[-+]?+\s*+(?!(?:if|elif|else|endif|for|endfor|set)\b)")


@dataclass(frozen=True, slots=True)
class Spotlight:
    """The level `spotlight` with its secret: `PromptBuilder(..., escape=Spotlight(seed="..."))`.

    seed: what the suffixes follow from, 1 to 1,000 characters. Without one it is drawn when the value is made, which
    the builder does once for `escape="spotlight"`; builders made from it keep it, so that rendering twice gives the
    same bytes. With a seed of your own the same call gives the same bytes everywhere; keep it from whoever writes
    sources.
    Prompt caching is of no use at this level. OptionError for a seed that is no such text.

    >>> Spotlight("s").suffix(["What?"]), Spotlight("s").suffix(["Why?"])
    ('cnvxjr', 'txgfbs')
    """

    seed: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.seed is None:
            object.__setattr__(self, "seed", secrets.token_hex(16))
        elif not isinstance(self.seed, str) or not 1 <= len(self.seed) <= 1000:
            raise OptionError(
                f"Spotlight: seed: expected a text of 1 to 1,000 characters, got {quote(type(self.seed).__name__)}",
                name="seed", given=None,
            )

    def suffix(self, parts: Iterable[str]) -> str:
        """Return the suffix for a payload that is made of these texts: a keyed digest, six letters."""
        key = hashlib.sha256(str(self.seed).encode("utf-8", "surrogatepass")).digest()
        made = hashlib.blake2b(key=key, digest_size=16)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            made.update(len(data).to_bytes(8, "big") + data)
        number = int.from_bytes(made.digest(), "big")
        letters = []
        for _ in range(LENGTH):
            number, at = divmod(number, len(LETTERS))
            letters.append(LETTERS[at])
        return "".join(letters)


def resolved(
    escape: str | Spotlight | Escaper, templates: TemplateSet, question: str | None, sources: Sequence[Source]
) -> tuple[Compiled, str, str, Escaper | None]:
    """Return what a builder's `escape` means for one payload: the compiled set, the level, the suffix, a callable."""
    if isinstance(escape, str):
        return templates.compiled(), escape, "", None
    if not isinstance(escape, Spotlight):
        return templates.compiled(), "tags", "", escape
    suffix = escape.suffix([question or "", *(part for one in sources for part in (one.id, one.text))])
    return spotlit(templates, suffix), "spotlight", suffix, None


@functools.lru_cache(maxsize=8)
def spotlit(templates: TemplateSet, suffix: str) -> Compiled:
    """Return a set, compiled, whose tags carry the suffix; OptionError for a set that writes no tags."""
    from promptpack.environment import Compiled

    shared = _marked(templates)
    if shared is not None:
        return shared.valued({MARK: Markup("-" + suffix)})  # noqa: S704 - letters of ours
    plain = templates.compiled()
    return Compiled(_behind_tags(templates, plain, "-" + suffix), like=plain)


@functools.lru_cache(maxsize=64)
def _marked(templates: TemplateSet) -> Compiled | None:
    """Return a set, compiled once for every suffix; None where a template can do something with it but print it."""
    from promptpack.environment import Compiled

    plain = templates.compiled()
    if not (plain.names or plain.numbered):
        raise OptionError(
            f"escape: the level spotlight marks tags, and the template set {quote(templates.name)} writes none",
            name="escape", given="spotlight",
        )
    if any(MARK in text or _MORE.search(text) for _, text in templates.files()):
        return None
    return Compiled(_behind_tags(templates, plain, f"{{{{ {MARK} }}}}"), like=plain, own=(MARK,))


def _behind_tags(templates: TemplateSet, plain: Compiled, added: str) -> TemplateSet:
    """Return a set with something added behind the name of each of its tags."""
    from promptpack.escape.names import with_suffix

    system, source, user = (
        with_suffix(text, added, plain.names, plain.numbered) for _, text in templates.files()
    )
    return replace(templates, system=system, source=source, user=user)
