"""The claims that are quick to measure; all of them: python -m numpy_attention claims."""
import argparse
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from numpy_attention.commands import claims
from numpy_attention.training.claims import CLAIMS, Claim, Verdict, at_least, at_most, check_claims

QUICK = [name for name, claim in CLAIMS.items() if claim.quick]


@pytest.mark.parametrize("name", QUICK)
def test_quick_claims_hold(name):
    with ThreadPoolExecutor(1) as thread:
        (verdict,) = check_claims([name], executor=thread)
    print(verdict)
    assert verdict.holds, f"\n{verdict}"


def test_every_claim_is_a_sentence_with_margins():
    for name, claim in CLAIMS.items():
        assert claim.name == name
        assert claim.says.endswith(".")
        assert any("\u4e00" <= c <= "\u9fff" for c in claim.says_zh)
        assert claim.given
        assert bool(claim.often) == bool(claim.refuted)
        assert any(margin is not None for margin in claim.margins.values())
    assert len(QUICK) >= 5


def verdict_on(*values):
    margins = {"high": at_least(0.95), "low": at_most(0.8), "told": None}
    named = {"high": values, "low": [0.1] * len(values), "told": [np.nan] * len(values)}
    return Verdict(Claim("example", "An example.", "例子。", "nothing", margins, None), named, 1.0)


def test_a_claim_holds_only_if_every_seed_keeps_every_margin():
    assert verdict_on(0.95, 0.99).holds
    assert not verdict_on(0.99, 0.94).holds
    assert not verdict_on(0.99, np.nan).holds
    lines = str(verdict_on(0.99, 0.94)).splitlines()
    assert lines[0] == "example: An example. (1.0 s)"
    assert lines[1].split() == ["high", "≥", "0.95", "0.99", "0.94", "FAILS"]
    assert lines[2].split()[-1] == "holds"
    assert lines[3].split() == ["told", "nan", "nan"]


def run(line):
    parser = argparse.ArgumentParser()
    claims.configure(parser)
    arguments = parser.parse_args(line.split())
    return arguments.run(arguments)


def test_unknown_claims_name_the_known_ones(capsys):
    with pytest.raises(ValueError, match="there is no claim 'magic'; there are: reversal, induction"):
        list(check_claims(["magic"]))
    assert run("magic") == 2
    assert "there is no claim 'magic'; there are: reversal" in capsys.readouterr().err


def test_the_command_measures_prints_and_fails_if_a_claim_does(capsys, monkeypatch):
    assert run("gradient-without-scale --seeds 1 --workers 1") == 0
    said = capsys.readouterr().out
    assert "gradient of W_Q at step 0, without over with" in said
    assert said.endswith("1 of 1 claims hold\n")
    monkeypatch.setattr(claims, "check_claims", lambda names, **options: [verdict_on(0.5)])
    assert run("gradient-without-scale --workers 1") == 1
    assert "0 of 1 claims hold; not example" in capsys.readouterr().out


def test_the_list_says_what_is_claimed(capsys):
    assert run("--list --quick") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(QUICK)
    assert max(map(len, lines)) <= 80
