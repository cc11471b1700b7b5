// What the visitor has made of the run: numbers, mask, scale, loss, sentence. All of it is one plain object, `choices`;
// the tensors follow from it, it fits into the address, and undo is the object before. Nothing here touches the page.
"use strict";

const state = (() => {
  const {array, recompute, product, namesIn} = typeof module !== "undefined" ? require("./engine.js") : engine;
  const decode = ({shape, data}) => {
    const text = atob(data), bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return {shape, data: new Float64Array(bytes.buffer)};
  };
  const clone = value => JSON.parse(JSON.stringify(value));
  const replaced = (tree, change) => change(tree.map(part => Array.isArray(part) && typeof part[0] === "string" ? replaced(part, change) : part));
  const EMPTY = {edits: {}, mask: "", divisor: null, loss: "", sentence: null};
  const size = value => value.data.reduce((top, x) => Math.max(top, Math.abs(x) || 0), 0);

  // Numbers from a seed: mulberry32, and the Box-Muller way to a bell curve.
  function random(seed) {
    let a = seed >>> 0;
    const uniform = () => {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = Math.imul(a ^ (a >>> 15), 1 | a);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    return {whole: () => Math.floor(uniform() * 3),
            bell: () => Math.round(100 * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())) / 100};
  }

  class Run {
    constructor(data) {
      this.given = data;
      this.base = {steps: data.steps, tensors: Object.fromEntries(Object.entries(data.tensors).map(([name, t]) => [name, decode(t)])),
                   tokens: data.tokens, info: data.tensors};
      this.past = [];
      this.future = [];
      this.check();
      this.apply(clone(EMPTY));
      this.changed = {};
    }

    // Everything once more, against Python's numbers: without agreement nothing may be changed.
    check() {
      const again = {...this.base.tensors};
      let worst = 0, largest = 0, cells = 0;
      try { recompute(this.base.steps, again); } catch { worst = Infinity; }
      for (const step of this.base.steps) {
        if (!step.tree) continue;
        const [a, b] = [again[step.name], this.base.tensors[step.name]];
        largest = Math.max(largest, size(b));
        cells += b.data.length;
        a.data.forEach((x, at) => {
          const off = Object.is(x, b.data[at]) || x === b.data[at] || (x !== x && b.data[at] !== b.data[at]) ? 0 : Math.abs(x - b.data[at]);
          worst = off <= worst ? worst : off;
        });
      }
      Object.assign(this, {worst, cells, live: worst <= 1e-9 * Math.max(largest, 1e-300) || worst === 0});
    }

    // The parts of an attention, found in the formulas: weights = softmax(scores), product = Q Kᵀ, heads = weights V.
    attentions() { return this.found = this.found || this.findAttentions(); }
    findAttentions() {
      const steps = Object.fromEntries(this.steps.map(step => [step.name, step])), found = [];
      for (const weights of this.steps) {
        if (weights.short !== "weights" || !weights.tree || weights.tree[0] !== "softmax") continue;
        const prefix = weights.name.slice(0, -"weights".length), product_ = steps[`${prefix}product`], heads = steps[`${prefix}heads`];
        if (!product_ || !product_.tree || product_.tree[0] !== "matmul" || !heads || !heads.tree || heads.tree[0] !== "matmul") continue;
        const [Q] = namesIn(product_.tree[1]), [K] = namesIn(product_.tree[2]), [mixed] = namesIn(heads.tree[1]), [V] = namesIn(heads.tree[2]);
        const between = ["product", "scores", "capped", "biased"].map(name => prefix + name).filter(name => steps[name]);
        const grad = name => { const dot = name.lastIndexOf(".") + 1, d = `${name.slice(0, dot)}d${name.slice(dot)}`; return steps[d] ? d : null; };
        found.push({prefix, Q, K, V, mixed, between, weights: weights.name, heads: heads.name, grad});
      }
      return found;
    }

    apply(choices) {
      const before = this.tensors;
      const {steps, tensors, tokens, info} = choices.sentence ? this.resized(choices.sentence) : this.base;
      Object.assign(this, {choices, tokens, info, steps: clone(steps), tensors: {...tensors}, found: null});
      this.editable = new Set(this.given.editable);
      for (const [name, cells] of Object.entries(choices.edits)) {
        const old = this.tensors[name];
        if (!old || !this.mayEdit(name)) continue;
        this.tensors[name] = array(old.shape, old.data.slice());
        for (const [at, value] of Object.entries(cells))
          if (Number(at) < old.data.length && Number.isFinite(value)) this.tensors[name].data[at] = value;
      }
      for (const attention of this.attentions()) this.withMask(attention, choices.mask);
      if (choices.divisor !== null) this.steps.forEach(step => { if (step.tree) step.tree = replaced(step.tree, node => node[0] === "number" && node[2] === "d_k" ? ["number", choices.divisor ** 2, "d_k"] : node); });
      this.withLoss(choices.loss);
      const untouched = !choices.sentence && !choices.mask && choices.divisor === null && !choices.loss && !Object.keys(choices.edits).length;
      if (!untouched || choices.sentence) recompute(this.steps, this.tensors);
      this.changed = before ? this.differences(before) : {};
      this.unknown = this.findUnknown(untouched);
    }

    // The steps whose numbers are not known after a change: their formula is a sentence, or needs one that is.
    findUnknown(untouched) {
      const {edits, mask, divisor, loss, sentence} = this.choices, found = new Set();
      if (untouched) return found;
      const all = Boolean(mask || divisor !== null || loss || sentence);
      for (const step of this.steps)
        if (step.depends ? (all && step.direction === "backward") || step.depends.some(name => edits[name]) : step.tree && step.names.some(name => found.has(name))) found.add(step.name);
      return found;
    }
    // Mask and divisor change what lies between the inputs; a sentence there could not follow.
    canSteer() { return this.live && !this.given.locked.length; }

    // Every attention of the page can be masked: without a mask it gets one that lets everything through.
    withMask({weights, prefix}, bits) {
      const step = this.steps.find(one => one.name === weights);
      if (step.tree.length < 3) {
        const name = `${prefix}mask`, [L, S] = this.tensors[weights].shape.slice(-2);
        step.tree = [...step.tree, ["name", name]];
        step.names = [...step.names, name];
        this.tensors[name] = array([L, S], new Float64Array(L * S).fill(1));
      }
      const name = step.tree[2][1], mask = this.tensors[name];
      this.maskName = this.maskName || name;
      if (bits && bits.length === mask.data.length) this.tensors[name] = array(mask.shape, Float64Array.from(bits, bit => bit === "1" ? 1 : 0));
    }

    get out() { return this.steps.filter(step => step.direction === "forward").at(-1); }

    // A loss in place of a given upstream gradient: two more formulas, executed like all others.
    withLoss(loss) {
      const out = this.out, upstream = this.steps.find(step => step.formula === "upstream gradient");
      this.lossName = null;
      if (!loss || !upstream || !this.tensors[out.name].shape.length) return;
      const value = this.tensors[out.name], name = out.name;
      if (loss === "target") {
        this.tensors.target = this.tensors.target || array(value.shape, this.tensors[upstream.name].data.slice());
        upstream.tree = ["minus", ["name", name], ["name", "target"]];
        upstream.formula = `${name} − target`;
        this.lossTree = ["over", ["all", ["squared", ["minus", ["name", name], ["name", "target"]]]], ["number", 2]];
        this.lossName = `½ Σ (${name} − target)²`;
      } else {
        const column = Number(loss), width = value.shape.at(-1), wanted = array(value.shape);
        for (let at = column; at < wanted.data.length; at += width) wanted.data[at] = 1;
        this.tensors.target = wanted;
        upstream.tree = ["minus", ["softmax", ["name", name]], ["name", "target"]];
        upstream.formula = `softmax(${name}) − target`;
        this.lossTree = ["negative", ["all", ["times", ["name", "target"], ["log", ["softmax", ["name", name]]]]]];
        this.lossName = `− Σ target ∘ log softmax(${name})`;
      }
      upstream.names = [name, "target"];
      upstream.lesson = upstream.formula.replace("−", "-");
      for (const [at, x] of Object.entries((this.choices.edits || {}).target || {})) this.tensors.target.data[at] = x;
      this.info = {...this.info, target: {...this.info[name], symbols: this.info[name].symbols}};
    }

    mayEdit(name) { return this.editable.has(name) && !(this.lossTree && this.choices.loss && this.steps.find(step => step.name === name && step.tree)); }

    loss() { return this.choices.loss && this.lossName ? engine.build(this.lossTree, this.tensors).value.data[0] : null; }

    // {name: Set of places} that differ from the tensors before.
    differences(before) {
      const found = {};
      for (const [name, value] of Object.entries(this.tensors)) {
        const old = before[name];
        if (!old || old === value || old.data.length !== value.data.length) continue;
        const places = new Set();
        value.data.forEach((x, at) => { if (Math.abs(x - old.data[at]) > 1e-12 * Math.max(1, Math.abs(x))) places.add(at); });
        if (places.size) found[name] = places;
      }
      return found;
    }

    change(update, remember = true) {
      const next = {...clone(this.choices), ...update};
      if (JSON.stringify(next) === JSON.stringify(this.choices)) return;
      if (remember) { this.past.push(this.choices); this.future = []; }
      this.apply(next);
    }
    edit(name, at, value, remember = true) {
      if (!this.live || !this.mayEditAt(name) || !Number.isFinite(value) || !(at in this.tensors[name].data)) return;
      const edits = clone(this.choices.edits);
      (edits[name] = edits[name] || {})[at] = value;
      if (value === this.startOf(name, at)) delete edits[name][at];
      if (!Object.keys(edits[name]).length) delete edits[name];
      this.change({edits}, remember);
    }
    mayEditAt(name) { return (name === "target" && this.choices.loss === "target") || this.mayEdit(name); }
    startOf(name, at) {
      const from = (this.choices.sentence ? this.resized(this.choices.sentence) : this.base).tensors[name];
      return from ? from.data[at] : undefined;
    }
    toggle(maskName, at) {
      const bits = [...this.tensors[maskName].data].map((bit, k) => Number(k === at ? !bit : bit));
      this.change({mask: bits.every(Boolean) && !this.given.tensors[maskName] ? "" : bits.join("")});
    }
    undo() { if (this.past.length) { this.future.push(this.choices); this.apply(this.past.pop()); } }
    redo() { if (this.future.length) { this.past.push(this.choices); this.apply(this.future.pop()); } }
    reset() { this.change(clone(EMPTY)); }
    isChanged() { return JSON.stringify(this.choices) !== JSON.stringify(EMPTY); }

    // The gradient of one number, measured: the loss with the number a little larger, and a little smaller.
    measure(name, at) {
      const gradient = this.gradientOf(name);
      if (!gradient || this.unknown.has(gradient)) return null;
      const upstream = this.steps.find(step => step.formula === "upstream gradient" || step.names && step.names.includes("target"));
      const weights = this.tensors[upstream.name].data, value = this.tensors[name], forward = this.steps.filter(step => step.direction === "forward");
      const nudge = 1e-5 * Math.max(1, Math.abs(value.data[at]));
      const far = sign => {
        const tensors = {...this.tensors, [name]: array(value.shape, value.data.slice())};
        tensors[name].data[at] += sign * nudge;
        recompute(forward, tensors, [name]);
        if (this.choices.loss) return engine.build(this.lossTree, tensors).value.data[0];
        return tensors[this.out.name].data.reduce((sum, x, k) => sum + x * weights[k], 0);
      };
      return {measured: (far(1) - far(-1)) / (2 * nudge), backward: this.tensors[gradient].data[at], gradient, nudge};
    }
    gradientOf(name) {
      const dot = name.lastIndexOf(".") + 1, own = `${name.slice(0, dot)}d${name.slice(dot)}`;
      const found = this.given.gradients[name] || own;
      return this.steps.some(step => step.name === found && (step.tree || step.formula === "upstream gradient")) ? found : null;
    }
    tensorOf(gradient) {
      const dot = gradient.lastIndexOf(".") + 1, own = gradient.slice(0, dot) + gradient.slice(dot + 1);
      return Object.entries(this.given.gradients).find(([, name]) => name === gradient)?.[0] || (this.tensors[own] ? own : null);
    }

    // Another sentence: the same formulas with other sizes, and numbers from a seed.
    canResize() { return Boolean(this.given.resizable); }
    resized({tokens, H, d_k, seed, whole}) {
      const kept = JSON.stringify([tokens, H, d_k, seed, whole]);
      if (this.resizedFrom === kept) return this.resizedRun;
      const L = tokens.length, D = H * d_k, sizes = {N: 1, L, S: L, H, d_k, d_v: d_k, D, kdim: D, vdim: D, "H·d_k": D, "H·d_v": D};
      const many = this.given.resizable === "heads" && H > 1, draw = random(seed);
      const shapeOf = name => {
        const info = this.given.tensors[name];
        const symbols = this.given.resizable === "heads" ? info.symbols.slice(-2) : info.symbols;
        const shape = symbols.map(symbol => sizes[symbol]);
        return many ? [H, ...shape] : shape;
      };
      const shape = name => this.given.shapes[name] ? this.given.shapes[name].map(symbol => sizes[symbol]) : shapeOf(name);
      const steps = clone(this.given.steps).map(step => {
        if (step.tree) step.tree = replaced(step.tree, node => node[0] === "fit" ? ["fit", node[1], shape(step.name)]
          : node[0] === "number" && node[2] === "d_k" ? ["number", d_k, "d_k"] : node[0] === "split" ? ["split", node[1], ["number", H]] : node);
        return step;
      });
      const computed = new Set(steps.filter(step => step.tree).map(step => step.name)), tensors = {};
      for (const name of Object.keys(this.given.tensors)) {
        const to = shape(name);
        tensors[name] = array(to);
        if (name === "mask") tensors[name].data.fill(1);
        if (computed.has(name) || name === "mask") continue;
        const scale = /(^|\.)W_/.test(name) ? 1 / Math.sqrt(to[0]) : 1;
        tensors[name].data.forEach((_, at) => { tensors[name].data[at] = whole ? draw.whole() : Math.round(100 * scale * draw.bell()) / 100; });
      }
      recompute(steps, tensors);
      const info = Object.fromEntries(Object.entries(this.given.tensors).map(([name, t]) => {
        const own = this.given.shapes[name] || t.symbols;
        const symbols = this.given.shapes[name] ? own : this.given.resizable === "heads" ? [...(many ? ["H"] : []), ...own.slice(-2)] : own;
        return [name, {...t, symbols}];
      }));
      this.resizedFrom = kept;
      return this.resizedRun = {steps, tensors, tokens: {...this.given.tokens, L: tokens, S: tokens}, info};
    }

    // The choices as a text for the address, and back. What does not fit this run is left out.
    toAddress() {
      const {edits, mask, divisor, loss, sentence} = this.choices, parts = new URLSearchParams();
      if (sentence) parts.set("t", JSON.stringify([sentence.tokens, sentence.H, sentence.d_k, sentence.seed, Number(sentence.whole)]));
      const list = Object.entries(edits).flatMap(([name, cells]) => Object.entries(cells).map(([at, value]) => `${name}~${at}~${value}`));
      if (list.length) parts.set("e", list.join("!"));
      if (mask) parts.set("m", mask);
      if (divisor !== null) parts.set("d", divisor);
      if (loss) parts.set("o", loss);
      return parts;
    }
    fromAddress(parts) {
      const choices = clone(EMPTY);
      try {
        const [tokens, H, d_k, seed, whole] = JSON.parse(parts.get("t") || "null") || [];
        if (tokens && this.canResize()) choices.sentence = sentenceOf(tokens, H, d_k, seed, whole);
      } catch { /* a link that was cut: the sentence of the page stays */ }
      for (const text of (parts.get("e") || "").split("!")) {
        const [name, at, value] = text.split("~");
        if (at !== undefined && value && Number.isInteger(Number(at)) && Number.isFinite(Number(value))) {
          if (!Object.prototype.hasOwnProperty.call(choices.edits, name) && (this.editable.has(name) || name === "target")) choices.edits[name] = {};
          if (choices.edits[name]) choices.edits[name][Number(at)] = Number(value);
        }
      }
      if (this.canSteer() && /^[01]+$/.test(parts.get("m") || "")) choices.mask = parts.get("m");
      const divisor = Number(parts.get("d"));
      if (this.canSteer() && parts.get("d") && divisor >= 0.05 && divisor <= 100) choices.divisor = divisor;
      if (/^(target|\d+)$/.test(parts.get("o") || "")) choices.loss = parts.get("o");
      return choices;
    }
  }

  const within = (x, low, high, otherwise) => Number.isInteger(x) && x >= low && x <= high ? x : otherwise;
  function sentenceOf(tokens, H, d_k, seed, whole) {
    tokens = (Array.isArray(tokens) ? tokens : String(tokens).trim().split(/\s+/)).map(token => String(token).slice(0, 24)).filter(Boolean).slice(0, 8);
    if (tokens.length < 2) return null;
    return {tokens, H: within(Number(H), 1, 4, 1), d_k: within(Number(d_k), 2, 6, 4), seed: within(Number(seed), 0, 999999, 0), whole: Boolean(whole)};
  }

  return {Run, sentenceOf, EMPTY};
})();
if (typeof module !== "undefined") module.exports = state;
