"""python -m numpy_attention: see numpy_attention.cli."""
import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
