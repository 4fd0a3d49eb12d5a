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
        browser.set_script_timeout(100)
        # A page has the keyboard's focus also after Tab has left the one before.
        browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        yield browser


def resize(browser, width, height=720):
    """Resizes the window. One that is narrower than 600 counts as a phone's."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def show(browser, path, width=1280, height=720):
    """Opens a page, even if only the part after # differs from the last one."""
    resize(browser, width, height)
    browser.get("about:blank")
    browser.get(f"file://{path}")


# A page is redrawn two frames after its size has changed.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def ask(browser, expression):
    """Evaluates a JavaScript expression on the page."""
    return browser.execute_script(f"return {expression}")


def wait(browser, expression, seconds=100):  # as long as a busy machine may need
    """Waits until an expression is true; fails if it never is."""
    from selenium.webdriver.support.wait import WebDriverWait
    return WebDriverWait(browser, seconds, .05).until(lambda _: ask(browser, expression), expression)


def press(browser, *keys):
    """Presses keys: RIGHT, HOME, SHIFT+TAB, or a character."""
    from selenium.webdriver import ActionChains, Keys
    actions = ActionChains(browser)
    for key in keys:
        if key == "SHIFT+TAB":
            actions.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT)
        else:
            actions.send_keys(getattr(Keys, key, key))
    actions.perform()


def emulate(browser, **features):
    """Sets what the reader prefers, such as prefers_color_scheme="dark"."""
    named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})


def nameless(browser):
    """The roles of what a keyboard reaches on the page and a screen reader has no name for."""
    def of(node, name):
        return node.get(name, {}).get("value", "")

    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    reached = (node for node in nodes if not node["ignored"] and of(node, "role") != "RootWebArea" and any(
        each["name"] == "focusable" and each["value"]["value"] for each in node.get("properties", ())))
    return [of(node, "role") for node in reached if not of(node, "name").strip()]


def click(browser, selector):
    browser.find_element("css selector", selector).click()


def move(browser, x, y, kind="mouseMoved", **how):
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **how})


def drag(browser, begin, end, finger=False):
    """Drags with the mouse or a finger. A finger that does not move taps."""
    def touch(kind, *points):
        at = [{"x": x, "y": y} for x, y in points]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    def at(kind, x, y):
        move(browser, x, y, kind, button="left", buttons=1, clickCount=1)

    if finger:
        touch("touchStart", begin)
    else:
        move(browser, *begin), at("mousePressed", *begin)
    for step in range(1, 9) if end != begin else ():
        x, y = (a + (b - a) * step / 8 for a, b in zip(begin, end))
        touch("touchMove", (x, y)) if finger else at("mouseMoved", x, y)
        ask(browser, "new Promise(requestAnimationFrame)")
    touch("touchEnd") if finger else at("mouseReleased", *end)


def errors(browser):
    """The errors in the console since the last call."""
    return browser.get_log("browser")
