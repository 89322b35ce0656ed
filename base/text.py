"""Texts for people and prompts."""

import textwrap

_DOTS = " …"


def shorten(text: str, width: int) -> str:
    """Return the text with single blanks, in at most ``width`` characters.

    It is cut at a blank or, where words have none between them, such as in Chinese, within a word.
    """
    short = textwrap.shorten(text, width, placeholder=_DOTS)
    plain = " ".join(text.split())
    is_whole = len(plain) <= width
    return short if is_whole or 2 * len(short) >= width else plain[: width - len(_DOTS)] + _DOTS
