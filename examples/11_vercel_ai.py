"""Vercel AI: results of a search or of `rerank` as a service in TypeScript sends them, and the messages as JSON."""

import json

from promptpack import PromptBuilder
from promptpack.adapters import from_vercel_ai
from promptpack.reorder import reorder_vercel_ai_results

question = "How long do I have to return a lamp?"
# { id?: string; content: string; score?: number; metadata?: any }[]
body = json.loads("""{"results": [
    {"id": "returns#1", "content": "You can return any lamp within 45 days.", "score": 0.9, "metadata": {"page": 3}},
    {"id": "warranty#1", "content": "Faulty lamps are covered for three years.", "score": 0.6},
    {"id": "returns#3", "content": "We send the money back within 6 working days.", "score": 0.8}
]}""")
payload = PromptBuilder(window=4096).add_sources(from_vercel_ai(body["results"])).with_question(question).render()
labels = {one.label: one.chunk_ids for one in payload.sources}
print(json.dumps({"labels": labels, "messages": payload.to_openai()})[:120])

# What `rerank` of the SDK returns: the ranking, best first, with the documents.
reranked = {"ranking": [
    {"originalIndex": 2, "score": 0.97, "document": body["results"][2]},
    {"originalIndex": 0, "score": 0.41, "document": body["results"][0]},
]}
print([(source.id, source.score) for source in from_vercel_ai(reranked)])

# For a prompt of your own: the same results, reordered.
context = "\n\n".join(one["content"] for one in reorder_vercel_ai_results(body["results"], question, strategy="auto"))
print(context)
