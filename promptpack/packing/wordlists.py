"""Words of many languages that the text rules know: numbers, negations, abbreviations.

Data only. A word that also means something else is no harm: the rules that read these tables are careful
in one direction, and a word too many makes them more so.
"""

from __future__ import annotations


def _set(table: str) -> frozenset[str]:
    return frozenset(table.split())


# Numbers spelt out: English, German, French, Spanish, Italian, Portuguese, Dutch, Russian, Hindi, Arabic.
NUMBER_WORDS = _set(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    thousand million billion first second third fourth fifth sixth seventh eighth ninth tenth once twice
    half dozen null ein eins eine einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
    zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend zéro un une deux
    trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante
    cinquante soixante cent mille cero uno una dos tres cuatro cinco seis siete ocho nueve diez doce
    quince veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien ciento mil due tre
    quattro cinque sei sette otto nove dieci venti trenta quaranta cinquanta cento dois duas três quatro
    sete oito dez vinte trinta twee drie vijf zes zeven negen tien twintig dertig honderd duizend один
    одна два две три четыре пять шесть семь восемь девять десять двадцать тридцать сорок пятьдесят сто
    тысяча одного двух трёх трех четырёх четырех пяти шести семи восьми девяти десяти एक दो तीन चार पाँच
    पांच छह सात आठ नौ दस बीस तीस सौ हज़ार हजार واحد اثنان اثنين ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة
    عشرة عشرون ثلاثون مائة ألف
    """
)

# Words that turn a statement round, or take something out of it.
NEGATIONS = _set(
    """
    not no never none nor neither nobody nothing nowhere without cannot except unless non nicht kein
    keine keinen keinem keiner keines nie niemals ohne weder außer ne pas jamais sans aucun aucune ni
    rien sauf nunca jamás sin ningún ninguno ninguna tampoco excepto salvo mai senza nessun nessuno
    nessuna né tranne não nem sem nenhum nenhuma exceto niet geen nooit zonder behalve не нет ни без
    никогда нельзя кроме nie bez nigdy değil hayır inte ingen aldrig utan ikke aldri uden uten नहीं न ना
    मत बिना कभी لا ليس ليست لم لن غير بدون دون ما
    """
)

# Scripts without blanks between words: the sign is looked for anywhere in the text.
NEGATION_SIGNS = (
    "不", "没", "沒", "無", "无", "非", "未", "勿", "禁", "ない", "なく", "なかっ", "ません", "ずに",
    "ไม่", "ห้าม", "มิได้", "ยกเว้น", "않", "없", "아니", "안 ", "못",
)

# A word with one of these before it is the opposite of the word.
NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "mis", "de", "не")

# Abbreviations whose full stop never ends a sentence.
ABBREVIATIONS = _set(
    """
    mr mrs ms mx dr prof st ste mt rev hon gov sen rep pres gen col maj capt cmdr lt sgt cpl adm supt
    insp messrs mme mmes mlle mm hr hrn fr frl dipl ing vs viz cf eg ie e.g i.e approx ca circa bzw evtl
    ggf inkl exkl bspw sog vgl z.b d.h u.a o.ä i.d.r zzgl abzgl sra srta sr dña ud uds p.ej p.ex par.ex
    av avda dott sig sigg ing avv resp incl excl esp temp mgr т.е т.к ул им см др проф акад डॉ श्री प्रो
    श्रीमती
    """
)

# Abbreviations whose full stop does not end a sentence before a number.
BEFORE_NUMBER = _set(
    """
    no nos nr fig figs eq eqs sec secs ch chap vol vols p pp pg art arts par para ex exs tab bd ver jan
    feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun tel ext max min núm pág abs
    kap al abb ziff anm стр рис табл гл п
    """
)

# Abbreviations that end a sentence only before a capital: of use where a text has no capitals at all.
BEFORE_SMALL = _set(
    """
    etc inc ltd co corp jr sr usw u.s.w a.m p.m al dept est ave blvd т.д т.п
    """
)

# German words before an ordinal number, which is written with a full stop.
BEFORE_ORDINAL = _set(
    """
    am der die das dem den des im vom zum zur bis ab seit und ins beim jeden jeder
    """
)

# German months, which follow the number of a day.
MONTHS = _set(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    """
)

# Dotted abbreviations that do end a sentence before a capital.
MAY_END = _set("a.m p.m b.c a.d i u.s.w т.д т.п")
