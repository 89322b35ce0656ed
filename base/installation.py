"""How Candor was installed: its version, and the command that adds packages to its environment."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "candor-documents"
"""The name of the distribution. A package named ``candor`` on PyPI is not this program."""


def own_version() -> str:
    """Return the version of Candor."""
    from importlib.metadata import version  # takes a tenth of the time of `candor --help`

    return version(DISTRIBUTION)


def extra_command(extra: str) -> str:
    """Return the command that adds the packages of an extra, such as ``local``, to the environment of Candor."""
    from importlib.metadata import requires

    if (Path(sys.prefix) / "candor-image").exists():  # written by the Dockerfile: its user cannot install packages
        return f"docker compose build --build-arg EXTRAS='[{extra}]'"
    required = (each.partition(";") for each in requires(DISTRIBUTION) or ())
    return install_command(*(name.strip() for name, _, marker in required if f'extra == "{extra}"' in marker))


def install_command(*packages: str) -> str:
    """Return the command that adds packages to the environment of Candor, which pip, pipx or uv has made."""
    names = shlex.join(packages)
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return f"pipx inject {DISTRIBUTION} {names}"
    python = shlex.quote(sys.executable)
    return f"{python} -m pip install {names}" if find_spec("pip") else f"uv pip install --python {python} {names}"
