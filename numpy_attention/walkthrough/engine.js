// The engine of the page: it executes the formulas of a trace, the same trees as operations.py, and knows nothing of
// attention. An array is {shape, data}, its numbers row by row. A new sign of formula.py needs a line here as well:
// a test lets Python and this file compute every example.
"use strict";

const engine = (() => {
  const product = sizes => sizes.reduce((a, b) => a * b, 1);
  const array = (shape, data) => ({shape, data: data || new Float64Array(product(shape))});
  const scalar = value => array([], Float64Array.of(value));
  const stridesOf = shape => shape.map((_, axis) => product(shape.slice(axis + 1)));
  const map = (a, f) => array(a.shape, a.data.map(f));

  // Where the numbers of an operand stand, for every place of the `whole` shape: an axis of 1 stands for all, and a
  // head for its group of heads.
  const reached = new Map();
  function reach(shape, whole) {
    const key = `${shape}|${whole}`;
    if (!reached.has(key)) {
      if (reached.size > 200) reached.clear();
      reached.set(key, places(shape, whole));
    }
    return reached.get(key);
  }
  function places(shape, whole) {
    const strides = stridesOf(shape), lead = whole.length - shape.length, wide = stridesOf(whole);
    const found = new Int32Array(product(whole));
    for (let at = 0; at < found.length; at++) {
      let here = 0;
      for (let axis = 0; axis < shape.length; axis++) {
        const size = whole[axis + lead], place = Math.floor(at / wide[axis + lead]) % size;
        here += strides[axis] * (shape[axis] === size ? place : Math.floor(place * shape[axis] / size));
      }
      found[at] = here;
    }
    return found;
  }

  function together(a, b) {
    const length = Math.max(a.length, b.length), pad = shape => [...Array(length - shape.length).fill(1), ...shape];
    const [x, y] = [pad(a), pad(b)];
    return x.map((size, axis) => Math.max(size, y[axis]) * Math.min(1, size, y[axis]));
  }

  function each(a, b, f) {
    if (String(a.shape) === String(b.shape)) return map(a, (x, at) => f(x, b.data[at]));
    if (!b.shape.length) return map(a, x => f(x, b.data[0]));
    if (!a.shape.length) return map(b, x => f(a.data[0], x));
    const shape = together(a.shape, b.shape), left = reach(a.shape, shape), right = reach(b.shape, shape);
    return array(shape, left.length ? Float64Array.from(left, (here, at) => f(a.data[here], b.data[right[at]])) : undefined);
  }

  function times(a, b) {
    const rows = a.shape.length === b.shape.length + 1 && b.shape.length && String(a.shape.slice(0, -1)) === String(b.shape);
    return each(a, rows ? array([...b.shape, 1], b.data) : b, (x, y) => x * y);
  }

  function matmul(a, b) {
    if (!a.shape.length || !b.shape.length) return times(a, b);
    if (b.shape.length === 1) b = array([1, ...b.shape], b.data);
    const row = a.shape.length === 1, left = row ? array([1, ...a.shape], a.data) : a;
    const [L, K] = left.shape.slice(-2), [inner, M] = b.shape.slice(-2);
    if (K !== inner) throw new Error(`${left.shape} @ ${b.shape}`);
    const lead = together(left.shape.slice(0, -2), b.shape.slice(0, -2));
    const from = reach(left.shape.slice(0, -2), lead), of = reach(b.shape.slice(0, -2), lead);
    const out = array([...lead, L, M]), [xs, ys, zs] = [left.data, b.data, out.data];
    for (let n = 0; n < from.length; n++)
      for (let i = 0; i < L; i++)
        for (let k = 0; k < K; k++) {
          const x = xs[(from[n] * L + i) * K + k], y = (of[n] * K + k) * M, z = (n * L + i) * M;
          for (let j = 0; j < M; j++) zs[z + j] += x * ys[y + j];
        }
    return row ? array([...lead, M], zs) : out;
  }

  // The same numbers with their axes in another order.
  function moved(a, order) {
    const shape = order.map(axis => a.shape[axis]), own = stridesOf(a.shape), strides = order.map(axis => own[axis]);
    const out = array(shape), place = shape.map(() => 0);
    for (let at = 0, here = 0; at < out.data.length; at++) {
      out.data[at] = a.data[here];
      for (let axis = shape.length - 1; axis >= 0; axis--) {      // the next place, as an odometer counts
        here += strides[axis];
        if (++place[axis] < shape[axis]) break;
        here -= strides[axis] * shape[axis];
        place[axis] = 0;
      }
    }
    return out;
  }
  const swapped = (a, one, other) => {
    const order = a.shape.map((_, axis) => axis), [i, j] = [order.length + one, order.length + other];
    [order[i], order[j]] = [order[j], order[i]];
    return moved(a, order);
  };

  // One number for each row.
  function rowwise(a, f) {
    const width = a.shape.length ? a.shape[a.shape.length - 1] : 1, rows = width ? a.data.length / width : 0;
    return array([...a.shape.slice(0, -1), 1],
                 Float64Array.from({length: rows}, (_, row) => f(a.data.subarray(row * width, (row + 1) * width))));
  }
  const sum = numbers => { let total = 0; for (const x of numbers) total += x; return total; };
  const largest = numbers => { let top = -Infinity; for (const x of numbers) top = x > top || x !== x ? x : top; return top; };

  function softmax(x, mask) {
    const width = x.shape[x.shape.length - 1], where = mask && reach(mask.shape, x.shape), out = array(x.shape);
    for (let at = 0; at < x.data.length; at += width) {
      let top = -Infinity, total = 0;
      const seen = k => !where || mask.data[where[at + k]];
      for (let k = 0; k < width; k++) if (seen(k) && !(x.data[at + k] <= top)) top = x.data[at + k];
      for (let k = 0; k < width; k++) {
        out.data[at + k] = seen(k) ? Math.exp(x.data[at + k] - (top === -Infinity ? 0 : top)) : 0;
        total += out.data[at + k];
      }
      for (let k = 0; k < width; k++) out.data[at + k] /= total === 0 ? 1 : total;
    }
    return out;
  }

  // A value in the shape of its step: what was shared or spread out is added up, what is missing is repeated.
  function fit(value, shape) {
    const last = value.shape.length - 1;
    if (last === shape.length && value.shape[last] === 1 && String(value.shape.slice(0, -1)) === String(shape))
      return array(shape, value.data);
    while (value.shape.length > shape.length) {
      const [count, ...rest] = value.shape, out = array(rest);
      for (let n = 0; n < count; n++) for (let k = 0; k < out.data.length; k++) out.data[k] += value.data[n * out.data.length + k];
      value = out;
    }
    for (let axis = -value.shape.length; axis < 0; axis++) {
      const here = value.shape.length + axis, size = shape[shape.length + axis], count = value.shape[here];
      if (count <= size || count % Math.max(size, 1)) continue;
      const before = product(value.shape.slice(0, here)), after = product(value.shape.slice(here + 1)), group = count / size;
      const out = array([...value.shape.slice(0, here), size, ...value.shape.slice(here + 1)]);
      for (let n = 0; n < before; n++)
        for (let k = 0; k < count; k++)
          for (let m = 0; m < after; m++)
            out.data[(n * size + Math.floor(k / group)) * after + m] += value.data[(n * count + k) * after + m];
      value = out;
    }
    if (String(value.shape) === String(shape)) return value;
    return array(shape, Float64Array.from(reach(value.shape, shape), here => value.data[here]));
  }

  function rowsOf(a, from, to) {
    const [L, d] = a.shape.slice(-2), count = Math.max(0, Math.min(to, L) - from), lead = a.shape.slice(0, -2);
    const out = array([...lead, count, d]);
    for (let n = 0; n < product(lead); n++)
      out.data.set(a.data.subarray((n * L + from) * d, (n * L + from + count) * d), n * count * d);
    return out;
  }

  function join(...parts) {
    const lead = parts[0].shape.slice(0, -2), d = parts[0].shape[parts[0].shape.length - 1];
    const wide = parts.map(part => fit(part, [...lead, ...part.shape.slice(-2)]));
    const counts = wide.map(part => part.shape[part.shape.length - 2]), total = sum(counts), out = array([...lead, total, d]);
    for (let n = 0; n < product(lead); n++) {
      let at = n * total * d;
      wide.forEach((part, k) => { out.data.set(part.data.subarray(n * counts[k] * d, (n + 1) * counts[k] * d), at); at += counts[k] * d; });
    }
    return out;
  }

  // (number of the pair, its first column, its second) of a column that is turned; (null, column) if it is not.
  function pair(width, interleaved, j) {
    if (j >= 2 * width) return [null, j];
    const number = interleaved ? Math.floor(j / 2) : j % width;
    return interleaved ? [number, 2 * number, 2 * number + 1] : [number, number, number + width];
  }

  function turn(x, cos, sin, interleaved) {
    const half = cos.shape[cos.shape.length - 1], width = x.shape[x.shape.length - 1], out = array(x.shape, x.data.slice());
    const angles = reach(cos.shape, [...x.shape.slice(0, -1), half]);
    for (let row = 0; row < x.data.length / width; row++)
      for (let k = 0; k < half; k++) {
        const [, i, j] = pair(half, interleaved.data[0], interleaved.data[0] ? 2 * k : k), at = angles[row * half + k];
        const a = x.data[row * width + i], b = x.data[row * width + j];
        out.data[row * width + i] = a * cos.data[at] - b * sin.data[at];
        out.data[row * width + j] = a * sin.data[at] + b * cos.data[at];
      }
    return out;
  }

  // The share of a standard normal distribution below x: a series in the middle, a continued fraction in the tails.
  const bell = x => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  function share(x) {
    if (x > 3) return 1 - share(-x);
    if (x < -3) {
      let fraction = -x;
      for (let k = 120; k > 0; k--) fraction = -x + k / fraction;
      return bell(x) / fraction;
    }
    let term = x, total = x;
    for (let k = 3; Math.abs(term) > 1e-18 && k < 200; k += 2) { term *= x * x / k; total += term; }
    return 0.5 + bell(x) * total;
  }
  const sigmoid = x => x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x));

  function split(x, heads) {
    const [L, width] = x.shape.slice(-2), H = heads.data[0];
    return swapped(array([...x.shape.slice(0, -2), L, H, width / H], x.data), -2, -3);
  }
  function merge(x) {
    const out = swapped(x, -2, -3), [H, d] = out.shape.slice(-2);
    return array([...out.shape.slice(0, -2), H * d], out.data);
  }

  const OPERATIONS = {
    plus: (a, b) => each(a, b, (x, y) => x + y),
    minus: (a, b) => each(a, b, (x, y) => x - y),
    times,
    over: (a, b) => each(a, b, (x, y) => x / y),
    negative: a => map(a, x => -x),
    squared: a => map(a, x => x * x),
    root: a => map(a, Math.sqrt),
    exp: a => map(a, Math.exp),
    log: a => map(a, Math.log),
    tanh: a => map(a, Math.tanh),
    "Φ": a => map(a, share),
    "φ": a => map(a, bell),
    "σ": a => map(a, sigmoid),
    matmul,
    transposed: a => a.shape.length === 1 ? array([a.shape[0], 1], a.data) : swapped(a, -1, -2),
    sum: a => rowwise(a, sum),
    total: a => rowwise(a, sum),
    all: a => scalar(sum(a.data)),
    gather: a => a,
    mean: a => rowwise(a, row => sum(row) / row.length),
    max: (a, b) => b ? each(a, b, (x, y) => x > y ? x : y) : rowwise(a, largest),
    softmax,
    split,
    merge,
    pass_where: (dout, x) => each(dout, x, (d, v) => v > 0 ? d : 0),
    rows: (table, ids) => {
      if (!table.shape.length) return map(ids, id => id < 0 ? 0 : table.data[0]);
      const size = product(table.shape.slice(1)), out = array([...ids.shape, ...table.shape.slice(1)]);
      ids.data.forEach((id, n) => { if (id >= 0) out.data.set(table.data.subarray(id * size, (id + 1) * size), n * size); });
      return out;
    },
    scatter: (rows, ids, table) => {
      const size = product(table.shape.slice(1)), out = array(table.shape);
      ids.data.forEach((id, n) => { if (id >= 0) for (let k = 0; k < size; k++) out.data[id * size + k] += rows.data[n * size + k]; });
      return out;
    },
    onehot: (target, count) => {
      const C = count.data[0], out = array([...target.shape, C]);
      target.data.forEach((id, n) => { if (id >= 0) out.data[n * C + id] = 1; });
      return out;
    },
    heads_axis: a => array([a.shape[0], 1, ...a.shape.slice(1)], a.data),
    turn,
    join,
    first: (a, like) => rowsOf(a, 0, like.shape[like.shape.length - 2]),
    behind: (a, like) => rowsOf(a, like.shape[like.shape.length - 2], like.shape[like.shape.length - 2] + 1),
    repeat: (a, heads) => fit(array([...a.shape.slice(0, -2), 1, ...a.shape.slice(-2)], a.data), [...a.shape.slice(0, -2),
      heads.data[0] / a.shape[a.shape.length - 3], ...a.shape.slice(-2)]),
  };

  // A tree as parts with their values: {head, parts, value}; a name and a number have no parts.
  function build(tree, tensors) {
    const [head, ...inside] = tree;
    if (head === "name") return {head, name: inside[0], parts: [], value: tensors[inside[0]]};
    if (head === "number") return {head, symbol: inside[1], parts: [], value: scalar(inside[0])};
    if (head === "fit") {
      const part = build(inside[0], tensors);
      return {head, parts: [part], value: fit(part.value, inside[1])};
    }
    const parts = inside.map(part => build(part, tensors)), values = parts.map(part => part.value);
    let value = OPERATIONS[head](...values);
    if (head === "repeat") value = array([...value.shape.slice(0, -4), value.shape.at(-4) * value.shape.at(-3), ...value.shape.slice(-2)], value.data);
    return {head, parts, value};
  }

  const namesIn = tree => tree[0] === "name" ? [tree[1]] : tree[0] === "number" ? []
    : tree.slice(1).filter(part => Array.isArray(part) && typeof part[0] === "string").flatMap(namesIn);

  // Computes again what depends on the tensors `moved` (all, if none are given). Returns the names that were computed.
  function recompute(steps, tensors, moved) {
    const touched = new Set(moved), found = [];
    for (const step of steps) {
      if (!step.tree || (moved && !step.names.some(name => touched.has(name)))) continue;
      tensors[step.name] = build(step.tree, tensors).value;
      touched.add(step.name);
      found.push(step.name);
    }
    return found;
  }

  return {array, build, namesIn, recompute, product, stridesOf, fit, reach, pair};
})();
if (typeof module !== "undefined") module.exports = engine;
