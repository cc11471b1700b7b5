"""The command `claims`: measure what textbooks claim, print each claim with its numbers, fail if one does not hold."""
import sys
from pathlib import Path

from ..training.claims import CLAIMS, attack, check_claims
from ..training.claims.claim import SEEDS
from ..training.sweeps import processes
from ..words.terminal import wrap
from .options import whole

FAILED, USAGE_ERROR = 1, 2


def configure(parser):
    """Add the options of `python -m numpy_attention claims` to an argparse parser."""
    parser.add_argument("names", nargs="*", default=[], metavar="NAME",
                        help=f"of {', '.join(CLAIMS)}; all unless given")
    parser.add_argument("--list", action="store_true", help="only say what is claimed")
    parser.add_argument("--quick", action="store_true", help="only those that the ordinary tests measure, too")
    parser.add_argument("--attack", action="store_true",
                        help=f"measure under {len(attack.ATTACKS) - 1} other conditions, too, and write the table; "
                             "hours, and goes on where it stopped")
    parser.add_argument("--keep", metavar="DIR", default=attack.FOLDER,
                        help="where --attack keeps its measurements and the table (beside the claims)")
    parser.add_argument("--seeds", type=whole(1, 1000), metavar="N",
                        help=f"how many seeds ({len(SEEDS)}; {attack.SEEDS} with --attack)")
    parser.add_argument("--workers", type=whole(1, 1000), metavar="N",
                        help="processes; one for each processor unless given")
    parser.set_defaults(run=run)


def run(arguments):
    """Measure and print. Returns 0 if every claim holds, 1 if one does not, 2 for wrong usage."""
    names = arguments.names or [name for name, each in CLAIMS.items() if each.quick or not arguments.quick]
    if unknown := [name for name in names if name not in CLAIMS]:
        print(f"claims: there is no claim {unknown[0]!r}; there are: {', '.join(CLAIMS)}", file=sys.stderr)
        return USAGE_ERROR
    if arguments.seeds is None:
        arguments.seeds = attack.SEEDS if arguments.attack else len(SEEDS)
    if arguments.list:
        for name in names:
            print("\n".join([name, *wrap(CLAIMS[name].says, indent=4)]))
        return 0
    if arguments.attack:
        return run_attack(arguments, names)
    failed = []
    with processes(arguments.workers) as executor:
        for verdict in check_claims(names, seeds=range(arguments.seeds), executor=executor):
            print(verdict, end="\n\n", flush=True)
            failed += [] if verdict.holds else [verdict.claim.name]
    print(f"{len(names) - len(failed)} of {len(names)} claims hold" + (f"; not {', '.join(failed)}" if failed else ""))
    return FAILED if failed else 0


def run_attack(arguments, names):
    """Measure what is missing, a line for each, and say where the table is. Returns 0, or 2 where it cannot be kept."""
    folder = Path(arguments.keep)
    if not folder.is_dir():
        print(f"claims: --keep wants a folder that exists, got {folder}", file=sys.stderr)
        return USAGE_ERROR
    with processes(arguments.workers) as executor:
        for result, done, of in attack.attack_claims(names, seeds=arguments.seeds, folder=folder, executor=executor):
            outcome = result.get("why") or f"{result['seconds']:.0f} s"
            print(f"{done}/{of}  {result['claim']}, {result['attack']}, seed {result['seed']}: {outcome}", flush=True)
    print(f"the table: {folder / 'attacked.md'}")
    return 0
