"""The endpoint of a measurement: tries, waits, errors, and what is read out of answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_endpoint import Model, serving

from promptpack.calibration.endpoint import Endpoint
from promptpack.calibration.errors import EndpointError
from promptpack.calibration.forms import ChatForm
from promptpack.calibration.measures import ExactMatch, LogLikelihood
from promptpack.calibration.spelling import answer_tokens
from promptpack.errors import OptionError, TemplateRenderError
from promptpack.refused import asked_wait, said

pytest.importorskip("httpx")
MESSAGES = [{"role": "user", "content": "Who?"}]
FLAT = Model(lambda place, count: -1.0)


def asked(answers: list[tuple[int, dict[str, str], str]], retries: int = 3) -> tuple[Any, list[float], int]:
    """Post once to an endpoint that gives these answers in turn; return the answer, the waits and the requests."""
    waits: list[float] = []
    model = Model(lambda place, count: -1.0, broken=lambda number, body: answers[min(number, len(answers)) - 1])
    with serving(model) as url, Endpoint(url, "m", "secret", 10, retries, waits.append).connected() as post:
        found = post("completions", {"a": 1})
    return found, waits, len(model.asked)


def test_it_waits_as_long_as_it_is_asked_to() -> None:
    """If this fails, a service that limits requests is asked again too soon, and refuses for good."""
    found, waits, requests = asked([(429, {"Retry-After": "7"}, "{}"), (503, {}, "{}"), (200, {}, "[1]")])
    assert (found, waits, requests) == ([1], [7.0, 1.0], 3)


def test_no_wait_is_longer_than_a_minute() -> None:
    assert asked([(429, {"Retry-After": "86400"}, "{}"), (200, {}, "1")])[1] == [60.0]


@pytest.mark.parametrize("status", [307, 400, 401, 403, 404, 422, 501])
def test_what_stays_wrong_is_not_tried_again(status: int) -> None:
    with pytest.raises(EndpointError, match=f"answered {status}: 'no such model'") as error:
        asked([(status, {}, '{"error": {"message": "no such model"}}')])
    assert (error.value.status, error.value.retryable) == (status, False)


def test_after_the_last_try_the_error_says_how_many_there_were() -> None:
    with pytest.raises(EndpointError, match=r"answered 500: 'oops' \(3 tries\)"):
        asked([(500, {}, "oops")], retries=2)


def test_an_answer_that_is_no_json_is_quoted_in_part() -> None:
    with pytest.raises(EndpointError, match="expected JSON, got '<html>x") as error:
        asked([(200, {}, "<html>" + "x" * 5000)])
    assert len(str(error.value)) < 250


def test_nobody_there_is_an_error_of_the_library() -> None:
    with (
        pytest.raises(EndpointError, match=r"no answer: ConnectError.*2 tries"),
        Endpoint("http://127.0.0.1:9/v1", "m", retries=1, wait=lambda seconds: None).connected() as post,
    ):
        post("completions", {})


def test_the_key_is_sent_and_never_shown() -> None:
    model = Model(lambda place, count: -1.0, broken=lambda number, body: (401, {}, "no"))
    with serving(model) as url:
        endpoint = Endpoint(url, "m", "sk-secret")
        with pytest.raises(EndpointError) as error, endpoint.connected() as post:
            post("completions", {})
    assert model.headers[0]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(endpoint) + str(error.value)


@pytest.mark.parametrize(("changes", "told"), [
    ({"base_url": "localhost:8000"}, "base_url: expected an address"), ({"model": " "}, "model: expected a name"),
    ({"api_key": "a\nb"}, "api_key: expected"), ({"timeout": 0}, "timeout: expected"),
    ({"timeout": float("nan")}, "timeout: expected"), ({"retries": -1}, "retries: expected"),
])
def test_values_that_cannot_be(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        Endpoint(**{"base_url": "http://localhost/v1", "model": "m", **changes})


@pytest.mark.parametrize(("headers", "seconds"), [
    ({"retry-after": "3"}, 3.0), ({"retry-after": "0.5"}, 0.5), ({"retry-after": "soon"}, None), ({}, None),
    ({"retry-after": "-3"}, None), ({"retry-after": "²"}, None),
    ({"retry-after": "Mon, 02 Mar 2026 10:00:30 GMT", "date": "Mon, 02 Mar 2026 10:00:00 GMT"}, 30.0),
    ({"retry-after": "Mon, 02 Mar 2026 10:00:30 GMT"}, None),
])
def test_what_retry_after_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers) == seconds


@pytest.mark.parametrize(("body", "told"), [
    ('{"error": {"message": "a"}}', "a"), ('{"error": "b"}', "b"), ('{"detail": "c"}', "c"), ("plain", "plain"),
    ('{"error": {"message": {"x": 1}}}', '{"error":{"message":{"x":1}}}'), ("[" * 5000, "[" * 5000),
])
def test_what_the_body_of_an_error_says(body: str, told: str) -> None:
    assert said(body) == told


@pytest.mark.parametrize(("tokens", "answer", "made", "span"), [
    (["Who", "?", " A", "da", "."], " Ada", 1, (2, 4)),
    (["Who", "?", " A", "da"], " Ada", 0, (2, 4)),
    (["Who", "?", " A", "da", "."], " Ada", None, (2, 4)),
    (["Who", "?", " A", "da"], " Ada", None, (2, 4)),          # nothing was made, and nobody says so
    (["Who?\n", "A", "da", ""], "Ada", 1, (1, 3)),
    (["Who", "? A", "da", "."], " Ada", 1, (1, 3)),            # a token over the border counts
    (["Who", "?", " B", "ob", "."], " Ada", 1, None),
    (["da"], " Ada", 0, None),
    ([None, " Ada"], " Ada", 0, None),
    (["x", " \ufffd", "\ufffd", "京", "."], " 東京", 1, (1, 4)),
    (["x:\n", "\ufffd", "\ufffd", "\ufffd", "京", "."], "東京", 1, (1, 5)),
    (["x:", "bytes: \\xe6", "bytes:\\x9d\\xb1", "京"], " 東京", 0, (1, 4)),
    (["a", " caf", "\ufffd", "\ufffd", "!"], " café!", 0, (1, 5)),
    (["a", " cof", "\ufffd", "\ufffd", "!"], " café!", 0, None),
])
def test_which_tokens_are_the_answer(
    tokens: list[Any], answer: str, made: int | None, span: tuple[int, int] | None
) -> None:
    """If this fails, the log-likelihood of something else is measured."""
    assert answer_tokens(tokens, answer, made) == span


def logprobs(choice: Any) -> Any:
    """Measure a log-likelihood with an endpoint that answers with this choice."""
    measure = LogLikelihood(Endpoint("http://h/v1", "m"), ChatForm.of("plain"))
    return measure(lambda path, body: {"choices": [choice]}, MESSAGES, ["Ada"])


def test_the_log_likelihood_is_the_mean_over_the_answers_tokens() -> None:
    shown = {"tokens": ["Who?", "\n\nAnswer:", " A", "da", "."], "token_logprobs": [None, -9, -1.0, -3.0, -7]}
    assert logprobs({"logprobs": shown}).value == -2.0


@pytest.mark.parametrize("given", [None, {}, {"tokens": []}, {"tokens": ["a"], "token_logprobs": []}, {"content": []}])
def test_answers_without_log_probabilities_are_unsupported(given: Any) -> None:
    """If this fails, a measurement breaks off where it should count exact matches."""
    with pytest.raises(EndpointError, match="no log-probabilities of the prompt") as error:
        logprobs({"logprobs": given})
    assert error.value.unsupported


@pytest.mark.parametrize("value", [None, "x", float("nan"), float("-inf"), True])
def test_a_log_probability_that_is_no_number_is_an_error(value: Any) -> None:
    with pytest.raises(EndpointError, match="no finite number") as error:
        logprobs({"logprobs": {"tokens": ["Answer:", " Ada", "."], "token_logprobs": [None, value, -1]}})
    assert not error.value.unsupported


@pytest.mark.parametrize(("reply", "told"), [
    ([], "no choices"), ({"choices": {}}, "no choices"), ({"choices": [None]}, "no choices"), (None, "no choices"),
    ({"choices": [{"message": {"content": 7}}]}, "expected a text as choices"),
    ({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}, "8 tokens were not enough"),
])
def test_chat_answers_that_cannot_be_used(reply: Any, told: str) -> None:
    with pytest.raises(EndpointError, match=told):
        ExactMatch(Endpoint("http://h/v1", "m"), 8)(lambda path, body: reply, MESSAGES, ["Ada"])


def test_parameters_that_a_model_refuses_are_changed_and_told() -> None:
    """If this fails, models that only take max_completion_tokens cannot be measured."""
    bodies: list[Any] = []

    def post(path: str, body: Any) -> Any:
        bodies.append(body)
        for name in ("max_tokens", "temperature"):
            if name in body:
                raise EndpointError(name, status=400, body=f"Unsupported parameter: '{name}'")
        return {"choices": [{"message": {"content": "Ada."}}]}

    measure = ExactMatch(Endpoint("http://h/v1", "m"), 8)
    assert measure(post, MESSAGES, ["Ada"]).value == 1.0
    assert bodies[-1] == {"model": "m", "messages": MESSAGES, "max_completion_tokens": 8}
    assert sorted(measure.changed) == ["max_tokens", "temperature"]
    assert measure(post, MESSAGES, ["Bob"]).value == 0.0
    assert len(bodies) == 4


def test_other_refusals_of_a_chat_are_errors() -> None:
    def post(path: str, body: Any) -> Any:
        raise EndpointError("no", status=400, body="bad image")

    with pytest.raises(EndpointError, match="no"):
        ExactMatch(Endpoint("http://h/v1", "m"))(post, MESSAGES, ["Ada"])


def test_a_chat_template_of_a_model_writes_the_text(tmp_path: Any) -> None:
    """If this fails, the measured text is not what the model reads in a chat."""
    template = "{{ bos_token }}{%- for m in messages %}[{{ m['role'] }}]{{ m['content'] }}\n{% endfor -%}"
    template += "{% if add_generation_prompt %}[assistant]\n{% endif %}"
    (tmp_path / "t.jinja").write_text(template)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    for name in ("t.jinja", "tokenizer_config.json"):
        form = ChatForm.of(str(tmp_path / name))
        assert form.with_answer(MESSAGES, "Ada") == ("[user]Who?\n[assistant]\n", "Ada")


@pytest.mark.parametrize(("text", "told"), [
    ("{% for %}", "TemplateSyntaxError"), ("{{ raise_exception('no system') }}", "no system"),
    ("{{ messages[7]['role'] }}", "UndefinedError"), ("{{ ''.__class__.__mro__ }}", "SecurityError"),
])
def test_a_chat_template_that_fails_is_named(text: str, told: str) -> None:
    with pytest.raises(TemplateRenderError, match=told):
        ChatForm(text).text(MESSAGES)


def test_a_chat_template_that_is_nowhere(tmp_path: Any) -> None:
    with pytest.raises(OptionError, match="neither a file nor a known name; known: plain, chatml"):
        ChatForm.of("chatlm")
    for held, told in (("{", "broken JSON"), ("[]", "no text under"), ('{"chat_template": [1]}', "no text under")):
        (tmp_path / "t.json").write_text(held)
        with pytest.raises(OptionError, match=told):
            ChatForm.of(str(tmp_path / "t.json"))
