// What hands do on the bench: typing into a cell, keys, wheel, drag, a finger. Each ends in one of the bench's own
// actions, which are handed in; nothing here knows what a number means.
"use strict";

function hands(bench, {run, view, h, cellAt, choose, set, settle, bump, stepOf, toggle, measure, go, pause, undo, turn}) {
  const cellOf = event => event.target.closest ? event.target.closest(".cell") : null;
  const placeOf = cell => [cell.dataset.of, Number(cell.dataset.at)];
  const mayEdit = name => run.live && run.mayEditAt(name);

  // ---- typing: a field in the cell; Enter, Tab and leaving keep the number, Escape does not ------------------------
  function type(cell, text) {
    const [name, at] = placeOf(cell);
    if (!mayEdit(name)) return;
    pause();                                           // the next step would take the field away
    const input = h("input", {class: "typing", value: text === undefined ? run.tensors[name].data[at] : text,
                              inputmode: "decimal", "aria-label": cell.getAttribute("aria-label")});
    let over = false;
    const done = keep => {
      if (over) return;
      over = true;
      const value = look.read(input.value);
      input.remove();
      settle();
      if (keep && value !== null) set(name, at, value);
      const back = cellAt(name, at);
      if (back) back.focus();
    };
    input.addEventListener("keydown", event => {
      event.stopPropagation();
      if (["Enter", "Tab", "Escape"].includes(event.key)) done(event.key !== "Escape");
    });
    input.addEventListener("blur", () => done(true));
    cell.append(input);
    input.focus();
    if (text === undefined) input.select(); else input.setSelectionRange(text.length, text.length);
  }

  // ---- keys --------------------------------------------------------------------------------------------------------
  // The nearest cell in a direction, over the edges of matrices.
  function neighbour(cell, key) {
    const from = cell.getBoundingClientRect(), x = from.left + from.width / 2, y = from.top + from.height / 2;
    let best = null, least = Infinity;
    for (const other of bench.querySelectorAll(".cell")) {
      const box = other.getBoundingClientRect(), dx = box.left + box.width / 2 - x, dy = box.top + box.height / 2 - y;
      const [along, aside] = {ArrowRight: [dx, dy], ArrowLeft: [-dx, dy], ArrowDown: [dy, dx], ArrowUp: [-dy, dx]}[key];
      const far = along + 3 * Math.abs(aside);
      if (along > 2 && Math.abs(aside) < along + from.height && far < least) { least = far; best = other; }
    }
    return best;
  }
  // A key on a cell. Returns whether it meant something there.
  function onCell(cell, {key, shiftKey}) {
    const [name, at] = placeOf(cell);
    if (key.startsWith("Arrow") && shiftKey) {
      if (mayEdit(name)) bump(name, at, {ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1}[key]);
    } else if (key.startsWith("Arrow")) {
      const next = neighbour(cell, key);
      if (next) next.focus();
    } else if (key === "Enter") type(cell);
    else if (/^[\d.−-]$/.test(key)) type(cell, key);
    else if (key === " ") toggle(name, at);
    else if (key === "g") measure();
    else return false;
    return true;
  }
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    const cell = cellOf(event);
    if (cell && onCell(cell, event)) { event.preventDefault(); return; }
    const to = {n: view.step + 1, p: view.step - 1, Home: 0, End: run.steps.length - 1}[event.key];
    if (to !== undefined && !event.target.closest("[role=toolbar]")) {
      event.preventDefault();
      go(to);
      const now = bench.querySelector(".cell.chosen");
      if (now && cell) now.focus();
    }
    if (event.key === "u") undo();
    if (event.key === "l") turn();
  });
  bench.addEventListener("focusin", event => { if (event.target === cellOf(event)) choose(...placeOf(event.target)); });

  // ---- mouse and finger: a click chooses, a drag changes, a long press types ---------------------------------------
  bench.addEventListener("dblclick", event => {
    const cell = cellOf(event);
    if (cell) type(cellAt(...placeOf(cell)) || cell);
  });
  bench.addEventListener("wheel", event => {
    const cell = event.target.closest(".cell.may");
    if (!cell || !run.live || event.ctrlKey || Math.abs(event.deltaY) < 1) return;
    event.preventDefault();
    const [name, at] = placeOf(cell);
    if (!view.cell || view.cell.name !== name || view.cell.at !== at) choose(name, at);
    bump(name, at, event.deltaY < 0 ? 1 : -1);
  }, {passive: false});

  let hold = null;                                     // the cell that is held down
  const release = () => { if (hold) clearTimeout(hold.timer); hold = null; };
  function longPress() {
    const cell = hold && !hold.moved ? cellAt(hold.name, hold.at) : null;
    hold = null;
    if (cell) type(cell);
  }
  bench.addEventListener("pointerdown", event => {
    const cell = cellOf(event);
    if (!cell || event.target.tagName === "INPUT" || event.button) return;
    const [name, at] = placeOf(cell), mouse = event.pointerType === "mouse";
    const before = Boolean(view.cell) && view.cell.name === name && view.cell.at === at;
    hold = {name, at, mouse, before, y: event.clientY, start: run.tensors[name].data[at], moved: false,
            timer: mouse ? 0 : setTimeout(longPress, 500)};
  });
  document.addEventListener("pointermove", event => {
    if (!hold) return;
    const up = hold.y - event.clientY, by = Math.round(up / 8);
    if (Math.abs(up) > 8 || by) clearTimeout(hold.timer);
    const scrolls = !hold.mouse && !hold.before;       // a finger drags only the number that is chosen already
    if (!by || scrolls || !mayEdit(hold.name)) return;
    hold.moved = true;
    const value = Math.round((hold.start + by * stepOf(hold.start)) * 1e6) / 1e6;
    if (run.tensors[hold.name].data[hold.at] !== value) set(hold.name, hold.at, value);
  });
  document.addEventListener("pointerup", event => {
    if (!hold) return;
    const {name, at, moved, mouse, before} = hold, cell = cellOf(event);
    release();
    if (moved || !cell || cell.dataset.of !== name || Number(cell.dataset.at) !== at) return;
    choose(name, at, {focus: true});
    if (/(^|\.)weights$/.test(name) && (mouse || before)) toggle(name, at);
  });
  document.addEventListener("pointercancel", release);

  // ---- names and the skip link -------------------------------------------------------------------------------------
  bench.addEventListener("click", event => {
    const name = event.target.closest("[data-goto]");
    if (name) go(Number(name.dataset.goto));
  });
  document.querySelector(".skip").addEventListener("click", event => {
    event.preventDefault();                            // its address would replace ours
    const stop = bench.querySelector(".cell[tabindex='0']");
    if (stop) stop.focus();
  });
}
