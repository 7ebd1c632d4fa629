"""Where sentences end: a false end makes fragments that then look like repeats."""

from __future__ import annotations

import time

import pytest

from promptpack.packing.sentences import spans

WHOLE = [
    "Give 3.5 mg per dose, e.g. at noon.", "Use v2.3.1 of README.md now.", "Plus costs $3.99 a month.",
    "See https://a.b/c.d?x=1 or mail a@b.de today.", "Dr. J. R. Smith met Mr. Lee at 5 p.m. on Jan. 5.",
    "See fig. 3, vol. 2, No. 5, pp. 7 and Smith et al. 2019.", 'He said "Stop. Go home." and left.',
    "He (see p. 5. It is odd.) left.", "Am 3. Oktober kam er, es war z.B. kalt.", "Das 19. Jahrhundert begann.",
    "А. С. Пушкин родился в 1799 г. в Москве.", "डॉ. शर्मा आए।", "د. أحمد وصل.", "彼は「行く。すぐに。」と言った。",
    "今日は３．５度です。", "The U.S. Army came.", "1. Open the app.", '"Stop!" he said.', "Acme Inc. was founded.",
    "Cats nap. and a tail without a stop", "Line one\ngoes on.", "Wait... what?", "Call foo(a, b).bar() first.",
]  # fmt: skip

SPLIT = [
    ("Ready? Yes! Go.", ["Ready?", "Yes!", "Go."]),
    ("cats nap. dogs run. see e.g. figs.", ["cats nap.", "dogs run.", "see e.g. figs."]),
    ("He left. “Stop. Go.” Then he came.", ["He left.", "“Stop. Go.”", "Then he came."]),
    ("本製品は防水です。保証は二年です！本当？", ["本製品は防水です。", "保証は二年です！", "本当？"]),
    ("यह पहला है।यह दूसरा है। तीसरा", ["यह पहला है।", "यह दूसरा है।", "तीसरा"]),
    ("هل أنت هنا؟نعم أنا هنا. شكرا", ["هل أنت هنا؟", "نعم أنا هنا.", "شكرا"]),
    ("ร้านเปิดทุกวัน ปิดวันอาทิตย์ ราคา 500 บาท", ["ร้านเปิดทุกวัน", "ปิดวันอาทิตย์", "ราคา 500 บาท"]),
    ("It ended at 5 p.m. The shop closed.", ["It ended at 5 p.m.", "The shop closed."]),
    ("# Title\nText here. More.\n\nNext para", ["# Title", "Text here.", "More.", "Next para"]),
    ("1. Open it. 2. Press go.", ["1. Open it.", "2. Press go."]),
    ('A 5" pipe. A 6" pipe. Done.', ['A 5" pipe.', 'A 6" pipe.', "Done."]),
    ("So do I. Then we went.", ["So do I.", "Then we went."]),
    ("네. 알겠습니다. 다음.", ["네.", "알겠습니다.", "다음."]),
    ("Мы ушли. Они пришли! Да?", ["Мы ушли.", "Они пришли!", "Да?"]),
    ("Use a ( here. Then go on. Never closed.", ["Use a ( here.", "Then go on.", "Never closed."]),
    ("", []), ("  \n ", []), (".", ["."]), ('."', ['."']), ("...", ["..."]),
]  # fmt: skip


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in spans(text)]


@pytest.mark.parametrize("text", WHOLE)
def test_one_sentence_stays_one(text: str) -> None:
    assert pieces(text) == [text]


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_ends(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize("seed", ['"a. ', ". ", "(", " \n", '"', "。「", "A. ", "1. ", "กข ", "\n# x", "“a. B” "])
def test_growth_is_linear(seed: str) -> None:
    """Eight times the text must not take sixty-four times as long; five tries, and slack for a busy machine."""

    def taken(n: int) -> float:
        text, begin = seed * n, time.process_time()
        spans(text)
        return time.process_time() - begin

    taken(10)
    assert any(taken(16000) < 30 * max(taken(2000), 1e-4) for _ in range(5))
