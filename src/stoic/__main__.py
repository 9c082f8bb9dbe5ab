"""`python -m stoic` is the `stoic` command."""

from stoic.cli import main

if __name__ == "__main__":
    main()
