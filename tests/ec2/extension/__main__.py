"""Starts the server on a free port of 127.0.0.1, and prints the port."""

from __future__ import annotations

import logging
import sys

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from tests.ec2.extension.app import Application


class _Handler(MotoRequestHandler):  # type: ignore[misc]  # moto is not there when types are checked
    protocol_version = "HTTP/1.1"  # clients keep their connections

    def connection_dropped(self, _error: BaseException, _environ: object = None) -> None:
        self.close_connection = True  # a fault was ordered: the client gets no answer


def main() -> None:
    """Serve until the process is ended."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, Application(), threaded=True, request_handler=_Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
