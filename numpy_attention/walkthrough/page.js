// Shows one step at a time, with the matrices it was made from; a cell that is pointed at or focused lights up its
// origins. Everything that is shown stands in the page already: nothing here writes HTML from texts.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const [slider, place, why, hint] = ["slider", "place", "why", "hint"].map(id => document.getElementById(id));
  const sections = [...document.querySelectorAll(".step")];
  const links = [...document.querySelectorAll("[data-go]")];
  let current = 0;                                     // numbers of steps start at 1

  function show(number, focus) {
    number = Math.min(Math.max(number, 1), sections.length);
    if (number !== current) {
      if (current) sections[current - 1].classList.remove("current");
      current = number;
      const section = sections[number - 1];
      section.classList.add("current");
      addOperands(section, data.steps[number - 1]);
      links.forEach(link => link.dataset.go === String(number)
        ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current"));
      const link = links[number - 1], strip = document.querySelector(".overview");
      strip.scrollLeft = link.offsetLeft - strip.offsetLeft - strip.clientWidth / 2 + link.offsetWidth / 2;
      slider.value = number;
      place.textContent = `${number} / ${sections.length} · ${data.steps[number - 1].name}`;
      slider.setAttribute("aria-valuetext", place.textContent);
      light(null);
    }
    if (focus) sections[number - 1].focus({preventScroll: true});
  }

  // The matrices that a step was made from, copied from their own steps, once.
  function addOperands(section, step) {
    if (section.dataset.ready) return;
    section.dataset.ready = "yes";
    const own = section.querySelector(".own");
    own.querySelectorAll("td[data-at]").forEach((cell, k) => { cell.tabIndex = k ? -1 : 0; });
    const names = step.parts || [];
    const operands = document.createElement("div");
    operands.className = "operands";
    for (const name of names) {
      const source = [...document.querySelectorAll(".own")].find(box => box.dataset.of === name);
      if (!source) continue;
      const copy = source.cloneNode(true);
      copy.className = "operand";
      copy.querySelectorAll("[tabindex]").forEach(cell => cell.removeAttribute("tabindex"));
      copy.querySelectorAll(".chosen").forEach(cell => cell.classList.remove("chosen"));
      operands.append(copy);
    }
    own.after(operands);
  }

  function light(cell) {
    const section = sections[current - 1], step = data.steps[current - 1];
    section.querySelectorAll(".lit, .chosen").forEach(other => other.classList.remove("lit", "row", "chosen"));
    section.classList.toggle("lighting", Boolean(cell && step.parts));
    why.classList.toggle("empty", !cell);
    if (!cell) { why.replaceChildren(hint.content.cloneNode(true)); return; }
    cell.classList.add("chosen");
    const index = cell.dataset.at.split(",").map(Number), cells = (step.reads || {})[cell.dataset.at] || {};
    for (const [name, wanted] of Object.entries(cells)) {
      const whole = wanted.some(places => places.length > 1);
      for (const box of section.querySelectorAll(".operand")) {
        if (box.dataset.of !== name) continue;
        for (const other of box.querySelectorAll("td[data-at]")) {
          const at = other.dataset.at.split(",").map(Number);
          if (!wanted.every((places, axis) => places.includes(at[axis]))) continue;
          const before = other.classList.contains("lit") && !other.classList.contains("row");
          other.classList.add("lit");
          other.classList.toggle("row", whole && !before);
        }
      }
    }
    why.textContent = (step.why || {})[cell.dataset.at] || `${step.name}[${index.join(", ")}] = ${cell.textContent}`;
  }

  const ownCell = target => target.closest && target.closest(".current .own td[data-at]");
  document.addEventListener("mouseover", event => { const cell = ownCell(event.target); if (cell) light(cell); });
  document.addEventListener("mouseout", event => {
    if (ownCell(event.target)) light(ownCell(document.activeElement));
  });
  document.addEventListener("focusin", event => light(ownCell(event.target)));
  document.addEventListener("click", event => {
    const cell = ownCell(event.target), link = event.target.closest("a[href^='#step-']");
    if (cell) cell.focus();
    if (link) { event.preventDefault(); show(Number(link.getAttribute("href").slice(6)), true); }
  });

  function walk(cell, key) {
    const row = cell.parentElement, rows = [...row.parentElement.children], column = [...row.children].indexOf(cell);
    const [down, right] = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[key];
    let i = rows.indexOf(row) + down, j = column + right;
    let next = rows[i] && rows[i].children[j];
    while (next && next.classList.contains("gap")) { i += down; j += right; next = rows[i] && rows[i].children[j]; }
    if (!next || !next.dataset.at) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const cell = ownCell(event.target), arrow = event.key.startsWith("Arrow");
    if (cell && arrow) { event.preventDefault(); walk(cell, event.key); return; }
    if (event.target === slider && (arrow || ["Home", "End", "PageUp", "PageDown"].includes(event.key))) return;
    const to = {ArrowRight: current + 1, ArrowLeft: current - 1, n: current + 1, p: current - 1,
                Home: 1, End: sections.length}[event.key];
    if (to) { event.preventDefault(); show(to); }
    if (event.key === "l") speak({zh: "en", en: "both", both: "zh"}[root.dataset.lang]);
    if (event.key === "Escape" && cell) sections[current - 1].focus();
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  document.getElementById("prev").addEventListener("click", () => show(current - 1));
  document.getElementById("next").addEventListener("click", () => show(current + 1));
  window.addEventListener("hashchange", () => show(Number(location.hash.slice(6)) || current));

  function speak(language) {
    root.dataset.lang = language;
    root.lang = language === "zh" ? "zh" : "en";
    document.querySelectorAll(".languages button")
      .forEach(button => button.setAttribute("aria-pressed", button.dataset.lang === language));
  }
  document.querySelectorAll(".languages button")
    .forEach(button => button.addEventListener("click", () => speak(button.dataset.lang)));

  root.classList.add("js");
  speak(root.dataset.lang);
  show(Number(location.hash.slice(6)) || data.start);
})();
