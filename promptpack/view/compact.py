"""A payload in a notebook: the bar, the sources in prompt order and what was left out, in a few lines of HTML.

Notebooks have a style and a theme of their own: there is no style sheet and no script in it, the colours of the bar can
be told apart on light and on dark, and text has the colour of the text around it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptpack.view.account import window_parts
from promptpack.view.kept import sent_part
from promptpack.view.templating import environment

if TYPE_CHECKING:
    from promptpack.payload import Payload

SHOWN = 20  # sources of the table
# Middle tones: 3 to 1 against white and against the usual dark grounds.
COLOURS = {
    "system": "#8a63d2", "tools": "#b05fc4", "history": "#1a8f8f", "sources": "#3b7ddd", "question": "#c8602f",
    "frame": "#7d8590", "other": "#a1744b", "free": "none", "margin": "#7d8590", "answer": "#2f9150",
}


def compact(payload: Payload) -> str:
    """Return a payload as a short piece of HTML; `page` has the whole.

    >>> from promptpack import PromptBuilder
    >>> "1 source sent" in compact(PromptBuilder(window=1000).add_sources(["Returns are free."]).render())
    True
    """
    reasons = Counter(str(out.reason) for out in payload.dropped)
    return environment().get_template("compact.j2").render(
        payload=payload, parts=window_parts(payload.budget), colours=COLOURS, shown=payload.sources[:SHOWN],
        more=max(0, len(payload.sources) - SHOWN), reasons=list(reasons.items()), sent_part=sent_part,
    )
