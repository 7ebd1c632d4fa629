"""A window that is too small for everything: the account, and why a chunk is not in the prompt."""

import json
from pathlib import Path

from promptpack import Cut, PromptBuilder, Window

lines = (Path(__file__).parent / "data" / "support.jsonl").read_text(encoding="utf-8").splitlines()
hits = [json.loads(line) for line in lines]
for hit in hits:
    if hit["document"].startswith("manual"):
        hit["cut"] = Cut(keep="start", min_tokens=60)  # the large chapter may be shortened, the others may not

builder = PromptBuilder(Window(3000, answer=700)).add_sources(hits).with_question("When do I get my money back?")
payload = builder.with_packing(top_k=12, max_per_document=4).render()

print(payload.budget)
print()
for out in payload.dropped[:8]:
    print(payload.why(out.source.id))
