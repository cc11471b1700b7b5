"""The colours written down here are matplotlib's, and what is written on them can be read."""
import numpy as np
import pytest

from numpy_attention.words.colours import HUES, MAPS, SIGNED, WEIGHTS, colour, ink, limit


@pytest.mark.parametrize("name", [WEIGHTS, SIGNED])
def test_maps_are_matplotlibs(name):
    colormaps = pytest.importorskip("matplotlib").colormaps
    for value in np.linspace(0, 1, 65):       # 6 of 255: no eye sees it
        shade, _ = colour(value) if name == WEIGHTS else colour(2 * value - 1, limit=1)
        ours = np.array(list(bytes.fromhex(shade[1:])))
        assert np.abs(ours - np.array(colormaps[name](value, bytes=True)[:3], int)).max() <= 6


def luminance(code):
    rgb = np.array(list(bytes.fromhex(code[1:]))) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


def test_ink_has_the_better_contrast():
    for code in [*HUES, *("#" + c for row in MAPS.values() for c in row.split())]:
        light = luminance(code)
        assert ink(code) == ("black" if (light + 0.05) ** 2 > 1.05 * 0.05 else "white")
        assert ink(np.array([*bytes.fromhex(code[1:]), 255]) / 255) == ink(code)


def test_scales():
    assert limit() == limit(np.zeros(2)) == limit(np.array([np.nan])) == limit(np.zeros((0, 3))) == 1
    assert limit(np.array([1.0, -3.0]), np.array(2)) == 3
    assert colour(9.0)[0] == colour(1.0)[0] and colour(-9.0, 2.0)[0] == colour(-2.0, 2.0)[0]
