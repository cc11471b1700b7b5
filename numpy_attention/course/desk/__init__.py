"""The desk: the process in which a student's code runs, and all that it may know.

Marks are given by another process, the examiner (see `grading`). It sends inputs to the desk and gets answers back; it
alone knows what is right, and it alone compares. So whatever a student's code does to its own process, to NumPy, to the
checks, to files, it can only give answers. No solution lies on the desk.
"""
