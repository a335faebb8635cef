"""Who may ask the server, and with what the store may be asked: tokens, vended keys and signed requests."""

from __future__ import annotations

import base64
import itertools
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rest_server.refusal import Refusal, bad_request
from rest_server.switches import Auth, Switches, Vending

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


class OAuthRefusal(Refusal):
    """An error in the words of OAuth."""

    def body(self) -> dict[str, Any]:
        return {"error": self.type, "error_description": self.message}


@dataclass
class Guard:
    """Tokens and keys that were given out, with the time when each ends."""

    switches: Switches
    tokens: dict[str, float] = field(default_factory=dict)
    session_tokens: dict[str, float] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)
    grants: list[str] = field(default_factory=list)
    token_requests_at_once: int = 0
    most_token_requests_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    counter: Any = field(default_factory=itertools.count)

    # ---- who may ask

    def check(self, method: str, url: str, headers: dict[str, str], body: bytes) -> None:
        """`headers` by small names."""
        for name, value in self.switches.wanted_headers.items():
            if headers.get(name.lower()) != value:
                raise Refusal(403, "ForbiddenException", f"The header {name} is missing or wrong")
        auth = self.switches.auth
        if auth is None:
            return
        given = headers.get("authorization", "")
        kind, _, value = given.partition(" ")
        match auth.kind:
            case "oauth2":
                self._check_token(auth, value if kind.lower() == "bearer" else "")
            case "token":
                _need(kind.lower() == "bearer" and value == auth.secret)
            case "basic":
                _need(kind.lower() == "basic" and value == base64.b64encode(auth.secret.encode()).decode())
            case "sigv4":
                _need(given != "" and given == signed_again(auth, method, url, headers, body))
            case other:
                raise ValueError(f"unknown kind of auth: {other}")

    def _check_token(self, auth: Auth, token: str) -> None:
        with self.lock:
            end = self.tokens.get(token)
        _need(end is not None)
        if end is not None and end < time.monotonic():
            type = "NotAuthorizedException" if auth.ended == 401 else "AuthenticationTimeoutException"
            raise Refusal(auth.ended, type, "The token has expired")

    def token(self, form: str, headers: dict[str, str]) -> dict[str, Any]:
        """The answer to a request for a token."""
        auth = self.switches.auth or Auth()
        with self.lock:
            self.token_requests_at_once += 1
            self.most_token_requests_at_once = max(self.most_token_requests_at_once, self.token_requests_at_once)
        try:
            time.sleep(auth.delay)
            return self._token(auth, {name: values[0] for name, values in parse_qs(form).items()}, headers)
        finally:
            with self.lock:
                self.token_requests_at_once -= 1

    def _token(self, auth: Auth, asked: dict[str, str], headers: dict[str, str]) -> dict[str, Any]:
        grant = asked.get("grant_type", "")
        with self.lock:
            self.grants.append(grant)
        for name, value in auth.wants.items():
            if asked.get(name) != value:
                raise OAuthRefusal(400, "invalid_scope", f"{name} must be {value}")
        kind, _, value = headers.get("authorization", "").partition(" ")
        by_header = base64.b64decode(value).decode() if kind.lower() == "basic" else ""
        by_form = f"{asked.get('client_id', '')}:{asked.get('client_secret', '')}"
        match grant:
            case "client_credentials":
                if auth.secret not in (by_header, by_form):
                    raise OAuthRefusal(401, "invalid_client", "Credentials given were not valid")
            case "urn:ietf:params:oauth:grant-type:token-exchange":
                if not auth.exchanges:
                    raise OAuthRefusal(400, "unsupported_grant_type", "Tokens are not exchanged here")
                with self.lock:
                    end = self.tokens.get(asked.get("subject_token", ""), 0.0)
                if end < time.monotonic() and auth.secret not in (by_header, by_form):
                    raise OAuthRefusal(400, "invalid_grant", "The subject token has expired")
            case _:
                raise OAuthRefusal(400, "unsupported_grant_type", f"Unknown grant: {grant}")
        token = f"token-{next(self.counter)}-{uuid.uuid4().hex}"
        with self.lock:
            self.tokens[token] = time.monotonic() + auth.seconds
        made = {"access_token": token, "token_type": "bearer", "issued_token_type": ACCESS_TOKEN}
        return {**made, "expires_in": int(auth.seconds)}

    # ---- the store

    def vend(self, vending: Vending) -> dict[str, str]:
        """New keys, as properties for the store."""
        token = f"session-{next(self.counter)}-{uuid.uuid4().hex}"
        with self.lock:
            self.session_tokens[token] = time.monotonic() + vending.seconds
        ends = int((time.time() + vending.seconds) * 1000)
        return {
            "s3.access-key-id": vending.key,
            "s3.secret-access-key": vending.secret,
            "s3.session-token": token,
            "s3.session-token-expires-at-ms": str(ends),
        }

    def store_allows(self, headers: dict[str, str]) -> str | None:
        """Why a request to the store is refused, if it is. `headers` by small names."""
        authorization = headers.get("authorization", "")
        if self.switches.signing:
            return None if authorization in self.signatures else "AccessDenied"
        if self.switches.vending is None:
            return None
        end = self.session_tokens.get(headers.get("x-amz-security-token", ""))
        if end is None:
            return "InvalidToken"
        return None if time.monotonic() < end else "ExpiredToken"

    def sign(self, request: dict[str, Any], location: str, key: str, secret: str) -> dict[str, Any]:
        """Signs a request to the store, if it is within the table."""
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        url, method = request["uri"], request["method"]
        parts = urlsplit(url)
        query = parse_qs(parts.query, keep_blank_values=True)
        is_list = method == "GET" and ("list-type" in query or "prefix" in query)
        if is_list and self.switches.signer_refuses_lists:
            raise bad_request("Listing can't be signed", "SigningException")
        wanted = location.partition("://")[2]
        named = f"{parts.path.lstrip('/')}/{query.get('prefix', [''])[0]}" if is_list else parts.path.lstrip("/")
        is_delete = method == "POST" and "delete" in query
        if is_delete:
            if not request.get("body"):
                raise bad_request("The body of a delete must be sent to be signed", "SigningException")
        elif not named.replace("//", "/").startswith(wanted.partition("/")[0]) or wanted not in named:
            raise Refusal(403, "ForbiddenException", f"Not within the table: {url}")
        headers = {name: ",".join(values) for name, values in request["headers"].items()}
        kept = {name: value for name, value in headers.items() if name.lower() not in ("authorization", "x-amz-date")}
        kept.setdefault("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
        made = AWSRequest(method=method, url=url, headers=kept, data=request.get("body"))
        S3SigV4Auth(Credentials(key, secret), "s3", request["region"]).add_auth(made)
        answer = {name: [str(value)] for name, value in made.headers.items()}
        with self.lock:
            self.signatures.add(made.headers["Authorization"])
        return {"uri": url, "headers": answer}


def _need(allowed: bool) -> None:
    if not allowed:
        raise Refusal(401, "NotAuthorizedException", "Not authorized: the credentials are missing or wrong")


def signed_again(auth: Auth, method: str, url: str, headers: dict[str, str], body: bytes) -> str:
    """The header that a request must have which was signed with the secret."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    given = headers.get("authorization", "")
    names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    key, _, secret = auth.secret.partition(":")
    request = AWSRequest(method=method, url=url, data=body, headers={n: headers[n] for n in names if n in headers})
    request.context["timestamp"] = headers.get("x-amz-date", "")
    signer = SigV4Auth(Credentials(key, secret), auth.service, auth.region)
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    return (
        f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
