"""The steps of the reordering one by one, and what they are good for: scores, repeats, variety, order, metrics."""

from promptpack.evaluation import evaluate_answer_set, key_point_recall, ndcg, position_effectiveness
from promptpack.reorder import Reorderer, deduplicate_chunks, rerank_with_diversity, score_chunks, trigram_similarity

rows = [
    ("returns#1", "You can return any lamp within 45 days.", 0.90, 3),
    ("mirror#1", "You can return any lamp within 45 days!", 0.86, 1),
    ("warranty#1", "Faulty lamps are covered for three years.", 0.60, 2),
    ("returns#3", "We send the money back within 6 working days.", 0.80, 3),
]
chunks = [{"id": id_, "text": text, "score": score, "metadata": {"timestamp": t}} for id_, text, score, t in rows]

print(round(trigram_similarity(rows[0][1], rows[1][1]), 3), "alike")
distinct = deduplicate_chunks(chunks, threshold=0.85, keep="highest_score", length_bucket_size=120, max_candidates=400)
scored = score_chunks(distinct, {"similarity": 1.0, "time": 0.1})
varied = rerank_with_diversity(scored, {"enabled": True, "lambda": 0.7, "source_diversity_weight": 0.15})
print([(chunk["id"], round(chunk["priorityScore"], 3)) for chunk in scored], [chunk["id"] for chunk in varied])

reorderer = Reorderer({"strategy": "scoreSpread", "topK": 3, "maxTokens": 200, "tokenCounter": "gpt-4o"})
reordered = reorderer.reorder(distinct)
scores = [chunk["score"] for chunk in reordered]
print(f"position {position_effectiveness(scores):.3f}, nDCG {ndcg(scores):.3f},", end=" ")
print(f"key points {key_point_recall(['45 days', '6 working days'], [chunk['text'] for chunk in reordered]):.0%}")

texts = [chunk["text"] for chunk in reordered]
rated = evaluate_answer_set([
    {"prediction": "45 days", "references": ["45 days"], "contexts": texts},
    {"prediction": "two weeks", "references": ["45 days"], "contexts": texts},
])
print(f"exact match {rated.exact_match:.2f}, F1 {rated.f1:.2f}, faithful {rated.faithfulness:.2f}")
