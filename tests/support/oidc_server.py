"""A small OpenID Connect provider over real HTTP. It signs everybody in at once, with the claims of the test."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "candor", "a secret of the client"


class OidcServer:
    """The provider. ``claims`` are those of the person; ``forge`` changes the claims of the next token.

    with OidcServer({"sub": "1", "email": "ada@example.com"}) as provider:
        ServiceSettings(oidc=OidcSettings(issuer=provider.issuer))
    """

    def __init__(self, claims: dict[str, Any]) -> None:
        self.claims, self.forged = claims, {}  # type: tuple[dict[str, Any], dict[str, Any]]
        self.key = self._published = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="oidc", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def discovery(self) -> dict[str, Any]:
        """The document that names the addresses."""
        paths = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        return {"issuer": self.issuer} | {name: self.issuer + path for name, path in paths.items()}

    def keys(self) -> dict[str, Any]:
        """The published keys."""
        return {"keys": [self._published.as_dict(private=False)]}

    def authorize(self, query: dict[str, str]) -> str:
        """Return the address to which the browser is sent back."""
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT)
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any]:
        """Exchange a code, once. Checks the client, its address and PKCE."""
        assert authorization == "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        asked = self._codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]
        assert form["redirect_uri"] == asked["redirect_uri"]
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": asked["nonce"]}
        signed = jwt.encode({"alg": "RS256", "kid": "1"}, claims | self.claims | self.forged, self.key)
        return {"access_token": "x", "token_type": "Bearer", "id_token": signed}


def _handler(server: OidcServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", server.authorize(_flat(url.query)))
                self.end_headers()
                return
            self._send({"/keys": server.keys}.get(url.path, server.discovery)())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            try:
                self._send(server.token(_flat(body), self.headers.get("Authorization", "")))
            except (AssertionError, KeyError):
                self._send({"error": "invalid_grant"}, 400)

        def _send(self, value: dict[str, Any], status: int = 200) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    return Handler


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
