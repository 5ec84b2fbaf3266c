"""`python -m compare` is the console script `equipoise`."""

from compare.cli import main

main()
