"""A headless Chromium for the tests of pages: selenium with Debian's chromium-driver."""
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is missing (python3-selenium)")
    driver = shutil.which("chromedriver") or pytest.skip("chromedriver is missing (chromium-driver)")
    options = webdriver.ChromeOptions()
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-extensions"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.chrome.service.Service(driver)
    with webdriver.Chrome(service=service, options=options) as browser:
        yield browser


def show(browser, path, width=1280, height=720):
    """Opens a page. One narrower than 600 is a phone's."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    browser.get(f"file://{path}")


def ask(browser, expression):
    """Evaluates a JavaScript expression on the page."""
    return browser.execute_script(f"return {expression}")


def pause(browser, milliseconds):
    """Lets the page go on by itself."""
    ask(browser, f"new Promise(done => setTimeout(done, {milliseconds}))")


def press(browser, *keys):
    """RIGHT, HOME, or a character."""
    from selenium.webdriver import ActionChains, Keys
    ActionChains(browser).send_keys(*(getattr(Keys, key, key) for key in keys)).perform()


def move(browser, x, y):
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    actions = ActionBuilder(browser)
    actions.pointer_action.move_to_location(int(x), int(y))
    actions.perform()


def click(browser, selector):
    browser.find_element("css selector", selector).click()


def errors(browser):
    """What the console says since it was last asked."""
    return browser.get_log("browser")
