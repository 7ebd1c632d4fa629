"""Two turns: each chunk keeps its label, and a citation of a chunk that was not sent this time is stale."""

from promptpack import CitationError, PromptBuilder

builder = PromptBuilder(window=4096)
first = builder.add_sources([
    {"id": "returns#1", "text": "You can return any lamp within 45 days.", "score": 0.9},
    {"id": "vouchers#1", "text": "Gift cards cannot be returned.", "score": 0.8},
]).with_question("How long can I return a lamp?").render()

second = (
    builder.with_labels(first.carry_labels())
    .add_history([("user", "How long can I return a lamp?"), ("assistant", "45 days [S1].")])
    .add_sources([
        {"id": "vouchers#1", "text": "Gift cards cannot be returned.", "score": 0.9},
        {"id": "vouchers#2", "text": "Gift cards are valid for three years.", "score": 0.7},
    ])
    .with_question("And gift cards?")
    .render()
)
print(dict(second.labels))
try:
    second.verify("They cannot be returned [S2], unlike lamps [S1].").raise_for_unknown()
except CitationError as error:
    print(error)
