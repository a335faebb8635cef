"""`python -m rest_server WAREHOUSE [--port N] [--s3 ENDPOINT,KEY,SECRET] [switch | switch=JSON …]`.

Prints the server's address and serves until its standard input ends.
"""

from __future__ import annotations

import argparse
import sys

from rest_server.sockets import serving
from rest_server.switches import parsed


def main() -> None:
    parser = argparse.ArgumentParser(prog="rest_server", description="A REST catalog for tests")
    parser.add_argument("warehouse")
    parser.add_argument("switches", nargs="*", help="switches, as `etags` or `page_size=2`")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--s3", help="the S3 server of an s3: warehouse, as ENDPOINT,KEY,SECRET")
    given = parser.parse_args()
    s3 = dict(zip(("endpoint", "key", "secret"), given.s3.split(","), strict=True)) if given.s3 else None
    with serving(given.warehouse, s3, port=given.port, **parsed(given.switches)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
