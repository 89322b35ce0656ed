"""Separates what a model thinks from its answer. Models and servers mark thinking in different ways."""

from __future__ import annotations

import re

_NAME = r"(?:[\w-]{1,20}:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad)"
_FORMS = (
    (rf"(<\|?|\[|◁)({_NAME})(\|?>|\]|▷)", r"\1/\2\3"),
    (r"<\|begin_of_thought\|>", "<|end_of_thought|>"),
    (r"<\|start_thinking\|>", "<|end_thinking|>"),
    (r"<\|inner_prefix\|>", "<|inner_suffix|>"),
    (r"<\|channel\|>\s*(?:analysis|commentary)[^{]*?<\|message\|>", "<|end|>"),
    (r"<\|channel>\s*thought", "<channel|>"),
    (r"\Aanalysis(?=\w)", "assistantfinal"),  # of a server that removes the marks above
)
_MARKS = tuple((re.compile(f"[^{{]*?{start}", re.IGNORECASE), end) for start, end in _FORMS)
"""The start of thinking, before any JSON object, and its end."""
_END = re.compile(rf"(?:<\|?|\[|◁)/{_NAME}(?:\|?>|\]|▷)", re.IGNORECASE)
_ANSWER = re.compile(r"\A(?:<\|\w+\|>(?:assistant|final)?\s*)*")


def split_thinking(text: str) -> tuple[str, str, bool]:
    """Return the answer, the thinking before it, and whether the thinking has ended. If not, there is no answer.

    Some chat templates remove the mark of the start.
    """
    thoughts, has_end = [], True
    while found := next(((start, end) for mark, end in _MARKS if (start := mark.match(text))), None):
        start, end = found
        rest = text[start.end() :]
        last = re.search(re.escape(start.expand(end)), rest, re.IGNORECASE)
        thoughts.append((rest[: last.start()] if last else rest).strip())
        has_end, text = last is not None, rest[last.end() :] if last else ""
    text = text.strip()
    if not thoughts and not text.startswith(("{", "[", "```")) and (last := _END.search(text)):
        thoughts, text = [text[: last.start()].strip()], text[last.end() :]
    text = text.strip()
    return _ANSWER.sub("", text, count=1), "\n".join(thoughts), has_end
