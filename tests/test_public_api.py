"""The names that users rely on: there, documented, loaded on first use, cheap to import."""

from __future__ import annotations

import ast
import doctest
import importlib
import pickle
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import promptpack

HEAVY = ("tiktoken", "numpy", "jinja2", "click", "rich", "regex", "markupsafe")
FRAMEWORKS = {
    "promptpack.adapters.langchain": "langchain_core", "promptpack.adapters.haystack": "haystack",
    "promptpack.adapters.llamaindex": "llama_index.core", "promptpack.batch.arrow": "pyarrow",
}
NAMES = {
    "PromptBuilder", "Source", "Cut", "Window", "Budget", "allocate", "Labels", "TemplateSet", "Message", "Payload",
    "PackedSource", "Report", "pack", "Packing", "Packed", "Placed", "Dropped", "counter", "count_tokens",
    "parse_citations", "verify_citations", "link_citations", "CitationStream",
    "Verification", "PromptpackError", "SourceError", "DuplicateIdError",
    "OptionError", "BudgetError", "TokenizerError", "TemplateLookupError", "TemplateRenderError", "RerankError",
    "Reorderer", "Rerank",
    "CitationError", "Curve", "PositionCurve", "Spans",
}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_names_of_the_design_are_there() -> None:
    assert set(promptpack.__all__) >= NAMES


@pytest.mark.parametrize("name", promptpack.__all__)
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    value = getattr(promptpack, name)
    assert name == "__version__" or (value.__doc__ or "").strip()


@pytest.mark.parametrize("name", importlib.import_module("promptpack.batch").__all__)
def test_every_name_of_the_batch_loads_and_is_documented_without_its_extras(name: str) -> None:
    """pyarrow and ray are asked for when they are needed, and then by the name of the extra."""
    told = run(
        "import sys\nsys.modules['pyarrow'] = sys.modules['ray'] = None\nimport promptpack.batch\n"
        f"print(bool((promptpack.batch.{name}.__doc__ or '').strip()))"
    )
    assert told == "True"


def test_type_checkers_see_the_same_names() -> None:
    """Names are loaded lazily; the imports for type checkers must not drift from the table."""
    tree = ast.parse(Path(promptpack.__file__).read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(promptpack.__all__) - {"__version__"}
    batch = importlib.import_module("promptpack.batch")
    tree = ast.parse(Path(str(batch.__file__)).read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    assert {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names} == set(
        batch.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PromptBilder'"):
        promptpack.PromptBilder  # noqa: B018


def test_modules_that_are_used_by_their_names_load_on_first_use() -> None:
    used = "promptpack.presets.chat(900).window, promptpack.adapters.from_langchain([])"
    assert run(f"import promptpack; print({used})") == "900 ()"


def test_importing_loads_nothing_heavy() -> None:
    loaded = run(f"import sys, promptpack; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]"


def test_importing_loads_only_the_front_of_the_package() -> None:
    """The time to import (below 80 ms) follows from how much is loaded, which does not depend on the machine."""
    loaded = run("import sys, promptpack; print(sorted(m for m in sys.modules if m.split('.')[0] == 'promptpack'))")
    assert loaded == "['promptpack', 'promptpack.version']"


def test_a_payload_needs_neither_numpy_nor_the_command_line() -> None:
    loaded = run(
        "import sys\n"
        "from promptpack import PromptBuilder\n"
        "PromptBuilder(1000).add_sources(['A text.']).with_question('Why?').render()\n"
        "print([name for name in ('numpy', 'click', 'rich') if name in sys.modules])"
    )
    assert loaded == "[]"


def test_builders_pickle() -> None:
    """Process pools send them."""
    builder = promptpack.PromptBuilder(2000, counter="words").add_sources(["One.", "Two."]).with_question("Which?")
    again = pickle.loads(pickle.dumps(builder))
    assert again.render().to_dict() == builder.render().to_dict()


@pytest.mark.parametrize("name", sorted(m.name for m in pkgutil.walk_packages(promptpack.__path__, "promptpack.")))
def test_the_examples_in_the_docstrings_hold(name: str) -> None:
    if name.endswith("__main__"):
        return
    if name in FRAMEWORKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # their own, on import
            pytest.importorskip(FRAMEWORKS[name], reason="an extra is not installed")
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
