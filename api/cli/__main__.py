"""The entry point of ``candor`` and of ``python -m api.cli``."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while its modules are imported."""
    try:
        from api.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
