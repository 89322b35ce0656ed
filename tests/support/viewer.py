"""The service that the viewer is tried on: its documents, and a model whose part every test writes anew."""

from __future__ import annotations

from pathlib import Path

from api.bootstrap import Candor
from api.settings import Settings
from support.panel import Panel
from support.scripted_endpoint import Reply, Request, Responder, ScriptedEndpoint
from support.service import RunningService
from vectorstore.embedding import Embedder

HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
COLD = "It works down to -25 °C without a heater."
WARRANTY = "Its warranty is seven years."
DOCUMENTS = {
    # Characters of two UTF-16 units stand before the quotes: the places of quotes are counted in characters.
    "pump.md": "# The Borea 12 🌡️🔥\n\n" + "The pump is quiet. " * 40 + f"\n\n{COLD}\n\n{WARRANTY}\n",
    "manual.txt": f"The compressor {HOSTILE} comes from Graz.\n",
}


class Site:
    """The service with its data in a folder; ``responder`` is what the model does from now on."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self.responder: Responder = Panel()
        self.endpoint = ScriptedEndpoint(self._respond)
        self._home, self._embedder = home, embedder
        self._port = 0

    def begin(self) -> None:
        """Start the service; again, where it was before."""
        self.candor = Candor(Settings(home=self._home, llm=self.endpoint.settings("openai")))
        self.candor.embedder = self._embedder
        self._service = RunningService(self.candor, self._port).__enter__()
        self.url = f"{self._service.url}/"
        self._port = int(self._service.url.rpartition(":")[2])

    def end(self) -> None:
        """Stop it, as Ctrl-C does."""
        self._service.__exit__()

    def _respond(self, request: Request) -> Reply | str:
        return self.responder(request)
