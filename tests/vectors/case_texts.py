"""The checks of the cases on the text that comes out: of a payload, of its messages, of the command line."""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import dataclass

from case_build import Check, Outcome, Predicate, Run, label_map, payload_text, sent_ids
from vector_files import message_text


def target(check: Check, outcome: Outcome) -> str:
    """Return the text that a check is about."""
    name = check.get("target", "payload")
    if name == "payload":
        # A case about cutting gives the text itself.
        return outcome.result if isinstance(outcome.result, str) else payload_text(outcome.payload)
    if name in ("stdout", "stderr"):
        return str(outcome.result[name])
    if name == "the part of the payload that comes from the chunk":
        # From the line behind the opening tag to the closing one, which no text can write.
        found = re.findall(r"<(source_[0-9]+)[^>]*>\n(.*?)\n</\1>", payload_text(outcome.payload), re.DOTALL)
        assert found, "no enclosed text"
        return "\n".join(text for _, text in found)
    raise ValueError(f"unknown target {name!r}")


def text_present(check: Check, outcome: Outcome, run: Run) -> None:
    for text in check["texts"]:
        assert text in target(check, outcome), text


def text_absent(check: Check, outcome: Outcome, run: Run) -> None:
    for text in check["texts"]:
        assert text not in target(check, outcome), text


def text_count(check: Check, outcome: Outcome, run: Run) -> None:
    times = target(check, outcome).count(check["text"])
    assert check.get("min", 0) <= times <= check.get("max", float("inf")), times


def in_order(check: Check, outcome: Outcome, run: Run) -> None:
    text = target(check, outcome)
    assert all(text.count(one) == check["times_each"] for one in check["texts"])
    places = [text.index(one) for one in check["texts"]]
    assert places == sorted(places)


def _flags(check: Check) -> re.RegexFlag:
    return re.IGNORECASE if "i" in check.get("flags", check.get("flag", "")) else re.RegexFlag(0)


def regex_count(check: Check, outcome: Outcome, run: Run) -> None:
    found = len(re.findall(check["pattern"], target(check, outcome), _flags(check)))
    assert found == check["times"], found


def regex_each(check: Check, outcome: Outcome, run: Run) -> None:
    """One match for each label sent, and all groups of a match are equal."""
    found = [match.groups() for match in re.finditer(check["pattern"], target(check, outcome), _flags(check))]
    assert len(found) == len(label_map(outcome)), found
    assert all(len(set(groups)) == 1 for groups in found), found


def utf8_encodable(check: Check, outcome: Outcome, run: Run) -> None:
    target(check, outcome).encode("utf-8")


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What stands between <source_n ...> and </source_n>, and the attributes."""

    number: str
    attributes: dict[str, str]
    body: str


ENCLOSURE = re.compile(r'<source_(\d+)((?:\s+[\w.-]+="[^"<>]*")*)\s*>\n?(.*?)\n?</source_\1>', re.DOTALL)


def enclosures(outcome: Outcome) -> list[Enclosure]:
    """Read the enclosures of a payload as the default template writes them."""
    found = []
    for number, attributes, body in ENCLOSURE.findall(payload_text(outcome.payload)):
        pairs = re.findall(r'([\w.-]+)="([^"]*)"', attributes)
        found.append(Enclosure(number, {name: html.unescape(value) for name, value in pairs}, body))
    return found


def enclosures_match_map(check: Check, outcome: Outcome, run: Run) -> None:
    found = enclosures(outcome)
    assert [one.attributes["id"] for one in found] == list(label_map(outcome))
    assert sorted(one.attributes["chunk"] for one in found) == sorted(sent_ids(outcome))


def enclosure_has_own_text(check: Check, outcome: Outcome, run: Run) -> None:
    """Each label encloses exactly one of the given texts, each text once, that of the chunk in the map.

    Where ids are missing or repeated, the map's ids are the library's; then an id that was given has to stand
    in the chunk attribute.
    """
    found = enclosures(outcome)
    given = outcome.given["chunks"]
    ids = [chunk["id"] for chunk in given]
    assert [one.attributes["id"] for one in found] == list(label_map(outcome))
    seen = []
    for one in found:
        own = [index for index, chunk in enumerate(given) if chunk["text"] in one.body]
        assert len(own) == 1, f"{one.attributes['id']} holds the texts of {own}"
        seen.append(own[0])
        id_ = ids[own[0]]
        if id_ is not None:
            assert one.attributes["chunk"] == str(id_)
            if ids.count(id_) == 1:
                assert label_map(outcome)[one.attributes["id"]] == (str(id_),)
    assert len(set(seen)) == len(seen) == len(label_map(outcome))


MARKS = re.compile(
    r"(?:\s|</[A-Za-z_][\w.-]*>|<\|[^|<>]*\|>|</?(?:s|start_of_turn|end_of_turn)>|\[/?INST\]"
    r"|\b(?:assistant|model)\b)*\Z"
)


def question_last(check: Check, outcome: Outcome, run: Run) -> None:
    """After the last occurrence of the question only white space, closing marks and role marks follow."""
    text = payload_text(outcome.payload)
    _, found, after = text.rpartition(outcome.given["question"])
    assert found, "the question is not in the payload"
    assert MARKS.match(after), after


def order(check: Check, outcome: Outcome, run: Run) -> None:
    """The places of the things named rise; all names but three are literal texts."""
    text = target(check, outcome)
    places = []
    for thing in check["of"]:
        if thing == "system text":
            place = text.find(outcome.given["system"])
        elif thing == "question":
            place = text.rfind(outcome.given["question"])
        elif thing == "last </source_N>":
            place = max((match.start() for match in re.finditer(r"</source_\d+>", text)), default=-1)
        else:
            place = text.find(thing)
        assert place >= 0, f"{thing!r} is not there"
        places.append(place)
    assert places == sorted(set(places)), places


def history_suffix(check: Check, outcome: Outcome, run: Run) -> None:
    """The turns present are an unbroken run up to the last, whole and in order, and at least one."""
    text = payload_text(outcome.payload)
    history = [message["content"] for message in outcome.given["history"]]
    last_words = [content.split()[-1] for content in history]
    places = [re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in last_words]
    present = [index for index, place in enumerate(places) if place]
    assert present
    assert present == list(range(present[0], len(history)))
    starts = [place.start() for place in places if place]
    assert starts == sorted(starts)
    assert all(history[index] in text for index in present)


def roles(outcome: Outcome) -> list[str]:
    return [message.role for message in outcome.payload.messages]


def roles_allowed(check: Check, outcome: Outcome, run: Run) -> None:
    assert set(roles(outcome)) <= set(check["roles"])


def roles_alternate(check: Check, outcome: Outcome, run: Run) -> None:
    found = roles(outcome)
    assert (found[0], found[-1]) == (check["first"], check["last"])
    assert all(one != other for one, other in itertools.pairwise(found))


def first_message_contains(check: Check, outcome: Outcome, run: Run) -> None:
    assert check["text"] in message_text(outcome.payload.messages[0])


def last_message_contains(check: Check, outcome: Outcome, run: Run) -> None:
    assert check["text"] in message_text(outcome.payload.messages[-1])


def exit_code(check: Check, outcome: Outcome, run: Run) -> None:
    code = outcome.result["exit"]
    if "equals" in check:
        assert code == check["equals"], outcome.result["stderr"]
    if "not_equals" in check:
        assert code != check["not_equals"]
    assert "equals" in check or "not_equals" in check


def _stream(name: str, has: bool) -> Predicate:
    def predicate(check: Check, outcome: Outcome, run: Run) -> None:
        for text in check["texts"]:
            assert (text in outcome.result[name]) is has, (text, outcome.result[name])

    return predicate


def stderr_matches(check: Check, outcome: Outcome, run: Run) -> None:
    assert re.search(check["pattern"], outcome.result["stderr"], _flags(check)), outcome.result["stderr"]


def stdout_empty(check: Check, outcome: Outcome, run: Run) -> None:
    assert outcome.result["stdout"] == ""


TEXT_CHECKS: dict[str, Predicate] = {
    "text_present": text_present, "text_absent": text_absent, "text_count": text_count, "in_order": in_order,
    "regex_count": regex_count, "regex_each": regex_each, "utf8_encodable": utf8_encodable,
    "enclosures_match_map": enclosures_match_map, "enclosure_has_own_text": enclosure_has_own_text,
    "question_last": question_last, "order": order, "history_suffix": history_suffix,
    "roles_allowed": roles_allowed, "roles_alternate": roles_alternate,
    "first_message_contains": first_message_contains, "last_message_contains": last_message_contains,
    "exit_code": exit_code, "stdout_has": _stream("stdout", True), "stdout_lacks": _stream("stdout", False),
    "stderr_has": _stream("stderr", True), "stderr_lacks": _stream("stderr", False),
    "stderr_matches": stderr_matches, "stdout_empty": stdout_empty,
}
