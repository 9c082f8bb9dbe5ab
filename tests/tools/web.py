"""A web server on loopback that answers what a test tells it to."""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

Page = tuple[int, dict[str, str], bytes] | Callable[[BaseHTTPRequestHandler], object]


class Web:
    """Answers each path with what stands there: `(status, headers, body)`, or a function that writes the answer itself."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.pages = dict(pages)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.stopping = threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                page = web.pages.get(self.path, (404, {}, b"nothing here"))
                if callable(page):
                    page(self)
                    return
                status, headers, body = page
                self.send_response(status)
                for name, value in {"content-type": "text/plain", "content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def url(self, path: str, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
