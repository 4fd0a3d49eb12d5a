"""Child processes, and the messages of ./run on stderr."""
import os
import re
import signal
import subprocess
import sys

from results import plain

command = "run"  # in messages
DUMB = os.environ.get("TERM") == "dumb"  # a terminal that can't overwrite a line
PLAIN = bool(os.environ.get("NO_COLOR")) or DUMB  # no colours
verbose = False  # show all output of the build tools


def say(text):
    print(f"{command}: {plain(text)}", file=sys.stderr, flush=True)


def fail(code, text):
    say(text)
    sys.exit(code)


def end(child):
    """Ends a program. Ctrl-C has reached it, too, so it gets two seconds to clean up."""
    for stop in (child.terminate, child.kill):
        try:
            child.wait(timeout=2)
            return
        except subprocess.TimeoutExpired:
            stop()
    child.wait()


def call(words, called=None, line=None, **options):
    """Runs a program and passes each line of its output to `line`. Returns the exit code as a shell does, and prints a
    line if a signal killed it. Stops the program if this process is interrupted."""
    if line:
        options["stdout"] = subprocess.PIPE
    with subprocess.Popen([str(word) for word in words], **options) as child:
        try:
            for each in child.stdout or ():
                line(each)
            child.wait()
        except BaseException:
            end(child)
            raise
    if child.returncode == -signal.SIGINT:
        sys.exit(130)
    if child.returncode < 0 and child.returncode != -signal.SIGPIPE:
        say(f"{called or words[0]}: killed by {signal.Signals(-child.returncode).name}")
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def output(*words):
    """A program's output, stripped; "" if it is missing or fails."""
    try:
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                             timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def show_progress(text):
    """Overwrites the last line of the terminal with `text`, cut to its width, if stderr is a terminal."""
    if sys.stderr.isatty() and not DUMB:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        print(f"\r\033[K{text[:width - 1]}", end="", file=sys.stderr, flush=True)


def coloured(text):
    """A compiler's line in the colours that it would have on a terminal. The compiler itself writes to the build tools.
    """
    if not sys.stderr.isatty() or PLAIN:
        return text
    text = re.sub(r"\b((?:fatal )?error:|warning:)", "\033[1;31m\\1\033[0m", text)
    return re.sub(r"^( *\|)([ ~^]+)$", "\\1\033[1;32m\\2\033[0m", text)
