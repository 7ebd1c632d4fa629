"""LlamaIndex with Qdrant: points become nodes with a score, the nodes a payload; metadata that is excluded stays so."""

from types import SimpleNamespace

from promptpack import PromptBuilder
from promptpack.adapters import from_llamaindex, from_qdrant
from promptpack.reorder import reorder_llamaindex_nodes

question = "When did the shop change its time limit?"
# What client.query_points("docs", query=..., limit=20) returns.
response = SimpleNamespace(points=[
    SimpleNamespace(id=7, score=0.88, payload={
        "text": "Since March 2026 lamps can be returned for 45 days.", "docId": "news", "timestamp": 1_772_323_200}),
    SimpleNamespace(id=3, score=0.81, payload={
        "text": "Until 2025 the time limit was 30 days.", "docId": "archive", "timestamp": 1_735_689_600}),
])

payload = PromptBuilder(window=4096).add_sources(from_qdrant(response)).with_question(question).render()
print(payload.text.split("\n")[0])

# With LlamaIndex in between: NodeWithScore and TextNode have these fields.
nodes = [
    SimpleNamespace(score=point.score, node=SimpleNamespace(
        id_=str(point.id), node_id=str(point.id), text=point.payload["text"], ref_doc_id=point.payload["docId"],
        get_content=lambda text=point.payload["text"]: text,
        metadata={"timestamp": point.payload["timestamp"], "collection": "docs"},
        excluded_llm_metadata_keys=["collection"],
    ))
    for point in response.points
]
again = PromptBuilder(window=4096, fields=("chunk", "updated", "collection"))
again = again.add_sources(from_llamaindex(nodes)).with_question(question).render()
print([dict(one.attributes) for one in again.sources])

# For a prompt of your own: the question asks for a time and all nodes have one, so they stand in its order.
print([node.node.node_id for node in reorder_llamaindex_nodes(nodes, question, strategy="auto", top_k=8)])
