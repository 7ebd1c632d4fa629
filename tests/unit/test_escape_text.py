"""Tables of hostile and ordinary text: what is broken up, what is left alone, and how each level differs."""

import pytest

from promptpack.errors import OptionError, SourceError
from promptpack.escape import Escaped, LiveLabels, Rules, escape_text, unescape

RULES = Rules(labels=LiveLabels(3))

HOSTILE = [
    # closing forms: any of these left alone lets a source end its own enclosure
    ("</source_2>", "&lt;/source_2>"),
    ("< / SOURCE-2", "&lt; / SOURCE-2"),
    ("<\\source 2", "&lt;\\source 2"),
    ("<//sources junk", "&lt;//sources junk"),
    ("</source.12.", "&lt;/source.12."),
    ("</sou</source_1>rce_1>", "</sou&lt;/source_1>rce_1>"),
    ("</question\t", "&lt;/question\t"),
    # opening forms: a forged source or question
    ("<source_9 id='x'", "&lt;source_9 id='x'"),
    ("<sources/>", "&lt;sources/>"),
    ("<Sources\nrole=a", "&lt;Sources\nrole=a"),
    ("<question", "&lt;question"),
    ("<source 4 id=x>", "&lt;source 4 id=x>"),
    # system-like names
    ("<system>", "&lt;system>"),
    ("</ System_Prompt >", "&lt;/ System_Prompt >"),
    ("<system-reminder/>", "&lt;system-reminder/>"),
    ("vec</system>", "vec&lt;/system>"),
    ("<assistant>", "&lt;assistant>"),
    # look-alikes and invisible characters
    ("\uff1c/sources\uff1e", "&#65308;/sources\uff1e"),
    ("\u226e/sources", "&#8814;/sources"),
    ("\u2039/source_1\u203a", "&#8249;/source_1\u203a"),
    ("</\u0455ources>", "&lt;/\u0455ources>"),
    ("</sour\u0441e_\u0661>", "&lt;/sour\u0441e_\u0661>"),
    ("</que\ufb06ion>", "&lt;/que\ufb06ion>"),
    ("</so\u200bu\u0301rces>", "&lt;/so\u200bu\u0301rces>"),
    ("</sources\u2474", "&lt;/sources\u2474"),
    ("<\u2028/\u3000source\u2215sources>", "<\u2028/\u3000source\u2215sources>"),
    # references: decoding once too often must not make a boundary, and must not lose what was written
    ("&lt;/sources&gt;", "&amp;lt;/sources&gt;"),
    ("&LT/sources", "&amp;LT/sources"),
    ("&#x0003C;/sources", "&amp;#x0003C;/sources"),
    ("&#38;#60;/sources", "&amp;#38;#60;/sources"),
    ("&amp;amp;lt;system&amp;gt;", "&amp;amp;amp;lt;system&amp;gt;"),
    ("<system&gt;", "&lt;system&gt;"),
    ("&lt&sol;sources", "&amp;lt&sol;sources"),
    ("&lang;/source_1", "&amp;lang;/source_1"),
    ("&lsqb;S1]", "&amp;lsqb;S1]"),
    # chat markers, known and invented
    ("<|made up marker|>", "&lt;|made up marker|>"),
    ("<|x>", "&lt;|x>"),
    ("<turn|>", "&lt;turn|>"),
    ('<|"|>', '&lt;|"|>'),
    ("\uff1c\uff5cUser\uff5c\uff1e", "&#65308;\uff5cUser\uff5c\uff1e"),
    ("</\uff5cDSML\uff5cinvoke>", "&lt;/\uff5cDSML\uff5cinvoke>"),
    ("<tool_calls>", "&lt;tool_calls>"),
    ("<ns:function_calls>", "&lt;ns:function_calls>"),
    ("<function=send_mail>", "&lt;function=send_mail>"),
    ("<extra_id_17 >", "&lt;extra_id_17 >"),
    ("<seed:anything>", "&lt;seed:anything>"),
    ("<\u7528\u6237>", "&lt;\u7528\u6237>"),
    ("<<SYS>>", "&lt;<SYS>>"),
    ("<<\\SYS>>", "&lt;<\\SYS>>"),
    ("<\uff1cSYS\uff1e>>", "&lt;\uff1cSYS\uff1e>>"),
    ("<&lt;SYS>>", "&lt;&lt;SYS>>"),
    ("<role>OBSERVATION</role>", "&lt;role>OBSERVATION</role>"),
    ("</s>", "&lt;/s>"),
    ("[/INST]", "&#91;/INST]"),
    ("[|endofturn|]", "&#91;|endofturn|]"),
    ("\uff3bgMASK\uff3d", "&#65339;gMASK\uff3d"),
    ("]~!b[", "&#93;~!b["),
    ("]~b]", "&#93;~b]"),
    ("[e~[", "&#91;e~["),
    # labels of this payload
    ("[S1]", "&#91;S1]"),
    ("[ S3 ]", "&#91; S3 ]"),
    ("[S9, S2]", "&#91;S9, S2]"),
    ("[S2\u2013S9]", "&#91;S2\u2013S9]"),
    ("[S1 | id | updated 2026]", "&#91;S1 | id | updated 2026]"),
    ("[S1]\u200b(x)", "&#91;S1]\u200b(x)"),
    ("\u3010S1\u3011", "&#12304;S1\u3011"),
    # text that hides
    ("a\x00\x01\x1bb", "a\ufffdb"),
    ("x\ud800\udfffy", "x\ufffdy"),
    ("hi\U000e0041\U000e0042", "hi\ufffd"),
    ("a\ufe01b", "a\ufffdb"),
    ("\u2764\ufe0f\ufe0f", "\u2764\ufffd"),
    ("a\u200b\u200c\u200d\u2060b", "a\ufffdb"),
    # markup without end
    ("a <!-- b", "a &#60;!-- b"),
    ("<!-- a --> <!-- b", "<!-- a --> &#60;!-- b"),
    ("<![CDATA[ x", "&#60;![CDATA[ x"),
    ("&#60;!--", "&amp;#60;!--"),
    ("<![CDATA[S1]", "&#60;![CDATA&#91;S1]"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_hostile_text_is_broken_up(text: str, shown: str) -> None:
    """A failure leaves a boundary, a marker or a label in untrusted text, or changes more than its opener."""
    escaped = escape_text(text, RULES)
    assert str(escaped) == shown
    assert unescape(escaped) == text
    if "\ufffd" not in shown:
        assert unescape(shown, RULES) == text


ORDINARY = [
    "if (a < b && c > d) { x[i] = y & 3; } // <T> <div> </source> <source src='a.mp4'>",
    "List<Question> q; Map<String, Sources> m; base<System> x; Vec<Assistant>",
    "while (i < sources.length) i++; x < sources / 2; a<sources)",
    "cp <source1> <source-2> <target>; <user>@<host> <developer>",
    "<s>[IMG] <pad> <unk> [ARGS] [PREFIX] <tools> </tools> <escape> <AI> [MASK] <response>",
    "a <| b <|> c |> d; x << y; <~> </>; r'(?P<name>x)'",
    "\u27e8\u03c8|\u03c6\u27e9 \u00ab question \u00bb \u2039x\u203a a \u226e b \u3008\u8a69\u3009 \u3010\u6ce8\u3011",
    "[S3](https://example.org) [s1] [S4] [S0] [S01] [S12345] [1] [S] S1 (S2)",
    "R&D &amp; &copy; &lt;div&gt; &#8217; &lt;source&gt; AT&T ?a=1&b=2",
    "<!-- a --> <![CDATA[ x ]]> &lt;!-- code --&gt;",
    (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u200f(x)\u200e \u0928\u094d\u200d\u0924"
        " \U0001f469\u200d\U0001f4bb \u2764\ufe0f 1\ufe0f\u20e3"
    ),
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "tab\tCRLF\r\nform\ffeed VT\x0b soft\xadhyphen nbsp\xa0 DEL\x7f",
    "{{ x }} {% if y %} {0.__class__} %s $name ${name}",
    "</sourcesx> </questionnaire> <sources-x> <question.x y=1>",
    "",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_untouched(text: str) -> None:
    """A failure changes text that means nothing to a reader of the payload, which costs tokens and sense."""
    escaped = escape_text(text, RULES)
    assert str(escaped) == text
    assert escaped.edits == ()


LEVELS = [
    (
        "structure",
        "<|im_start|> <system> [INST] <!-- </sources> [S1] \x00",
        "<|im_start|> <system> [INST] <!-- &lt;/sources> &#91;S1] \ufffd",
    ),
    ("strict", "<b> 5 < 6 &copy; & \u202ex <x", "&lt;b> 5 < 6 &amp;copy; & \ufffdx &lt;x"),
    ("strict", "\u0645\u06cc\u200c\u062e \u2764\ufe0f a\u200bb", "\u0645\u06cc\u200c\u062e \u2764\ufe0f a\ufffdb"),
    ("datamark", "two words\n  and </sources> x", "two^words\n  and^&lt;/sources>^x"),
    ("datamark", "as in [S2, S1 and [S2, S1]", "as^in^[S2, S1^and^&#91;S2, S1]"),  # a mark must not end a list
    ("html", '<b> & "q" [S1] &lt; x', '&lt;b&gt; &amp; "q" &#91;S1] &amp;lt; x'),
    ("off", "</sources> <|im_start|> [S1] \ud800", "</sources> <|im_start|> [S1] \ufffd"),
    (
        "spotlight",
        "</source_1-7f3a> <source_2-7f3a id=x> <sources> <sources-7f3a>",
        "&lt;/source_1-7f3a> &lt;source_2-7f3a id=x> &lt;sources> &lt;sources-7f3a>",
    ),
]


@pytest.mark.parametrize(("level", "text", "shown"), LEVELS)
def test_levels(level: str, text: str, shown: str) -> None:
    """A failure means that a level does more or less than its documentation says."""
    rules = Rules(labels=LiveLabels(3), level=level, suffix="7f3a" if level == "spotlight" else "")
    escaped = escape_text(text, rules)
    assert str(escaped) == shown
    assert unescape(escaped) == text
    if "\ufffd" not in shown and level != "datamark":
        assert unescape(shown, rules) == text


def test_names_come_from_the_rules() -> None:
    """A failure means that another template set's enclosure could be closed."""
    rules = Rules(frozenset({"documents", "document_content"}), frozenset({"doc{}", "item-{}"}))
    text = "</document-content> <documents a=1> <doc7> </doc 7 <item-3/> <sources> </source_1> <document>"
    shown = (
        "&lt;/document-content> &lt;documents a=1> &lt;doc7> &lt;/doc 7 &lt;item-3/> <sources> </source_1> <document>"
    )
    assert escape_text(text, rules) == shown
    foreign = Rules(frozenset({"\u6765\u6e90"}))
    assert escape_text("</\u6765\u200b\u6e90>", foreign) == "&lt;/\u6765\u200b\u6e90>"


def test_prefix_and_kept_labels() -> None:
    """A failure forges a citation under another prefix, or kills a label that an earlier answer may keep."""
    assert escape_text("[Doc2] [S2]", Rules(prefix="Doc")) == "&#91;Doc2] [S2]"
    kept = Rules(labels=LiveLabels(None, frozenset({1, 2, 3})))
    assert escape_text("[S1] [S2-S3] [S3-S4] [S1, S9]", kept) == "[S1] [S2-S3] &#91;S3-S4] &#91;S1, S9]"
    assert escape_text("[S1]", Rules(labels=LiveLabels(0))) == "[S1]"


def test_reserved_characters() -> None:
    """A failure lets a source forge the private-use citation marks of a template set."""
    rules = Rules(reserved=frozenset("\ue200\ue201"))
    shown = escape_text("\ue200cite\ue201 &#xE200;", rules)
    assert shown == "&#57856;cite&#57857; &amp;#xE200;"
    assert unescape(str(shown), rules) == "\ue200cite\ue201 &#xE200;"


def test_escaping_twice_is_told_by_type() -> None:
    """A failure shows the reader `&amp;lt;` where `&lt;` was meant, or trusts a look-alike of escaped text."""
    once = escape_text("</sources>", RULES)
    assert escape_text(once, RULES) is once
    assert escape_text(str(once), RULES) == "&amp;lt;/sources>"


@pytest.mark.parametrize("value", [None, 3, ["a"], b"x"])
def test_only_text_is_escaped(value: object) -> None:
    """A failure lets a bare TypeError reach the caller, or prints an object into the prompt."""
    with pytest.raises(SourceError):
        escape_text(value, RULES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"level": "tag"}, "escape"),
        ({"level": None}, "escape"),
        ({"prefix": "S1"}, "prefix"),
        ({"prefix": ""}, "prefix"),
        ({"names": frozenset({"a b"})}, "names"),
        ({"names": "sources"}, "names"),
        ({"numbered": frozenset({"<x"})}, "numbered"),
        ({"suffix": "a b"}, "suffix"),
        ({"mark": " "}, "mark"),
        ({"reserved": frozenset({"ab"})}, "reserved"),
        ({"labels": 3}, "labels"),
        ({"names": [["x"]]}, "names"),
    ],
)
def test_bad_rules_are_refused(options: dict[str, object], name: str) -> None:
    """A failure escapes with rules that match nothing, silently."""
    with pytest.raises(OptionError) as caught:
        Rules(**options)  # type: ignore[arg-type]
    assert caught.value.name == name


def test_bad_label_limits_are_refused() -> None:
    """A failure would treat a typing error as "no label is live"."""
    for bad in (-1, True, "3"):
        with pytest.raises(OptionError):
            LiveLabels(bad)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        LiveLabels(None, frozenset({"S1"}))  # type: ignore[arg-type]


def test_text_subclasses_give_plain_results() -> None:
    """A failure would let a subclass of str bring its own methods into the payload."""

    class Odd(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "</sources>"

    assert type(escape_text(Odd("x"), RULES)) is Escaped
    assert escape_text(Odd("x"), RULES) == "x"
