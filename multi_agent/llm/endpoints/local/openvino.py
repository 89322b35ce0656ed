"""OpenVINO GenAI: the faster engine on x86-64 CPUs. Reads GGUF files of a few architectures.

Prompts with a common beginning share its computation, and text that repeats the prompt is written several tokens at a
time (prompt lookup).
"""

import hashlib
import os
import shutil
import sys
import tempfile
from collections import OrderedDict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from multi_agent.llm.endpoints.local.engine import EngineError, Generated, Generation, KeepOn, ModelOptions, read_header

# https://openvinotoolkit.github.io/openvino.genai/docs/guides/gguf
_ARCHITECTURES = ("llama", "qwen2", "qwen3")
_BLOCK = 32  # tokens of a block of the cache on a CPU
_CONTEXTS = 2  # the cache holds this many times the context window: the request, and beginnings of earlier ones
# Prompt lookup: propose so many tokens after a match of so many.
_PROPOSED, _MATCHED = 5, 3
_FAILURES = (RuntimeError, IndexError, ValueError)  # what the library's C++ exceptions become


class OpenVINO:
    """A model loaded by OpenVINO GenAI."""

    def __init__(self, pipeline: Any, context: int) -> None:
        self.name = f"OpenVINO GenAI {version('openvino-genai')} on the CPU"
        self._pipeline = pipeline
        self._tokenizer = pipeline.get_tokenizer()
        self._cached = _CachedBlocks(_blocks(context))

    @classmethod
    def load(cls, options: ModelOptions) -> Self:
        """Load the file, or what an earlier start converted it to. Raises EngineError, ImportError."""
        # Its import starts a process that reports it to Google Analytics. Without this module, it uses its own stub.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        import openvino_genai as genai

        architecture = read_header(options.path).architecture
        if architecture not in _ARCHITECTURES:
            raise EngineError(
                f"OpenVINO GenAI reads GGUF files of {', '.join(_ARCHITECTURES)}; this is {architecture!r}."
            )
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching = True
        scheduler.num_kv_blocks = _blocks(options.context)
        properties: dict[str, Any] = {} if options.threads is None else {"INFERENCE_NUM_THREADS": options.threads}

        def pipeline(path: Path, **more: Any) -> Any:
            return genai.LLMPipeline(
                str(path), "CPU", scheduler_config=scheduler, prompt_lookup=True, **properties, **more
            )

        try:
            return cls(_load_converted(options, pipeline), options.context)
        except _FAILURES as error:
            raise EngineError(f"OpenVINO GenAI cannot load the model: {_last_line(error)}.") from error

    def generate(self, request: Generation, keep_on: KeepOn) -> Generated:
        """Write a response. Raises EngineError."""
        import openvino_genai as genai

        def stream(piece: str) -> Any:
            return genai.StreamingStatus.RUNNING if keep_on(piece) else genai.StreamingStatus.CANCEL

        try:
            history = [{"role": role, "content": text} for role, text in request.messages]
            prompt = self._tokenizer.apply_chat_template(history, add_generation_prompt=True)
            tokens = self._tokenizer.encode(prompt, add_special_tokens=False).input_ids.data[0].tolist()
            result = self._pipeline.generate([prompt], _settings(request), stream)
        except _FAILURES as error:
            raise EngineError(f"OpenVINO GenAI rejected the request: {_last_line(error)}.") from error
        return Generated(
            truncated=result.finish_reasons[0] == genai.GenerationFinishReason.LENGTH,
            prompt_tokens=result.perf_metrics.get_num_input_tokens(),
            cached_tokens=self._cached.add(tokens),
            completion_tokens=result.perf_metrics.get_num_generated_tokens(),
        )


def _settings(request: Generation) -> Any:
    import openvino_genai as genai

    settings = genai.GenerationConfig()
    settings.apply_chat_template = False
    settings.max_new_tokens = request.max_tokens
    settings.num_assistant_tokens, settings.max_ngram_size = _PROPOSED, _MATCHED
    if request.temperature:
        settings.do_sample, settings.temperature = True, request.temperature
        settings.rng_seed = int.from_bytes(os.urandom(4))  # otherwise equal for every sample
    structure = genai.StructuredOutputConfig()
    structure.grammar = request.grammar
    settings.structured_output_config = structure
    return settings


def _load_converted(options: ModelOptions, pipeline: Any) -> Any:
    """Load the model from the cache folder, and convert it into the folder first if it is not there.

    Converted by version 2026.4 from a Q4_K_M file of 1.5 billion parameters, a model loads in 4 s of CPU time and 0.9
    GB instead of 17 s and 3.7 GB. The copy is about as large as the file.
    """
    if options.cache is None:
        return pipeline(options.path)
    path = options.path.resolve()
    facts = path.stat()
    identity = f"{path}\n{facts.st_size}\n{facts.st_mtime_ns}\n{version('openvino-genai')}"
    folder = options.cache / hashlib.sha256(str(path).encode()).hexdigest()[:16]
    converted = folder / hashlib.sha256(identity.encode()).hexdigest()[:16]
    if not converted.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for outdated in folder.iterdir():
            shutil.rmtree(outdated, ignore_errors=True)
        _convert(path, converted, pipeline)
    return pipeline(converted)


def _convert(path: Path, converted: Path, pipeline: Any) -> None:
    """Write the converted model to the folder, which appears when it is complete."""
    temporary = Path(tempfile.mkdtemp(dir=converted.parent))
    try:
        link = temporary / path.name  # the library writes next to the file that it reads
        link.symlink_to(path)
        pipeline(link, enable_save_ov_model=True)
        link.unlink()
        temporary.rename(converted)
    except OSError as error:
        if not converted.exists():  # otherwise another process was faster
            raise EngineError(f"The converted model cannot be written to {converted}: {error.strerror}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _blocks(context: int) -> int:
    return _CONTEXTS * (context // _BLOCK + 1)


def _last_line(error: Exception) -> str:
    return next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__).rstrip(".")


class _CachedBlocks:
    """Counts the tokens that the library takes from its cache, as it does not report them.

    The library caches whole blocks of prompts by their content and everything before it, and discards those that were
    not used for longest.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def add(self, tokens: list[int]) -> int:
        """Add a prompt, and return how many tokens at its beginning were cached before."""
        cached, beginning = 0, b""
        for at in range(0, len(tokens) - _BLOCK, _BLOCK):  # the last token is always computed
            beginning = hashlib.sha256(beginning + str(tokens[at : at + _BLOCK]).encode()).digest()
            if beginning in self._known and cached == at:
                cached += _BLOCK
            self._known[beginning] = None
            self._known.move_to_end(beginning)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return cached
