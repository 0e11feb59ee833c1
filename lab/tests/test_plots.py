"""Figures: SVG that parses, coloured by variables with a plain colour before each, with ids of its own, the same every time."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from lab import plots
from lab.scorecard import pictures
from lab.scorecard.document import Figure

RATIOS = [
    plots.RatioRow("tree", 0.8, 0.78, 0.83, "bad", [0.9, 1.4, 30.0]),
    plots.RatioRow("mixed_400", 1.05, 1.04, 1.06, "good", [1.1, 1.5]),
    plots.RatioRow("larson <2>", 1.0, 0.97, 1.02, "mild"),
]


def figures() -> dict[str, str]:
    series = {"hakmem": ([0, 1, 2], [5.0, 6.0, 5.5]), "glibc": ([0, 1, 2], [9.0, 300.0, 4000.0])}
    panels = [
        plots.Panel("malloc", "percentile", "ns", series, log_y=True, x_labels=["p50", "p99", "p99.9"]),
        plots.Panel("memory", "minutes", "MB", series, from_zero=True),
    ]
    return {
        "ratios": plots.ratios(RATIOS, "speed", 'of "all" & more'),
        "dots": plots.dots([plots.DotRow("tree", 2.0, [3.0, 400.0]), plots.DotRow("leak", 80.0)], "MB", "memory"),
        "lines": plots.lines(panels, "hakmem", "lines"),
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return figures()


@pytest.mark.parametrize("name", ["ratios", "dots", "lines"])
def test_a_figure_is_one_element_that_says_what_it_shows(drawn, name):
    root = ElementTree.fromstring(drawn[name])
    assert root.tag.endswith("svg") and root.get("role") == "img" and root.get("aria-label")
    assert "<script" not in drawn[name] and "<style" not in drawn[name]
    assert not re.search(r'(?:href|src)="(?!#)', drawn[name])


@pytest.mark.parametrize("name", ["ratios", "dots", "lines"])
def test_every_colour_is_a_variable_of_the_page_after_the_light_one_for_viewers_without_variables(drawn, name):
    pairs = re.findall(r"\b([\w-]+): (#[0-9a-f]{6}); \1: var\(--([\w-]+)\)", drawn[name])
    assert all(plots.light()[variable] == colour for _, colour, variable in pairs)
    assert len(pairs) == drawn[name].count("var(--") == len(re.findall(r"#[0-9a-fA-F]{6}\b", drawn[name]))
    used = {variable for _, _, variable in pairs}
    assert "ink" in used and used <= set(plots.VARIABLES)


def test_a_viewer_without_variables_shows_every_colour(drawn, tmp_path):
    converter = shutil.which("rsvg-convert")
    if not converter:
        pytest.skip("no rsvg-convert (Debian: librsvg2-bin)")
    (tmp_path / "ratios.svg").write_text(pictures.standalone(Figure(drawn["ratios"], "ratios")))
    subprocess.run([converter, "-o", tmp_path / "ratios.png", tmp_path / "ratios.svg"], check=True)
    seen = {tuple(pixel) for pixel in np.round(255 * imread(tmp_path / "ratios.png")).astype(int).reshape(-1, 4).tolist()}
    for name in ("paper", "ink", "good", "bad", "mild", "peer"):
        assert (*bytes.fromhex(plots.light()[name][1:]), 255) in seen, name


def test_words_stay_words(drawn):
    assert "larson &lt;2&gt;" in drawn["ratios"] and "80.0 %" in drawn["ratios"] and "speed" in drawn["ratios"]
    assert "p99.9" in drawn["lines"] and "glibc" in drawn["lines"]


def test_figures_of_one_page_share_no_id(drawn):
    seen: set[str] = set()
    for text in drawn.values():
        ids = set(re.findall(r'\bid="([^"]+)"', text))
        assert not ids & seen
        assert set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text)) <= ids
        seen |= ids


def test_the_same_data_give_the_same_text(drawn):
    assert figures() == drawn


def test_a_ratio_far_off_does_not_stretch_the_scale_for_the_others():
    low, high = plots._ratio_limits(RATIOS)
    assert 0.6 < low < 0.8 and 1.5 < high < 2


@pytest.mark.parametrize("ratio", [1.0, 0.001, 1000.0])
def test_a_single_row_can_be_drawn(ratio):
    assert "<svg" in plots.ratios([plots.RatioRow("one", ratio, ratio, ratio)], "speed", "one")
