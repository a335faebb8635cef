"""How the server behaves: the switches, one for each thing that real servers do differently.

They may be combined and changed while the server runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

UNIT_SEPARATOR = "\x1f"


@dataclass
class Auth:
    """Who may ask. `kind`: `oauth2`, `token`, `basic` or `sigv4`."""

    kind: str = "oauth2"
    # `ID:SECRET` of oauth2, `USER:PASSWORD` of basic, the token itself, or `KEY:SECRET` of sigv4.
    secret: str = "frazil:sesame"
    # How many seconds a token of oauth2 lives.
    seconds: float = 3600
    # The status for a token that has ended: 401 or 419.
    ended: int = 401
    # What oauth2 must be asked for, besides the grant: `scope`, `audience`, `resource`.
    wants: dict[str, str] = field(default_factory=dict)
    # Whether a token can be had for one that is about to end.
    exchanges: bool = True
    # How long the answer with a token takes.
    delay: float = 0.0
    # SigV4's scope.
    service: str = "execute-api"
    region: str = "us-east-1"


@dataclass
class Vending:
    """Credentials for the store that the server hands out. Each lives for some seconds."""

    key: str = "AKIDVENDED"
    secret: str = "vended-secret"
    seconds: float = 3600
    # Where the client finds them: `storage-credentials`, `config` or both.
    within: str = "both"


@dataclass
class Switches:
    """What is different from a server that does all by the specification. Nothing, by default."""

    # ---- where tables are, and what becomes of their files
    needs_location: bool = False
    refuses_location: bool = False
    purge_must: bool = False
    purge_never: bool = False
    # ---- answers
    page_size: int = 0  # names on a page, asked for or not
    drop_answers_200: bool = False
    head_with_body: bool = False
    explicit_nulls: bool = False
    etags: bool = False
    last_snapshot_only: bool = False
    labels: dict[str, Any] | None = None
    # ---- commits
    one_snapshot: bool = False
    unknown_as_400: bool = False
    slow_after_commit: float = 0.0
    idempotency: bool = False
    forgets_commits: int = 0  # the next commits are confirmed, but not made
    # ---- configuration
    no_endpoints: bool = False
    without: tuple[str, ...] = ()  # operations that are not offered, by the names of `routes.OPERATIONS`
    prefix: str = ""
    separator: str = UNIT_SEPARATOR
    warehouses: tuple[str, ...] | None = None
    namespace_levels: int = 0  # 0: as many as one likes
    no_namespace_properties: bool = False
    unknown_config_keys: bool = False
    decoy_signer: bool = False
    defaults: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, str] = field(default_factory=dict)
    table_config: dict[str, str] = field(default_factory=dict)
    # ---- load
    throttle_every: int = 0  # each such request is refused first
    retry_after: str = "1"
    # ---- who may ask, and how to the store
    auth: Auth | None = None
    wanted_headers: dict[str, str] = field(default_factory=dict)
    vending: Vending | None = None
    signing: bool = False
    signer_refuses_lists: bool = False
    # ---- planning by the server
    planning_mode: str = ""  # `client` or `server`, said with each table
    async_polls: int = 0  # how often a plan is not ready yet; 0 is an answer at once
    files_in_a_task: int = 0  # files that come with a plan; the rest by tasks. 0: all

    def change(self, changes: dict[str, Any]) -> None:
        """Sets switches by their names. Unknown names are errors."""
        known = {f.name for f in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"there is no switch {name!r}; there are {', '.join(sorted(known))}")
            if name == "auth" and isinstance(value, dict):
                value = Auth(**value)
            if name == "vending" and isinstance(value, dict):
                value = Vending(**value)
            if name in ("without", "warehouses") and isinstance(value, list):
                value = tuple(value)
            setattr(self, name, value)


def parsed(terms: Iterable[str]) -> dict[str, Any]:
    """Switches as one writes them in a shell: `etags`, `page_size=2`, `auth={"seconds": 5}`."""
    import json

    found: dict[str, Any] = {}
    for term in terms:
        name, equals, value = term.partition("=")
        try:
            found[name] = json.loads(value) if equals else True
        except ValueError:
            found[name] = value
    return found
