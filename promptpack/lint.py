"""Lint for template sets: what a set does wrong, found by reading its files and by rendering them with probes.

Reading finds names that do not exist, `|safe` and raw blocks, chat markers in the literal text, and printed objects.
Rendering, with made-up passages, finds the rest: a question that is not last, a passage that is missing, twice or not
whole, a label of the template's own making, a persona that is dropped, tags that do not close. What a set
must hold is what a payload promises; a set without findings keeps those promises for any sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import jinja2
from jinja2 import meta, nodes

from promptpack.environment import NAMES
from promptpack.errors import PromptpackError, TemplateRenderError, quote
from promptpack.escape import LiveLabels, Rules, scan
from promptpack.probe import Case, Passage, Probe, is_json
from promptpack.templates import FILES, TemplateSet

CODES = {
    "error": "the file fails while it renders",
    "escaping": "text would be printed without escaping",
    "json": "a passage is no JSON, in a set that says it is",
    "label": "the label of a source is not printed, or one is made up",
    "marker": "the literal text holds a control marker of a chat format",
    "object": "an object is printed instead of its fields",
    "persona": "the system text of the builder is dropped",
    "question": "the question is missing or not whole",
    "question-last": "something follows the question",
    "rules": "nothing shows the model how to cite",
    "sources": "a source is missing, not whole, twice or out of order",
    "syntax": "the file does not compile",
    "tags": "a tag is not closed, or closed in the wrong order",
    "unknown-name": "a name or field does not exist",
}
_OBJECTS = ("source", "attributes", "history")
_MARKERS = Rules(names=frozenset(), numbered=frozenset(), labels=LiveLabels(0))
_READER = jinja2.Environment(autoescape=True)  # parses, and never renders
_CLOSING = re.compile(r"</[^<>]*>")
_OWN_LABEL = re.compile(r"(?<![0-9A-Za-z])S[0-9]{1,4}(?![0-9A-Za-z])")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One fault of a template set: the file and line (1 where no line is to blame), a code of `CODES`, what is wrong.

    >>> str(Finding("user.j2", 3, "question-last", "text follows the question"))
    'user.j2:3: question-last: text follows the question'
    """

    file: str
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"


def lint(templates: TemplateSet) -> tuple[Finding, ...]:
    """Return what is wrong with a template set, by file and line; empty where nothing is.

    A set that does not compile is not rendered, so that its other faults show once it does.

    >>> [str(one) for one in lint(TemplateSet.from_string("{{ question }}: {{ sources }}", name="mine"))]
    ['user.j2:1: question-last: text follows the question, which has to be the last thing that the model reads']
    >>> lint(TemplateSet.named("claude"))
    ()
    """
    trees: dict[str, nodes.Template] = {}
    found: set[Finding] = set()
    seen: set[tuple[str, str]] = set()
    for file, text in templates.files():
        parsed = _tree(text)
        if parsed is not None:
            trees[file] = parsed[0]
            found.update(_read(file, text, *parsed))
        if parsed is None or not any(one.code == "unknown-name" and one.file == file for one in found):
            found.update(_compiled(templates, file, text))
    if not any(one.code in ("syntax", "unknown-name") for one in found):
        seen.update((one.file, one.code) for one in found)
        first: dict[tuple[str, int, str], Finding] = {}  # one fault shows in many probes
        for one in _rendered(templates, trees):
            if (one.file, one.code) not in seen:
                first.setdefault((one.file, one.line, one.code), one)
        found.update(first.values())
    return tuple(sorted(found))


def _tree(text: str) -> tuple[nodes.Template, frozenset[str]] | None:
    """Return the parsed file with the names that it takes from outside; None where it cannot be read."""
    try:
        tree = _READER.parse(text)
        return tree, frozenset(meta.find_undeclared_variables(tree))
    except (jinja2.TemplateError, RecursionError):
        return None  # compiling says where and why


def _compiled(templates: TemplateSet, file: str, text: str) -> Iterator[Finding]:
    """Compile one file alone, so that each file's own faults come out."""
    system, source, user = (text if name == file else "" for name in FILES)
    try:
        replace(templates, system=system, source=source, user=user).compiled()
    except TemplateRenderError as error:
        yield _fault(error, file, "syntax")


def _read(file: str, text: str, tree: nodes.Template, names: frozenset[str]) -> Iterator[Finding]:
    """Find what shows without rendering."""
    known = NAMES[file]
    for name in sorted(names - set(known) - set(_READER.globals)):
        line = min(node.lineno for node in tree.find_all(nodes.Name) if node.name == name)
        yield Finding(file, line, "unknown-name", f"{quote(name)} does not exist here; known: {', '.join(known)}")
    for one in tree.find_all(nodes.Filter):
        if one.name == "safe":
            yield Finding(file, one.lineno, "escaping", "`|safe` prints text without escaping")
    for block in tree.find_all((nodes.MarkSafe, nodes.ScopedEvalContextModifier)):
        yield Finding(file, block.lineno, "escaping", "escaping is switched for a part of the template")
    for output in tree.find_all(nodes.Output):
        for printed in output.nodes:
            base: nodes.Node = printed
            while isinstance(base, nodes.Filter) and base.node is not None:
                base = base.node
            if isinstance(base, nodes.Name) and base.name in _OBJECTS:
                yield Finding(file, printed.lineno, "object", f"`{base.name}` is printed; print the fields you mean")
    for start, kind, value in _READER.lex(text):
        if kind == "raw_begin":
            yield Finding(file, start, "escaping", "a raw block prints its text as it is; no name in it is filled in")
        elif kind == "data":
            for offset, words in enumerate(value.split("\n")):
                for marker in scan(words, _MARKERS).markers:
                    yield _marker(file, start + offset, marker)


def _rendered(templates: TemplateSet, trees: dict[str, nodes.Template]) -> Iterator[Finding]:
    """Find what shows in rendered probes."""
    probe = Probe(templates)
    faults: list[Finding] = []
    for block, error, passage in probe.blocks():
        if error is not None:
            faults.append(_fault(error, "source.j2", "error"))
        else:
            faults += _block(block, passage, trees["source.j2"])
            if templates.settings.encoding == "json" and not is_json(block):
                faults.append(Finding("source.j2", 1, "json", f"a passage is no JSON: {quote(block, 60)}"))
    yield from faults
    for system, user, error, case in probe.messages(own=not faults):
        if error is not None:
            yield _fault(error, "user.j2", "error")
            continue
        yield from _system(system, user, case, trees["system.j2"])
        yield from _user(user, case, trees["user.j2"])
        unclosed = _unclosed(scan(user, probe.rules).boundaries)
        if unclosed:
            yield Finding("user.j2", 1, "tags", f"the tag {quote(unclosed)} is not closed, or closed out of order")


def _block(block: str, passage: Passage, tree: nodes.Template) -> Iterator[Finding]:
    fault = passage.fault_in(block)
    if fault:
        yield Finding("source.j2", _line(tree, "text"), "sources", f"the text of a source is {fault}")
    if not passage.labelled(block):
        yield Finding("source.j2", _line(tree, "label"), "label", "`label` is not printed as it is given")
    yield from _common("source.j2", block)


def _system(system: str, user: str, case: Case, tree: nodes.Template) -> Iterator[Finding]:
    if case.persona and case.persona not in system + user:
        yield Finding("system.j2", _line(tree, "system"), "persona", "the builder's system text is dropped")
    if not case.shows_example(system + "\n" + user):
        yield Finding("system.j2", _line(tree, "example"), "rules", "nothing shows how to cite; print `example`")
    yield from _common("system.j2", system)


def _user(user: str, case: Case, tree: nodes.Template) -> Iterator[Finding]:
    line = _line(tree, "sources")
    for passage in case.passages:
        fault = passage.fault_in(user)
        if fault:
            yield Finding("user.j2", line, "sources", f"a source is {fault}")
        elif not passage.labelled(user):
            yield Finding("user.j2", line, "label", "the label of a source is not printed")
    places = [user.find(passage.first) for passage in case.passages]
    if places != sorted(places) and min(places) >= 0:
        yield Finding("user.j2", line, "sources", "the sources are out of order")
    if case.question:
        line = _line(tree, "question")
        _, question, after = user.rpartition(case.question)
        if not question:
            yield Finding("user.j2", line, "question", "the question is missing, or not whole")
        elif any(char.isalnum() for char in _CLOSING.sub("", after)):
            yield Finding(
                "user.j2", line, "question-last",
                "text follows the question, which has to be the last thing that the model reads",
            )
    yield from _common("user.j2", user)


def _line(tree: nodes.Template, name: str) -> int:
    """Return the last line that speaks of a name; 1 where none does."""
    return max((node.lineno for node in tree.find_all(nodes.Name) if node.name == name), default=1)


def _common(file: str, text: str) -> Iterator[Finding]:
    """Find what no rendered file may hold."""
    if "<view of" in text or "Markup(" in text:
        yield Finding(file, 1, "object", "an object is printed as Python writes it; print the fields that you mean")
    own = _OWN_LABEL.search(text)
    if own:
        yield Finding(file, 1, "label", f"{quote(own[0])} is a label of the template's own; print `label` or `example`")
    for marker in scan(text, _MARKERS).markers:
        yield _marker(file, 1, marker)


def _marker(file: str, line: int, marker: str) -> Finding:
    return Finding(file, line, "marker", f"{quote(marker)} is a control marker; the chat format itself writes those")


def _unclosed(boundaries: tuple[str, ...]) -> str:
    """Return the first tag that is not closed in its turn; empty where all are."""
    opened: list[str] = []
    for name in boundaries:
        if not name.startswith("/"):
            opened.append(name)
        elif not opened or opened.pop() != name[1:]:
            return name
    return opened[0] if opened else ""


def _fault(error: PromptpackError, file: str, code: str) -> Finding:
    """Turn an error of compiling or rendering into a finding."""
    template, lineno = getattr(error, "template", None), getattr(error, "lineno", None)
    place = f"template {template}" + (f", line {lineno}" if lineno else "")
    why = str(error).removeprefix(place).removeprefix(": ")
    if "can print text and numbers" in why:
        code = "object"
    elif "has no attribute" in why or "is undefined" in why:
        code = "unknown-name"
    named = (template or "").rsplit("/", 1)[-1]
    return Finding(named if named in FILES else file, lineno or 1, code, why)
