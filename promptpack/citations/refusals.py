"""Whether a sentence says that the answer is not known: a table of turns of phrase, in fourteen languages.

The rule, on folded text (small letters, straight apostrophes, "n't" written out): a sentence of at most 400
characters refuses if it holds one of the phrases, or a denial together with a word for the sources, and does
not go on with a "but": "I don't know, but it is 5 EUR" is a claim. A list can never be complete: what is not
in it counts as a claim without a citation, which is the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

LONGEST = 400

_PHRASES = (
    # English
    "i do not know", "we do not know", "i do not have enough", "i do not have any",
    "i do not have information",
    "i do not have the information", "i do not have sufficient",
    "i have no information", "i have no answer",
    "i do not have that information", "i do not have access to", "i am not sure", "i'm not sure", "i can not help",
    "i can not provide",
    "i can not answer", "i can not find", "i can not determine", "i can not tell", "i can not say",
    "i could not find", "i did not find", "unable to answer", "unable to find",
    "unable to determine",
    "can not be answered", "can not be determined", "no relevant information",
    "no information about",
    "no information on", "not enough information", "insufficient information",
    "there is no information",
    # German
    "weiss ich nicht", "weiss es nicht", "ich weiss nicht", "nicht beantworten",
    "keine information",
    "keine angaben", "keine antwort", "geht nicht hervor", "konnte nichts finden",
    # French
    "je ne sais pas", "je ne peux pas répondre", "je n'ai pas trouvé", "aucune information",
    "pas d'information", "impossible de répondre",
    # Spanish, Portuguese
    "no lo sé", "no sé", "no puedo responder", "no hay información", "no encuentro", "no encontré",
    "no tengo información", "não sei", "não posso responder", "não há informaç", "não encontrei",
    "não tenho informaç",
    # Italian, Dutch, Polish
    "non lo so", "non so ", "non posso rispondere", "non ci sono informazioni", "non ho trovato",
    "weet ik niet", "ik weet het niet", "kan ik niet beantwoorden", "geen informatie", "nie wiem",
    "nie mogę odpowiedzieć", "brak informacji",
    # Russian
    "я не знаю", "не могу ответить", "нет информации", "не нашел", "не нашёл", "нет данных",
    # Chinese, Japanese, Korean
    "我不知道", "无法回答", "没有相关信息", "没有提到", "未提及", "找不到", "無法回答", "沒有提到",
    "わかりません", "分かりません", "答えられません",
    "お答えできません", "記載がありません", "記載されていません",
    "見つかりません", "情報がありません", "모르겠습니다",
    "알 수 없습니다", "답변할 수 없습니다", "찾을 수 없습니다",
    "정보가 없습니다",
    # Hindi, Arabic, Thai
    "मुझे नहीं पता", "नहीं जानता", "जानकारी नहीं है", "उत्तर नहीं दे", "لا أعرف", "لا أعلم",
    "لا يمكنني الإجابة", "لا توجد معلومات", "ไม่ทราบ", "ไม่พบข้อมูล", "ไม่มีข้อมูล", "ตอบไม่ได้",
)

_SOURCES = (
    "source", "context", "document", "passage", "excerpt", "provided", "quelle",
    "dokument", "kontext",
    "contexte", "contexto", "fuente",
    "fonte", "fonti", "bronnen", "źródł", "источник", "документ", "来源", "资料",
    "文档", "出典", "資料", "출처", "자료", "स्रोत", "المصادر", "المصدر", "แหล่งข้อมูล", "เอกสาร",
)

_DENIALS = (
    "not in the", "not contain", "not mention", "not say", "not state", "not specif",
    "not provide", "not include",
    "not cover", "not address", "not give", "not answer", "not found in",
    "not listed in", "not described in",
    "not discuss", "none of the", "no mention", "say nothing", "says nothing", "nothing about",
    "unclear from the",
    "nicht enthalten", "nicht erwähnt", "nicht genannt", "steht nicht", "nichts über",
    "nichts zu", "enthalten keine",
    "ne mentionne", "ne contien", "ne précise", "ne dit rien", "ne disent rien",
    "no menciona", "no contiene",
    "no dice", "no especifica", "não menciona", "não contém", "não diz", "non menziona",
    "non contien",
    "non contengono", "non dice", "niet genoemd", "niet vermeld", "nie zawiera",
    "nie wspomina", "не содерж",
    "не упомина", "не указан", "没有", "未包含",
    "ありません", "いません", "없습니다", "नहीं", "لا تذكر", "لا تحتوي",
    "لم يذكر", "ไม่ได้", "ไม่มี",
)

_BUT = (
    " but ", " however", " although ", " though ", " except that ", " aber ",
    " jedoch ", " mais ", " pero ",
    " sino ", " mas ", " porém ", " ma ",
    " maar ", " ale ", " но ", " однако ", "但", "不过", "ですが", "しかし",
    "지만", " लेकिन ", " لكن ", "แต่",
)


@dataclass(frozen=True, slots=True)
class Refusals:
    """The phrases that occur in one answer, so that each of its sentences is asked for these alone."""

    phrases: tuple[str, ...]
    sources: tuple[str, ...]
    denials: tuple[str, ...]

    @classmethod
    def of(cls, answer: str) -> Refusals:
        """Look through an answer once; linear."""
        text = _fold(answer)
        signs = None if text.isascii() else set(text)  # ASCII text has the letters of most phrases that are ASCII
        phrases, sources, denials = (
            tuple(one for one, own in table if (one.isascii() if signs is None else own <= signs) and one in text)
            for table in _tables()
        )
        return cls(phrases, sources, denials if sources else ())

    def holds(self, sentence: str) -> bool:
        """Tell whether a sentence of the answer says that something is not known or not in the sources."""
        if not (self.phrases or self.denials) or len(sentence) > LONGEST:
            return False
        text = _fold(sentence)
        end = _end_of(self.phrases, text)
        if end < 0 and any(word in text for word in self.sources):
            end = _end_of(self.denials, text)
        return end >= 0 and not any(word in text[end - 1:] for word in _BUT)


@lru_cache(maxsize=1)
def _tables() -> tuple[tuple[tuple[str, frozenset[str]], ...], ...]:
    """Return each table with the characters of each phrase: most languages are out at once by their letters."""
    return tuple(tuple((one, frozenset(one)) for one in table) for table in (_PHRASES, _SOURCES, _DENIALS))


def is_refusal(sentence: str) -> bool:
    """Tell whether a sentence says that the answer is not known or not in the sources.

    >>> is_refusal("I don\u2019t know."), is_refusal("I don't know, but it is 5 EUR.")
    (True, False)
    >>> is_refusal("The sources do not mention gift cards."), is_refusal("The fee is not in the price.")
    (True, False)
    """
    return Refusals.of(sentence).holds(sentence)


def _fold(text: str) -> str:
    folded = f" {text.casefold()} ".replace("\n", " ").replace("\u2019", "'").replace("n't", " not")
    return folded.replace("ca not", "can not").replace("cannot", "can not")


def _end_of(phrases: tuple[str, ...], text: str) -> int:
    return next((text.index(one) + len(one) for one in phrases if one in text), -1)
