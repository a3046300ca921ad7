#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""browser.py DIR PAGE... [--look PAGE...] [--site URL]: opens reports in Debian's Chromium and uses them, or only looks
at them; opens the pages of `punctual serve`; fails on the first thing that is wrong.

Looked at, 1280 pixels wide in a light theme and 390 in a dark one: no message on the console, no request but the page itself,
every chart drawn (pixels, not only elements), no text of a chart over another or beyond its edge, no sideways scrolling, no column of
the list of runs cut off at 1280 pixels, no serious violation of accessibility rules (axe-core).
Used: views, switches of series, zoom by pointer and keys, read-out with units, tables, CSV, print, theme. Pictures go to DIR.
"""
import argparse
import csv
import io
import pathlib
import re

from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import sync_playwright


# In milliseconds: what takes longer hangs, however busy the machine is.
HANG = 1_800_000

# Rows of tables with which axe takes more than a minute. Such a page has nothing that others have not, but more of it.
MANY = 1000

# One of these is in the labels of each chart, or in the sentence above it.
UNITS = (" in ", "µs", "ms", "GFLOPS", "MB/s", "%", "ratio", "Ratio", "Share", "Samples")


# Circles, lines and boxes in the key of a series, by its shape; others are lines.
TAKEN = """plot => ['+', '-', '0', 'Home', 'ArrowLeft'].filter(
    key => !plot.dispatchEvent(new KeyboardEvent('keydown', {key, ctrlKey: true, cancelable: true, bubbles: true})))"""
MARKS = "all => all.map(key => ['circle', 'path', 'rect'].map(mark => key.querySelectorAll(mark).length))"
KEYS = {"points": [1, 0, 0], "dots": [1, 1, 0], "bars": [0, 0, 1]}

# Texts of a chart that lie over each other, or beyond its edges, by more than rounding does.
CROWDED = """() => [...document.querySelectorAll('figure .plot svg')].flatMap(svg => {
  const all = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll('text')].map(node => [node.textContent, node.getBoundingClientRect()]);
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const bars = [...svg.querySelectorAll('.bar rect')].map(node => node.getBoundingClientRect());
  const longer = [...svg.querySelectorAll('text.on, text.ink')].map(node => [node.textContent, node.getBoundingClientRect()]).filter(([text, a]) => text
    && !bars.some(b => b.top < a.bottom - 3 && a.top < b.bottom - 3 && b.left < a.left && a.right < b.right + 2));
  return longer.map(([text]) => text + ' is longer than its bar').concat(texts.flatMap(([text, a], at) => [
    ...texts.slice(at + 1).filter(([, b]) => over(a, b)).map(([other]) => text + ' lies over ' + other),
    ...(a.left < all.left - 1 || a.right > all.right + 1 ? [text + ' leaves the chart'] : []),
  ]));
})"""


# Headings of the list of runs that are not whole in the window, and tables of it that have to be moved sideways.
CUT = """() => [
  ...[...document.querySelectorAll('table.runs th')].filter(head => head.getBoundingClientRect().right > innerWidth).map(head => head.textContent),
  ...[...document.querySelectorAll('.table:has(table.runs)')].filter(box => box.scrollWidth > box.clientWidth).map(box => box.clientWidth + ' pixels'),
]"""


def colours(page, selector="figure .plot >> nth=0"):
    """Colours of the pixels of a chart, most frequent first, without those of its ground."""
    picture = Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB")
    counts = sorted(picture.getcolors(maxcolors=picture.width * picture.height), reverse=True)
    return {colour: count for count, colour in counts[1:]}


def coloured(pixels):
    """Pixels that are no shade of grey, as the axes and the text are: those of a curve."""
    return sum(n for colour, n in pixels.items() if max(colour) - min(colour) > 40)


def on_screen(page, selector="figure .plot >> nth=0", least=41):
    """Pixels of the curves of a chart, once it is on the screen: on a busy machine a picture may be taken before."""
    for _ in range(100):
        pixels = coloured(colours(page, selector))
        if pixels >= least:
            break
        page.wait_for_timeout(100)
    return pixels


def open_page(browser, address, width, theme, faults):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True)
    page.set_default_timeout(HANG)
    page.on("console", lambda m: faults.append(f"console: {m.text}"))
    page.on("pageerror", lambda e: faults.append(f"script: {e}"))
    page.on("request", lambda r: r.url != address and not r.url.startswith(("blob:", "data:"))
            and faults.append(f"request: {r.url}"))
    page.goto(address)
    assert not faults, f"{address}: {faults}"
    # A page of tables alone has nothing to wait for.
    if page.locator("figure .plot").count():
        page.wait_for_selector("figure .plot svg path.a", state="attached")
    return page


def looks(browser, address, name, out):
    # Where words lie depends on the width, and colours on the theme: two of four cases show both.
    for width, theme, other in ((1280, "light", "dark"), (390, "dark", "light")):
        faults = []
        page = open_page(browser, address, width, theme, faults)
        for number in range(page.locator("figure").count()):
            if page.locator("figure").nth(number).is_visible():
                seen = on_screen(page, f"figure .plot >> nth={number}")
                assert seen > 40, f"{name} {width} {theme}: chart {number} has {seen} coloured pixels"
        sideways = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert sideways <= 0, f"{name} {width}: {sideways} pixels too wide"
        if width == 1280:
            cut = page.evaluate(CUT)
            assert not cut, f"{name} {width}: the list of runs goes on to the right of {cut}"
        crowded = page.evaluate(CROWDED)
        assert not crowded, f"{name} {width}: {crowded}"
        found = Axe().run(page).response["violations"] if page.locator("tr").count() < MANY else []
        bad = [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in ("serious", "critical")]
        assert not bad, f"{name} {width} {theme}: axe {bad}"
        page.screenshot(path=out / f"{name}-{width}-{theme}.png", full_page=width == 1280)
        for wanted in (theme, other):
            page.emulate_media(color_scheme=wanted)
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            dark = int(ground.split("(")[1].split(",")[0]) < 80
            assert dark == (wanted == "dark"), f"{name}: {ground} in the {wanted} theme"
        assert not faults, f"{name} {width} {theme}: {faults}"
        page.close()


def every_chart(page, name):
    """Each chart has a table, a file, a unit and keys that look like its series, zooms by keys, and says so where one of its
    runs is invalid."""
    charts = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    for number in range(page.locator("figure").count()):
        figure = page.locator("figure").nth(number)
        if not figure.is_visible():
            continue
        title = f"{name}: {figure.locator('h3').text_content()}"
        marked = figure.locator(".warn").count() > 0
        if figure.get_attribute("data-chart") is None:
            assert figure.locator("table td").count() > 0, f"{title}: no table"
            continue
        chart = charts[int(figure.get_attribute("data-chart"))]
        if chart["k"] != "dist":
            keys = figure.locator(".keylist svg").evaluate_all(MARKS)
            assert keys == [KEYS.get(series["sh"], [0, 1, 0]) for series in chart["s"]], f"{title}: keys {keys}"
        else:
            has_keys(figure, chart["s"], title)
        assert any(unit in figure.locator(".plot").text_content() + figure.locator(".note").text_content()
                   for unit in UNITS), f"{title}: no unit"
        assert any(c.isdigit() for c in figure.locator(".keylist").text_content()), f"{title}: no count"
        in_picture = any(word in figure.locator(".plot svg").text_content() for word in ("INVALID", "not checked", "VIRTUAL TIME"))
        assert in_picture == marked, f"{title}: marked {marked}, in the picture {in_picture}"
        figure.locator("details.data summary").click()
        figure.locator("details.data td").first.wait_for()
        with page.expect_download() as download:
            figure.get_by_role("button", name="CSV of").first.click()
        lines = pathlib.Path(download.value.path()).read_text().splitlines()
        assert len(lines) > 1 and len(set(lines[0].split(","))) > 3, f"{title}: {lines[:2]}"
        figure.locator("details.data summary").click()
        texts = lambda: figure.locator(".plot svg text").all_text_contents()
        before = texts()
        figure.locator(".plot").focus()
        taken = figure.locator(".plot").evaluate(TAKEN)
        assert not taken, f"{title}: keys of the browser do something here: {taken}"
        page.keyboard.press("+")
        assert texts() != before, f"{title}: + does not zoom"
        page.keyboard.press("0")
        assert texts() == before, f"{title}: 0 does not show all"
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        assert figure.locator("[aria-live]").text_content(), f"{title}: nothing is read out"
        page.keyboard.press("Escape")


def has_keys(figure, series, title):
    """Each curve that may be drawn has a key of its own. Of more than 24 of runs that have one each, a run has."""
    for part in (False, True):
        if part:
            switch = figure.get_by_role("button", name="Each thread", exact=True)
            if switch.count() == 0:
                return
            switch.click()
        divided = {number for number, one in enumerate(series) if one["w"] and not (series + [{"w": 1}])[number + 1]["w"]}
        own = [one for number, one in enumerate(series) if (not one["w"] or number not in divided if part else one["w"])]
        runs = {one["r"] for one in series}
        alone = len(runs) > 1 and sum(one["w"] for one in series) == len(runs)
        keys = figure.locator(".keylist button").count()
        wanted = len(runs) if alone and len(own) > 24 else len(own)
        assert keys == wanted, f"{title}: {keys} keys, not {wanted}"
    switch.click()


def use(browser, path, out):
    faults = []
    page = open_page(browser, path.as_uri(), 1280, "light", faults)
    figure = page.locator("figure[data-chart]:has(button[data-view])").first
    index = page.locator("figure[data-chart]").evaluate_all("(all, one) => all.indexOf(one)", figure.element_handle())
    plot = figure.locator(".plot")
    here = f"figure[data-chart] .plot >> nth={index}"
    axis = lambda: figure.locator("svg text").all_text_contents()
    plot.scroll_into_view_if_needed()
    # Each view is another picture, with its own axis.
    labels = set()
    for view in figure.locator("button[data-view]").all():
        view.click()
        assert view.get_attribute("aria-pressed") == "true"
        assert on_screen(page, here) > 40, f"view {view.text_content()}"
        labels.add(tuple(axis()))
    assert len(labels) == figure.locator("button[data-view]").count(), "two views look alike"
    figure.locator("button[data-view=histogram]").click()
    # A switch takes the curves away and brings them back.
    before = on_screen(page, here)
    pressed = figure.locator(".keylist button[aria-pressed=true]")
    count = pressed.count()
    for _ in range(count):
        pressed.first.click()
    assert figure.locator("svg path.l").count() == 0, "a series that is switched off is drawn"
    assert "No series is switched on" in " ".join(axis())
    figure.get_by_role("button", name="All", exact=True).click()
    page.mouse.move(0, 0)
    # All of them are more, and thinner, than those that were drawn at first.
    assert on_screen(page, here, before * 0.3) >= before * 0.3, "the series did not come back"
    assert figure.locator("svg path.l").count() >= count
    # Zoom by dragging, by keys, and back.
    whole = axis()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 120, steps=5)
    page.mouse.up()
    assert axis() != whole, "dragging does not zoom"
    figure.get_by_role("button", name="Reset").click()
    assert axis() == whole, "the zoom is not taken back"
    plot.focus()
    page.keyboard.press("+")
    assert axis() != whole, "the key + does not zoom"
    page.keyboard.press("0")
    assert axis() == whole
    # Logarithmic and even axes.
    figure.get_by_role("button", name="log x").click()
    assert axis() != whole
    figure.get_by_role("button", name="log x").click()
    # Values with their unit, by pointer and by keys, also for who listens.
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + 150)
    assert "µs" in figure.locator(".tip").text_content()
    page.screenshot(path=out / f"{path.stem}-tip.png")
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert "µs" in figure.locator("[aria-live]").text_content()
    page.keyboard.press("Escape")
    assert figure.locator(".tip").is_hidden()
    # The values as a table and as a file.
    figure.locator("details.data summary").click()
    # It is filled when it is opened first.
    figure.locator("details.data td").first.wait_for()
    assert figure.locator("details.data td").count() > 20
    with page.expect_download() as download:
        figure.get_by_role("button", name="CSV of").first.click()
    text = pathlib.Path(download.value.path()).read_text()
    head, first = text.splitlines()[:2]
    assert head == "run,kernel,part,validity,samples,clamped,from_ns,below_ns,count", head
    assert len(first.split(",")) >= 9
    # A name is no formula in a spreadsheet.
    for cell in (cell for row in csv.reader(io.StringIO(text)) for cell in row if cell[:1] in ("=", "+", "-", "@")):
        assert re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", cell), f"a formula in the CSV: {cell}"
    # Theme, and paper.
    page.get_by_role("button", name="Light / dark").click()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert int(ground.split("(")[1].split(",")[0]) < 80, f"the switch leaves the ground {ground}"
    page.emulate_media(media="print")
    assert page.locator(".tools").first.is_hidden()
    marks = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--bad')")
    assert marks == "#a3101f", f"on paper, what is invalid is marked in {marks}"
    page.pdf(path=out / f"{path.stem}.pdf", print_background=True)
    assert not faults, faults
    page.close()


def site(browser, url, out):
    """Sorts, filters, overlays and compares runs a-1, a-2 (tag kind=rt), b-1 and b-2 as somebody would."""
    faults = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(HANG)
    page.on("console", lambda m: faults.append(f"console: {m.text}"))
    page.on("pageerror", lambda e: faults.append(f"script: {e}"))
    page.on("request", lambda r: r.url.startswith((url, "blob:", "data:")) or faults.append(f"request: {r.url}"))
    rows = lambda: page.locator("tbody tr").count()

    def drawn():
        page.wait_for_selector("figure .plot svg path.a")
        assert on_screen(page) > 40, page.url

    def charts(name):
        looks(browser, page.url, name, out)
        other = open_page(browser, page.url, 1280, "light", faults)
        every_chart(other, name)
        other.close()

    page.goto(url)
    assert rows() == 4, rows()
    looks(browser, url, "serve-list", out)
    # Each click on a heading turns the order.
    runs = lambda: page.locator("tbody a").all_inner_texts()
    orders = []
    for order in ("descending", "ascending"):
        page.get_by_role("link", name="Max µs").click()
        assert page.locator("th", has_text="Max µs").get_attribute("aria-sort") == order, page.url
        orders.append(runs())
    assert orders[0] == orders[1][::-1] != orders[1], orders
    page.get_by_label("tag").fill("kind=rt")
    page.get_by_role("button", name="Filter").click()
    assert rows() == 2, rows()
    page.get_by_label("tag").fill("")
    page.get_by_role("button", name="Filter").click()
    for name in ("a-1", "a-2", "b-1", "b-2"):
        row = page.locator("tbody tr").filter(has_text=name)
        row.get_by_label(f"in group {name[0].upper()}").check()
    page.get_by_role("button", name="Overlay").click()
    drawn()
    for name in ("a-1", "a-2", "b-1", "b-2"):
        assert name in page.locator("figure .keylist").first.inner_text()
    page.locator("figure").first.get_by_role("button", name="CCDF").click()
    drawn()
    charts("serve-overlay")
    page.get_by_role("link", name="All runs").click()
    for name in ("a-1", "a-2", "b-1", "b-2"):
        row = page.locator("tbody tr").filter(has_text=name)
        row.get_by_label(f"in group {name[0].upper()}").check()
    page.get_by_label("invalid runs too").check()
    page.get_by_role("button", name="Compare A with B").click()
    drawn()
    assert page.locator("section.answer").count() > 0
    charts("serve-compare")
    page.goto(url)
    page.locator("tbody a").first.click()
    drawn()
    charts("serve-run")
    assert not faults, faults
    page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("pages", type=pathlib.Path, nargs="*")
    parser.add_argument("--look", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--site")
    args = parser.parse_args()
    out = args.dir.resolve()
    with sync_playwright() as playwright:
        # Tests run as root in a container, where Chromium has no sandbox.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for path in args.pages + args.look:
            looks(browser, path.resolve().as_uri(), path.stem, out)
            page = open_page(browser, path.resolve().as_uri(), 1280, "light", [])
            every_chart(page, path.name)
            page.close()
            if path in args.pages:
                use(browser, path.resolve(), out)
            print(f"{path.name}: looked at{' and used' if path in args.pages else ''}")
        if args.site:
            site(browser, args.site, out)
            print(f"{args.site}: used")
        browser.close()


main()
