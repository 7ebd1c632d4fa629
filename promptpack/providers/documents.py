"""Whether passages are handed over as documents of the provider's own, and the checks that go with that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpack.errors import OptionError

if TYPE_CHECKING:
    from promptpack.payload import Payload

CITATIONS = ("native", "inline")


def wants_native(payload: Payload, citations: str | None) -> bool:
    """Tell whether passages become documents: as asked for, else as the template set wants it.

    citations: "native", "inline" (the passages stay in the text, as they were counted) or None. Without passages there
    is nothing to hand over.
    """
    if citations is not None and citations not in CITATIONS:
        raise OptionError.unknown("citations", citations, CITATIONS)
    asked = bool(payload.layout and payload.layout.native) if citations is None else citations == "native"
    return asked and bool(payload.sources)
