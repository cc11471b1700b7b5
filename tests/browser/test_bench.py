"""The bench in a real browser: change a number, and everything follows; by mouse, keyboard, touch and address."""
import json

import numpy as np
import pytest

import numpy_attention as na

from .conftest import open_browser
from .equality import KINDS, compare
from .test_browser import find, keys, texts


def cell(browser, name, at):
    return find(browser, f".cell[data-of='{name}'][data-at='{at}']")


def tensor(browser, name):
    return browser.execute_script("return [...bench.run.tensors[arguments[0]].data]", name)


def put(browser, control, value, event):
    browser.execute_script("""const control = document.getElementById(arguments[0]);
        control.value = arguments[1];
        control.dispatchEvent(new Event(arguments[2]))""", control, value, event)


def heads(Q, K, V):
    attention = na.ScaledDotProductAttention()
    return attention(Q, K, V)


@pytest.fixture
def shown(browser, bench):
    browser.get("about:blank")
    browser.get(bench)
    return browser


@pytest.mark.parametrize("name", KINDS[::6])
def test_edits_give_pythons_numbers_and_sentences(browser, name, tmp_path):
    # The small form of tests/browser/equality.py, which goes through all kinds with 200 edits.
    worst, sentences = compare(browser, name, 2, tmp_path, np.random.default_rng(1))
    assert worst < 1e-12 and sentences != 0


def test_all_of_it_on_one_screen(shown):
    metrics = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    shown.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        shown.execute_script("bench.choose('weights', 1)")
        size = "return [document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
        assert shown.execute_script(size) == [800, 1280]
        over = shown.execute_script("return [...document.querySelectorAll('.cell span')]"
                                    ".filter(text => text.scrollWidth > text.clientWidth + 1).length")
        assert over == 0
    finally:
        shown.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_typing_in_a_cell_changes_everything_after_it(shown, trace):
    cell(shown, "Q", 2).click()
    keys(shown, "-", "1", ".", "5", "ENTER")
    Q = np.array(trace["Q"].value)
    Q[0, 2] = -1.5
    wanted = heads(Q, trace["K"].value, trace["V"].value)
    np.testing.assert_allclose(tensor(shown, "heads"), wanted.ravel(), atol=1e-14)
    assert cell(shown, "Q", 2).text == "−1.50" and "new" in cell(shown, "heads", 0).get_attribute("class")
    assert "weights changed; the largest: weights[我, " in find(shown, "#status").text
    assert shown.switch_to.active_element.get_attribute("data-of") == "Q"
    find(shown, "#undo").click()
    assert tensor(shown, "Q")[2] == 1
    find(shown, "#redo").click()
    find(shown, "#reset").click()
    np.testing.assert_array_equal(tensor(shown, "heads"), trace["heads"].value.ravel())


def test_wheel_drag_and_shift_arrows(shown):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.keys import Keys
    one = cell(shown, "V", 0)
    ActionChains(shown).scroll_from_origin(ScrollOrigin.from_element(one), 0, -100).perform()
    assert tensor(shown, "V")[0] == 2
    ActionChains(shown).move_to_element(one).click_and_hold().move_by_offset(0, -24).release().perform()
    assert tensor(shown, "V")[0] == 5
    one.click()
    ActionChains(shown).key_down(Keys.SHIFT).send_keys(Keys.ARROW_DOWN).key_up(Keys.SHIFT).perform()
    assert tensor(shown, "V")[0] == 4
    find(shown, "#more").click()
    assert tensor(shown, "V")[0] == 5


def test_a_click_on_a_weight_hides_it_and_a_row_may_die(shown):
    for at in (3, 4, 5):
        cell(shown, "weights", at).click()
    assert tensor(shown, "weights")[3:6] == [0, 0, 0] and tensor(shown, "dQ")[4:8] == [0, 0, 0, 0]
    assert texts(shown, ".cell[data-of='weights']")[3:6] == ["–"] * 3
    keys(shown, " ")                                    # the same key by keyboard
    assert tensor(shown, "weights")[5] == 1
    find(shown, "#causal").click()
    assert [x > 0 for x in tensor(shown, "weights")] == [True, False, False, True, True, False, True, True, True]
    find(shown, "#unmask").click()
    assert min(tensor(shown, "weights")) > 0


def test_measured_and_backward_stand_digit_under_digit(shown):
    shown.execute_script("bench.set('K', 5, 3); bench.choose('dQ', 2)")
    find(shown, "#measure").click()
    lines = find(shown, "#measured").text.split("\n")
    assert len(lines) == 2 and lines[0].startswith("measured slope") and lines[1].startswith("dQ")
    measured, backward = (float(line.split()[-1].replace("−", "-")) for line in lines)
    assert measured == pytest.approx(backward, abs=1e-8) and backward == pytest.approx(tensor(shown, "dQ")[2], abs=1e-9)
    shown.execute_script("bench.choose('weights', 4)")  # a tensor in between is nudged where it stands
    find(shown, "#measure").click()
    values = [float(line.split()[-1].replace("−", "-")) for line in find(shown, "#measured").text.split("\n")]
    assert values[0] == pytest.approx(values[1], abs=1e-8)


def test_the_divisor_and_the_losses(shown, trace):
    put(shown, "divisor", 4, "input")
    attention = na.ScaledDotProductAttention(scale=0.25)
    attention.backward(attention(*(trace[name].value for name in "QKV")) * 0 + trace["dheads"].value)
    np.testing.assert_allclose(tensor(shown, "dQ"), attention.grads["Q"].ravel(), atol=1e-14)
    assert "entropy" in find(shown, "#entropy").text and "T 2.00" in find(shown, "#divided").text
    put(shown, "loss", "target", "change")
    out = np.array(tensor(shown, "heads"))
    np.testing.assert_allclose(tensor(shown, "dheads"), out - trace["dheads"].value.ravel(), atol=1e-15)
    shown.execute_script("bench.choose('dQ', 1); document.getElementById('measure').click()")
    values = [float(line.split()[-1].replace("−", "-")) for line in find(shown, "#measured").text.split("\n")]
    assert values[0] == pytest.approx(values[1], abs=1e-7)


def test_the_address_holds_everything_and_back_goes_back(shown, bench):
    shown.execute_script("bench.set('Q', 0, 7); bench.choose('dV', 3)")
    cell(shown, "weights", 1).click()
    shown.execute_script("bench.go(3)")
    address, numbers = shown.current_url, tensor(shown, "dK")
    shown.get("about:blank")
    shown.get(address)
    assert tensor(shown, "dK") == numbers and tensor(shown, "Q")[0] == 7 and tensor(shown, "weights")[1] == 0
    assert find(shown, "#place").text == "4 / 14 · product"
    find(shown, "#next").click()
    find(shown, "#next").click()
    assert find(shown, "#place").text.endswith("weights")
    shown.back()
    assert find(shown, "#place").text.endswith("scores") and tensor(shown, "Q")[0] == 7
    shown.forward()
    assert find(shown, "#place").text.endswith("weights")


@pytest.mark.parametrize("address", [
    "#s=<img src=x onerror=window.hacked=1>&c=__proto__~0&e=__proto__~0~1!constructor~1~2!Q~x~1!Q~99~1!Q~0~1e999",
    '#t=[["<script>window.hacked=1</script>","\\"><img src=x onerror=window.hacked=1>"],1,4,0,0]'
    "&l=<b>&v=x&h=99&p=77&m=012",
    "#t=[[[&e=~~~!!&d=-5&o=alert(1)", "#%E0%A4%A", "#step-5"])
def test_hostile_addresses_are_text_or_nothing(browser, bench, address):
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(bench + address)
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.querySelectorAll('#bench img, #bench script').length") == 0
    assert np.isfinite(tensor(browser, "heads")).all() and browser.get_log("browser") == []
    if "script" in address:
        assert "<script>window.hacked" in browser.execute_script("return document.querySelector('th').textContent")


def test_numbers_beyond_all_bounds_are_shown_and_taken_back(shown, trace):
    shown.execute_script("bench.set('Q', 0, 1e308); bench.set('K', 0, 1e308); bench.set('V', 0, -1e308)")
    assert {"NaN", "∞"} & set(texts(shown, ".cell")) and shown.get_log("browser") == []
    assert "bad" in shown.execute_script("return [...document.querySelectorAll('.cell')].map(one => one.className)"
                                         ".join(' ')").split()
    find(shown, "#reset").click()
    np.testing.assert_array_equal(tensor(shown, "heads"), trace["heads"].value.ravel())
    assert not {"NaN", "∞"} & set(texts(shown, ".cell"))


def test_undo_brings_back_the_words_as_well(shown):
    shown.execute_script('''document.getElementById('own').open = true;
        for (const [id, value] of Object.entries({words: "a b c", heads: 1, width: 4, seed: 5}))
            document.getElementById(id).value = value;
        document.getElementById('make').click()''')
    assert texts(shown, "[data-figure=weights] th[scope=row]") == ["a", "b", "c"]
    find(shown, "#undo").click()
    assert texts(shown, "[data-figure=weights] th[scope=row]") == ["我", "爱", "AI"]
    assert cell(shown, "Q", 0).get_attribute("aria-label").startswith("Q[我, 0]")


def test_a_bench_that_is_printed_has_all_steps(shown, trace):
    assert not shown.find_elements("css selector", ".step")         # they are built for paper only
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
        sections = shown.find_elements("css selector", ".step")
        assert len(sections) == len(trace) and all(section.is_displayed() for section in sections)
        assert not find(shown, "#bench").is_displayed()
    finally:
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert find(shown, "#bench").is_displayed() and not sections[0].is_displayed()


def test_a_dragged_number_asks_for_few_addresses(shown):
    shown.execute_script('''window.asked = 0;
        const replace = history.replaceState.bind(history);
        history.replaceState = (...all) => { window.asked += 1; replace(...all); };
        for (let k = 0; k < 500; k++) bench.set('Q', 0, k);''')
    shown.execute_async_script("setTimeout(arguments[0], 400)")
    assert shown.execute_script("return window.asked") <= 2
    assert "Q%7E0%7E499" in shown.current_url


def test_own_sentences_of_all_sizes(shown, bench):
    for words, count, width in (("a b", 1, 2), ("I love attention a lot", 3, 5), ("1 2 3 4 5 6 7 8", 4, 6)):
        shown.execute_script("""document.getElementById('own').open = true;
            for (const [id, value] of Object.entries(arguments[0])) document.getElementById(id).value = value;
            document.getElementById('make').click()""", {"words": words, "heads": count, "width": width, "seed": 5})
        L, H = len(words.split()), count
        Q, K, V = (np.array(tensor(shown, name)).reshape((H, L, width)[H == 1:]) for name in "QKV")
        np.testing.assert_allclose(tensor(shown, "heads"), heads(Q, K, V).ravel(), atol=1e-13)
        assert len(shown.find_elements("css selector", "[data-figure=weights] th[scope=row]")) == L
        address, numbers = bench + shown.execute_script("return bench.address()"), tensor(shown, "dQ")
        shown.get("about:blank")
        shown.get(address)
        assert tensor(shown, "dQ") == numbers


SOLUTIONS = {1: "K~4~9", 2: "K~4~9", 3: "K~0~1!K~1~1!K~2~1!K~3~1!K~8~1!K~9~1!K~10~1!K~11~1",
             7: "K~8~9!K~10~9", 8: "Q~0~0!Q~1~9!Q~2~0!Q~4~0!Q~5~0!Q~6~9!Q~7~0!Q~8~9!Q~9~0!Q~10~0!Q~11~0!"
             "K~0~9!K~1~0!K~3~0!K~4~0!K~5~9!K~6~0!K~7~0!K~8~0!K~9~0!K~10~9!K~11~0"}
OTHERS = {4: "m=100110111", 5: "m=111000111", 6: "d=0.25",
          9: "e=V~0~1!V~1~1!V~2~1!V~3~1!V~4~1!V~5~1!V~6~1!V~7~1!V~8~1!V~9~1!V~10~1!V~11~1",
          10: "e=" + "!".join(f"Q~{k}~0" for k in range(12)) + "!dheads~2~1!dheads~6~-1!dheads~4~0!dheads~9~0"}


@pytest.mark.parametrize("number", range(1, 11))
def test_every_puzzle_can_be_solved_and_is_not_solved_at_first(browser, bench, number):
    for address, solved in (("", False), (OTHERS.get(number) or f"e={SOLUTIONS.get(number)}", True)):
        browser.get("about:blank")
        browser.get(f"{bench}#p={number}&l=en&{address}")
        assert find(browser, ".puzzle b").text == f"{number} / 10"
        assert ("✓" in find(browser, "#solved").text) == solved, number


def test_every_function_is_within_twelve_tabs(shown):
    shown.execute_script("bench.choose('dQ', 2)")
    stops = shown.execute_script("""
        return [...document.querySelectorAll("a, button, input, select, summary, [tabindex]")]
            .filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({contentVisibilityAuto: true}))
            .map(e => e.id || e.className || e.tagName)""")
    assert len(stops) <= 12, stops
    assert len(shown.find_elements("css selector", ".cell[tabindex='0']")) == 1
    shown.execute_script("document.querySelector('.skip').focus()")
    keys(shown, "ENTER")                                # the skip link leads to the numbers
    assert shown.switch_to.active_element.get_attribute("data-of") == "dQ"


def test_arrows_walk_over_all_matrices(shown):
    cell(shown, "Q", 3).click()
    keys(shown, "ARROW_RIGHT")
    assert shown.switch_to.active_element.get_attribute("data-of") == "K"
    for _ in range(6):
        keys(shown, "ARROW_DOWN")
    assert shown.switch_to.active_element.get_attribute("data-of") == "dK"


def test_a_finger_edits_too(browser, bench):
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        browser.get("about:blank")
        browser.get(bench)
        box = browser.execute_script("return arguments[0].getBoundingClientRect()", cell(browser, "Q", 1))
        assert min(box["width"], box["height"]) >= 44
        point = {"x": box["x"] + 9, "y": box["y"] + 9}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert browser.execute_script("return bench.view.cell && bench.view.cell.name") == "Q"
        find(browser, "#more").click()
        assert tensor(browser, "Q")[1] == 1
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        browser.execute_async_script("setTimeout(arguments[0], 700)")
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert browser.execute_script("return document.activeElement.className") == "typing"      # a long press
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# Every control: how it is found, what is done before, what must be true after it was used.
CONTROLS = (
    ("#undo", "bench.set('Q', 0, 7)", "Q[0] === 1"),
    ("#redo", "bench.set('Q', 0, 7); press('undo')", "Q[0] === 7"),
    ("#reset", "bench.set('Q', 0, 7)", "Q[0] === 1"),
    ("#copy", "", "text('status').includes('link')"),
    ("#puzzles", "", "bench.view.puzzle === 0"),
    ("#hint", "press('puzzles')", "text('solved').includes('row')"),
    ("#another", "press('puzzles')", "bench.view.puzzle === 1"),
    ("#prev", "bench.go(3)", "bench.view.step === 2"),
    ("#next", "bench.go(3)", "bench.view.step === 4"),
    ("#play", "", "text('play').includes('stop')"),
    ("#causal", "", "weights[1] === 0"),
    ("#unmask", "press('causal')", "weights[1] > 0"),
    ("#more", "bench.choose('Q', 0)", "Q[0] === 2"),
    ("#less", "bench.choose('Q', 0)", "Q[0] === 0"),
    ("#hide", "bench.choose('weights', 1)", "weights[1] === 0"),
    ("#measure", "bench.choose('dQ', 2)", "text('measured').includes('slope')"),
    ("#alike", "", "bench.view.alike"),
    ("#own summary", "", "document.getElementById('own').open"),
    ("[data-lang=zh]", "", "bench.view.lang === 'zh'"),
    ("[data-view=step]", "", "bench.view.kind === 'step'"),
)


def by_mouse(browser, control):
    from selenium.webdriver.common.action_chains import ActionChains
    ActionChains(browser).click(control).perform()


def by_keyboard(browser, control):
    browser.execute_script("arguments[0].focus()", control)
    keys(browser, " " if control.get_attribute("type") == "checkbox" else "ENTER")


def by_finger(browser, control):
    box = browser.execute_script("""arguments[0].scrollIntoView({block: "center"});
        return arguments[0].getBoundingClientRect()""", control)
    point = {"x": box["x"] + min(9, box["width"] / 2), "y": box["y"] + box["height"] / 2}
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("use", [by_mouse, by_keyboard, by_finger])
def test_every_control_by_mouse_keyboard_and_finger(browser, bench, use):
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": use is by_finger})
    try:
        for control, before, true in CONTROLS:
            browser.get("about:blank")
            browser.get(f"{bench}#l=en")
            browser.execute_script("const press = id => document.getElementById(id).click();" + before)
            use(browser, find(browser, control))
            browser.execute_async_script("setTimeout(arguments[0], 50)")
            assert browser.execute_script("""const text = id => document.getElementById(id).textContent;
                const Q = bench.run.tensors.Q.data, weights = bench.run.tensors.weights.data;
                return Boolean(""" + true + ")"), control
        assert browser.get_log("browser") == []
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_no_request_leaves_the_file(shown, bench):
    shown.get_log("performance")
    shown.get(bench)
    shown.execute_script("bench.set('Q', 0, 3); bench.go(9)")
    requested = {json.loads(entry["message"])["message"]["params"]["request"]["url"].partition("#")[0]
                 for entry in shown.get_log("performance") if "Network.requestWillBeSent\"" in entry["message"]}
    assert {url for url in requested if not url.startswith(("data:", "about:", "chrome"))} <= {bench}
    assert shown.get_log("browser") == []


def test_a_page_whose_numbers_differ_says_so_and_stays_shut(browser, bench, tmp_path):
    from pathlib import Path
    from urllib.request import url2pathname
    text = Path(url2pathname(bench.removeprefix("file://"))).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"                   # another formula for the scores than the numbers were made with
    broken.write_text(text.replace('["number",4.0,"d_k"]', '["number",4.1,"d_k"]'), encoding="utf-8")
    browser.get(broken.as_uri())
    assert "nothing can be changed" in find(browser, "#status").text
    browser.execute_script("bench.set('Q', 0, 9)")
    assert tensor(browser, "Q")[0] == 1 and not browser.find_elements("css selector", ".may")


def test_eight_heads_of_sixteen_tokens_follow_too(browser, tmp_path):
    layer = na.MultiHeadAttention(32, 8, rng=0)
    x = np.random.default_rng(0).standard_normal((1, 16, 32))
    layer.backward(layer(x) * 0 + x)
    browser.get(na.trace(layer).save_html(tmp_path / "large.html", lang="en").as_uri())
    assert browser.execute_script("return bench.run.live && bench.run.tensors.weights.shape") == [1, 8, 16, 16]
    browser.execute_script("bench.set('x', 3, 0.5)")    # how long it takes is measured by equality.py
    assert tensor(browser, "x")[3] == 0.5


def test_long_foreign_and_joined_tokens_push_nothing_aside(browser, tmp_path):
    layer = na.MultiHeadAttention(6, 2, rng=0)
    x = np.random.default_rng(0).standard_normal((1, 6, 6))
    layer.backward(layer(x) * 0 + x)
    tokens = ("x" * 300, "שלום עולם", "👩‍👩‍👧‍👦🏳️‍🌈", "</script>", "\u202egnp", "")
    browser.get(na.trace(layer, tokens=tokens).save_html(tmp_path / "long.html", lang="en").as_uri())
    browser.execute_script("bench.set('x', 0, 2); bench.choose('weights', 3)")
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.execute_script("""return [...document.querySelectorAll("th[scope=col]")]
        .every(word => word.getBoundingClientRect().width < 50)""")
    assert browser.get_log("browser") == []


def test_scripts_off_the_steps_stand_there(trace, bench, tmp_path):
    driver = open_browser(tmp_path / "profile", scripts=False)
    try:
        driver.get(bench)
        sections = driver.find_elements("css selector", ".step")
        assert len(sections) == len(trace) and all(section.is_displayed() for section in sections)
        assert not find(driver, "#bench").is_displayed()
    finally:
        driver.quit()
