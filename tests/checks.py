"""A line for each thing that a test checks, and the exit code at its end."""
import sys

failures = 0


def check(good, what, seen=""):
    """Prints what was checked and, where it is not `good`, what was seen instead."""
    global failures
    print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good or not seen else f"\n{seen}"), flush=True)
    failures += not good


def end():
    sys.exit(1 if failures else 0)
