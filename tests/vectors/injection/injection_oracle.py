# ruff: noqa
"""Reference reader for the injection cases: what a forgiving reader would take for structure.

It knows nothing of the library. It looks at finished text only, and the checks compare a payload that carries
the hostile text with the same payload carrying the harmless placeholder text "placeholder". It is written for clarity,
not speed, and works by folding the text to plain ASCII first.

    skeleton(text)   the boundary tags that a forgiving reader finds, in order
    markers(text)    chat control markers (as tokenizers know them), sorted
    labels(text)     citation labels written as [S1], [S1, S4], [S2-S3] ...
    smuggled(text)   number of characters that hide text or break transports
    open_tags(text)  [(name, {attribute: decoded value}), ...] of well-formed opening tags
    dangling(text)   markup that is opened and never closed

Names that count as boundaries: sources, question, source plus a number; system-like names only as bare tags.
Character references such as &lt; are NOT decoded: text that is escaped that way is fine.
"""
import html, re, unicodedata

ANGLE_OPEN = "\uff1c\ufe64"                                     # NFKC turns these into "<"
ANGLE_WEAK = "\u2039\u27e8\u3008\u2329\u276e\u2770\u29fc\u02c2\u1438\u227a"   # count only with a slash, a number or attributes
ANGLE_CLOSE = "\uff1e\ufe65\u203a\u27e9\u3009\u232a\u276f\u2771\u29fd\u02c3\u1433\u227b"
SLASHES = "\\\u2044\u2215\u29f8\u29f5\uff0f\uff3c\ufe68\u2571"
BARS = "\uff5c\u2502\u2758\u01c0\u2223\u00a6"
HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
UNDERS = "\u203f\u2040\u2054\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f\u02cd"
LOOKALIKE = {
    "a": "\u0430\u03b1\u0251", "b": "\u042c\u0184", "c": "\u0441\u03f2\u1d04", "d": "\u0501", "e": "\u0435\u0454\u03b5",
    "i": "\u0456\u03b9\u0131", "m": "\u043c", "n": "\u03b7\u0578", "o": "\u043e\u03bf\u0585\u1d0f\u0ed0\u0ae6", "p": "\u0440",
    "q": "\u051b", "r": "\u0433\u1d26\u0280", "s": "\u0455\ua731\u13da", "t": "\u0442\u03c4\u1d1b", "u": "\u03c5\u057d\u1d1c\u0446",
    "x": "\u0445", "y": "\u0443",
}
_ONE = {}
for _c in ANGLE_OPEN: _ONE[_c] = "<"
for _c in ANGLE_WEAK: _ONE[_c] = "\ue000"
for _c in ANGLE_CLOSE: _ONE[_c] = ">"
for _c in SLASHES: _ONE[_c] = "/"
for _c in BARS: _ONE[_c] = "|"
for _c in HYPHENS: _ONE[_c] = "-"
for _c in UNDERS: _ONE[_c] = "_"
for _k, _v in LOOKALIKE.items():
    for _c in _v:
        _ONE[_c] = _k
        if len(_c.upper()) == 1: _ONE.setdefault(_c.upper(), _k.upper())
HIDDEN = {0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0, 0xFFFD, 0x17B4, 0x17B5}


def fold(text):
    out = []
    for ch in text:
        cp = ord(ch)
        if cp < 128:
            if ch in "\t\n\x0b\x0c\r " : out.append(" ")
            elif cp < 32 or cp == 127: continue
            elif ch == "\\": out.append("/")
            else: out.append(ch)
            continue
        if ch in _ONE:
            out.append(_ONE[ch]); continue
        cat = unicodedata.category(ch)
        if cp in HIDDEN or cat in ("Mn", "Me", "Cf", "Cc", "Cs") and cp != 0x85:
            continue
        if 0xE0000 <= cp <= 0xE0FFF:
            continue
        if ch.isspace():
            out.append(" "); continue
        dec = unicodedata.decimal(ch, None)
        if dec is not None:
            out.append(str(dec)); continue
        for x in unicodedata.normalize("NFKD", ch):
            if unicodedata.combining(x): continue
            x = _ONE.get(x, x)
            out.append(x)
    return "".join(out)


_ATTR = r"[ /]+[a-z_:][\w:.-]*[ ]*=(?!=)"
_OPENED = r"(?=[ ]*(?:/[ ]*)?>|%s)" % _ATTR
_WORD = r"(?:sources|question)(?![-.:]?\w)"
_NUM = r"source[ ]?[_.:#-]?[ ]?\d"
_ROLE = r"system|system[_-]prompt|system[_-]message|system-reminder|systemprompt|assistant"
_TAG = re.compile(
    r"[<\ue000][ ]*/[ /]*(?P<close>%s|%s)" % (_NUM, _WORD)                                       # closing, any separator
    + r"|[<\ue000][ ]*(?P<num>source_\d+(?![-.:]?\w))%s" % _OPENED                                # opening, as the library writes it
    + r"|[<\ue000][ ]*(?P<attr>source[ ]?[_.:#-]?\d+(?![-.:]?\w)|%s)(?=%s)" % (_WORD, _ATTR)      # opening with attributes
    + r"|<[ ]*(?P<word>%s)%s" % (_WORD, _OPENED)
    + r"|(?<!\w)<[ ]*/?[ ]*(?P<role>%s)[ ]*/?[ ]*>|<[ ]*/[ ]*(?P<role2>%s)[ ]*/?[ ]*>" % (_ROLE, _ROLE), re.I)


def skeleton(text):
    found = []
    folded = fold(text)
    for m in _TAG.finditer(folded):
        kind, name = m.lastgroup, m.group(m.lastgroup)
        if kind in ("num", "attr", "word") and re.match(r"\w<[A-Z][a-z]", folded[max(0, m.start() - 1):m.start() + 3]):
            continue                                                             # List<Question>: a type argument
        name = re.sub(r"[ ]", "", name.lower())
        name = re.sub(r"[.:#-]", "_", name) if not kind.startswith("role") else name
        found.append(("/" if kind == "close" else "role:" if kind.startswith("role") else "") + name)
    return found


_MARK = re.compile(
    r"<[/\\]?[|\uff5c](?:\"[|\uff5c]>|/?[A-Za-z_\u2581\u4e00-\u9fff][\w \-./:=\u2581]{0,63}[|\uff5c>])"
    r"|</?[A-Za-z][A-Za-z0-9_]{0,63}[|\uff5c]>"
    r"|</?(?:bos|eos|sop|eop|think|tool_calls?|tool_responses?|tool_results?|function_call|function_response|arg_key|arg_value"
    r"|BOS_TOKEN|EOS_TOKEN|TOOLCALL|TOOL_RESPONSE|AVAILABLE_TOOLS|end_of_utterance|fim_(?:prefix|middle|suffix)"
    r"|(?:start|end)_of_(?:turn|image|audio)|(?:start|end)_function_(?:call|response|declaration)|seed:[a-z_]{1,32}"
    r"|minimax:tool_call|(?:[a-z]{2,12}:)?function_(?:calls|results)|SPECIAL_[0-9]{1,4}|extra_id_[0-9]{1,4}|reserved_[0-9]{1,4}"
    r"|(?:function|parameter)=[A-Za-z_][A-Za-z0-9_.-]{0,63}|\u7528\u6237)[ \t\r\n]*/?>"
    r"|</s[ \t\r\n]*>|<<[/\\]?SYS>>|<role>(?:HUMAN|SYSTEM|ASSISTANT|OBSERVATION)</role>"
    r"|\[[/\\]?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|TOOL_CONTENT|THINK|MODEL_SETTINGS|CALL_ID|gMASK|sMASK|BOS|EOS|EOT)\]"
    r"|\[\|(?:system|user|assistant|tool|endofturn)\|\]|\]~!?b[\[\]]|\[e~\[")


def markers(text):
    """Markers in the text as it is and as it would be after NFKC (a normalizing tokenizer or transport)."""
    return sorted(_MARK.findall(text) + _MARK.findall(unicodedata.normalize("NFKC", text)))


_CITE = re.compile(r"\[[ \t]{0,3}S([1-9][0-9]{0,3})(?:[ \t]{0,3}[,;\u2013-][ \t]{0,3}S?[1-9][0-9]{0,3})*[ \t]{0,3}\](?!\()")


def labels(text):
    out = []
    for m in _CITE.finditer(text):
        out += ["S" + d for d in re.findall(r"[0-9]+", m.group())]
    return out


_FLAG = re.compile("\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f")
_SMUG = re.compile(
    "[\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]|[\ud800-\udfff]|[\x00-\x08\x0e-\x1f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    "|(?<=[A-Za-z])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    "|[\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff\xad\u034f\u115f\u1160\u3164\uffa0\u180e\u061c]{4,}")


def smuggled(text):
    return len(_SMUG.findall(_FLAG.sub("\u2691", text)))


_OPEN = re.compile(r"<([A-Za-z][\w:.-]*)((?:[ ]+[A-Za-z_:][\w:.-]*=\"[^\"<>\r\n]*\")*)[ ]*/?>")
_KV = re.compile(r"([A-Za-z_:][\w:.-]*)=\"([^\"<>\r\n]*)\"")


def open_tags(text):
    return [(m.group(1), {k: html.unescape(v) for k, v in _KV.findall(m.group(2))}) for m in _OPEN.finditer(text)]


def dangling(text):
    """Markup opened in the text and never closed: it would swallow what follows."""
    return [o for o, c in (("<!--", "-->"), ("<![CDATA[", "]]>")) if text.find(o, text.rfind(c) + 1) >= 0]
