"""llama.cpp, from the package xllamacpp: reads every GGUF file, and computes on a GPU if its build supports one."""

import secrets
from importlib.metadata import version
from typing import Any, Self

from multi_agent.llm.endpoints.local.engine import EngineError, Generated, Generation, KeepOn, ModelOptions, read_header

_ALL_LAYERS = 999


class LlamaCpp:
    """A model loaded by llama.cpp."""

    def __init__(self, server: Any, device: str) -> None:
        self.name = f"llama.cpp (xllamacpp {version('xllamacpp')}) on the {device}"
        self._server = server

    @classmethod
    def load(cls, options: ModelOptions) -> Self:
        """Load the file, on the GPU if this build of the library finds one. Raises EngineError, ImportError."""
        import xllamacpp

        header = read_header(options.path)
        params = xllamacpp.CommonParams()
        params.model.path = str(options.path)
        params.n_ctx, params.n_parallel = options.context, 1
        params.warmup = False
        # The library always starts its HTTP server, on a free port of localhost. Nobody knows this key.
        params.api_keys, params.ui = [secrets.token_urlsafe(32)], False
        if options.threads is not None:
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
        device = gpu_name()
        if device:
            params.n_gpu_layers = _ALL_LAYERS
        try:
            return cls(xllamacpp.Server(params), device or "CPU")
        except RuntimeError as error:
            raise EngineError(
                f"llama.cpp cannot load the model (architecture {header.architecture!r}). It may be newer than "
                f"xllamacpp {version('xllamacpp')}, or need more memory than there is."
            ) from error

    def generate(self, request: Generation, keep_on: KeepOn) -> Generated:
        """Write a response. Raises EngineError."""
        chunks: list[dict[str, Any]] = []

        def receive(chunk: Any) -> bool:
            """Keep the chunk and return whether to stop."""
            chunks.append(chunk)
            return "error" in chunk or not keep_on(_text(chunk))

        body = {
            "messages": [{"role": role, "content": text} for role, text in request.messages],
            "grammar": request.grammar,
            "temperature": request.temperature or 0.0,
            "max_tokens": request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        try:
            self._server.handle_chat_completions(body, receive)
        except (RuntimeError, ValueError) as error:
            raise EngineError(f"llama.cpp rejected the request: {error}") from error
        return _generated(chunks)


def gpu_name() -> str:
    """Return the first GPU that this build of the library can use; empty if there is none."""
    import xllamacpp

    found = (each for each in xllamacpp.get_device_info() if "GPU" in each["type"].name)
    return next((f"{each['name']} ({each['description']})" for each in found), "")


def _text(chunk: dict[str, Any]) -> str:
    return "".join((choice.get("delta") or {}).get("content") or "" for choice in chunk.get("choices", ()))


def _generated(chunks: list[dict[str, Any]]) -> Generated:
    """Return the end of the generation. A cancelled one has no usage. Raises EngineError."""
    if failed := next((chunk["error"] for chunk in chunks if "error" in chunk), None):
        raise EngineError(f"llama.cpp rejected the request: {failed}")
    usage: dict[str, Any] = next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), {})
    reasons = (choice.get("finish_reason") for chunk in chunks for choice in chunk.get("choices", ()))
    return Generated(
        truncated="length" in reasons,
        prompt_tokens=usage.get("prompt_tokens", 0),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
        completion_tokens=usage.get("completion_tokens", 0),
    )
