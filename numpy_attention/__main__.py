"""python -m numpy_attention: see numpy_attention/commands/main.py."""
import sys

from .commands.main import main

if __name__ == "__main__":
    sys.exit(main())
