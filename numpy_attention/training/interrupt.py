"""Ctrl-C, at a good moment: not in the middle of an update but right after it.

The first Ctrl-C is noted, and the loop stops when its step is complete; whoever presses it again is not kept waiting.
"""
import signal
import threading


class Interrupt:
    """While in the with-block, true once Ctrl-C was pressed.

    >>> from numpy_attention.training.interrupt import Interrupt
    >>> with Interrupt() as interrupted:
    ...     bool(interrupted)
    False
    """

    def __init__(self):
        self.pressed, self.before = False, None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():       # only there may it be listened to
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def __bool__(self):
        return self.pressed

    def _note(self, number, frame):
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
