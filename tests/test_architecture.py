"""The layers of the design: a module imports from its own layer's parts and those below, never upward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "promptpack"

# From the bottom up; a name stands for a module or a package with everything in it.
LAYERS = (
    ("version", "errors", "quick", "wellformed", "finite", "curve_shapes", "misspelt", "lazy"),
    ("source", "protocols", "plain_data", "text_sites", "native_form", "curves", "ratings", "foreign", "refused"),
    (
        "packing", "tokens", "escape", "labels", "window", "message", "messages", "history", "citations", "reading",
        "shape", "views", "shapes_in", "summary", "rerank",
    ),
    (
        "templates", "profiles", "modelrows", "shown", "settings", "environment", "payload", "stored", "stored_values",
        "layout", "caching", "providers", "targets", "veil", "restricted", "spotlight",
    ),
    ("counting", "fields", "folding", "escaping", "edits", "guard", "setforms", "probe", "lint", "columns", "measure",
     "ahead", "forms", "noted", "blocks", "cost", "enclosure", "render"),
    ("draft", "smallest", "assembly", "builder", "reranked", "evaluation", "reorder", "rerankers"),
    (
        "calibration", "conversation", "keeping", "adapters", "presets", "filepack", "files", "view", "batch",
        "cli_common", "cli_flags", "cli_batch", "cli_bench", "cli_calibrate", "cli_eval", "cli_explain", "cli_models",
        "cli_reorder", "cli_templates", "cli_verify", "cli",
    ),
    ("__main__", "__init__"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Parts of one layer that may use each other; all others of the third layer stand alone.
ALLOWED = {
    ("citations", "packing"),   # where sentences end
    ("citations", "labels"),    # what stands before the number of a label
    ("history", "messages"), ("history", "message"), ("messages", "message"),
    ("messages", "shapes_in"), ("shapes_in", "message"), ("summary", "history"), ("summary", "messages"),
    ("views", "shape"),
    ("environment", "templates"), ("profiles", "templates"), ("templates", "environment"),
    ("profiles", "modelrows"), ("modelrows", "templates"),
    ("templates", "settings"), ("settings", "shown"), ("setforms", "escaping"), ("edits", "escaping"),
    ("lint", "probe"), ("probe", "setforms"),
    ("stored", "payload"), ("stored", "stored_values"), ("payload", "stored"), ("payload", "shown"),
    ("targets", "layout"),
    ("payload", "targets"), ("payload", "layout"), ("stored", "layout"), ("payload", "caching"),
    ("caching", "profiles"),
    ("caching", "spotlight"),
    ("payload", "providers"), ("providers", "caching"), ("providers", "layout"),
    ("forms", "measure"), ("blocks", "escaping"), ("blocks", "measure"), ("blocks", "forms"), ("blocks", "columns"),
    ("blocks", "ahead"), ("forms", "ahead"),
    ("blocks", "noted"), ("noted", "forms"),
    ("cost", "blocks"), ("enclosure", "blocks"), ("enclosure", "forms"),
    ("render", "blocks"), ("render", "cost"), ("render", "measure"),
    ("guard", "escaping"), ("render", "guard"), ("environment", "restricted"),
    ("spotlight", "templates"), ("spotlight", "environment"),
    ("assembly", "builder"), ("assembly", "draft"), ("assembly", "smallest"),
    ("draft", "builder"), ("builder", "assembly"),
    ("builder", "reranked"), ("reorder", "evaluation"),
    ("conversation", "keeping"),
    ("cli", "files"), ("cli", "filepack"), ("cli", "view"), ("cli", "cli_common"), ("cli_common", "files"),
    ("cli", "cli_batch"), ("cli_batch", "cli_common"), ("cli_batch", "batch"),
    ("cli_batch", "cli_flags"), ("cli_calibrate", "cli_flags"),
    ("cli", "cli_calibrate"), ("cli_calibrate", "calibration"), ("cli_calibrate", "cli_common"),
    ("cli_calibrate", "files"), ("calibration", "files"),   # chat templates, builders to compare
    ("batch", "files"),   # whether an output can be written
    ("cli", "cli_bench"), ("cli", "cli_eval"), ("cli", "cli_reorder"), ("cli_eval", "cli_common"), ("cli_eval",
    "files"),
    ("cli_reorder", "cli_common"), ("cli_reorder", "files"), ("cli", "cli_templates"), ("cli", "cli_models"),
    ("cli_models", "cli_common"),
    ("cli_templates", "cli_common"),
    ("cli", "cli_verify"), ("cli_verify", "cli_common"), ("cli_verify", "files"), ("cli_verify", "view"),
    ("cli_bench", "cli_common"), ("cli_common", "files"),
    ("cli", "cli_explain"), ("cli_explain", "cli_common"), ("cli_explain", "files"), ("cli_explain", "view"),
}
# Methods that only hand over to a part above, imported when they are called: users expect them where they stand.
UPWARD = {("payload", "view")}
MODULES = sorted(path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the parts of promptpack that a file imports, and whether only for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checking = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "promptpack":
            names = [node.module] if node.module != "promptpack" else [f"promptpack.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.split(".")[0] == "promptpack"]
        for name in names:
            parts = name.split(".")
            yield (parts[1] if len(parts) > 1 else "__init__"), id(node) in checking


def test_every_module_has_a_layer() -> None:
    unknown = {module.parts[0] for module in MODULES} - set(LEVEL)
    assert not unknown, f"give these a layer in {Path(__file__).name}: {sorted(unknown)}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_go_downward(module: Path) -> None:
    part = module.parts[0]
    for other, for_types in imports(PACKAGE / module.with_suffix(".py")):
        if other == part or for_types or (part, other) in UPWARD:
            continue
        higher = LEVEL[other] > LEVEL[part]
        beside = LEVEL[other] == LEVEL[part] and LEVEL[part] >= 2 and (part, other) not in ALLOWED
        assert not higher, f"{module} imports {other}, which is a layer above"
        assert not beside, f"{module} imports {other} of its own layer"


@pytest.mark.parametrize(("part", "other"), sorted(UPWARD))
def test_what_goes_upward_is_imported_in_methods_only(part: str, other: str) -> None:
    tree = ast.parse((PACKAGE / f"{part}.py").read_text(encoding="utf-8"))
    inside = {id(node) for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) for node in ast.walk(one)}
    name = f"promptpack.{other}"
    found = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.module or "").startswith(name)]
    assert found
    assert all(id(node) in inside for node in found)


def test_nobody_imports_relatively() -> None:
    for module in MODULES:
        tree = ast.parse((PACKAGE / module.with_suffix(".py")).read_text(encoding="utf-8"))
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level], module


def test_only_the_view_and_the_command_talk() -> None:
    """A library that prints cannot be used in a pipe."""
    for module in MODULES:
        if module.parts[0] in ("cli", "view", "__main__"):
            continue
        tree = ast.parse((PACKAGE / module.with_suffix(".py")).read_text(encoding="utf-8"))
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "print"]
        assert not calls, module
