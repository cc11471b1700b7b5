"""Slides and handouts: one file in one language, pictures as vectors, formulas set, pages turned by keys."""
import re
import shutil

import pytest

from numpy_attention.commands.main import main
from numpy_attention.course import lessons, slides

pytest.importorskip("nbclient", reason="needs the notebooks extra")


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    path = tmp_path_factory.mktemp("slides") / "01.html"
    return slides.slides("1", "zh", path)


def test_one_file_in_one_language(chinese):
    text = chinese.read_text(encoding="utf-8")
    prose = re.sub(r"(?s)<pre.*?</pre>|<(style|script|noscript).*?</\1>|<[^>]*>", " ", text)
    assert "三个角色" in prose
    assert "Three roles" not in prose
    assert "Goal" not in prose
    assert '<html lang="zh-CN">' in text
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)[^"']*""", text)           # nothing is fetched
    assert text.count("<section>") > 10
    assert text.count("data:image/svg+xml") > 2
    assert "data:image/png" not in text
    assert "</body>" in text
    assert "<pre class='out'>&#x27;zh&#x27;" not in text
    assert "How well does each query match" not in text and "每个查询和每个键" in text     # what code prints, too
    assert "<pre class='code'>assert" not in text
    assert "还没对" not in text                                     # an exercise is for the class


def test_formulas_are_set():
    cells = [cell for lesson in lessons.lessons() for cell in lessons.read(lesson.path)["cells"]]
    source = "\n".join(lessons.source(cell) for cell in cells if cell["cell_type"] == "markdown")
    formulas = {one or two for one, two in re.findall(r"\$\$([^$`]+)\$\$|\$([^$`\n]+)\$", source)}
    assert len(formulas) > 40
    assert not [tex for tex in formulas if "<img" not in slides._formula(tex)]
    alone, within = slides._markdown("$$a =\n\\frac{b}{c}$$\n\nand $d$: 3 $").split("</p>")[:2]
    assert "$" not in alone and "class='formula displayed'" in alone
    assert "class='formula'" in within and within.count("$") == 1
    assert "<code>\\nonsense" in slides._formula(r"\nonsense{")


@pytest.mark.skipif(not any(map(shutil.which, slides.BROWSERS)), reason="no browser is here")
def test_a_handout(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(slides, "pieces", lambda number, lang: ([[
        "<h1>T</h1>", "<details><summary>sum: guess first, then click for the answer</summary><pre>7</pre></details>",
        "<details><summary>A sample answer</summary>x</details>"]], "T"))
    on_paper = slides.page("01", "en", on_paper=True)
    assert "sum: <span class='blank'>" in on_paper
    assert "click" not in on_paper.partition("<body>")[2].partition("<script>")[0] and "sample" not in on_paper
    assert "guess first" in slides.page("01", "en")
    monkeypatch.undo()
    assert main(["course", "handout", "01", "--lang", "en", "--out", str(tmp_path / "h.pdf")]) == 0
    assert (tmp_path / "h.pdf").read_bytes().startswith(b"%PDF")
    assert capsys.readouterr().out.strip().endswith("h.pdf")


def test_refused(tmp_path, capsys, monkeypatch):
    assert main(["course", "slides", "99", "--out", str(tmp_path / "x.html")]) == 2
    assert "there is no lesson '99'; there are 01 to 18" in capsys.readouterr().err
    monkeypatch.setattr(slides.shutil, "which", lambda name: None)
    assert main(["course", "handout", "01", "--out", str(tmp_path / "x.pdf")]) == 2
    assert "a handout is printed by a browser" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_keys_turn_the_pages(chinese):
    pytest.importorskip("selenium", reason="needs the browser extra")
    if not shutil.which("chromedriver"):
        pytest.skip("no chromedriver is here")
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    from ..browser.conftest import open_browser
    driver = open_browser(chinese.parent / "profile")
    try:
        driver.get(chinese.as_uri())
        place, body = driver.find_element(By.ID, "place"), driver.find_element(By.TAG_NAME, "body")
        last = int(place.text.split("/")[1])
        for key, wanted in ((Keys.ARROW_RIGHT, 2), (Keys.SPACE, 3), (Keys.ARROW_LEFT, 2), (Keys.END, last),
                            (Keys.ARROW_RIGHT, last), (Keys.HOME, 1), (Keys.PAGE_UP, 1)):
            body.send_keys(key)
            assert place.text == f"{wanted} / {last}"
            shown = [piece for piece in driver.find_elements(By.CSS_SELECTOR, "section > div") if piece.is_displayed()]
            assert 1 <= len(shown) <= 2
        driver.set_window_size(1280, 800)
        too_long = driver.execute_script("""return stops.map((_, i) => { show(i); const on = document.querySelector(
            "section.on"); return on.scrollHeight / on.clientHeight }).filter(share => share > 1)""")
        assert not too_long
    finally:
        driver.quit()
