"""A server on loopback that reads one request and then does to its client whatever a test tells it to."""

import re
import socket
import threading
from collections.abc import Callable
from typing import Self

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_READ_BYTES = 65536

Act = Callable[["Victim"], object]


class Victim:
    """One client that has sent its request."""

    def __init__(self, sock: socket.socket, request: bytes, stopping: threading.Event) -> None:
        self._sock = sock
        self.request = request
        """Head and body, as they came."""
        self.stopping = stopping
        """Set when the test is over: what waits for ever waits for this."""

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def send_for_ever(self, piece: bytes) -> None:
        """Send until the client leaves."""
        while not self.stopping.is_set():
            self._sock.sendall(piece)

    def drip(self, data: bytes, seconds: float) -> None:
        """Send a byte, wait, send the next, and begin again at the end, until the client leaves."""
        while True:
            for byte in data:
                self._sock.sendall(bytes([byte]))
                if self.stopping.wait(seconds):
                    return

    def header(self, name: str) -> str:
        """Return a header of the request; empty: it has none."""
        found = re.search(rf"\r\n{re.escape(name)}: (.*?)\r\n".encode(), self.request, re.IGNORECASE)
        return found[1].decode("latin-1") if found else ""


class Hostile:
    """Serves any number of connections, each with one request; use it as a context manager."""

    def __init__(self, act: Act | bytes) -> None:
        """Take what is done to each client, or the bytes that each gets."""
        self._act = act if callable(act) else (lambda victim: victim.send(act))
        self.requests: list[bytes] = []
        self.stopping = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def port(self) -> int:
        return self._listening.getsockname()[1]

    def url(self, path: str = "/v1", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        # Wakes the thread that accepts.
        socket.create_connection(("127.0.0.1", self.port)).close()
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listening.accept()
            if self.stopping.is_set():
                sock.close()
                return
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            try:
                request = self._read(sock)
                self.requests.append(request)
                self._act(Victim(sock, request, self.stopping))
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                return  # the client has left

    def _read(self, sock: socket.socket) -> bytes:
        data = bytearray()
        while True:
            head, end, body = bytes(data).partition(b"\r\n\r\n")
            length = _LENGTH.search(head + b"\r\n")
            if end and len(body) >= (int(length[1]) if length else 0):
                return bytes(data)
            piece = sock.recv(_READ_BYTES)
            if not piece:
                raise ConnectionError("the client left in the middle of its request")
            data += piece


def answer(body: bytes | str, status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole answer; underscores of header names are hyphens."""
    data = body.encode() if isinstance(body, str) else body
    named = {"content-type": "application/json", "content-length": str(len(data))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + data
