"""Sign-in by an OpenID Connect provider: the authorization code flow with PKCE."""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from httpx2 import HTTPError
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry, decode

from api.auth.users import Identity
from api.errors import SignInFailed
from api.settings import OidcSettings
from base.models import FrozenModel

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
_LEEWAY_S, _TIMEOUT_S = 60, 10


class _Pending(FrozenModel):
    """A sign-in that has begun."""

    state: str
    nonce: str
    verifier: str
    page: str


class Oidc:
    """The client of the provider. ``callback`` is the address to which it sends people back. Calls block."""

    def __init__(self, settings: OidcSettings, secret: str | None) -> None:
        self._settings, self._secret = settings, secret

    def begin(self, callback: str, page: str) -> tuple[str, str]:
        """Return the address of the provider's sign-in, and the cookie that the browser keeps until it comes back.

        Raises SignInFailed.
        """
        pending = _Pending(state=generate_token(32), nonce=generate_token(32), verifier=generate_token(64), page=page)
        with self._client(callback) as client:
            endpoint = self._discover(client)["authorization_endpoint"]
            url, _ = client.create_authorization_url(
                endpoint, state=pending.state, nonce=pending.nonce, code_verifier=pending.verifier
            )
        return url, pending.model_dump_json().encode().hex()

    def finish(self, callback: str, cookie: str, state: str, code: str) -> tuple[Identity, str]:
        """Exchange the code for what the provider says about the person. Return it with the page to show.

        Raises SignInFailed.
        """
        try:
            pending = _Pending.model_validate_json(bytes.fromhex(cookie))
        except ValueError as error:
            raise SignInFailed("This browser has not begun to sign in, or too long ago.") from error
        if not hmac.compare_digest(pending.state.encode(), state.encode()):
            raise SignInFailed("The response of the identity provider belongs to another sign-in.")
        with self._client(callback) as client:
            provider = self._discover(client)
            token = client.fetch_token(provider["token_endpoint"], code=code, code_verifier=pending.verifier)
            keys = KeySet.import_key_set(client.get(provider["jwks_uri"], auth=None).raise_for_status().json())
            claims = decode(str(token.get("id_token")), keys, algorithms=_ALGORITHMS).claims
            self._check(claims, pending.nonce)
            return self._identity(claims), pending.page

    @contextmanager
    def _client(self, callback: str) -> Iterator[Any]:
        """Yield the OAuth client. Its errors become SignInFailed."""
        own, method = self._settings, "client_secret_basic" if self._secret else "none"
        try:
            with OAuth2Client(
                own.client_id, self._secret, method, scope="openid profile email", redirect_uri=callback,
                code_challenge_method="S256", timeout=_TIMEOUT_S,
            ) as client:  # fmt: skip
                yield client
        except (HTTPError, AuthlibBaseError, JoseError, KeyError, ValueError) as error:
            raise SignInFailed(f"The identity provider {own.issuer} has not signed you in: {error}") from error

    def _discover(self, client: Any) -> dict[str, str]:
        url = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        found: dict[str, str] = client.get(url, auth=None).raise_for_status().json()
        if found["issuer"] != self._settings.issuer:
            raise ValueError(f"its discovery document names the issuer {found['issuer']!r}")
        return found

    def _check(self, claims: dict[str, Any], nonce: str) -> None:
        """Raise JoseError unless the token is for this client and this sign-in, and has not expired."""
        required = {"iss": self._settings.issuer, "aud": self._settings.client_id, "nonce": nonce}
        options: dict[str, Any] = {name: {"essential": True, "value": value} for name, value in required.items()}
        if len(claims.get("aud", ())) > 1 and isinstance(claims["aud"], list):
            options["azp"] = {"essential": True, "value": self._settings.client_id}
        options |= {name: {"essential": True} for name in ("exp", "iat", "sub")}
        JWTClaimsRegistry(leeway=_LEEWAY_S, **options).validate(claims)

    def _identity(self, claims: dict[str, Any]) -> Identity:
        """Read the claims. An e-mail address that is not verified is ignored: anybody could claim it."""
        own = self._settings
        email = claims.get("email") if claims.get("email_verified") is True else None
        groups = claims.get(own.groups_claim, []) if own.groups_claim else None
        name = claims.get("preferred_username") or email or claims["sub"]
        return Identity(subject=f"{own.issuer} {claims['sub']}", name=name, email=email, groups=groups)
