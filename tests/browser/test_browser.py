"""The page in a real browser: what one sees, hears and presses."""
import json

import numpy as np
import pytest

import numpy_attention as na

from .conftest import open_browser

OWN = ".current .own td[data-at]"


def find(browser, selector):
    return browser.find_element("css selector", selector)


def texts(browser, selector):
    """Visible texts of all elements that a selector finds."""
    return browser.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector)


def keys(browser, *pressed):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    ActionChains(browser).send_keys(*(getattr(Keys, key, key) for key in pressed)).perform()


def hover(browser, selector):
    from selenium.webdriver.common.action_chains import ActionChains
    ActionChains(browser).move_to_element(find(browser, selector)).perform()


def current(browser):
    return browser.execute_script("return document.querySelector('.current .own').dataset.of")


def lit(browser):
    """{name of an operand: the cells that are lit up in it}."""
    return browser.execute_script("""
        const found = {};
        for (const cell of document.querySelectorAll(".current .operand .lit"))
            (found[cell.closest(".operand").dataset.of] ||= []).push(cell.dataset.at);
        return found""")


@pytest.fixture
def shown(browser, page):
    """The browser with the page freshly loaded."""
    browser.get("about:blank")
    browser.get(page)
    return browser


def test_every_step_shows_the_traces_numbers(shown, trace):
    for number, step in enumerate(trace, 1):
        assert texts(shown, ".step.current h2")[0].split()[:2] == [str(number), step.name]
        cells = np.array([float(text.replace("−", "-")) for text in texts(shown, OWN)]).reshape(step.shape)
        np.testing.assert_allclose(cells, step.value, atol=5.1e-4)
        visible = [e for e in shown.find_elements("css selector", ".step") if e.is_displayed()]
        assert len(visible) == 1
        keys(shown, "n")
    assert current(shown) == "dK"                       # the last step stays


def test_the_slider_moves(shown):
    slider = find(shown, "#slider")
    shown.execute_script("arguments[0].focus()", slider)
    keys(shown, "ARROW_RIGHT", "ARROW_RIGHT", "ARROW_RIGHT")
    assert current(shown) == "product" and slider.get_attribute("aria-valuetext") == "4 / 14 · product"
    keys(shown, "END")
    assert current(shown) == "dK"
    shown.execute_script("arguments[0].value = 6; arguments[0].dispatchEvent(new Event('input'))", slider)
    assert current(shown) == "weights" and find(shown, "#place").text == "6 / 14 · weights"


def test_arrow_keys_and_buttons(shown):
    keys(shown, "ARROW_RIGHT", "ARROW_RIGHT")
    assert current(shown) == "V"
    keys(shown, "ARROW_LEFT")
    assert current(shown) == "K"
    find(shown, "#next").click()
    find(shown, "#next").click()
    assert current(shown) == "product"
    find(shown, ".strip [data-go='11']").click()
    assert current(shown) == "dscores" and find(shown, ".strip [aria-current]").get_attribute("data-go") == "11"
    link = find(shown, ".current .from a")
    shown.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    link.click()
    assert current(shown) == "weights"


def test_a_hovered_cell_lights_up_what_it_was_made_from(shown):
    find(shown, ".strip [data-go='4']").click()
    hover(shown, f"{OWN}[data-at='0,2']")
    assert lit(shown) == {"Q": ["0,0", "0,1", "0,2", "0,3"], "K": ["2,0", "2,1", "2,2", "2,3"]}
    assert find(shown, "#why").text == "product[我, AI] = 1·2 + 0·2 + 1·2 + 0·2 = 4"
    hover(shown, "h1")
    assert lit(shown) == {}
    find(shown, ".strip [data-go='9']").click()
    hover(shown, f"{OWN}[data-at='1,3']")
    assert lit(shown) == {"weights": ["0,1", "1,1", "2,1"], "dheads": ["0,3", "1,3", "2,3"]}


def test_by_keyboard_alone(shown):
    keys(shown, "n", "n", "n")
    for _ in range(40):                                 # Tab reaches the matrix
        keys(shown, "TAB")
        if shown.execute_script("return document.activeElement.matches(arguments[0])", OWN):
            break
    keys(shown, "ARROW_DOWN", "ARROW_RIGHT")
    assert shown.switch_to.active_element.get_attribute("data-at") == "1,1"
    assert lit(shown) == {"Q": ["1,0", "1,1", "1,2", "1,3"], "K": ["1,0", "1,1", "1,2", "1,3"]}
    assert current(shown) == "product"                  # arrows in the matrix do not turn the page
    keys(shown, "ESCAPE", "ARROW_RIGHT")
    assert current(shown) == "scores"


def test_the_language_switches(shown):
    def languages():
        return [find(shown, f".current .note.{lang}").is_displayed() for lang in ("zh", "en")]
    assert languages() == [True, True]
    find(shown, "button[data-lang='en']").click()
    assert languages() == [False, True] and find(shown, "html").get_attribute("lang") == "en"
    find(shown, "button[data-lang='zh']").click()
    assert languages() == [True, False] and find(shown, "html").get_attribute("lang") == "zh"
    assert find(shown, "button[data-lang='zh']").get_attribute("aria-pressed") == "true"
    keys(shown, "l")
    assert languages() == [False, True]


def test_controls_are_labelled(shown):
    for element in shown.find_elements("css selector", "button, input, nav, section.current, table"):
        if element.is_displayed():
            assert element.accessible_name.strip(), element.get_attribute("outerHTML")[:200]
    assert find(shown, "#why").get_attribute("aria-live") == "polite"


def test_the_embedded_font_is_used(shown):
    assert shown.execute_async_script("""
        const done = arguments[0];
        document.fonts.load('16px "Page Han"', '我').then(fonts => done(fonts.map(f => f.status)), e => done(String(e)))
        """) == ["loaded"]


@pytest.mark.parametrize(("width", "height"), [(360, 740), (800, 600), (1280, 900), (1920, 1080)])
def test_nothing_is_wider_than_the_window(shown, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    shown.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        for _ in range(14):
            over = shown.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
            assert over <= 0, current(shown)
            keys(shown, "n")
    finally:
        shown.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read(shown, scheme):
    dark_or_light = {"name": "prefers-color-scheme", "value": scheme}
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [dark_or_light]})
    keys(shown, "n", "n", "n", "n", "n")
    ratios = shown.execute_script("""
        const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
            if (c !== "rgba(0, 0, 0, 0)") return c; } };
        return [...document.querySelectorAll(
            "h1, h2, h2 *, .current p, .current code, .current td[data-at], .current th, caption *, .strip span, " +
            "button, output, #why, footer")].filter(e => e.innerText && e.offsetWidth).map(e => {
            const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
            return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 120)]; })""")
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(ratios) > 40
    assert [(ratio, html) for ratio, html in ratios if ratio < 4.5] == []


def test_no_request_leaves_and_nothing_complains(shown, page):
    keys(shown, *"nnnnnnnnnnnnn")
    requested = {json.loads(entry["message"])["message"]["params"]["request"]["url"]
                 for entry in shown.get_log("performance") if "Network.requestWillBeSent\"" in entry["message"]}
    assert {url for url in requested if not url.startswith(("data:", "about:", "chrome"))} <= {page}
    assert shown.get_log("browser") == []


def test_hostile_tokens_are_shown_and_do_not_run(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("numpy_attention.walkthrough.live.MOST_NUMBERS", 0)
    evil = ("</script><script>window.hacked=1</script>", '"><img src=x onerror=window.hacked=1>', "<!--<script>")
    layer = na.MultiHeadAttention(4, 2, rng=0)
    layer.backward(layer(np.random.default_rng(0).standard_normal((3, 4))))
    trace = na.trace(layer, tokens=evil, title="<img src=x onerror=window.hacked=1>")
    browser.get(trace.save_html(tmp_path / "evil.html").as_uri())
    browser.get_log("browser")
    for number in (1, 5, 8, 12, 17):
        find(browser, "html").send_keys("n")
        browser.execute_script("location.hash = `#step-${arguments[0]}`", number)
        hover(browser, OWN)
    assert browser.execute_script("return window.hacked") is None
    assert find(browser, "h1").text.endswith(trace.title)
    titles = [e.get_attribute("title") for e in browser.find_elements("css selector", "bdi[title]")]
    assert set(evil[:2]) <= set(titles)
    assert browser.get_log("browser") == []


def test_the_notebooks_frame_steps_too(browser, trace, tmp_path):
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><meta charset=utf-8>{na.Stepper(trace)._repr_html_()}", encoding="utf-8")
    browser.get(notebook.as_uri())
    browser.switch_to.frame(0)
    find(browser, "#next").click()
    assert find(browser, "#place").text == "2 / 14 · K"
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []


def test_scripts_off_stacks_all_steps(trace, page, tmp_path):
    driver = open_browser(tmp_path / "profile", scripts=False)
    try:
        driver.get(page)
        sections = driver.find_elements("css selector", ".step")
        assert len(sections) == len(trace) and all(section.is_displayed() for section in sections)
        assert not find(driver, "#slider").is_displayed()
        tops = [section.rect["y"] for section in sections]
        assert tops == sorted(tops)
        for section, step in zip(sections, trace, strict=True):
            assert step.note_zh in section.text and step.note_en in section.text
            assert len(section.find_elements("css selector", "td[data-at]")) == step.value.size
    finally:
        driver.quit()


def test_printed_every_step_is_there(shown):
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert all(section.is_displayed() for section in shown.find_elements("css selector", ".step"))
        assert not find(shown, "#slider").is_displayed()
    finally:
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
