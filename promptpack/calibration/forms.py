"""Chat messages as one text, as the model sees them: needed to ask for the log-probabilities of a given answer.

The endpoint for completions takes plain text, so what the endpoint for chats does has to be done here: the model's own
chat template writes the messages out. Without it the measured text would not be what the model was trained on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpack.errors import OptionError, TemplateRenderError, quote
from promptpack.files import read_text

BUILT_IN: Mapping[str, str] = {
    "plain": "{% for one in messages %}{{ one.content }}\n\n{% endfor %}Answer:",
    "chatml": (
        "{% for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n{% endfor %}"
        "<|im_start|>assistant\n"
    ),
}


@dataclass(frozen=True, slots=True)
class ChatForm:
    """How messages become one text: a name of `BUILT_IN`, or a chat template in Jinja, as models come with it.

    source: the template. It sees `messages` (role, content) and `add_generation_prompt`; the tokens that begin and end
    a text are empty, since endpoints add them. It runs in Jinja's sandbox.

    >>> ChatForm.of("chatml").text([{"role": "user", "content": "Who?"}])
    '<|im_start|>user\\nWho?<|im_end|>\\n<|im_start|>assistant\\n'
    """

    source: str = BUILT_IN["plain"]
    name: str = "plain"
    _compiled: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, given: str) -> ChatForm:
        """Return the form of a name, a file with a template, or a JSON file with one under `chat_template`."""
        if given in BUILT_IN:
            return cls(BUILT_IN[given], given)
        if not isinstance(given, str) or not Path(given).is_file():
            raise OptionError(
                f"chat template: {quote(given)} is neither a file nor a known name; known: {', '.join(BUILT_IN)}",
                name="chat_template", given=given, known=tuple(BUILT_IN),
            )
        text = read_text(given)
        if given.endswith(".json"):
            try:
                held = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise OptionError(f"chat template: {quote(given)}: broken JSON", name="chat_template") from error
            own = held.get("chat_template") if isinstance(held, Mapping) else None
            if not isinstance(own, str):
                raise OptionError(f"chat template: {quote(given)}: no text under chat_template", name="chat_template")
            text = own
        return cls(text, given)

    def text(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the messages as the text that the model's answer follows; TemplateRenderError where that fails."""
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def refuse(told: str) -> None:
            raise TemplateError(told)

        try:
            if not self._compiled:
                made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
                made.globals["raise_exception"] = refuse
                self._compiled.append(made.from_string(self.source))
            shown: str = self._compiled[0].render(
                messages=[dict(one) for one in messages], add_generation_prompt=True, bos_token="", eos_token="",
            )
        except Exception as error:  # a template may raise anything, TypeErrors of its own expressions included
            raise TemplateRenderError(
                f"chat template {quote(self.name)}: {type(error).__name__}: {quote(str(error))}", template=self.name
            ) from error
        return shown

    def with_answer(self, messages: Sequence[Mapping[str, Any]], answer: str) -> tuple[str, str]:
        """Return the text before the answer, and the answer: with a blank before it unless white space is there.

        >>> ChatForm.of("plain").with_answer([{"role": "user", "content": "Who?"}], "Ada")
        ('Who?\\n\\nAnswer:', ' Ada')
        """
        before = self.text(messages)
        return before, answer if not before or before[-1].isspace() else f" {answer}"


PLAIN = ChatForm()
