"""A web server on loopback that takes notices, answers as it is told, and remembers what came."""

import json
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

Answer = int | Callable[[BaseHTTPRequestHandler], object]


class Posted(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> dict[str, Any]:
        return json.loads(self.body)


class Hooks:
    """Answers each POST with the next status, the last one again and again; a function writes its answer itself."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = deque[Answer](answers or (204,))
        self.posted: list[Posted] = []
        self.stopping = threading.Event()
        hooks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                hooks.posted.append(Posted(self.path, headers, body))
                answer = hooks.answers.popleft() if len(hooks.answers) > 1 else hooks.answers[0]
                if not isinstance(answer, int):
                    answer(self)
                    return
                self.send_response(answer)
                self.send_header("content-length", "0")
                if answer in range(300, 400):
                    self.send_header("location", "/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/hook"

    def keys(self) -> list[str]:
        """Return the keys of the notices that came, in order."""
        return [posted.value["key"] for posted in self.posted]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
