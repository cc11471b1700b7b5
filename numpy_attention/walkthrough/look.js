// How a number looks on the bench: its colour on a map of words/colours.py, and its text in at most five signs.
"use strict";

const look = (() => {
  const FINE = 128;                                    // so many steps from one end of a map to the other
  const BAD = [125, 0, 0];                             // NaN and infinity

  const hex = code => [0, 2, 4].map(k => parseInt(code.slice(k, k + 2), 16));
  const anchorsOf = text => text.split(" ").map(hex);

  // The colours of a map in fine steps, {rgb, white: is its ink white?}.
  function shadesOf(anchors) {
    return Array.from({length: FINE + 1}, (_, shade) => {
      const at = shade / FINE * (anchors.length - 1), k = Math.min(Math.floor(at), anchors.length - 2);
      const rgb = anchors[k].map((x, c) => Math.round(x + (anchors[k + 1][c] - x) * (at - k)));
      const linear = rgb.map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      return {rgb, white: 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] < 0.179};
    });
  }

  // The shade of a number: a share goes from 0 to 1, a signed number from -top to top. NaN has none.
  function shadeOf(x, top, share) {
    const place = share ? x : 0.5 + 0.5 * x / top;
    return x !== x ? -1 : Math.round(FINE * Math.min(Math.max(place, 0), 1));
  }

  // One rule for each shade: a cell that changes its class is restyled much faster than one with a colour of its own.
  const rules = maps => Object.entries(maps).flatMap(([map, shades]) =>
    shades.map(({rgb}, k) => `#bench .${map}-${k}{background:rgb(${rgb})}`)).join("");

  // At most five signs; a number that is not 0 never prints as 0.
  function short(x) {
    if (!Number.isFinite(x)) return x !== x ? "NaN" : x > 0 ? "∞" : "−∞";
    const size = Math.abs(x);
    const text = Number.isInteger(x) && size < 1e4 ? String(x) : size >= 1e4 || (size && size < 0.005)
      ? x.toExponential(0).replace("e+", "e") : size >= 100 ? x.toFixed(0) : size >= 10 ? x.toFixed(1) : x.toFixed(2);
    return text.replace(/-/g, "−");
  }

  // What somebody typed, as a number; null if it is none. A comma and a minus sign are as good as point and hyphen.
  function read(text) {
    const plain = text.trim().replace(/−/g, "-").replace(",", ".");
    return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
  }

  const largest = value => value.data.reduce((top, x) => Number.isFinite(x) ? Math.max(top, Math.abs(x)) : top, 0);

  return {BAD, anchorsOf, shadesOf, shadeOf, rules, short, read, largest};
})();
if (typeof module !== "undefined") module.exports = look;
