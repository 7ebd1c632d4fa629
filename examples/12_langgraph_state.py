"""LangGraph: a node that turns the state's chunks into messages, and one that checks what the model wrote."""

from typing import Any, TypedDict

from promptpack import Payload, PromptBuilder
from promptpack.adapters import from_langgraph_state
from promptpack.reorder import reorder_langgraph_state


class State(TypedDict, total=False):
    question: str
    documents: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    payload: Payload
    answer: str
    cited: tuple[str, ...]


BUILDER = PromptBuilder(window=8192)


def pack(state: State) -> State:
    """graph.add_node("pack", pack)"""
    payload = BUILDER.add_sources(from_langgraph_state(state)).with_question(state["question"]).render()
    return {"payload": payload, "messages": payload.to_openai()}


def check(state: State) -> State:
    """graph.add_node("check", check): an answer that cites what was not sent ends the run."""
    return {"cited": state["payload"].verify(state["answer"]).raise_for_unknown().cited}


state: State = {"question": "How long do I have?", "documents": [
    {"id": "returns#1", "content": "You can return any lamp within 45 days.", "score": 0.9},
    {"id": "warranty#1", "content": "Faulty lamps are covered for three years.", "score": 0.6},
    {"id": "returns#3", "content": "We send the money back within 6 working days.", "score": 0.8},
]}
state |= pack(state)
state["answer"] = "You have 45 days [S1]."  # what the model's node wrote
state |= check(state)
print(state["messages"][-1]["role"], "message; cited:", ", ".join(state["cited"]))

# For a prompt of your own: the same chunks, reordered.
print([one["id"] for one in reorder_langgraph_state(state["documents"], state["question"], strategy="auto", top_k=8)])
