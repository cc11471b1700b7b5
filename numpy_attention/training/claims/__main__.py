"""python -m numpy_attention.training.claims: the same as python -m numpy_attention claims."""
import argparse
import sys

from numpy_attention.training import claims_command

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m numpy_attention.training.claims")
    claims_command.configure(parser)
    sys.exit(claims_command.run(parser.parse_args()))
