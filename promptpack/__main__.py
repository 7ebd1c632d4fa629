"""Run the command line: `python -m promptpack`."""

from promptpack.cli import main

if __name__ == "__main__":
    main()
