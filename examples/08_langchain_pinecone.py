"""LangChain with Pinecone: matches become documents, the documents a payload; or the documents in a better order."""

from types import SimpleNamespace

from promptpack import PromptBuilder
from promptpack.adapters import from_langchain, from_pinecone
from promptpack.reorder import reorder_langchain_documents

question = "How long do I have to return a lamp?"
# What index.query(vector=..., top_k=20, include_metadata=True) returns.
result = {"matches": [
    {"id": "r1", "score": 0.91, "metadata": {"text": "You can return any lamp within 45 days.", "docId": "returns"}},
    {"id": "w1", "score": 0.74, "metadata": {"text": "Faulty lamps are covered for three years.", "docId": "warranty"}},
    {"id": "r3", "score": 0.62, "metadata": {"text": "The money is back within 6 working days.", "docId": "returns"}},
]}

# Straight from the store: `keys` says which key of the metadata holds which field.
sources = from_pinecone(result, keys={"text": "text", "document": "docId"})
payload = PromptBuilder(window=4096).add_sources(sources).with_question(question).render()
print([(one.label, one.source.document) for one in payload.sources])

# With LangChain in between: langchain_core.documents.Document has these fields.
documents = [
    SimpleNamespace(
        id=match["id"], page_content=match["metadata"]["text"],
        metadata={"score": match["score"], "sourceId": match["metadata"]["docId"]},
    )
    for match in result["matches"]
]
again = PromptBuilder(window=4096).add_sources(from_langchain(documents)).with_question(question).render()
assert [one.text for one in again.sources] == [one.text for one in payload.sources]

# For a prompt of your own: the same documents, reordered.
options = {"strategy": "scoreSpread", "topK": 8, "startCount": 1, "endCount": 1}
reordered = reorder_langchain_documents(documents, question, **options)
print([document.id for document in reordered])
