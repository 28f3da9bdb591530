"""`python -m gamut` is the program `gamut`."""

from ._program import main

main()
