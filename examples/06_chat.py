"""A chat: each turn one question and one answer; labels and history carry over, and sources keep their place."""

from promptpack import Conversation, PromptBuilder

chat = Conversation(PromptBuilder(window=4096), keep="found")
turns = [
    ("How long can I return a lamp?", "45 days [S1].", [
        {"id": "returns#1", "text": "You can return any lamp within 45 days.", "score": 0.9},
        {"id": "vouchers#1", "text": "Gift cards cannot be returned.", "score": 0.8},
    ]),
    ("And gift cards?", "They cannot be returned [S2].", [
        {"id": "vouchers#2", "text": "Gift cards are valid for three years.", "score": 0.9},
        {"id": "vouchers#1", "text": "Gift cards cannot be returned.", "score": 0.7},
    ]),
]
for question, answer, hits in turns:
    payload = chat.ask(question, hits)
    print(dict(payload.labels), payload.verify(answer).raise_for_unknown().cited)
    print(*payload.report.notes, sep="\n")
    chat = chat.answered(answer, payload)
print([f"{message.role}: {message.text}" for message in chat.history])
