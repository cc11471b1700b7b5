"""A headless Chromium to look at pages with. Without selenium, chromium or chromedriver these tests are skipped."""
import shutil

import pytest

import numpy_attention as na

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--window-size=1280,900")


def open_browser(folder, scripts=True, hosts=True):
    """Chromium with its profile in `folder`; without scripts, or finding no host but this machine, if asked for."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install numpy_attention[browser]")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    if not hosts:
        options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def trace():
    return na.worked_example("by-hand").trace()


@pytest.fixture(scope="module")
def page(trace, tmp_path_factory):
    """The address of the worked example's page as a run that is too large to be changed gets it: step by step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numpy_attention.walkthrough.live.MOST_NUMBERS", 0)
        return trace.save_html(tmp_path_factory.mktemp("pages") / "steps.html").as_uri()


@pytest.fixture(scope="module")
def bench(trace, tmp_path_factory):
    """The address of the worked example's bench."""
    return trace.save_html(tmp_path_factory.mktemp("pages") / "by-hand.html").as_uri()
