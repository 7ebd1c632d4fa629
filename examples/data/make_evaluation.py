"""Write evaluation.jsonl: 30 questions about the chunks of support.jsonl, with what is right, for `promptpack eval`.

Questions, key points, references and predictions are made up by hand; the predictions as a model might give them: most
are right, some cite the wrong chunk, one too many, or an outdated rule. What is retrieved is worked out here, by BM25
over the words of the chunks. With `--check` nothing is written, and a difference is an error.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RETRIEVED = 12
# question; needs: for each piece of evidence the chunks that hold it; chunks that help; key points; a span; the
# reference; the prediction, and the chunks that its labels S1, S2, ... stand for.
ROWS: list[tuple[str, list[str], str, list[str], str, str, str, str]] = [
    ("How many days after it was delivered can I still send a lamp back?",
     ["returns-policy#1 rueckgabe#1 henpin#1"], "returns-policy#2", ["45 days"],
     "within 45 days of the day it was delivered", "45 days from delivery",
     "You have 45 days from delivery [S1].", "returns-policy#1"),
    ("When do I get my money back after a return?", ["returns-policy#3 rueckgabe#1 henpin#1"], "returns-faq#4",
     ["6 working days"], "within 6 working days after the parcel has been scanned",
     "within 6 working days after the parcel has been scanned",
     "Within 14 working days after the parcel has been scanned [S1].", "returns-policy-2024#2"),
    ("Does the lamp have to come back in its original box?", ["returns-policy#5 partner-mirror#1 chat-export#1"],
     "returns-faq#1 returns-faq#2", ["not required"], "Original boxes are welcome and not required",
     "No, the original box is not required", "No, the original box is welcome but not required [S1].",
     "returns-policy#5"),
    ("What does Tindrel Care cost per year?", ["care-plan#1"], "care-plan-2025#1", ["34 euros a year"],
     "It costs 34 euros a year", "34 euros a year", "It costs 34 euros a year [S1][S2].",
     "care-plan#1 care-plan-2025#1"),
    ("Do my schedules still work when the hub has no internet?", ["hub-network#2"], "hub-network#1",
     ["Schedules and wall switches keep working"], "because they are stored in the hub itself",
     "Yes, schedules keep working, because they are stored in the hub",
     "Yes, schedules and wall switches keep working, because they are stored in the hub [S1].", "hub-network#2"),
    ("How many years of warranty does a lamp have, and does it pass on to a second owner?",
     ["warranty#1", "warranty#2"], "warranty#3", ["3 years", "A second owner keeps the rest"],
     "A second owner keeps the rest of the warranty",
     "3 years, and a second owner keeps the rest", "The warranty is 3 years [S1]. A second owner keeps the rest [S2].",
     "warranty#1 warranty#2"),
    ("How long does a return number stay valid?", ["returns-policy#2"], "rueckgabe#2", ["20 days"],
     "it stays valid for 20 days", "20 days", "It stays valid for 20 days [S1].", "returns-policy#2"),
    ("Are express surcharges paid back?", ["returns-policy#3 rueckgabe#1"], "rueckgabe#2",
     ["Express surcharges and gift wrapping are not paid back"],
     "Express surcharges and gift wrapping are not paid back", "No, express surcharges are not paid back",
     "No, express surcharges are not paid back [S1].", "returns-policy#3"),
    ("What happens if the refund e-mail does not come?", ["returns-policy#4"], "returns-faq#4",
     ["write to us with the return number"], "No e-mail after 10 working days means that something went wrong",
     "After 10 working days, write to us with the return number",
     "After 10 working days without an e-mail, write to the shop with the return number [S1].", "returns-policy#4"),
    ("Can I return only one lamp of a set?", ["returns-faq#1"], "",
     ["each lamp has its own article number"], "as long as each lamp has its own article number on the invoice",
     "Yes, if each lamp has its own article number on the invoice",
     "Yes, if each lamp has its own article number [S1].", "returns-faq#1"),
    ("Which showrooms take returns?", ["returns-faq#2"], "", ["Leiden and Porto"],
     "Our two showrooms in Leiden and Porto take returns on weekdays", "Leiden and Porto",
     "The showrooms in Leiden and Porto take returns on weekdays [S1].", "returns-faq#2"),
    ("Can a friend hand in the parcel for me?", ["returns-faq#3"], "returns-faq#2",
     ["nobody asks for a name at the counter"], "nobody asks for a name at the counter",
     "Yes, nobody asks for a name at the counter", "Yes, nobody asks for a name at the counter [S1].", "returns-faq#2"),
    ("Until when can an order be cancelled free of charge?", ["cancel-order#1"], "cancel-order#2",
     ["until it is packed"], "An order can be cancelled free of charge until it is packed", "until it is packed",
     "Until it is packed [S1].", "cancel-order#1"),
    ("What is not covered by the warranty?", ["warranty#1"], "warranty#2",
     ["Scratches, fading fabric and damage by liquids are not covered"],
     "Scratches, fading fabric and damage by liquids are not covered",
     "scratches, fading fabric and damage by liquids",
     "Scratches, fading fabric and damage by liquids are not covered [S1].", "warranty#1"),
    ("Does a repair extend the warranty?", ["warranty#2"], "warranty#1", ["12 months of its own"],
     "Repairs do not extend the 3 years, except for the part that was replaced",
     "No, only the replaced part gets 12 months of its own",
     "No. Only the part that was replaced gets 12 months of its own [S1].", "warranty#2"),
    ("What does express delivery cost, and when does it arrive?", ["shipping#3"], "shipping#1",
     ["12.90 euros", "before noon of the next working day"], "Express delivery costs 12.90 euros",
     "12.90 euros, before noon of the next working day",
     "Express delivery costs 12.90 euros and arrives before noon of the next working day [S1].", "shipping#3"),
    ("From which sum on is delivery free?", ["shipping#3"], "", ["free from 80 euros on"],
     "Delivery costs 5.40 euros and is free from 80 euros on", "80 euros", "From 80 euros on [S1].", "shipping#3"),
    ("How long does a parcel to an island take?", ["shipping#1"], "", ["to islands up to 9 days"],
     "to islands up to 9 days", "up to 9 days", "Up to 9 days [S1].", "shipping#1"),
    ("Where does my parcel go after two failed attempts, and what is refunded if I do not fetch it?",
     ["shipping#1 shipping#2", "shipping#2"], "", ["pick-up point", "without the delivery fee"],
     "we refund the price of the lamp without the delivery fee",
     "to a pick-up point for 7 days; then the price is refunded without the delivery fee",
     "It waits at a pick-up point for 7 days [S1]. Then the price is refunded without the delivery fee [S1].",
     "shipping#2"),
    ("How many vouchers can I use for one order?", ["vouchers#1"], "", ["up to three vouchers"],
     "One order takes up to three vouchers", "three", "Three vouchers [S1].", "vouchers#1"),
    ("How long are gift cards valid, and can I return one?", ["vouchers#1", "returns-policy#6"], "",
     ["valid for 5 years", "gift cards are final"], "Gift cards are valid for 5 years", "5 years; no, they are final",
     "Gift cards are valid for 5 years [S1].", "vouchers#1"),
    ("What do red flashes of the Arc mean?", ["arc-setup#3 arc-setup#4"], "", ["wrong password"],
     "Red flashes mean a wrong password", "a wrong password", "They mean a wrong password [S1].", "arc-setup#4"),
    ("How far from curtains should the shade be?", ["arc-setup#1 arc-setup#2"], "", ["30 centimetres"],
     "Keep at least 30 centimetres between the shade and curtains", "at least 30 centimetres",
     "At least 30 centimetres [S1].", "arc-setup#1"),
    ("How long do I hold the touch ring to reset the Arc and start over?", ["arc-setup#4"], "arc-setup#3",
     ["for 15 seconds"],
     "Hold the ring for 15 seconds to start over", "hold the ring for 15 seconds",
     "Hold the touch ring for 5 seconds [S1].", "arc-setup#3"),
    ("How many lamps can one hub serve?", ["hub-network#1"], "api-examples#1", ["60 lamps"],
     "One hub serves 60 lamps within about 20 metres indoors", "60 lamps", "One hub serves 60 lamps [S1].",
     "hub-network#1"),
    ("What does an orange status light mean?", ["hub-network#1 hub-network#2"], "", ["orange without internet"],
     "orange without internet", "the hub is without internet", "The hub is without internet [S1].", "hub-network#2"),
    ("Can I return used bulbs and shades made to measure?", ["returns-policy#5 partner-mirror#1 chat-export#1",
     "returns-policy#6"], "", ["broken safety seal can still be returned", "Shades made to measure"],
     "Bulbs with a broken safety seal can still be returned", "bulbs yes, shades made to measure no",
     "Bulbs with a broken safety seal can be returned [S1]. Shades made to measure are final [S2].",
     "returns-policy#5 returns-policy#6"),
    # Questions that no chunk answers.
    ("Do you have a student discount?", [], "", [], "", "", "I cannot find that in the sources.", ""),
    ("Which colours does the Bead bulb have?", [], "", [], "", "", "The Bead bulb comes in white and amber [S1].",
     "forum-4471#1"),
    ("Who founded Tindrel?", [], "", [], "", "", "The sources do not say who founded it.", ""),
]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def bm25(question: str, chunks: dict[str, list[str]], k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    """Return the score of each chunk for a question (Robertson and Zaragoza, 2009)."""
    mean = sum(map(len, chunks.values())) / len(chunks)
    found = dict.fromkeys(chunks, 0.0)
    for word in dict.fromkeys(words(question)):
        holders = {name: count for name, own in chunks.items() if (count := own.count(word))}
        weight = log(1 + (len(chunks) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name, count in holders.items():
            found[name] += weight * count * (k1 + 1) / (count + k1 * (1 - b + b * len(chunks[name]) / mean))
    return found


def case(number: int, row: tuple[str, list[str], str, list[str], str, str, str, str], chunks: dict[str, list[str]]
         ) -> dict[str, Any]:
    question, needs, helps, points, span, reference, prediction, cited = row
    scores = bm25(question, chunks)
    best = sorted(chunks, key=lambda name: -scores[name])[:RETRIEVED]
    groups = [group.split() for group in needs]
    gains = dict.fromkeys(helps.split(), 1) | {one: 2 for group in groups for one in group}
    labels = {f"S{at}": name for at, name in enumerate(cited.split(), 1)}
    missing = set(labels.values()) - set(best)
    if missing:
        raise SystemExit(f"question {number}: {sorted(missing)} are cited, but not retrieved")
    found: dict[str, Any] = {
        "id": f"e{number:02d}", "question": question, "retrieved": [[name, round(scores[name], 3)] for name in best],
        "relevant": gains, "needs": groups, "key_points": points, "spans": [span] if span else [],
        "references": [reference] if reference else [], "prediction": prediction, "labels": labels,
    }
    return found


def main() -> None:
    lines = (HERE / "support.jsonl").read_text(encoding="utf-8").splitlines()
    chunks = {one["id"]: words(one["text"]) for one in map(json.loads, lines)}
    repeated = [text for text, count in Counter(row[0] for row in ROWS).items() if count > 1]
    if repeated:
        raise SystemExit(f"repeated questions: {repeated}")
    cases = [case(number, row, chunks) for number, row in enumerate(ROWS, 1)]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in cases)
    target = HERE / "evaluation.jsonl"
    if "--check" in sys.argv[1:]:
        if target.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{target.name} differs; run {Path(__file__).name}")
        return
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
