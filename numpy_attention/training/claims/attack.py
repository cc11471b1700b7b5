"""Attack: measure every claim again under other conditions, before anybody is taught it.

More steps, other rates, more heads, twice the width, a feed-forward layer, another optimiser, another start, longer
sequences, and five seeds. A margin that breaks does not make the claim false: it shows which of its conditions it
needs. A sentence that names none of them would be.

    python -m numpy_attention claims --attack               # an hour or two on one core; goes on where it stopped
    python -m numpy_attention claims --attack tied --seeds 2

What was measured is kept in attacked.json beside this file, with the table attacked.md made from it. A measurement is
made again only if its claim has changed.
"""
import hashlib
import inspect
import json
import math
from pathlib import Path

from ...words.files import write_whole
from ..schedules import warmup_cosine
from ..sweeps import outcomes
from .claim import CLAIMS, UNCHANGED, Attack, Verdict, known, measure_claim, under

FOLDER, SEEDS, MOST_STEPS = Path(__file__).parent, 5, 3000
NOT_TRAINED, DOES_NOT_FIT = "nothing is trained", "does not fit"


def more_steps(training):
    """Ten times the steps, at most 3,000 unless there were more already; stopping early stays."""
    steps = training["steps"]
    return {**training, "steps": max(steps, min(10 * steps, MOST_STEPS))}


def rate(factor):
    """The learning rate times this; a schedule, too."""
    def change(training):
        lr = training["lr"]
        return {**training, "lr": (lambda step: factor * lr(step)) if callable(lr) else factor * lr}
    return change


def falling(training):
    """A rate that falls along a cosine to 0 at the last step, unless it is a schedule already."""
    lr, steps = training["lr"], training["steps"]
    return training if callable(lr) else {**training, "lr": warmup_cosine(lr, warmup=min(20, steps - 1), total=steps)}


def more_heads(more):
    """So many heads more, and rows as wide as it takes to cut them evenly (and in pairs, for rotary positions)."""
    def change(sizes):
        heads = sizes.get("heads", 1) + more
        return {**sizes, "heads": heads, "d_model": math.ceil(sizes["d_model"] / (2 * heads)) * 2 * heads}
    return change


def wider(sizes):
    """Twice the width, of the rows and of the heads."""
    return {**sizes, "d_model": 2 * sizes["d_model"], **({"d_k": 2 * sizes["d_k"]} if "d_k" in sizes else {})}


def feed_forward(sizes):
    """A feed-forward layer of four times the width in each block."""
    return {**sizes, "d_hidden": 4 * sizes["d_model"]}


def longer(task):
    """The same task on sequences twice as long."""
    size = next(name for name in ("L", "slots", "facts") if name in task.settings)
    more = {"V": 2 * task.settings["V"]} if size in ("slots", "facts") else {}
    return type(task)(**{**task.settings, size: 2 * task.settings[size], **more})


ATTACKS = {attack.name: attack for attack in (
    UNCHANGED,
    Attack("rate ÷ 3", training=rate(1 / 3)),
    Attack("rate × 3", training=rate(3)),
    Attack("falling rate", training=falling),
    Attack("one more head", sizes=more_heads(1)),
    Attack("two more heads", sizes=more_heads(2)),
    Attack("twice the width", sizes=wider),
    Attack("feed-forward layer", sizes=feed_forward),
    Attack("AdamW", training=lambda training: {**training, "optimizer": "adamw"}),
    Attack("start ÷ 2", start=0.5),
    Attack("start × 2", start=2.0),
    Attack("twice as long", task=longer),
    Attack("ten times the steps", training=more_steps),
)}


def measure_attack(asked):
    """One claim, one attack, one seed, wherever this runs: the values by name, or why there are none; the seconds."""
    with under(ATTACKS[asked["attack"]]) as models:
        try:
            values, seconds = measure_claim(asked)
        except (ValueError, FloatingPointError) as error:
            if asked["attack"] == UNCHANGED.name or asked["claim"] not in CLAIMS:
                raise
            return {**asked, "why": f"{DOES_NOT_FIT}: {error}"[:200], "seconds": 0.0}
    if not models and asked["attack"] != UNCHANGED.name:
        return {**asked, "why": NOT_TRAINED, "seconds": seconds}
    return {**asked, "values": values, "seconds": seconds}


def attack_claims(names=None, *, attacks=None, seeds=SEEDS, folder=FOLDER, executor=None):
    """Measure claims under attacks, all unless named; yield each result, how many are done, and how many there are.

    What folder/attacked.json holds already is not measured again. The table is written anew at the end, and whenever
    this is stopped.

    Raises: ValueError for an unknown claim or attack.
    """
    names, attacks = known(names), list(ATTACKS if attacks is None else attacks)
    if unknown := [name for name in attacks if name not in ATTACKS]:
        raise ValueError(f"there is no attack {unknown[0]!r}; there are: {', '.join(ATTACKS)}")
    found = read(folder)
    asked = [{"claim": name, "attack": attack, "seed": seed}
             for seed in range(seeds) for attack in attacks for name in names]
    missing = [each for each in asked if key(**each) not in found]
    try:
        for done, result in enumerate(outcomes(missing, executor, measure=measure_attack), 1):
            found[key(result["claim"], result["attack"], result["seed"])] = result
            write(folder, found)
            yield result, len(asked) - len(missing) + done, len(asked)
    finally:
        write(folder, found)
        write_whole(Path(folder) / "attacked.md", table(found))


def key(claim, attack, seed):
    """What a measurement is filed under; another text of the claim's function makes another key."""
    text = inspect.getsource(CLAIMS[claim].measure).partition("def ")[2]
    return f"{claim} | {attack} | {seed} | {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read(folder=FOLDER):
    """The measurements kept in a folder, by key; those of claims as they no longer are left out."""
    path = Path(folder) / "attacked.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {key(r["claim"], r["attack"], r["seed"]): r for r in kept
            if r["claim"] in CLAIMS and r["of"] == key(r["claim"], r["attack"], r["seed"]).rpartition(" ")[2]}


def write(folder, found):
    """Keep the measurements: one a line, in one order, so that two versions can be compared."""
    lines = [json.dumps({**result, "of": filed.rpartition(" ")[2]}, ensure_ascii=False)
             for filed, result in sorted(found.items())]
    write_whole(Path(folder) / "attacked.json", "[\n" + ",\n".join(lines) + "\n]\n")


def verdicts(found, name):
    """For one claim, by attack: a Verdict over the seeds measured, or the reason why there is none."""
    said = {}
    for attack in ATTACKS:
        results = [r for r in found.values() if r["claim"] == name and r["attack"] == attack]
        measured = [r["values"] for r in results if "values" in r]
        if measured:
            values = {what: [each[what] for each in measured] for what in CLAIMS[name].margins}
            said[attack] = Verdict(CLAIMS[name], values, sum(r["seconds"] for r in results))
        elif results:
            said[attack] = results[0]["why"].partition(":")[0]
    return said


def table(found):
    """The measurements as Markdown: a table of all claims and attacks, then each claim with what broke."""
    measured = sum("values" in result for result in found.values())
    lines = ["# The claims under attack", "",
             "Made by `python -m numpy_attention claims --attack`; do not edit. "
             f"{measured} measurements. ✓ n: measured with n seeds, and each kept every margin; ✗ n/m: n of m seeds "
             "broke one; "
             "– nothing is trained, or the attack does not fit; an empty cell was not measured yet. A ✗ names a "
             "condition that the claim needs. Where nothing else is given: Adam with β = 0.9, 0.99 and a warm-up of "
             "20 steps, and the usual start (matrices with standard deviation 1/√fan-in, embeddings halved).", "",
             f"| claim | {' | '.join(ATTACKS)} |", f"|---|{'---|' * len(ATTACKS)}"]
    for name in CLAIMS:
        said = verdicts(found, name)
        lines.append(f"| {name} | " + " | ".join(cell(said.get(attack)) for attack in ATTACKS) + " |")
    for name, each in CLAIMS.items():
        lines += ["", f"## {name}", "", f"{each.says_zh}", "", f"{each.says}", "", f"*Given*: {each.given}.", ""]
        if each.often:
            lines += [f"*Often said*: {each.often} *But*: {each.refuted}", ""]
        lines += list(broken_lines(verdicts(found, name)))
    return "\n".join(lines) + "\n"


def cell(said):
    """One cell of the table."""
    if said is None:
        return ""
    if isinstance(said, str):
        return "–"
    bad, seeds = broken_seeds(said), len(next(iter(said.values.values())))
    return f"✗ {bad}/{seeds}" if bad else f"✓ {seeds}"


def broken_seeds(verdict):
    """How many seeds broke a margin."""
    margins = {what: verdict.claim.margins[what] for what in broken_margins(verdict)}
    rows = zip(*([margin.holds(v) for v in verdict.values[what]] for what, margin in margins.items()), strict=True)
    return sum(not all(row) for row in rows)


def broken_margins(verdict):
    """The margins that a seed did not keep; how many parameters there are is no news where the size was changed."""
    return [what for what in verdict.broken if not what.startswith("parameters")]


def broken_lines(said):
    """For one claim: what each margin was as stated, and what it became where an attack broke it."""
    for attack, verdict in said.items():
        if isinstance(verdict, str):
            continue
        shown = verdict.claim.margins if attack == UNCHANGED.name else broken_margins(verdict)
        for what in shown:
            values = " ".join(f"{v:.3g}" for v in verdict.values[what])
            yield f"- {attack}: {what} {verdict.claim.margins[what] or ''}: {values}"
