"""Peak memory: what one forward and backward adds to a fresh process."""
import subprocess
import sys

CHILD = """
import sys
from numpy_attention.bench.contenders import contender
from numpy_attention.bench.memory import high_water
name, dtype = sys.argv[1], sys.argv[2]
size = tuple(map(int, sys.argv[3].split(",")))
contender(name, (1, 4, size[2], size[3]), dtype)()       # everything is loaded, nothing large was made
once = contender(name, size, dtype)
before = high_water()
once()
print(high_water() - before)
"""


def high_water():
    """The most memory that this process has held so far, in kB."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:                         # not Linux; there, getrusage would count the parent's memory, too
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak_megabytes(name, size, dtype):
    """Megabytes by which a fresh process grows during one forward and backward; None where that cannot be measured."""
    command = [sys.executable, "-c", CHILD, name, dtype, ",".join(map(str, size))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) / 1024 if done.returncode == 0 else None
