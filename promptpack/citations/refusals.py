"""Whether a sentence says that the answer is not known: a table of turns of phrase, in fourteen languages.

The rule, on folded text (small letters, straight apostrophes, "n't" written out): a sentence of at most 400
characters refuses if it holds one of the phrases, or a denial together with a word for the sources, or says that
something is absent in them ("is not available in the sources"; the sources come last, since "the document is not
available in German" is a claim), and does not go on with a "but": "I don't know, but it is 5 EUR" is a claim. A
sentence of two or three words that says the same ("N/A") refuses as well. A list can never be complete: what is not in
it counts as a claim without a citation, which is the safe side.
"""

from __future__ import annotations

import re
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
    "no information on", "i can not assist", "i can not confirm", "i can not verify", "i can not locate",
    "i was not able to find", "i am not able to", "i'm not able to", "we could not find", "we do not have enough",
    "unable to provide", "unable to locate", "unable to confirm", "unable to verify", "unable to help",
    "unable to assist", "no answer was found", "no answer could be found", "no information was found",
    "no information is available", "no relevant sources", "no relevant documents", "not enough information",
    "insufficient information",
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
    "source", "context", "document", "passage", "excerpt", "snippet", "search result", "provided", "quelle",
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

# What may be missing in the sources, in English: one of the first, and after it the sources.
_MISSING = (
    "not available", "not present", "not found", "not be found", "not appear", "not known", "no answer",
    "no information", "no such information", "no detail", "no data", "no evidence",
    "no reference", "no indication", "no result", "no relevant", "found nothing", "find nothing", "nothing was found",
    "nothing is said", "is missing", "are missing", "is absent", "are absent", "unavailable",
)
_WITHIN = (
    r"(?: [\w'-]++){0,8} (?:in|within|by|among|from|on|across) (?:any of |all of )?"
    r"(?:(?:the|these|those|this|that|your|my|our|any|given|provided)[ ])?(?:[\w'-]++ ){0,2}?"
    r"(?:sources?|contexts?|documents?|documentation|passages?|excerpts?|snippets?|search results?)\b"
)

# Whole sentences, without the signs around them.
_WHOLE = frozenset((
    "n/a", "n.a", "n. a", "n/k", "not applicable", "not available", "not found", "not known", "unknown", "no answer",
    "no answer found", "no information", "no information found", "no information available",
    "information not available", "information not found", "answer not found", "not specified", "not mentioned",
    "not stated",
    "not provided",
    "not given", "no data", "no data available", "no results", "no results found", "unanswerable", "not_found",
    "insufficient context", "no idea",
    "keine angabe", "keine angaben", "k. a", "k.a", "unbekannt", "nicht bekannt", "nicht angegeben", "nicht verfügbar",
    "inconnu", "non précisé", "non disponible", "desconocido", "no disponible", "no especificado", "desconhecido",
    "não disponível", "não especificado", "sconosciuto", "non disponibile", "non specificato", "onbekend",
    "niet bekend", "niet beschikbaar", "nieznane", "brak danych", "неизвестно", "не указано",
    "未知", "不详", "无", "不明",
    "該当なし", "情報なし", "알 수 없음", "정보 없음", "अज्ञात", "غير معروف", "غير متوفر", "ไม่ระบุ",
))
_AROUND = " \t\r\n*_~`\"'“”„«».!。…()[]-–—:"
_SHORT = 40  # characters of the longest of them with the signs around it

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
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, answer: str) -> Refusals:
        """Look through an answer once; linear."""
        text = _fold(answer)
        signs = None if text.isascii() else set(text)  # ASCII text has the letters of most phrases that are ASCII
        plain = text.encode("ascii", "replace").decode("ascii")  # one byte a character is searched three times as fast
        phrases, sources, denials, missing = (
            tuple(
                one for one, own in table
                if (one in plain if one.isascii() else signs is not None and own <= signs and one in text)
            )
            for table in _tables()
        )
        return cls(phrases, sources, denials if sources else (), missing if sources else ())

    def holds(self, sentence: str) -> bool:
        """Tell whether a sentence of the answer says that something is not known or not in the sources."""
        if len(sentence) <= _SHORT and sentence.strip(_AROUND).casefold() in _WHOLE:
            return True
        if not (self.phrases or self.denials or self.missing) or len(sentence) > LONGEST:
            return False
        text = _fold(sentence)
        end = _end_of(self.phrases, text)
        if end < 0 and any(word in text for word in self.sources):
            end = _end_of(self.denials, text)
            end = _missing_end(self.missing, text) if end < 0 else end
        return end >= 0 and not any(word in text[end - 1:] for word in _BUT)


@lru_cache(maxsize=1)
def _tables() -> tuple[tuple[tuple[str, frozenset[str]], ...], ...]:
    """Return each table with the characters of each phrase: most languages are out at once by their letters."""
    return tuple(tuple((one, frozenset(one)) for one in table) for table in (_PHRASES, _SOURCES, _DENIALS, _MISSING))


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


def _missing_end(phrases: tuple[str, ...], text: str) -> int:
    for one in phrases:
        at = text.find(one)
        within = _within().match(text, at + len(one)) if at >= 0 else None
        if within:
            return within.end()
    return -1


@lru_cache(maxsize=1)
def _within() -> re.Pattern[str]:
    return re.compile(_WITHIN)
