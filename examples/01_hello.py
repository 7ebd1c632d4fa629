"""The three lines: from hits to a payload that fits, and from the answer back to the chunks."""

from promptpack import PromptBuilder

hits = [
    {"id": "returns#1", "text": "You can return any lamp within 45 days of delivery.", "score": 0.91},
    {"id": "returns#3", "text": "We send the money back within 6 working days.", "score": 0.87},
    {"id": "warranty#1", "text": "Faulty lamps are covered for three years.", "score": 0.55},
]
question = "How long do I have to return a lamp, and when do I get my money back?"

payload = PromptBuilder(window=8192).add_sources(hits).with_question(question).render()
messages = payload.to_openai()  # what client.chat.completions.create(messages=...) takes

answer = "You have 45 days [S1]; the money comes back within 6 working days [S3]."  # what the model wrote
checked = payload.verify(answer).raise_for_unknown()

print(messages[-1]["content"])
print("cited:", ", ".join(checked.cited))
