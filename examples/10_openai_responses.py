"""The Responses API of OpenAI: the request from a payload, and the citations of the response checked."""

from typing import Any

from promptpack import PromptBuilder


class Client:
    """Stands for openai.OpenAI() without a network; the check takes its Response as well as this mapping."""

    def __init__(self) -> None:
        self.responses = self

    def create(self, *, model: str, **request: Any) -> Any:
        print(model, "gets", ", ".join(request))
        text = "You have 45 days [S1], and the money comes back within 6 working days [S3]."
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"status": "completed", "output": [{"type": "message", "role": "assistant", "content": [part]}]}


hits = [
    {"id": "returns#1", "text": "You can return any lamp within 45 days.", "score": 0.9},
    {"id": "returns#3", "text": "We send the money back within 6 working days.", "score": 0.8},
    {"id": "warranty#1", "text": "Faulty lamps are covered for three years.", "score": 0.6},
]
question = "How long do I have, and when do I get my money back?"

client = Client()
payload = PromptBuilder(window=8192).add_sources(hits).with_question(question).render()
response = client.responses.create(**payload.request("openai-responses", model="gpt-4.1-mini"))
checked = payload.verify_response(response).raise_for_unknown()
print("cited:", ", ".join(checked.cited))
print(checked.link({"returns#1": "https://shop.example/returns", "returns#3": "https://shop.example/money"}))
