"""The entry point of ``candor`` and of ``python -m api.cli``."""

import atexit
import gc
import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while its modules are imported."""
    atexit.register(gc.freeze)  # otherwise the exit searches all objects for garbage, which takes 0.2 s
    try:
        from api.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
