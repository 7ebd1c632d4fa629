"""The page in a real browser: what it asks for, what runs, the keyboard, what a screen reader gets, narrow and dark."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from driven import Browser

from promptpack import Payload, PromptBuilder, Source, Window

ANSWER = "You have 45 days [S1]. Money is back in 6 days [S2, S77]. Bulbs are free. So it is [S02]."
PWNED = (
    "<script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 2'>", "<svg onload=window.pwned=3>",
    "<iframe src='https://evil.example/'></iframe>", "</title></style></script><script>window.pwned = 4</script>",
    "<link rel=stylesheet href='https://evil.example/x.css'>", "<meta http-equiv=refresh content='0;url=https://e.example'>",
)


def payload(count: int = 6, *more: Source) -> Payload:
    sources = [
        Source(
            f"doc-{n}#1", f"Fact number {n}. " + "Lamps can be sent back within 45 days. " * (n % 5 + 1), 1 - n / 100,
            metadata={"title": f"Returns, part {n}"},
        )
        for n in range(count)
    ]
    builder = PromptBuilder(Window(2_000, answer=400, margin=20)).with_system("You are the desk.")
    builder = builder.add_history([("user", "Hello"), ("assistant", "Good day.")])
    return builder.add_sources([*sources, *more, Source("empty", " ")]).with_question("How long do I have?").render()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(payload().to_html(answer=ANSWER), encoding="utf-8")
    return path.as_uri()


def told(browser: Browser, *methods: str) -> list[dict[str, Any]]:
    return [one["params"] for one in browser.events if one.get("method") in methods]


def requests(browser: Browser) -> list[str]:
    return [one["request"]["url"] for one in told(browser, "Network.requestWillBeSent")]


def test_the_page_loads_itself_and_nothing_else_without_complaints(browser: Browser, address: str) -> None:
    """If it fails, the policy blocks the page's own style or script, or the page asks for something from elsewhere."""
    browser.open(address)
    assert requests(browser) == [address]
    assert told(browser, "Log.entryAdded", "Runtime.exceptionThrown") == []
    assert browser.run("document.querySelector('button').hidden") is False  # the script ran, and the style holds
    assert browser.run("getComputedStyle(document.querySelector('details')).borderTopStyle") == "solid"


def test_hostile_texts_run_nothing_and_load_nothing(browser: Browser, tmp_path: Path) -> None:
    """If it fails, looking at a payload runs code that a document brought."""
    sources = [Source(f"id {text}", f"Text {text}", metadata={"title": text, "section": text}) for text in PWNED]
    builder = PromptBuilder(20_000, escape="off").with_question("".join(PWNED)).with_system("".join(PWNED))
    made = builder.add_sources(sources).render()
    path = tmp_path / "hostile.html"
    path.write_text(made.to_html(answer="".join(PWNED) + "[S1]"), encoding="utf-8")
    browser.open(path.as_uri())
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.run("window.pwned === undefined && document.scripts.length === 1")
    assert browser.run("document.querySelectorAll('img, iframe, link, object, base').length") == 0
    assert requests(browser) == [path.as_uri()]
    compact = tmp_path / "compact.html"
    compact.write_text("<!doctype html><meta charset=utf-8>" + made._repr_html_(), encoding="utf-8")
    browser.open(compact.as_uri())
    assert browser.run("window.pwned === undefined && document.scripts.length === 0")
    assert requests(browser) == [compact.as_uri()]


def test_the_policy_stops_what_would_get_through(browser: Browser, tmp_path: Path) -> None:
    """If it fails, the second line of defence is not there: markup that is put into the page would run."""
    markup = "<script>window.pwned = 1</script><img src='https://evil.example/a.png' onerror='window.pwned = 2'>"
    text = payload().to_html().replace("</main>", f"{markup}</main>")
    path = tmp_path / "broken.html"
    path.write_text(text, encoding="utf-8")
    browser.open(path.as_uri())
    assert browser.run("window.pwned === undefined")
    assert len(told(browser, "Log.entryAdded")) >= 2
    assert not [one for one in told(browser, "Network.responseReceived") if "evil" in one["response"]["url"]]


def test_the_bar_is_in_proportion(browser: Browser, address: str) -> None:
    """If it fails, the drawing says something other than the numbers."""
    browser.open(address)
    widths = browser.run(
        "[...document.querySelectorAll('.bar > svg')]"
        ".map((one) => [one.classList[1], one.getBoundingClientRect().width])"
    )
    whole = browser.run("document.querySelector('.bar').clientWidth")
    budget = payload().budget
    shares = {"answer": 400, "margin": 20, "free": budget.left, "sources": budget.used - budget.fixed}
    found = dict(widths)
    for name, tokens in shares.items():
        assert abs(found[f"part-{name}"] / whole - tokens / 2_000) < 0.005, name


def test_by_keyboard(browser: Browser, address: str) -> None:
    """If it fails, who uses no mouse cannot open a text, see what a point is, or skip the head of the page."""
    browser.open(address)
    seen = []
    for _ in range(60):
        browser.press("Tab", 9)
        seen.append(browser.run("""(() => { const one = document.activeElement;
            const line = document.getElementById('told').textContent;
            return [one.tagName.toLowerCase(), one.getAttribute('href') || '', line];
        })()"""))
        if seen[-1][0] == "summary":
            break
    assert seen[0][:2] == ["a", "#main"]
    links = [href for _, href, _ in seen]
    assert links.index("#window") < links.index("#answer") < links.index("#source-1")
    point = next(one for one in reversed(seen) if one[1] == "#source-6")
    assert point[2].startswith("S6: rank")  # the focus is on its point, and the line below tells what it is
    assert "title: Returns" in point[2]
    assert [one[0] for one in seen[-2:]] == ["button", "summary"]
    assert browser.run("document.activeElement.parentElement.open") is False
    browser.press("Enter", 13, "\r")
    assert browser.run("document.activeElement.parentElement.open") is True


def test_a_citation_leads_to_its_source_and_back(browser: Browser, address: str) -> None:
    """If it fails, a link of the answer leads to a closed line, and there is no way back."""
    browser.open(address)
    browser.run("document.querySelector('a.cite').focus()")
    browser.press("Enter", 13, "\r")
    browser.run("new Promise((done) => setTimeout(done, 50))")
    assert browser.run("document.getElementById('source-1').open")
    assert browser.run("document.activeElement.closest('details').id") == "source-1"
    assert browser.run("document.getElementById('source-1').querySelector('a').getAttribute('href')") == "#cite-1"
    browser.run("document.getElementById('source-1').open = false")
    browser.run("document.querySelector('a.cite').click()")  # the address is the same as before
    assert browser.run("document.getElementById('source-1').open")


def test_the_button_opens_all_texts(browser: Browser, address: str) -> None:
    """If it fails, the button says what it does not do."""
    browser.open(address)
    count = "document.querySelectorAll('#passages > li > details[open]').length"
    assert browser.run(count) == 0
    browser.run("document.querySelector('button').click()")
    assert browser.run(count) == 6
    browser.run("document.querySelector('button').click()")
    assert browser.run(count) == 0


def test_hovering_tells_what_a_point_is(browser: Browser, address: str) -> None:
    """If it fails, the drawing is mute."""
    browser.open(address)
    browser.run("document.querySelector('.chart').scrollIntoView()")
    x, y = browser.run("""(() => { const one = document.querySelector('.chart circle').getBoundingClientRect();
        return [one.x + one.width / 2, one.y + one.height / 2]; })()""")
    browser.point(x, y)
    line = browser.run("document.getElementById('told').textContent")
    assert line.startswith("S1: rank 1, place 1 of 6 (start)")
    assert "doc-0#1" in line
    browser.point(2, 2)
    assert browser.run("document.getElementById('told').textContent").startswith("Point at a source")


def test_what_a_screen_reader_gets(browser: Browser, address: str) -> None:
    """If it fails, a part of the page has no name or no landmark."""
    browser.open(address)
    spoken = browser.spoken()
    roles = [role for role, _ in spoken]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(landmark) == 1, landmark
    assert {name for role, name in spoken if role == "region"} == {
        "The window", "The answer", "The sources in place", "6 sources, in prompt order", "Not sent",
        "Messages, as they are sent",
    }
    assert {name for role, name in spoken if role in ("image", "img")} >= {
        "The parts of the window in proportion; the table below has the numbers"
    }
    links = [name for role, name in spoken if role == "link"]
    assert all(links)
    assert any(name.startswith("S3: rank") for name in links)
    for role in ("button", "DisclosureTriangle"):
        assert all(name for found, name in spoken if found == role), role
    headings = browser.run("[...document.querySelectorAll('h1,h2,h3')].map((one) => +one.tagName[1])")
    assert headings[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))
    assert browser.run("document.documentElement.lang") == "en"


@pytest.mark.parametrize("width", [320, 700, 1400])
def test_nothing_runs_out_of_the_page(browser: Browser, tmp_path: Path, width: int) -> None:
    """If it fails, a narrow window scrolls to the side (WCAG 2.2, 1.4.10), or long ids push the page apart."""
    long = Source("x" * 400, "y" * 3_000 + " and more", 0.99, metadata={"title": "z" * 300})
    path = tmp_path / "wide.html"
    path.write_text(payload(30, long).to_html(answer=ANSWER + "w" * 500), encoding="utf-8")
    browser.open(path.as_uri(), width=width)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_the_names_of_the_points_do_not_run_into_one_another(browser: Browser, tmp_path: Path) -> None:
    """If it fails, the drawing cannot be read where there are many sources."""
    path = tmp_path / "many.html"
    path.write_text(payload(30).to_html(), encoding="utf-8")
    for width in (320, 1100):
        browser.open(path.as_uri(), width=width)
        boxes = browser.run("""[...document.querySelectorAll('.chart a text')].map((one) => one.getBoundingClientRect())
            .filter((one) => one.width).map((one) => [one.left, one.right]).sort((a, b) => a[0] - b[0])""")
        assert len(boxes) >= 5
        assert all(right <= left for (_, right), (left, _) in pairwise(boxes)), width


def test_what_a_source_was_shortened_by_is_dimmed_and_told(browser: Browser, tmp_path: Path) -> None:
    """If it fails, nobody sees which sentences of a source were sent, or only who tells colours apart does."""
    long = "Our shop was founded in 1987 by two sisters. You can return any lamp within 45 days of delivery. " * 2
    builder = PromptBuilder(Window(165, answer=50)).with_packing(select="spans")
    made = builder.add_sources([Source("a", long)]).with_question("How long can I return a lamp?").render()
    assert made.sources[0].ranges
    path = tmp_path / "spans.html"
    path.write_text(made.to_html(), encoding="utf-8")
    for dark in (False, True):
        browser.open(path.as_uri(), dark=dark)
        looks = browser.run("""[...document.querySelectorAll('#source-1 mark.kept, #source-1 del')].map((one) => {
            const style = getComputedStyle(one); return [one.tagName, style.color, style.backgroundColor]; })""")
        kept, gone = (next(look[1:] for look in looks if look[0] == tag) for tag in ("MARK", "DEL"))
        assert kept[0] != gone[0]
        assert kept[1] != gone[1] == "rgba(0, 0, 0, 0)"
    roles = [role for role, _ in browser.spoken()]
    assert "deletion" in roles
    assert "mark" in roles


def test_the_names_of_the_parts_have_room(browser: Browser, tmp_path: Path) -> None:
    """If it fails, the name of a part of the window is cut off."""
    for width in (760, 1100):
        for answer in (150, 300, 600):
            made = PromptBuilder(Window(900, answer=answer)).add_sources(["Lamps. " * 90]).with_question("Why? " * 9)
            path = tmp_path / "bar.html"
            path.write_text(made.render().to_html(), encoding="utf-8")
            browser.open(path.as_uri(), width=width)
            boxes = browser.run("""[...document.querySelectorAll('.bar > svg:has(text)')].map((one) =>
                [one, one.querySelector('text')].map((part) => part.getBoundingClientRect().right))""")
            assert boxes
            assert all(text <= part for part, text in boxes), width


def test_dark_and_light_follow_the_system(browser: Browser, address: str) -> None:
    """If it fails, the page is white at night, or a text keeps the colour of the other theme."""
    grounds = {}
    for dark in (False, True):
        browser.open(address, dark=dark)
        grounds[dark] = browser.run("getComputedStyle(document.body).backgroundColor")
    assert grounds == {False: "rgb(255, 255, 255)", True: "rgb(14, 18, 24)"}


def test_pictures_of_the_page_can_be_looked_at(browser: Browser, address: str, tmp_path: Path) -> None:
    """Light, dark and narrow, into the folder that PROMPTPACK_PICTURES names: if it fails, nobody can look at them."""
    folder = Path(os.environ.get("PROMPTPACK_PICTURES", tmp_path))
    looks: dict[str, dict[str, Any]] = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 380}}
    drawn = set()
    for name, options in looks.items():
        browser.open(address, **options)
        browser.picture(folder / f"{name}.png")
        drawn.add((folder / f"{name}.png").read_bytes())
    assert len(drawn) == len(looks)
    assert all(one.startswith(b"\x89PNG") and len(one) > 10_000 for one in drawn)


def test_without_its_script_the_page_still_tells_all(browser: Browser, address: str) -> None:
    """If it fails, a viewer that runs no script shows an empty page."""
    browser.open(address, script=False)
    try:
        spoken = browser.spoken()
        assert not any(name == "Open all" for role, name in spoken if role == "button")
        assert any(name.startswith("S1: rank 1") for role, name in spoken if role == "link")
        assert sum(role == "DisclosureTriangle" for role, _ in spoken) >= 6
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
