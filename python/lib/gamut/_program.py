"""The program `gamut`, as the wheel installs it."""

import signal
import sys

from . import _gamut


def main():
    """Runs the command line of gamut, and ends the process with its exit code."""
    # Ctrl-C ends a command as it ends the program that cargo builds: at once, or where a command cleans up behind
    # itself, by its own handler. Python would wait for the command first. In the background of a script both ignore it.
    # The signal of a closed pipe is ignored by both.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_gamut.main(["gamut", *sys.argv[1:]]))
