"""Progress: a bar while a run is under way. With tqdm installed it is tqdm's, otherwise a plain line."""
import sys


class Progress:
    """Show how far a run is, on the error stream.

    Args: total: how many steps. done: how many are behind us. shown: False for silence.

    >>> from numpy_attention.training.progress import Progress
    >>> with Progress(total=100, shown=False) as bar:
    ...     bar.show(10, loss=2.3, accuracy=0.1)
    """

    def __init__(self, total, done=0, *, shown=True):
        self.total, self.shown, self.line, self.bar = total, shown, "", None
        if shown:
            try:
                from tqdm import tqdm
                self.bar = tqdm(total=total, initial=done, unit="step", mininterval=0.2)
            except ImportError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        if self.bar is not None:
            self.bar.close()
        elif self.line:
            sys.stderr.write("\n" if sys.stderr.isatty() else self.line + "\n")

    def show(self, step, **numbers):
        """Step number `step` is done; the numbers are shown beside it."""
        text = ", ".join(f"{name} {value:.3f}" for name, value in numbers.items())
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update(step - self.bar.n)
        elif self.shown:
            self.line = f"step {step}/{self.total}: {text}"
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{self.line}")
