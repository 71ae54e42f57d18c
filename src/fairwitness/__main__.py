"""`python -m fairwitness`."""

from fairwitness.cli.app import main

main()
