"""The environment in which the pages are written, and what is part of each page: style, script, and the policy.

Autoescape is on, names that are not there raise, and every text that a page prints goes through `literal` first: the
page can always be written as UTF-8, and a browser reads back what was written.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from promptpack.view.account import count
from promptpack.view.runs import line, literal


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """Return the environment; its templates are files beside this module."""
    made = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, loader=jinja2.FunctionLoader(_file), finalize=_finalized,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )
    made.filters.update(count=count, line=line)
    return made


@lru_cache(maxsize=1)
def assets() -> dict[str, Any]:
    """Return the style and the script of the page, and the policy that allows them and nothing else.

    Each is named by its SHA-256 (Content Security Policy, level 2), so that no other script or style could run even if
    a text became markup; nothing is loaded from anywhere, and no form can be sent.
    """
    style, script = _file("page.css"), _file("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - files of our own


def _file(name: str) -> str:
    return files("promptpack.view").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _finalized(value: Any) -> Any:
    return literal(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
