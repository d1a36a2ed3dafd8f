"""``python -m chaos``: the console script under a name that cannot clash with another tool's ``chaos``."""

from chaos.cli.main import main

if __name__ == "__main__":
    main()
