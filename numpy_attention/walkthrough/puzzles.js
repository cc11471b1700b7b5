// Ten puzzles on 我 爱 AI, each a goal that the page checks: a question in two languages, the numbers it starts from, how
// many numbers may be changed, and what must be true of the tensors at the end.
"use strict";

const PUZZLES = (() => {
  const at = (run, name, i, j) => run.tensors[name].data[i * run.tensors[name].shape.at(-1) + j];
  const count = run => Object.values(run.choices.edits).reduce((sum, cells) => sum + Object.keys(cells).length, 0);
  const only = (run, ...allowed) => ["edits", "mask", "divisor", "loss"].every(key =>
    allowed.includes(key) || !(key === "edits" ? count(run) : run.choices[key]));
  const edited = run => Object.entries(run.choices.edits).flatMap(([name, cells]) => Object.keys(cells).map(cell => [name, Number(cell)]));
  const all = (run, name, test) => run.tensors[name].data.every(test);
  const argmax = row => row.indexOf(Math.max(...row));
  const row = (run, name, i) => [...run.tensors[name].data.slice(i * run.tensors[name].shape.at(-1), (i + 1) * run.tensors[name].shape.at(-1))];
  return [
    {zh: "只改一个数，让“我”主要看“爱”（权重超过 0.5）。", en: "Change one number, so that 我 looks at 爱 most of all (a weight above 0.5).",
     hint: ["哪一行和哪一列相乘得到这一格？", "Which row and which column give that cell?"],
     done: run => only(run, "edits") && count(run) === 1 && at(run, "weights", 0, 1) > 0.5},
    {zh: "只让一个数变大，使“AI”分给“我”的权重变小。", en: "Make one number grow, so that the weight AI gives to 我 falls.",
     hint: ["份额此消彼长：别的键分数变高也行。", "Shares compete: another key may win instead."],
     done: run => { const [one, ...more] = edited(run);
       return only(run, "edits") && one && !more.length && run.tensors[one[0]].data[one[1]] > run.startOf(...one) && at(run, "weights", 2, 0) < 0.041; }},
    {zh: "让每一行权重都均匀（各 1/3），但不许动 Q。", en: "Make every row of weights even (1/3 each) without touching Q.",
     hint: ["三个键一样，谁也不比谁好。", "If all keys are alike, none is better."],
     done: run => only(run, "edits") && !run.choices.edits.Q && all(run, "weights", x => Math.abs(x - 1 / 3) < 1e-6)},
    {zh: "只点权重，做出因果掩码：每个词元只看自己和前面的。", en: "By clicking weights alone, make a causal mask: no token sees a later one.",
     hint: ["点右上角的三格。", "Click the three cells at the upper right."],
     done: run => only(run, "mask") && run.choices.mask === "100110111"},
    {zh: "让“爱”什么也看不见。它的输出和梯度会怎样？", en: "Let 爱 see nothing at all. What becomes of its output and its gradient?",
     hint: ["挡住那一行的三格。", "Hide all three cells of its row."],
     done: run => row(run, "weights", 1).every(x => x === 0) && row(run, "weights", 0).some(x => x > 0)},
    {zh: "只动除数，让“我”的最大权重超过 0.99。看看 dscores 变得多小。", en: "With the divisor alone, push 我's largest weight above 0.99. See how small dscores gets.",
     hint: ["除得越少，softmax 越尖。", "The smaller the divisor, the sharper the softmax."],
     done: run => only(run, "divisor") && Math.max(...row(run, "weights", 0)) > 0.99},
    {zh: "让“我”的输出几乎等于“AI”的值（每个数相差不到 0.02）。", en: "Make the output of 我 nearly the value of AI (every number within 0.02).",
     hint: ["权重接近 1 时，加权平均就是照抄。", "With a weight near 1, a mixture is a copy."],
     done: run => row(run, "heads", 0).every((x, j) => Math.abs(x - at(run, "V", 2, j)) < 0.02)},
    {zh: "让每个词元都最看重下一个：我→爱→AI→我。", en: "Let every token look most at the next one: 我 → 爱 → AI → 我.",
     hint: ["一个键只在对应的查询不为零的地方大。", "Let each key be large where only one query is."],
     done: run => only(run, "edits") && [0, 1, 2].every(i => argmax(row(run, "weights", i)) === (i + 1) % 3)},
    {zh: "让 dQ 全为零，而 dV 不为零。", en: "Make dQ zero everywhere, and dV not.",
     hint: ["softmax 后面的梯度，只在乎一行里各值的差别。", "Behind the softmax, only differences between values count."],
     done: run => all(run, "dQ", x => Math.abs(x) < 1e-9) && !all(run, "dV", x => Math.abs(x) < 1e-3)},
    {zh: "让 dV 全为零，而 dQ 不为零。", en: "Make dV zero everywhere, and dQ not.",
     hint: ["权重都一样时，上游梯度每一列的和才算数。", "With even weights only the column sums of the upstream gradient count."],
     done: run => all(run, "dV", x => Math.abs(x) < 1e-9) && !all(run, "dQ", x => Math.abs(x) < 1e-3)},
  ];
})();
if (typeof module !== "undefined") module.exports = PUZZLES;
