// The bench: one screen on which every number can be changed, and everything after it follows, backward included.
// Texts from outside (tokens, names, addresses) only ever become text nodes.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent), root = document.documentElement;
  // The page's own controls step through the printed steps; here are others.
  document.querySelectorAll("header .controls, aside, .keys").forEach(one => one.remove());
  const run = new state.Run(data.live), bench = document.getElementById("bench");
  const view = {step: 0, cell: null, head: 0, sequence: 0, kind: "", attention: 0, puzzle: -1, alike: false, lang: root.dataset.lang};
  const say = (zh, en) => view.lang === "zh" ? zh : en;
  const words = () => Object.fromEntries(Object.entries(data.live.words).map(([key, both]) => [key, both[view.lang === "zh" ? "zh" : "en"]]));
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  function h(tag, attributes, ...inside) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key.startsWith("aria-")) element.setAttribute(key, String(value));
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...inside.flat(2).filter(one => one === "" || Boolean(one)));
    return element;
  }

  // ---- colours ---------------------------------------------------------------------------------------------------
  const {short, largest} = look;
  const MAPS = Object.fromEntries(Object.entries(data.live.maps).map(([name, text]) => [name, look.anchorsOf(text)]));
  const SHADES = Object.fromEntries(Object.entries(MAPS).map(([name, anchors]) => [name, look.shadesOf(anchors)]));
  const shadeOf = (map, x, top) => look.shadeOf(x, top, map === data.live.weights);
  document.head.append(h("style", {}, look.rules(SHADES)));
  const stepOf = name => run.steps.find(step => step.name === name);
  const isBackward = name => (stepOf(name) || {}).direction === "backward";
  const isWeights = name => ["weights", "dropped", "mask"].includes(name.split(".").at(-1));
  const FAMILIES = [["Q", "K"], ["V", "heads"], ["product", "scores", "capped", "biased"]];
  function limit(name) {
    if (isBackward(name)) return view.alike ? Math.max(...run.steps.filter(s => s.direction === "backward").map(s => largest(run.tensors[s.name]))) : largest(run.tensors[name]);
    const dot = name.lastIndexOf(".") + 1, family = FAMILIES.find(names => names.includes(name.slice(dot))) || [name.slice(dot)];
    return Math.max(...family.map(one => run.tensors[name.slice(0, dot) + one]).filter(Boolean).map(largest));
  }

  // ---- cells ---------------------------------------------------------------------------------------------------
  const symbolsOf = name => (run.info[name] || {symbols: []}).symbols;
  // Which sequence and head of a tensor is shown.
  function lead(name) {
    const shape = run.tensors[name].shape, symbols = symbolsOf(name), heads = headCount();
    return shape.slice(0, -2).map((size, axis) => size === 1 ? 0 : symbols[axis] === "N" ? Math.min(view.sequence, size - 1)
      : Math.min(Math.floor(view.head * size / Math.max(heads, 1)), size - 1));
  }
  function headCount() {
    const found = attention();
    if (!found) return 1;
    const shape = run.tensors[found.weights].shape;
    return shape.length > 2 ? shape.at(-3) : 1;
  }
  const attention = () => run.attentions()[view.attention] || run.attentions()[0];
  const flat = (name, index) => index.reduce((sum, place, axis) => sum + place * engine.stridesOf(run.tensors[name].shape)[axis], 0);
  const unflat = (name, at) => engine.stridesOf(run.tensors[name].shape).map((stride, axis) => Math.floor(at / stride) % run.tensors[name].shape[axis]);

  // Which cell of a mask stands for a cell of the scores.
  function maskAt(name, index) {
    const step = stepOf(name), mask = step && speaker().maskOf(step);
    if (!mask) return null;
    const where = engine.reach(mask.shape, run.tensors[name].shape)[flat(name, index)];
    return {at: where, hidden: !mask.data[where]};
  }
  let spoken = null;
  const speaker = () => spoken || (spoken = explain.run({steps: run.steps, tensors: run.info, tokens: run.tokens}, run.tensors));

  let shown = {};                                      // every cell on the screen, by its tensor: {element, at, look, text}
  const blank = h("td", {class: "cell", role: "gridcell", tabindex: -1}, h("span", {}, " "));
  function cellOf(name, at) {
    const element = blank.cloneNode(true);
    element.dataset.of = name;
    element.dataset.at = at;
    (shown[name] = shown[name] || []).push({element, at, look: "cell", text: null});
    return element;
  }

  // One matrix: a table whose cells know their tensor and place. `flipped` shows Kᵀ: rows and columns change places.
  function matrix(name, {flipped = false, small = false, bare = false} = {}) {
    const value = run.tensors[name], shape = value.shape, rank = shape.length, front = rank > 2 ? lead(name) : [];
    const rows = rank > 1 ? shape.at(-2) : 1, columns = rank ? shape.at(-1) : 1, symbols = symbolsOf(name).slice(-2);
    const cell = (i, j) => rank > 1 ? [...front, i, j] : rank ? [j] : [];
    const labels = [rank > 1 ? run.tokens[symbols.at(-2)] : null, rank ? run.tokens[symbols.at(-1)] : null];
    if (flipped) labels.reverse();
    const [down, across] = flipped ? [columns, rows] : [rows, columns];
    const gradient = isBackward(name), sums = ["weights", "dscores", "dproduct"].includes(name.split(".").at(-1)) && !small;
    const title = name.split(".").at(-1), kind = kindOf(title);
    const body = [];
    if (labels[1]) body.push(h("tr", {}, h("td", {}), ...labels[1].map(token => h("th", {scope: "col", title: token}, token)), sums ? h("th", {scope: "col"}, "Σ") : null));
    for (let i = 0; i < down; i++) {
      const row = h("tr", {}, labels[0] ? h("th", {scope: "row", title: labels[0][i]}, labels[0][i]) : labels[1] || flipped ? h("td", {}) : null);
      for (let j = 0; j < across; j++) {
        const index = flipped ? cell(j, i) : cell(i, j);
        row.append(cellOf(name, flat(name, index)));
      }
      if (sums) row.append(h("td", {class: "sum", "data-sum": name, "data-row": flat(name, cell(i, 0))}));
      body.push(row);
    }
    const at = run.steps.findIndex(step => step.name === name);
    const dims = flipped ? [shape.at(-1), shape.at(-2)] : shape.slice(-2);
    return h("figure", {class: `matrix ${gradient ? "gradient" : ""} ${small ? "small" : ""} ${bare ? "bare" : ""}`, "data-figure": name},
      h("figcaption", {}, h("b", {class: kind, "data-goto": at >= 0 ? at : null}, ...lowered(title), flipped ? h("sup", {}, "ᵀ") : null), " ",
        h("i", {}, dims.join(" × ") || "1"), " ", h("i", {class: "limit", "data-limit": name})),
      h("table", {role: "grid", "aria-label": `${name}${flipped ? " transposed" : ""}`}, h("tbody", {}, ...body)));
  }

  function about(name) {
    const value = run.tensors[name], tail = name.split(".").at(-1), step = stepOf(name);
    const masked = ["weights", "scores", "product", "capped", "biased", "dscores", "dproduct"].includes(tail);
    const mask = masked && step ? speaker().maskOf(step) : null;
    return {data: value.data, top: limit(name) || 1, mask, where: mask && engine.reach(mask.shape, value.shape),
            dashed: ["weights", "dscores", "dproduct"].includes(tail), map: mapOf(name),
            may: run.live && run.mayEditAt(name), changed: run.changed[name], unknown: run.unknown.has(name)};
  }
  const mapOf = name => data.live[isWeights(name) ? "weights" : isBackward(name) ? "gradient" : "signed"];
  // Writes into the document only what differs from what stands there.
  function paint() {
    spoken = null;
    for (const [name, cells] of Object.entries(shown)) {
      const all = about(name), shades = SHADES[all.map];
      for (const cell of cells) {
        const at = cell.at, x = all.data[at], gone = Boolean(all.where) && !all.mask.data[all.where[at]];
        const shade = shadeOf(all.map, x, all.top), ink = shade >= 0 && shades[shade].white ? " white" : "";
        const back = gone || all.unknown ? " hidden" : shade < 0 ? " bad" : `${ink} ${all.map}-${shade}`;
        const text = all.unknown ? "?" : gone && all.dashed ? "–" : short(x);
        const said = all.unknown ? say("不知道", "not known") : gone ? say("被挡住", "hidden") : text;
        const fresh = all.changed && all.changed.has(at) ? " new" : "";
        const look = `cell${back}${text.includes("e") ? " long" : ""}${all.may ? " may" : ""}${fresh}`;
        if (cell.look !== look) cell.element.className = cell.look = look;
        if (cell.text === text && cell.said === said) continue;
        cell.element.firstChild.firstChild.data = text;
        Object.assign(cell, {text, said});
        cell.element.setAttribute("aria-label", `${speaker().cellName(name, unflat(name, at))} ${said}`);
      }
    }
    for (const sum of bench.querySelectorAll("[data-sum]")) {
      const value = run.tensors[sum.dataset.sum], from = Number(sum.dataset.row);
      const total = value.data.slice(from, from + value.shape.at(-1)).reduce((a, b) => a + b, 0);
      write(sum, run.unknown.has(sum.dataset.sum) ? "?" : short(Math.abs(total) < 1e-12 ? 0 : Math.round(total * 1e12) / 1e12));
    }
    for (const text of bench.querySelectorAll("[data-limit]"))
      write(text, isBackward(text.dataset.limit) ? `±${short(limit(text.dataset.limit))}` : "");
    for (const thumb of bench.querySelectorAll("[data-thumb]")) draw(thumb);
    controls();
    light();
  }

  function write(element, text) { if (element.textContent !== text) element.textContent = text; }

  // A matrix as a small picture.
  function draw(canvas) {
    const name = canvas.dataset.thumb, value = run.tensors[name], front = canvas.dataset.lead ? canvas.dataset.lead.split(",").map(Number) : lead(name);
    const [rows, columns] = value.shape.length > 1 ? value.shape.slice(-2) : [1, value.shape[0] || 1], top = limit(name) || 1;
    if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, {width: columns, height: rows});
    const pen = canvas.getContext("2d"), from = value.shape.length > 2 ? flat(name, [...front, 0, 0]) : 0;
    const picture = pen.createImageData(columns, rows), map = mapOf(name);
    for (let k = 0; k < rows * columns; k++) {
      const shade = shadeOf(map, value.data[from + k], top);
      picture.data.set(shade < 0 ? look.BAD : SHADES[map][shade].rgb, 4 * k);
      picture.data[4 * k + 3] = 255;
    }
    pen.putImageData(picture, 0, 0);
  }

  // ---- layouts -------------------------------------------------------------------------------------------------
  const op = (sign, under) => h("div", {class: "op", "aria-hidden": "true"}, sign, under ? h("small", {}, under) : null);
  const gap = () => h("div", {});

  function attentionView() {
    const a = attention(), grad = name => name && a.grad(name), figure = (name, options) => name ? matrix(name, options) : gap();
    const current = run.steps[view.step].name.replace(/(^|\.)d(?=[a-z]+$)/, "$1");
    const middle = a.between.includes(current) ? current : a.between.includes(`${a.prefix}scores`) ? `${a.prefix}scores` : a.between[0];
    const under = middle.endsWith("product") ? "" : "÷√dₖ";
    const dmiddle = isBackward(run.steps[view.step].name) && run.steps[view.step].short === "dproduct" ? run.steps[view.step].name : grad(middle) || grad(`${a.prefix}scores`);
    const columns = [
      [figure(a.Q), figure(grad(a.Q))], [op("@"), op("←")], [figure(a.K, {flipped: true}), figure(grad(a.K), {flipped: true})], [op("=", under), op("←")],
      [figure(middle), figure(dmiddle)], [op("→", "softmax"), op("←", "softmax′")], [figure(a.weights), figure(grad(a.weights))],
      [op("@"), op("←")], [figure(a.V), figure(grad(a.V))], [op("="), op("←")], [figure(a.heads), figure(grad(a.heads))]];
    const count = [a.Q, a.K, middle, a.weights, a.V, a.heads].map(name => run.tensors[name].shape);
    const across = count[0].at(-1) + count[1].at(-2) + count[2].at(-1) + count[3].at(-1) + count[4].at(-1) + count[5].at(-1);
    const label = Math.max(20, ...(run.tokens.L || []).map(token => Math.min(68, 7.5 * [...token].length)));        // pixels
    const wide = Math.max(30, Math.min(46, Math.floor((Math.min(bench.clientWidth || 1232, 1400) - 360 - 5 * label) / across)));
    return h("div", {class: "strips", style: `--cell:${wide}px`},
      h("div", {class: "chain forward", role: "group", "aria-label": say("前向", "forward")}, ...columns.map(([above]) => above)), h("div", {class: "between"}),
      h("div", {class: "chain backward", role: "group", "aria-label": say("反向", "backward")}, ...columns.map(([, below]) => below)));
  }

  // The formula of any step as an equation: matrices and signs, the result last.
  function equation(step) {
    const SIGN = {plus: "+", minus: "−", times: "∘", over: "/", matmul: "@"}, shown = new Set();
    const pieces = (tree, flipped) => {
      const [head, ...inside] = tree;
      if (head === "name") {
        if (shown.has(inside[0] + flipped)) return [h("span", {class: "again"}, inside[0].split(".").at(-1))];
        shown.add(inside[0] + flipped);
        return [matrix(inside[0], {flipped: Boolean(flipped) && run.tensors[inside[0]].shape.length > 1})];
      }
      if (head === "number") return [op(inside[1] ? lowered(inside[1]) : short(inside[0]))];
      if (head === "root" && inside[0][0] === "number") return [op(["√", ...[inside[0][2] ? lowered(inside[0][2]) : short(inside[0][1])].flat()])];
      if (head === "transposed") return pieces(inside[0], true);
      if (head === "fit" || head === "gather") return pieces(inside[0], flipped);
      if (SIGN[head] && inside.length === 2) {
        const scaled = head === "times" && inside[0][0] === "number";
        return [...pieces(inside[0]), op(scaled ? "·" : SIGN[head]), ...pieces(inside[1])];
      }
      const word = {negative: "−", root: "√", sum: "Σ", total: "Σ", all: "Σ", squared: "²"}[head] || head;
      const parts = inside.filter(part => Array.isArray(part) && part[0] !== "number");
      if (head === "squared") return [op("("), ...pieces(parts[0]), op(")²")];
      return [op(`${word} (`), ...parts.flatMap((part, k) => [k ? op(",") : null, ...pieces(part)]), op(")")];
    };
    if (!step.tree) return h("div", {class: "equation"}, matrix(step.name));
    return h("div", {class: "equation"}, ...pieces(step.tree), op("="), matrix(step.name));
  }
  function equationView() {
    const step = run.steps[view.step], other = step.direction === "backward" ? run.tensorOf(step.name) : run.gradientOf(step.name);
    const twin = other && stepOf(other), parts = [equation(step)];
    if (twin && twin.tree && twin.tree[0] !== "name") parts.push(h("h2", {}, twin.direction === "backward" ? say("反向", "backward") : say("前向", "forward")), equation(twin));
    return h("div", {class: "strips free", style: "--cell:38px"}, ...parts);
  }

  // All heads side by side: x, the matrices, each head's weights, and how they are put together.
  function headsView() {
    const a = attention(), has = name => run.tensors[a.prefix + name] ? a.prefix + name : null, heads = headCount();
    const headButton = k => h("button", {type: "button", class: "head", "aria-pressed": k === view.head, onclick: () => { view.head = k; rebuild(); }},
      thumb(k), `${say("头", "head")} ${k}`);
    const x = has("x") || has("query"), weightsNames = ["W_Q", "W_K", "W_V"].map(has).filter(Boolean);
    const made = has("concat") || a.heads;
    return h("div", {class: "strips free many", style: "--cell:34px"},
      h("div", {class: "equation"},
        x && [matrix(x, {small: true}), op("@")], weightsNames.map(name => matrix(name, {bare: true})), op("→"),
        h("div", {class: "heads", role: "group", "aria-label": say("各个头的权重", "the weights of all heads")},
          Array.from({length: heads}, (_, k) => headButton(k)))),
      h("div", {class: "equation"},
        op(say("并排", "side by side")), matrix(made, {small: true}),
        has("W_O") && [op("@"), matrix(has("W_O"), {bare: true})],
        has("out") && [op("="), matrix(has("out"), {small: true})]));
  }

  // ---- choosing, lighting, telling -------------------------------------------------------------------------------
  let lit = [], stop = null;                           // the cells that are lit; the one that Tab leads to
  function light() {
    for (const element of lit) element.classList.remove("lit", "one", "chosen");
    lit = [];
    const chosen = view.cell, step = chosen && stepOf(chosen.name);
    const mark = (cell, ...classes) => { cell.element.classList.add(...classes); lit.push(cell.element); };
    if (chosen) {
      for (const cell of shown[chosen.name] || []) if (cell.at === chosen.at) mark(cell, "chosen");
      const reads = step ? explain.cells(speaker(), step, unflat(chosen.name, chosen.at)) : {};
      for (const [name, places] of Object.entries(reads))
        for (const cell of shown[name] || [])
          if (unflat(name, cell.at).every((place, axis) => places[axis].includes(place))) mark(cell, "lit", places.some(place => place.length > 1) ? "lit" : "one");
    }
    tell();
    const next = bench.querySelector(".cell.chosen") || (stop && stop.isConnected ? stop : bench.querySelector(".cell.may") || bench.querySelector(".cell"));
    if (stop !== next && stop) stop.tabIndex = -1;
    stop = next;
    if (stop) stop.tabIndex = 0;
  }

  // Q, K and V, their gradients and their matrices have one colour each, everywhere.
  const kindOf = name => (/^d?(?:W_|b_)?([QKV])$/.exec(name) || ["", ""])[1].toLowerCase();
  const lowered = name => { const [whole, under] = name.split("_"); return under && under.length < 3 ? [whole, h("sub", {}, under)] : [name]; };
  function coloured(text) {
    return text.split(/([A-Za-z_]\w*)/).map(word => {
      const sub = /^(√?[A-Za-zΣ]+)_(\w{1,2})$/.exec(word), inside = sub && !/^W|^b/.test(word) ? [sub[1], h("sub", {}, sub[2])] : [word];
      return kindOf(word) || run.tensors[word] ? h("span", {class: kindOf(word), "data-operand": word}, ...inside) : sub ? h("span", {}, ...inside) : word;
    });
  }

  // Two factors of a sum; a negative one stands in brackets.
  const FACTORS = (one => new RegExp(`(${one}·${one})`))("(?:\\([-−][\\d.]+(?:e[-+]\\d+)?\\)|[\\d.]+(?:e[-+]\\d+)?)");
  function tell() {
    const chosen = view.cell, box = find("why"), step = chosen ? stepOf(chosen.name) : run.steps[view.step];
    const lines = step && run.unknown.has(step.name)
      ? [say("这一步的公式不能在这里执行：改动之后，它的数不知道。",
             "The formula of this step cannot be executed here: after a change its numbers are not known.")]
      : chosen && step ? explain.why(speaker(), step, unflat(chosen.name, chosen.at), words())
      : chosen ? [`${speaker().cellName(chosen.name, unflat(chosen.name, chosen.at))} = ${explain.one(run.tensors[chosen.name].data[chosen.at], 4)}`]
      : [say("选一格，看它是由哪些格子算出来的。带虚线的数可以改：打字、滚轮、拖动、Shift + ↑↓。",
             "Choose a cell to see what it was made from. Dotted numbers can be changed: type, wheel, drag, Shift + ↑↓.")];
    const factors = text => text.split(FACTORS).map(piece => {
      const pair = /^(.+)·(.+)$/.exec(piece);
      return pair && !piece.includes(" ") ? h("span", {}, h("em", {class: "a"}, pair[1]), "·", h("em", {class: "b"}, pair[2])) : piece;
    });
    box.replaceChildren(...lines.map(line => h("div", {}, ...factors(line))));
    box.classList.toggle("empty", !chosen);
    const now = step || run.steps[view.step];
    find("lesson").replaceChildren(...(now.lesson ? coloured(now.lesson) : []));
    find("library").replaceChildren(...(now.code ? [h("summary", {}, say("库里的写法", "in the library")), h("code", {}, now.code), h("span", {}, now.where)] : []));
    find("library").hidden = !now.code;
    find("sentence").textContent = now ? now[view.lang === "zh" ? "zh" : "en"] : "";
    const names = new Set(now.names || []), own = now.name;
    for (const text of bench.querySelectorAll("[data-operand]")) text.classList.toggle("on", names.has(text.dataset.operand) || text.dataset.operand === own);
    editor();
  }

  // The number that is chosen, to be changed without a keyboard as well.
  function editor() {
    const box = find("editor"), chosen = view.cell;
    if (!chosen) { box.hidden = true; return; }
    const {name, at} = chosen, may = run.live && run.mayEditAt(name), mask = stepOf(name) ? maskAt(name, unflat(name, at)) : null;
    const tensor = isBackward(name) ? run.tensorOf(name) : name;
    box.hidden = false;
    find("number").disabled = !may;
    if (document.activeElement !== find("number")) find("number").value = run.tensors[name].data[at];
    find("less").hidden = find("more").hidden = find("number").hidden = !may;
    find("hide").hidden = !(run.canSteer() && mask && run.maskName);
    if (mask) find("hide").textContent = mask.hidden ? say("露出这一格", "show this cell") : say("挡住这一格", "hide this cell");
    find("measure").hidden = !(run.live && tensor && run.gradientOf(tensor) && !run.unknown.has(run.gradientOf(tensor)));
    find("measured").replaceChildren();
  }

  // Measured and backward, digit under digit, with the digits in which they agree set apart.
  function measure() {
    const {name, at} = view.cell, tensor = isBackward(name) ? run.tensorOf(name) : name, found = run.measure(tensor, at);
    if (!found) return;
    const [a, b] = [found.measured, found.backward].map(x => (x < 0 ? "−" : " ") + Math.abs(x).toFixed(10));
    let agree = 0;
    while (agree < a.length && a[agree] === b[agree]) agree++;
    const line = (label, text) => h("div", {}, h("span", {class: "label"}, `${label} `), h("b", {}, text.slice(0, agree)), text.slice(agree));
    find("measured").replaceChildren(line(say("量出来的斜率", "measured slope"), a), line(`${found.gradient}`, b));
    announce(say(`量出 ${a.trim()}，反向给出 ${b.trim()}`, `measured ${a.trim()}, backward says ${b.trim()}`));
  }

  function choose(name, at, {focus = false, keep = false} = {}) {
    view.cell = {name, at};
    const step = run.steps.findIndex(one => one.name === name);
    if (step >= 0 && step !== view.step) { view.step = step; if (!keep) { redraw(); } remember(); }
    light();
    placeText();
    if (focus) { const cell = cellAt(name, at); if (cell) cell.focus({preventScroll: false}); }
  }
  const cellAt = (name, at) => ((shown[name] || []).find(cell => cell.at === at) || {}).element;
  // A step that the present layout does not show needs another drawing.
  function redraw() {
    const shown = bench.querySelector(`[data-figure="${CSS.escape(run.steps[view.step].name)}"]`);
    if (view.kind === "step" || !shown) rebuild();
  }

  // ---- changing --------------------------------------------------------------------------------------------------
  let fast = null;                                     // a wheel or a drag is one change to undo
  function set(name, at, value) {
    const together = fast && fast.name === name && fast.at === at && Date.now() - fast.when < 700;
    fast = {name, at, when: Date.now()};
    const before = {...run.tensors};
    run.edit(name, at, value, !together);
    after(before);
  }
  const step_ = x => Number.isInteger(x) ? 1 : 0.1;
  function bump(name, at, direction) {
    const x = run.tensors[name].data[at], by = step_(x) * direction;
    set(name, at, Math.round((x + by) * 1e6) / 1e6);
  }
  function after(before) {
    const fits = ([name, value]) => run.tensors[name] && String(run.tensors[name].shape) === String(value.shape);
    const drawn = tokensDrawn !== run.tokens || !Object.entries(before).every(fits);
    if (view.cell && !run.tensors[view.cell.name]) view.cell = null;
    if (view.cell && view.cell.at >= run.tensors[view.cell.name].data.length) view.cell = null;
    spoken = null;
    if (drawn || bench.dataset.loss !== run.choices.loss) rebuild(); else paint();
    report(before);
    checkPuzzle();
    save();
  }
  function report(before) {
    const a = attention(), name = a ? a.weights : run.out.name, changed = run.changed[name];
    if (!changed) { announce(Object.keys(run.changed).length ? say("已改", "changed") : say("没有变化", "nothing changed")); return; }
    const now = run.tensors[name].data, old = before[name].data;
    let top = -1, most = -1;
    for (const at of changed) if (Math.abs(now[at] - old[at]) > most) { most = Math.abs(now[at] - old[at]); top = at; }
    const cell = speaker().cellName(name, unflat(name, top));
    announce(say(`${changed.size} 个 ${name} 变了；最大的：${cell} ${short(old[top])} → ${short(now[top])}`,
                 `${changed.size} ${name} changed; the largest: ${cell} ${short(old[top])} → ${short(now[top])}`));
  }
  function announce(text) { find("status").textContent = text; }
  function act(change) { const before = {...run.tensors}; fast = null; change(); after(before); }

  // ---- the controls ----------------------------------------------------------------------------------------------
  const find = id => document.getElementById(id);
  const button = (id, zh, en, act, more = {}) => h("button", {type: "button", id, "data-zh": zh, "data-en": en, onclick: act, ...more}, say(zh, en));
  const group = (label, ...inside) => h("div", {class: "bar", role: "group", "aria-label": label}, ...inside);
  const bar = (label, ...inside) => h("div", {class: "bar", role: "toolbar", "aria-label": label}, ...inside);

  let tokensDrawn = null;
  function build() {
    shown = {};
    tokensDrawn = run.tokens;
    if (!views().some(([kind]) => kind === view.kind)) view.kind = views()[0][0];
    bench.replaceChildren(
      h("div", {class: "top", role: "toolbar", "aria-label": say("语言、改动、步骤", "language, changes, steps")}, languages(), changes(), stepping()),
      h("details", {class: "options", open: innerWidth > 832 || view.open, ontoggle: event => { view.open = event.target.open; }},
        h("summary", {}, say("更多：视图、掩码、除数、损失", "more: view, mask, divisor, loss")),
        h("div", {class: "panel"},
          h("div", {class: "views", role: "toolbar", "aria-label": say("看什么，掩码", "view and mask")}, showing(), masks()),
          divisor(), losses(), own())),
      h("div", {id: "puzzle", class: "puzzle", hidden: true}),
      h("p", {class: "equals", id: "equals"}),
      h("div", {id: "board", tabindex: -1, "aria-label": say("数", "the numbers")}),
      h("div", {class: "telling"},
        h("div", {id: "why", class: "why"}),
        h("div", {class: "lesson"}, h("code", {id: "lesson"}), h("span", {id: "sentence"}), h("details", {id: "library"})),
        chosenNumber()),
      legends());
    bench.dataset.loss = run.choices.loss;
    formulaLine();
    const fill = {attention: attentionView, heads: headsView, step: equationView}[view.kind]();
    const telling = bench.querySelector(".telling"), between = fill.querySelector(".between");
    find("board").replaceChildren(fill);
    if (between && innerWidth > 832) between.replaceWith(telling);
    rove();
    openPuzzle(false);
  }

  function languages() {
    return group("language 语言", [["zh", "中文"], ["en", "English"]].map(([lang, text]) =>
      h("button", {type: "button", lang, "data-lang": lang, "aria-pressed": view.lang === lang, onclick: () => speak(lang)}, text)));
  }
  function changes() {
    return group(say("改动", "changes"),
      button("undo", "撤销", "undo", () => act(() => run.undo())),
      button("redo", "重做", "redo", () => act(() => run.redo())),
      button("reset", "复原", "reset", () => { view.puzzle = -1; act(() => run.reset()); rebuild(); }),
      button("copy", "复制链接", "copy link", copy),
      isPuzzleRun() && button("puzzles", "谜题", "puzzles", () => { view.puzzle = view.puzzle < 0 ? 0 : -1; openPuzzle(); }, {"aria-pressed": view.puzzle >= 0}));
  }
  function stepping() {
    return group(say("步骤", "steps"),
      button("prev", "←", "←", () => go(view.step - 1), {"aria-label": "previous step 上一步"}),
      h("input", {type: "range", id: "slider", min: 1, max: run.steps.length, "aria-label": "step 步骤", oninput: event => go(Number(event.target.value) - 1)}),
      button("next", "→", "→", () => go(view.step + 1), {"aria-label": "next step 下一步"}),
      button("play", "▶ 播放", "▶ play", play),
      h("output", {id: "place", for: "slider"}));
  }

  function views() {
    const many = run.attentions().length;
    return [many && ["attention", "注意力", "attention"], many && (headCount() > 1 || run.tensors.W_Q) && ["heads", "所有的头", "all heads"],
            ["step", "一步", "one step"]].filter(Boolean);
  }
  // Which view, which attention of a block, which head, which sequence.
  function showing() {
    const many = run.attentions(), pick = (pressed, act, label, more = {}) =>
      h("button", {type: "button", class: "thin", "aria-pressed": pressed, onclick: () => { act(); rebuild(); remember(); }, ...more}, label);
    const heads = view.kind === "attention" && headCount() > 1 ? headCount() : 0;
    return group(say("看什么", "view"),
      views().map(([kind, zh, en]) => pick(view.kind === kind, () => { view.kind = kind; }, say(zh, en), {"data-view": kind})),
      many.length > 1 && many.map((one, k) => pick(view.attention === k, () => { view.attention = k; view.cell = null; }, one.prefix.slice(0, -1) || "attention")),
      Array.from({length: heads}, (_, k) => pick(view.head === k, () => { view.head = k; view.cell = null; }, [thumb(k), String(k)],
        {class: "head", "aria-label": `${say("头", "head")} ${k}`})),
      Array.from({length: sequences()}, (_, n) => pick(view.sequence === n, () => { view.sequence = n; view.cell = null; }, `${say("序列", "sequence")} ${n}`)));
  }
  function thumb(head) {
    const name = attention().weights, front = run.tensors[name].shape.length > 3 ? [view.sequence, head] : [head];
    return h("canvas", {"data-thumb": name, "data-lead": front.join(","), "aria-hidden": "true"});
  }
  function sequences() {
    const a = attention(), shape = a ? run.tensors[a.weights].shape : run.tensors[run.out.name].shape;
    return a && shape.length > 3 && shape[0] > 1 ? Math.min(shape[0], 8) : 0;
  }

  function masks() {
    return run.attentions().length && group(say("掩码", "mask"), h("span", {class: "label"}, say("掩码", "mask")),
      button("unmask", "无", "none", () => mask(() => true)), button("causal", "因果", "causal", () => mask((i, j) => j <= i)),
      h("small", {}, say("或点一个权重", "or click a weight")));
  }
  function divisor() {
    const slide = event => {                            // all of a slide is one change to undo
      const before = {...run.tensors}, first = !fast || fast.name !== "divisor";
      fast = {name: "divisor", at: 0, when: Date.now()};
      run.change({divisor: Number(event.target.value)}, first);
      after(before);
    };
    return run.attentions().length && widths() && h("label", {class: "scale"}, h("span", {}, "÷ √d", h("sub", {}, "k")),
      h("input", {type: "range", id: "divisor", min: 0.25, max: 8, step: 0.05, "aria-label": say("除数", "divisor"), oninput: slide}),
      h("output", {id: "divided"}), h("span", {id: "entropy"}));
  }
  function losses() {
    const upstream = run.steps.find(step => step.direction === "backward"), width = run.tensors[run.out.name].shape.at(-1) || 0;
    return upstream && width && h("label", {}, h("span", {class: "label"}, say("损失", "loss")),
      h("select", {id: "loss", onchange: event => act(() => run.change({loss: event.target.value}))},
        h("option", {value: ""}, `${upstream.name} ${say("：给定", "as given")}`),
        h("option", {value: "target"}, `½ Σ (${run.out.name} − target)²`),
        Array.from({length: Math.min(width, 8)}, (_, k) => h("option", {value: k}, say(`交叉熵，目标 ${k}`, `cross-entropy, target ${k}`)))),
      h("output", {id: "lost"}));
  }
  function own() { return run.canResize() && h("details", {id: "own"}, h("summary", {}, say("自己的句子", "own sentence")), ownSentence()); }

  function chosenNumber() {
    const onNumber = act => () => act(view.cell.name, view.cell.at);
    return h("div", {id: "editor", class: "editor", role: "toolbar", "aria-label": say("选中的数", "the chosen number"), hidden: true},
      button("less", "−", "−", onNumber((name, at) => bump(name, at, -1)), {"aria-label": "smaller 变小"}),
      h("input", {id: "number", inputmode: "decimal", size: 8, autocomplete: "off", "aria-label": say("数值", "value"), onchange: typed,
                  onkeydown: event => { if (event.key === "Enter") typed(event); }}),
      button("more", "+", "+", onNumber((name, at) => bump(name, at, 1)), {"aria-label": "larger 变大"}),
      button("hide", "挡住", "hide", onNumber(toggle)),
      button("measure", "量一量这个梯度", "measure this gradient", measure),
      h("div", {id: "measured", class: "measured"}));
  }
  function legends() {
    const ramp = map => `background:linear-gradient(90deg,${MAPS[map].map(rgb => `rgb(${rgb})`).join(",")})`;
    const of = (look, text) => h("span", {class: "legend-item"}, h("i", look), text);
    const map = (name, text) => of({class: "ramp", style: ramp(data.live[name])}, text);
    return h("div", {class: "legend"},
      map("signed", say("Q、K、V、分数：各自对称", "Q, K, V, scores, symmetric")),
      map("weights", say("权重 0…1", "weights 0…1")),
      map("gradient", say("梯度：各自 ±max", "gradients, each ±max")),
      of({class: "swatch hatch"}, say("被挡住", "masked")),
      of({class: "swatch fresh"}, say("刚变", "just changed")),
      h("label", {class: "legend-item"},
        h("input", {type: "checkbox", id: "alike", checked: view.alike, onchange: event => { view.alike = event.target.checked; paint(); }}),
        say("梯度同一色标", "one scale for gradients")));
  }
  function formulaLine() {
    const line = find("equals"), step = run.steps[view.step];
    if (view.kind === "step" || !attention()) {
      const given = step.formula === "given" ? say("已给定", "given") : step.formula;
      line.replaceChildren(h("b", {}, step.name), ...(step.tree ? [" = ", ...coloured(step.formula)] : [": ", given]));
      if (!step.tree && !["given", "upstream gradient"].includes(step.formula)) line.append(h("small", {}, step.direction === "forward"
        ? say(" 这一步的公式不能在这里执行，所以它用到的数不能改。", " This formula cannot be executed here, so what it depends on cannot be changed.")
        : say(" 这一步的公式不能在这里执行，所以改动之后，它的数不知道。", " This formula cannot be executed here, so after a change its numbers are not known.")));
    } else if (view.kind === "heads" && run.tensors[`${attention().prefix}W_O`]) {
      const head = k => `${say("头", "head")} ${k} `, last = headCount() - 1;
      const all = last > 1 ? `${head(0)}… ${head(last)}` : last ? head(0) + head(1) : head(0);
      line.replaceChildren(h("b", {"data-operand": `${attention().prefix}out`}, "out"), ` = [ ${all}] W`, h("sub", {}, "O"));
    } else {
      const a = attention(), named = (kind, name) => h("span", {class: kind, "data-operand": name}, name.split(".").at(-1));
      line.replaceChildren(h("b", {"data-operand": a.heads}, "heads"), " = softmax( ", named("q", a.Q), " ", named("k", a.K), h("sup", {}, "T"),
        " / √d", h("sub", {}, "k"), " ) ", named("v", a.V));
    }
  }
  function ownSentence() {
    const now = run.choices.sentence || {tokens: run.tokens.L || ["我", "爱", "AI"], H: headCount(), seed: 0, whole: false,
                                         d_k: attention() ? run.tensors[attention().Q].shape.at(-1) : 4};
    const field = (id, label, value, options) => h("label", {}, label, h("input", {id, value, autocomplete: "off", ...options}));
    return h("form", {class: "making", onsubmit: event => { event.preventDefault(); makeOwn(); }},
      field("words", say("2 到 8 个词", "2 to 8 tokens"), now.tokens.join(" "), {size: 18}),
      field("heads", "H", now.H, {type: "number", min: 1, max: 4}),
      field("width", "d_k", now.d_k, {type: "number", min: 2, max: 6}),
      field("seed", say("种子", "seed"), now.seed, {type: "number", min: 0, max: 999999}),
      h("label", {}, h("input", {type: "checkbox", id: "whole", checked: now.whole}), say("小整数", "small integers")),
      h("button", {type: "submit", id: "make"}, say("做出来", "make it")));
  }
  function makeOwn() {
    const sentence = state.sentenceOf(find("words").value, find("heads").value, find("width").value, find("seed").value, find("whole").checked);
    if (!sentence) { announce(say("要 2 到 8 个词，用空格隔开", "2 to 8 tokens, with blanks between them")); return; }
    view.cell = null; view.head = 0; view.puzzle = -1;
    act(() => run.change({edits: {}, mask: "", divisor: null, loss: "", sentence}));
    rebuild();
    announce(say(`做好了：${sentence.tokens.join(" ")}，种子 ${sentence.seed}`, `made: ${sentence.tokens.join(" ")}, seed ${sentence.seed}`));
  }
  const widths = () => { const found = JSON.stringify(run.steps.map(step => step.tree || 0)).match(/\["number",([\d.e-]+),"d_k"\]/); return found && Number(found[1]); };

  function controls() {
    const a = attention(), d = widths();
    find("undo").disabled = !run.past.length; find("redo").disabled = !run.future.length; find("reset").disabled = !run.isChanged();
    if (find("divisor") && a) {
      const root_ = Math.sqrt(d), width = run.tensors[a.Q].shape.at(-1), rows = run.tensors[a.weights], count = rows.shape.at(-1);
      find("divisor").value = root_;
      find("divided").textContent = `${root_.toFixed(2)} · T ${(root_ / Math.sqrt(width)).toFixed(2)}`;
      let entropy = 0;
      rows.data.forEach(x => { if (x > 0) entropy -= x * Math.log(x); });
      entropy /= rows.data.length / count;
      find("entropy").textContent = `${say("熵", "entropy")} ${entropy.toFixed(2)} / ${Math.log(count).toFixed(2)}`;
      find("divisor").setAttribute("aria-valuetext", `${root_.toFixed(2)}, ${find("entropy").textContent}`);
    }
    for (const [id, can] of [["divisor", run.canSteer()], ["causal", run.canSteer()], ["unmask", run.canSteer()], ["loss", run.live], ["make", run.live]])
      if (find(id)) find(id).disabled = !can;
    if (find("loss")) {
      const x = run.loss();
      find("loss").value = run.choices.loss;
      find("lost").textContent = x === null ? "" : `= ${x.toFixed(4)}`;
    }
    write(find("play"), playText());
    placeText();
  }
  function placeText() {
    const slider = find("slider"), step = run.steps[view.step];
    slider.value = view.step + 1;
    find("place").textContent = `${view.step + 1} / ${run.steps.length} · ${step.name}`;
    slider.setAttribute("aria-valuetext", find("place").textContent);
    for (const figure of bench.querySelectorAll("[data-figure]")) figure.classList.toggle("current", figure.dataset.figure === step.name);
    if (find("equals")) formulaLine();
    const names = new Set([...(step.names || []), step.name]);
    for (const text of bench.querySelectorAll("[data-operand]")) text.classList.toggle("on", names.has(text.dataset.operand));
  }
  function rebuild() {
    const now = document.activeElement, onCell = now && now.closest(".cell") && view.cell, id = now && now.id;
    build();
    paint();
    const again = onCell ? cellAt(view.cell.name, view.cell.at) : id && find(id);      // the focus stays where it was
    if (again) again.focus();
  }
  function go(step) {
    view.step = Math.min(Math.max(Math.trunc(step) || 0, 0), run.steps.length - 1);
    const name = run.steps[view.step].name;
    const first = run.tensors[name].shape.length > 2 ? flat(name, [...lead(name), 0, 0]) : 0;
    view.cell = {name, at: first};
    redraw();
    light(); placeText(); remember();
  }
  let playing = null;
  const playText = () => playing ? say("⏸ 停", "⏸ stop") : say("▶ 播放", "▶ play");
  function pause() { clearInterval(playing); playing = null; write(find("play"), playText()); }
  function play() {
    if (playing) { pause(); return; }
    if (view.step === run.steps.length - 1) go(0);
    playing = setInterval(() => { if (view.step === run.steps.length - 1) pause(); else go(view.step + 1); }, still.matches ? 2500 : 900);
    write(find("play"), playText());
  }
  function mask(test) {
    const a = attention(), name = maskName(a), value = run.tensors[name], [L, S] = value.shape.slice(-2);
    const bits = [...value.data].map((_, at) => test(Math.floor(at / S) % L, at % S) ? "1" : "0").join("");
    act(() => run.change({mask: bits.includes("0") || run.given.tensors[name] ? bits : ""}));
  }
  const maskName = a => stepOf(a.weights).tree[2][1];
  function toggle(name, at) {
    const found = maskAt(name, unflat(name, at)), a = run.attentions().find(one => name.startsWith(one.prefix)) || attention();
    if (found && run.canSteer()) act(() => run.toggle(maskName(a), found.at));
  }
  function typed(event) {
    const value = look.read(find("number").value);
    if (value === null) find("number").value = run.tensors[view.cell.name].data[view.cell.at];
    else { fast = null; set(view.cell.name, view.cell.at, value); }
    if (event.key === "Enter") { const cell = cellAt(view.cell.name, view.cell.at); if (cell) cell.focus(); }
  }

  hands(bench, {run, view, h, cellAt, choose, set, bump, toggle, measure, go, pause, stepOf: step_, settle: () => { fast = null; },
                undo: () => act(() => run.undo()), turn: () => speak(view.lang === "zh" ? "en" : "zh")});

  // A toolbar is one stop for Tab; arrows walk inside it.
  function rove() {
    for (const bar_ of bench.querySelectorAll("[role=toolbar]")) {
      const items = () => [...bar_.querySelectorAll("button, input")].filter(item => !item.hidden && !item.disabled && item.id !== "slider");
      items().forEach((item, k) => { if (item.id !== "number") item.tabIndex = k ? -1 : 0; });
      bar_.onkeydown = event => {
        if (!["ArrowRight", "ArrowLeft"].includes(event.key) || event.target.tagName === "INPUT") return;
        const list = items(), next = list[list.indexOf(event.target) + (event.key === "ArrowRight" ? 1 : -1)];
        if (next) { event.preventDefault(); next.focus(); }
      };
    }
  }

  // ---- puzzles -----------------------------------------------------------------------------------------------------
  const isPuzzleRun = () => data.live.resizable === "heads" && (data.live.tokens.L || []).join(" ") === "我 爱 AI";
  function openPuzzle(fresh = true) {
    const box = find("puzzle");
    if (!box) return;
    if (find("puzzles")) find("puzzles").setAttribute("aria-pressed", view.puzzle >= 0);
    box.hidden = view.puzzle < 0;
    if (view.puzzle < 0) { if (fresh) save(); return; }
    if (fresh) { view.cell = null; act(() => run.reset()); }
    const one = PUZZLES[view.puzzle];
    const leave = next => () => { view.puzzle = next; openPuzzle(); };
    box.replaceChildren(h("b", {}, `${view.puzzle + 1} / ${PUZZLES.length}`), h("span", {class: "goal"}, say(one.zh, one.en)),
      h("span", {id: "solved", class: "solved"}),
      bar(say("谜题", "puzzles"),
        button("hint", "提示", "hint", () => { find("solved").textContent = say(...one.hint); }),
        button("another", "下一个", "next puzzle", leave((view.puzzle + 1) % PUZZLES.length)),
        button("away", "关上", "close", leave(-1))));
    rove();
    checkPuzzle();
  }
  function checkPuzzle() {
    if (view.puzzle < 0 || !find("solved")) return;
    const solved = run.isChanged() && !run.choices.sentence && PUZZLES[view.puzzle].done(run);
    find("puzzle").classList.toggle("done", solved);
    if (solved) {
      find("solved").textContent = say("✓ 做到了！", "✓ solved!");
      announce(find("solved").textContent);
    } else if (find("solved").textContent.startsWith("✓")) find("solved").textContent = "";
  }

  // ---- the address -------------------------------------------------------------------------------------------------
  function address() {
    const parts = run.toAddress();
    parts.set("s", run.steps[view.step].name);
    if (view.cell) parts.set("c", `${view.cell.name}~${view.cell.at}`);
    parts.set("l", view.lang);
    if (view.kind !== "attention") parts.set("v", view.kind);
    if (view.head) parts.set("h", view.head);
    if (view.attention) parts.set("a", view.attention);
    if (view.puzzle >= 0) parts.set("p", view.puzzle + 1);
    return `#${parts}`;
  }
  // In a frame without an address of its own there is none to keep. Browsers refuse more than a few addresses a second,
  // so that a number that is being dragged gets its address when it rests.
  let unsaved = null, timer = 0, savedAt = 0;
  function save() { unsaved = address(); clearTimeout(timer); timer = setTimeout(saveNow, Math.max(0, savedAt + 300 - Date.now())); }
  function saveNow() {
    clearTimeout(timer);
    if (unsaved === null) return;
    try { history.replaceState(null, "", unsaved); } catch { /* a sandboxed frame */ }
    unsaved = null;
    savedAt = Date.now();
  }
  function remember() { saveNow(); try { if (location.hash !== address()) history.pushState(null, "", address()); } catch { /* a sandboxed frame */ } }
  function restore() {
    unsaved = null;
    const old = /^#step-(\d+)$/.exec(location.hash), parts = new URLSearchParams(location.hash.slice(1));
    if (!location.hash) {
      view.step = Math.min(Math.max(data.start, 1), run.steps.length) - 1;
      view.puzzle = data.puzzle && isPuzzleRun() ? data.puzzle - 1 : -1;
      return;
    }
    if (["zh", "en"].includes(parts.get("l"))) view.lang = parts.get("l");
    if (["attention", "heads", "step"].includes(parts.get("v"))) view.kind = parts.get("v");
    const number = (key, most) => { const x = Number(parts.get(key)); return Number.isInteger(x) && x >= 0 && x < most ? x : 0; };
    if (run.live) { run.change({...run.fromAddress(parts)}); run.past = []; run.changed = {}; }
    view.attention = number("a", Math.max(run.attentions().length, 1));
    view.head = number("h", headCount());
    view.puzzle = parts.get("p") && isPuzzleRun() ? Math.max(0, number("p", PUZZLES.length + 1) - 1) : -1;
    const step = old ? Number(old[1]) - 1 : run.steps.findIndex(one => one.name === parts.get("s"));
    view.step = step >= 0 && step < run.steps.length ? step : 0;
    const [name, at] = (parts.get("c") || "").split("~");
    view.cell = Object.prototype.hasOwnProperty.call(run.tensors, name) && Number(at) < run.tensors[name].data.length && Number(at) >= 0 ? {name, at: Number(at)} : null;
  }
  async function copy() {
    save();
    saveNow();
    let done = false;
    try { await navigator.clipboard.writeText(location.href); done = true; } catch { /* the address bar has it */ }
    announce(done ? say("链接已复制", "the link is copied") : say("链接在地址栏里", "the link stands in the address bar"));
  }
  window.addEventListener("pagehide", saveNow);
  window.addEventListener("popstate", () => { restore(); speak(view.lang, false); });
  window.addEventListener("hashchange", () => { restore(); speak(view.lang, false); });

  function speak(language, keep = true) {
    view.lang = language;
    root.dataset.lang = language;
    root.lang = language;
    rebuild();
    if (keep) save();
  }

  if (view.lang === "both") view.lang = (navigator.language || "").startsWith("zh") ? "zh" : "en";
  root.classList.add("js", "live");
  // The printed steps are built when they are asked for: they are as much as all the rest.
  const paper = document.querySelector("main noscript"), printed = () => {
    const built = document.createElement("template");
    built.innerHTML = paper.textContent;
    paper.replaceWith(built.content);
  };
  addEventListener("beforeprint", printed);
  matchMedia("print").addEventListener("change", printed);
  restore();
  speak(view.lang, Boolean(location.hash));
  const near = run.worst ? [`相差最多 ${run.worst.toExponential(0)}`, `within ${run.worst.toExponential(0)}`] : ["一位不差", "to the last digit"];
  announce(run.live ? say(`这里重新算了 ${run.cells} 个数，与 Python 的一致（${near[0]}）。`, `${run.cells} numbers computed again here, equal to Python's (${near[1]}).`)
    : say("这个浏览器算出的数和 Python 的不一样，所以不能改。", "This browser computes other numbers than Python did, so nothing can be changed."));
  let narrow = innerWidth <= 832;
  window.addEventListener("resize", () => { if ((innerWidth <= 832) !== narrow) { narrow = !narrow; rebuild(); } });
  const why = (name, index) => explain.why(speaker(), stepOf(name), index, words()).join("\n");
  window.bench = {run, view, set, choose, go, address, why};          // for tests, and for the curious at the console
})();
