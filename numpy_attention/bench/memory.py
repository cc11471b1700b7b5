"""Peak memory: what one forward and backward adds to a fresh process."""
import subprocess
import sys

CHILD = """
import resource, sys
from numpy_attention.bench.contenders import contender
name, dtype = sys.argv[1], sys.argv[2]
size = tuple(map(int, sys.argv[3].split(",")))
contender(name, (1, 4, size[2], size[3]), dtype)()       # everything is loaded, nothing large was made
once = contender(name, size, dtype)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
once()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def peak_megabytes(name, size, dtype):
    """Megabytes by which a fresh process grows during one forward and backward; None where that cannot be measured."""
    command = [sys.executable, "-c", CHILD, name, dtype, ",".join(map(str, size))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) / 1024 if done.returncode == 0 else None
