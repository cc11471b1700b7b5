// Why a cell has its number, and which cells it was made from: made.py and why.py once more, word for word, so that the
// page can say it of numbers that were changed. A test compares the sentences.
"use strict";

const explain = (() => {
  const {product, stridesOf, build, pair} = typeof module !== "undefined" ? require("./engine.js") : engine;
  const SUMS = ["matmul", "sum", "total", "mean", "all", "gather", "scatter"], APART = ["sum", "total", "mean", "all"];
  const COPIES = ["name", "split", "merge", "first", "behind", "join", "repeat", "rows", "heads_axis"];
  const LEVELS = {plus: 1, minus: 1, negative: 1, times: 2, over: 2};
  const SIGNS = {times: "∘", plus: "+", minus: "−", over: "/", matmul: "·"};
  const MOST_TERMS = 8;

  // Numbers as texts, all in one format, as in numbers.py. Halves are rounded to even, as Python does.
  function fixed(x, digits) {
    const scaled = Math.abs(x) * 2 ** (digits + 1);
    if (Number.isInteger(scaled) && scaled % 2 === 1) {
      const whole = Math.floor(Math.abs(x) * 10 ** digits), even = whole % 2 ? whole + 1 : whole;
      return (x < 0 ? "-" : "") + (even / 10 ** digits).toFixed(digits);
    }
    return x.toFixed(digits);
  }
  function texts(values, precision) {
    const finite = [...values].filter(Number.isFinite).map(Math.abs), top = Math.max(0, ...finite);
    const odd = x => x !== x ? "nan" : x > 0 ? "inf" : "-inf";
    const scientific = x => x.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2");
    const shown = finite.every(Number.isInteger) && top < 1e6 ? x => fixed(x, 0)
      : top >= 1e6 || top < 10 ** -precision ? scientific : x => fixed(x, precision);
    const zero = `-${shown(0)}`;
    return [...values].map(x => Number.isFinite(x) ? shown(x) : odd(x)).map(text => text === zero ? text.slice(1) : text);
  }
  const one = (value, precision) => texts([value], precision)[0];
  const general = x => {                               // as %g: six digits, small ones with an exponent
    if (x !== 0 && Math.abs(x) < 1e-4) return x.toExponential(5).replace(/\.?0*e/, "e").replace(/e([+-])(\d)$/, "e$10$2");
    return String(Number(x.toPrecision(6))).replace(/e([+-])(\d)$/, "e$10$2");
  };
  const brackets = text => text.startsWith("-") ? `(${text})` : text;
  const range = (size, from = 0) => Array.from({length: size}, (_, k) => from + k);
  const sorted = places => [...new Set(places)].sort((a, b) => a - b);
  const all = places => places.reduce((cells, axis) => cells.flatMap(cell => axis.map(place => [...cell, place])), [[]]);
  const last = list => list[list.length - 1];
  const at = (value, cell) => value.data[cell.reduce((sum, place, axis) => sum + place * stridesOf(value.shape)[axis], 0)];
  // The numbers of a value, stretched to a `whole` shape, at the cells of `places`.
  function taken(value, whole, places) {
    const lead = whole.length - value.shape.length;
    return all(places).map(cell => at(value, value.shape.map((size, axis) => size === 1 ? 0 : cell[axis + lead])));
  }

  function broadcast(places, shape, whole) {
    const count = Math.min(shape.length, places.length);
    return range(count).map(k => {
      const axis = k - count, size = shape.at(axis), given = places.at(axis);
      if (size === 1) return given.length ? [0] : [];
      if (whole && -axis <= whole.length && axis < -2 && size < whole.at(axis))
        return sorted(given.map(place => Math.floor(place * size / whole.at(axis))));
      return given;
    });
  }

  function spread(places, shape, inner) {
    if (inner.length === shape.length + 1 && last(inner) === 1 && String(inner.slice(0, -1)) === String(shape)) return [...places, [0]];
    const lead = inner.slice(0, Math.max(0, inner.length - shape.length)).map(size => range(size));
    const count = Math.min(inner.length, shape.length);
    return [...lead, ...range(count).map(k => {
      const size = inner.at(k - count), wanted = shape.at(k - count), given = places.at(k - count);
      if (size === wanted) return given;
      if (size === 1) return [0];
      return given.flatMap(place => range(size / wanted, place * size / wanted));
    })];
  }

  // [inner part, its places] for each part that the cells at `places` of a part are made from.
  function inside(part, places) {
    const {head, parts} = part, shape = part.value.shape, front = places.slice(0, -1);
    if (head === "number" || head === "name") return [];
    if (head === "matmul") {
      const [a, b] = parts;
      const [lead, i, j] = a.value.shape.length > 1 && b.value.shape.length > 1
        ? [places.slice(0, -2), places.at(-2), places.at(-1)] : [front, [0], places.at(-1)];
      const axis = range(last(a.value.shape));
      return [[a, broadcast([...lead, i, axis], a.value.shape, shape)], [b, broadcast([...lead, axis, j], b.value.shape, shape)]];
    }
    if (head === "transposed") {
      const where = [...places.slice(0, -2), places.at(-1), places.at(-2)], rank = parts[0].value.shape.length;
      return [[parts[0], rank > 1 ? where.slice(-rank) : [places[0]]]];
    }
    if (head === "split") {
      const [h, rows, columns] = places.slice(-3), width = last(shape);
      return [[parts[0], [...places.slice(0, -3), rows, sorted(h.flatMap(x => columns.map(y => x * width + y)))]]];
    }
    if (head === "merge") {
      const [rows, columns] = places.slice(-2), width = last(parts[0].value.shape);
      return [[parts[0], [...places.slice(0, -2), sorted(columns.map(j => Math.floor(j / width))), rows, sorted(columns.map(j => j % width))]]];
    }
    if (["sum", "total", "mean"].includes(head) || (head === "max" && parts.length === 1))
      return [[parts[0], [...front, range(last(parts[0].value.shape))]]];
    if (head === "softmax") {
      const where = [...front, range(last(shape))];
      return parts.map(inner => [inner, broadcast(where, inner.value.shape, shape)]);
    }
    if (head === "fit") return [[parts[0], spread(places, shape, parts[0].value.shape)]];
    if (["join", "first", "behind", "repeat", "rows", "scatter", "onehot", "turn", "all", "heads_axis"].includes(head))
      return parts.map((inner, k) => [inner, moved(head, k, places, inner.value.shape, parts)]).filter(([inner]) => inner.head !== "number");
    if (head === "times" && shape.length && parts[1].value.shape.length && String(parts[0].value.shape.slice(0, -1)) === String(parts[1].value.shape)
        && parts[0].value.shape.length)
      return [[parts[0], places], [parts[1], front]];
    return parts.map(inner => [inner, broadcast(places, inner.value.shape, shape)]);
  }

  function moved(head, k, places, shape, parts) {
    const everything = shape.map(size => range(size));
    if (head === "join") {
      const start = parts.slice(0, k).reduce((sum, inner) => sum + inner.value.shape.at(-2), 0);
      const mine = places.at(-2).map(row => row - start).filter(row => row >= 0 && row < shape.at(-2));
      return broadcast([...places.slice(0, -2), mine, places.at(-1)], shape);
    }
    if (head === "first" || head === "behind") {
      if (k) return shape.map(() => []);
      return [...places.slice(0, -2), head === "first" ? places.at(-2) : [parts[1].value.shape.at(-2)], places.at(-1)];
    }
    if (head === "repeat") {
      const group = parts[1].value.data[0] / shape.at(-3);
      return [...places.slice(0, -3), sorted(places.at(-3).map(h => Math.floor(h / group))), ...places.slice(-2)];
    }
    if (head === "rows" && k === 0) {
      const ids = parts[1].value, rank = ids.shape.length;
      return [sorted(taken(ids, ids.shape, places.slice(0, rank))), ...places.slice(rank)];
    }
    if (head === "rows" || head === "onehot") return places.slice(0, shape.length);
    if (head === "heads_axis") return [places[0], ...places.slice(2)];
    if (head === "turn") {
      const half = last(parts[1].value.shape), pairs = last(places).map(j => pair(half, parts[3].value.data[0], j));
      if (k) return broadcast([...places.slice(0, -1), sorted(pairs.map(p => p[0]).filter(n => n !== null))], shape);
      return [...places.slice(0, -1), sorted(pairs.flatMap(p => p.slice(1)))];
    }
    return everything;
  }

  // {name: places along each axis} of the cells that the cells at `places` are made from.
  function reads(part, places) {
    if (part.head === "name") return {[part.name]: places};
    const found = {};
    for (const [inner, where] of inside(part, places))
      for (const [name, there] of Object.entries(reads(inner, where)))
        found[name] = found[name] ? found[name].map((axis, k) => sorted([...axis, ...there[k]])) : there;
    return found;
  }

  const single = index => index.map(place => [place]);
  const cellOf = places => places.map(place => place[0]);
  function isCopy(part) {
    if (part.head === "fit") return isCopy(part.parts[0]);
    const from = ["rows", "first", "behind", "repeat", "split"].includes(part.head) ? part.parts.slice(0, 1) : part.parts;
    return part.head === "name" || ([...COPIES, "gather"].includes(part.head) && from.every(isCopy));
  }
  function sources(part, index) {
    if (part.head === "rows") return reads(part.parts[0], inside(part, single(index))[0][1]);
    return Object.fromEntries(Object.entries(reads(part, single(index))).filter(([, places]) => places.every(place => place.length)));
  }
  const hasNamesOutsideSums = part => part.head === "name" || (!APART.includes(part.head) && part.head !== "number" && part.parts.some(hasNamesOutsideSums));
  const summands = part => part.head === "plus" ? part.parts.flatMap(summands) : [part];
  const inLeaf = (leaf, index) => leaf.value.shape.map((size, k) => size === 1 ? 0 : index[index.length - leaf.value.shape.length + k]);

  function factorsOf(part, places) {
    if (part.head === "fit") return factorsOf(part.parts[0], spread(places, part.value.shape, part.parts[0].value.shape));
    if (part.head === "matmul") {
      const rows = all(places).map(cell => inside(part, single(cell)).map(([inner, where]) => taken(inner.value, inner.value.shape, where)));
      return [0, 1].map(side => rows.flatMap(row => row[side]));
    }
    if (["sum", "total", "mean", "gather", "all"].includes(part.head)) {
      const inner = part.parts[0];
      const where = part.head === "all" ? inner.value.shape.map(size => range(size)) : inside(part, places)[0][1];
      if (inner.head === "times" && inner.parts.every(one => COPIES.includes(one.head)))
        return inner.parts.map(one => taken(one.value, inner.value.shape, where));
      return factorsOf(inner, where);
    }
    if (part.head === "scatter") {
      const [rows, ids] = part.parts, found = [];
      ids.value.data.forEach((id, n) => { if (id === places[0][0]) found.push(rows.value.data[n * last(rows.value.shape) + last(places)[0]]); });
      return [found];
    }
    return [taken(part.value, part.value.shape, places)];
  }

  // The terms joined by +; of many the first and last ones, and what the others come to.
  function joined(terms, values, precision) {
    if (terms.length > MOST_TERMS) {
      const between = one(values.slice(3, -2).reduce((a, b) => a + b, 0), precision);
      terms = [...terms.slice(0, 3), `… (${terms.length - 5}: ${between}) …`, ...terms.slice(-2)];
    }
    return terms.join(" + ");
  }

  // The writer of one cell. `run` knows the tensors: their symbols and tokens.
  class Writer {
    constructor(run, precision, seen) { Object.assign(this, {run, precision, seen, sums: [], setApart: false}); }

    whole(part, index) {
      if (isCopy(part)) {
        const cells = Object.entries(sources(part, index)).flatMap(([name, places]) => all(places).map(cell => [name, cell]));
        if (cells.length === 1) return this.run.cellName(...cells[0]);
      }
      this.setApart = hasNamesOutsideSums(part);
      return this.text(part, index);
    }

    one(part, index) { return one(at(part.value, index), this.precision); }

    down(part, index) { const [inner, where] = inside(part, single(index))[0]; return [inner, cellOf(where)]; }

    text(part, index) {
      const {head} = part;
      if (head === "root" && part.parts[0].head === "number") return `√${general(part.parts[0].value.data[0])}`;
      if (head === "number") return general(part.value.data[0]);
      if (SUMS.includes(head) || (head === "fit" && [...SUMS, ...COPIES].includes(part.parts[0].head))) return this.sum(part, index);
      if (COPIES.includes(head) && !isCopy(part)) return this.text(...this.down(part, index));
      if (COPIES.includes(head) || head === "softmax") return this.one(part, index);
      if (head === "turn") return this.turn(part, index);
      const parts = inside(part, single(index)).map(([inner, where]) => [inner, cellOf(where)]);
      if (head === "plus") return this.plus(part, index);
      if (head === "minus") return `${this.text(...parts[0])} − ${this.bound(...parts[1], 1)}`;
      if (head === "times") return `${this.bound(...parts[0], 1, true)} · ${this.bound(...parts[1], 2)}`;
      if (head === "over") return `${this.bound(...parts[0], 1, true)} / ${this.bound(...parts[1], 2)}`;
      if (head === "negative") return `−${this.bound(...parts[0], 1)}`;
      if (head === "squared") return `${this.bound(...parts[0], 3)}²`;
      if (head === "root") return `√(${this.text(...parts[0])})`;
      if (head === "pass_where") return `(${this.text(...parts[0])}, ${this.one(...parts[1])} > 0)`;
      if (head === "fit") return this.text(...this.down(part, index));
      return `${head}(${parts.map(both => this.text(...both)).join(", ")})`;
    }

    bound(part, index, level, leading) {
      const text = this.text(part, index);
      let loose = (LEVELS[part.head] || 9) <= level && part.head !== "number";
      if (SUMS.includes(part.head) || part.head === "fit") loose = !this.isApart(part) && text.includes(" + ");
      return loose || (text.startsWith("-") && !leading) ? `(${text})` : text;
    }

    plus(part, index) {
      const leaves = summands(part);
      if (leaves.every(isCopy)) {
        const values = leaves.map(leaf => at(leaf.value, inLeaf(leaf, index)));
        return joined(texts(values, this.precision).map(brackets), values, this.precision);
      }
      const written = leaves.map(leaf => this.text(leaf, inLeaf(leaf, index)));
      return [written[0], ...written.slice(1).map(brackets)].join(" + ");
    }

    sum(part, index) {
      const places = single(index), divided = part.head === "mean" ? ` / ${last(part.parts[0].value.shape)}` : "";
      let factors = factorsOf(part, places);
      if (this.seen && factors.every(factor => factor.length === this.seen.length))
        factors = factors.map(factor => factor.filter((_, k) => this.seen[k]));
      const values = (factors[0] || []).map((_, k) => factors.reduce((total, factor) => total * factor[k], 1));
      const shown = factors.map(factor => texts(factor, this.precision));
      const tokens = this.tokens(part, places) || values.map(() => "");
      let terms = values.map((_, k) => shown.map(factor => brackets(factor[k])).join("·"));
      if (tokens.length === terms.length) terms = terms.map((term, k) => `${tokens[k]} ${term}`.trimStart());
      let text = joined(terms, values, this.precision) || "0";
      if (divided) text = `(${text})${divided}`;
      if (!this.isApart(part)) return text;
      const value = this.one(part, index), line = `${this.label(part, places)} = ${text} = ${value}`;
      if (!this.sums.includes(line)) this.sums.push(line);
      return value;
    }

    isApart(part) { return this.setApart && APART.includes(part.head); }

    label(part, places) {
      const {head} = part;
      if (head === "name")
        return this.run.cellName(part.name, places.map((place, axis) => place.length === part.value.shape[axis] && place.length > 1 ? ":" : place[0]));
      if (head === "number") return part.symbol || general(part.value.data[0]);
      const written = inside(part, places).map(([inner, where]) => this.label(inner, where));
      if (["sum", "total", "all"].includes(head)) return `Σ ${written[0]}`;
      if (SIGNS[head] && written.length === 2) return `${written[0]} ${SIGNS[head]} ${written[1]}`;
      if (head === "rows") return `${this.label(part.parts[0], places)}[${last(written)}]`;
      return head === "mean" ? `mean ${written[0]}` : `${head}(${written.join(", ")})`;
    }

    turn(part, index) {
      const [x, cos, sin, interleaved] = part.parts, half = last(cos.value.shape), front = index.slice(0, -1);
      const [number, first, second] = pair(half, interleaved.value.data[0], last(index));
      if (number === null) return this.one(x, index);
      const angle = one => taken(one.value, [...x.value.shape.slice(0, -1), half], single([...front, number]))[0];
      const [a, b, c, s] = [at(x.value, [...front, first]), at(x.value, [...front, second]), angle(cos), angle(sin)]
        .map(value => brackets(one(value, this.precision)));
      return last(index) === first ? `${a}·${c} − ${b}·${s}` : `${a}·${s} + ${b}·${c}`;
    }

    tokens(part, places) {
      while (part.head === "fit") { places = spread(places, part.value.shape, part.parts[0].value.shape); part = part.parts[0]; }
      if (part.head !== "matmul" || places.some(place => place.length > 1)) return null;
      const [left, where] = inside(part, places)[0], found = Object.entries(reads(left, where));
      if (found.length !== 1) return null;
      const [name, axes] = found[0], width = last(left.value.shape);
      const whole = axes.map((_, axis) => axis).filter(axis => axes[axis].length > 1 || axes[axis].length === width);
      return whole.length === 1 && this.run.isStep(name) ? this.run.tokens(name, whole[0]) : null;
    }
  }

  function softmaxLines(part, index, name, value, seen, precision, less) {
    const row = taken(part.parts[0].value, part.value.shape, [...single(index.slice(0, -1)), range(last(part.value.shape))]);
    const here = row[last(index)], shown = seen ? row.filter((_, k) => seen[k]) : row;
    let top = 0;
    const remark = [];
    if (Math.max(...shown.map(Math.abs)) > 20) {
      top = Math.max(...shown);
      remark.push(`(− ${brackets(one(top, precision))}: ${less})`);
    }
    const powers = shown.map(x => Math.exp(x - top)), exponents = texts([...shown, here].map(x => x - top), precision);
    const total = joined(exponents.slice(0, -1).map(x => `e^${brackets(x)}`), powers, precision);
    return [`${name} = e^${brackets(last(exponents))} / (${total})`, ...remark,
            `= ${one(Math.exp(here - top), precision)} / ${one(powers.reduce((a, b) => a + b, 0), precision)} = ${value}`];
  }

  // The lines about one cell of a step. `words` are the page's: given, hidden, unstated, less.
  function why(run, step, index, words, precision = 4) {
    const name = run.cellName(step.name, index), tensor = run.tensors[step.name], value = one(at(tensor, index), precision);
    const mask = run.maskOf(step), seen = mask && range(last(tensor.shape)).map(k => Boolean(taken(mask, tensor.shape, single([...index.slice(0, -1), k]))[0]));
    if (["given", "upstream gradient"].includes(step.formula)) return [`${name} = ${value}`, `${step.name} ${words.given}`];
    if (seen && !seen[last(index)] && ["weights", "dscores", "dproduct"].includes(step.short)) return [`${name} = ${value}: ${words.hidden}`];
    if (!step.tree) return [`${name} = ${value}`, `${step.name} = ${step.formula}`, `${words.unstated} ${step.code}`];
    const part = build(step.tree, run.tensors);
    if (part.head === "softmax") return softmaxLines(part, index, name, value, seen, precision, words.less);
    const writer = new Writer(run, precision, seen), text = writer.whole(part, index);
    return [...writer.sums, `${name} = ${text} = ${value}`];
  }

  // A run for the sentences: `data` as live.py writes it, the tensors, and the tokens of L and S.
  function run(data, tensors) {
    const steps = Object.fromEntries(data.steps.map(step => [step.name, step]));
    const symbols = name => (data.tensors[name] || {symbols: []}).symbols;
    return {
      tensors,
      isStep: name => name in steps,
      tokens: (name, axis) => data.tokens[symbols(name)[axis]] || null,
      cellName(name, index) {
        const shape = tensors[name].shape, shown = [];
        index.forEach((place, axis) => {
          const symbol = name in steps ? symbols(name)[axis] : "", tokens = data.tokens[symbol];
          if (name in steps && shape[axis] === 1 && axis < index.length - 2) return;
          if ((symbol === "H" || symbol === "N") && place !== ":") shown.push(`${symbol === "H" ? "head" : "sequence"} ${place}`);
          else shown.push(place === ":" ? ":" : tokens ? tokens[place] : String(place));
        });
        return shown.length ? `${name}[${shown.join(", ")}]` : name;
      },
      maskOf(step) {
        const axes = symbols(step.name).slice(-2).join(" ");
        if (!["L S", "L S_more"].includes(axes) || ["mask", "bias", "dbias"].includes(step.short)) return null;
        const weights = steps[step.name.slice(0, step.name.length - step.short.length) + "weights"];
        return weights && weights.tree && weights.tree[0] === "softmax" && weights.tree.length > 2 ? tensors[weights.tree[2][1]] : null;
      },
    };
  }

  const cells = (run_, step, index) => step.tree ? reads(build(step.tree, run_.tensors), single(index)) : {};
  return {why, run, cells, all, texts, one};
})();
if (typeof module !== "undefined") module.exports = explain;
