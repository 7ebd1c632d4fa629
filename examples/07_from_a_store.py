"""From the answers of vector stores to one payload: distances are declared, and the nearest passage ranks first."""

from promptpack import presets
from promptpack.adapters import from_chroma, from_pgvector_rows

# What collection.query(...) of Chroma returns: its numbers are distances, the nearest ranks first.
answer = {
    "ids": [["returns#1", "warranty#1"]],
    "documents": [["You can return any lamp within 45 days.", "Faulty lamps are covered for three years."]],
    "metadatas": [[{"title": "Returns", "page": 3}, {"title": "Warranty", "page": 9}]],
    "distances": [[0.18, 0.41]],
}
# What cursor.fetchall() of psycopg returns for `SELECT id, body, embedding <=> %s AS far ...`.
rows = [("returns#3", "We send the money back within 6 working days.", 0.22)]

sources = [
    *from_chroma(answer),
    *from_pgvector_rows(rows, columns=["id", "body", "far"], distance="far"),
]
payload = presets.docs_qa(4096).add_sources(sources).with_question("How long do I have to return a lamp?").render()

print(payload.text)
for passage in sorted(payload.sources, key=lambda passage: passage.rank):
    print(passage.rank, passage.label, passage.source.id, passage.source.score)
