"""Haystack: the documents of a retriever as a payload, or the latest first for a prompt of your own."""

from types import SimpleNamespace

from promptpack import presets
from promptpack.adapters import from_haystack
from promptpack.reorder import reorder_haystack_documents

question = "What happened to the delivery service?"
# What retriever.run(query=...) returns; haystack.Document has these fields.
found = {"documents": [
    SimpleNamespace(id=name, content=text, score=score, meta={"timestamp": when, "file_path": "log/deliveries.txt"})
    for name, text, score, when in (
        ("log#1", "09:00 The delivery service is down.", 0.83, 1_780_000_000),
        ("log#2", "09:40 The delivery service is back.", 0.79, 1_780_002_400),
        ("log#3", "08:10 A new version was rolled out.", 0.55, 1_779_997_000),
    )
]}

payload = presets.logs(4096).add_sources(from_haystack(found)).with_question(question).render()
print([(one.label, one.source.id, one.source.document) for one in payload.sources])

latest = reorder_haystack_documents(found["documents"], question, strategy="chronological", chronological_order="desc")
print([document.id for document in latest])
