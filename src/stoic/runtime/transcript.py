"""A thread's requests as bytes: the accepted part is rendered once and only ever grows (SPEC §5)."""

from stoic.core.history import History, changed_row
from stoic.core.quarantine import check_forms
from stoic.core.replay import gate, messages
from stoic.core.rows import kind_of
from stoic.ports import Renderer
from stoic.records import Json, Lease, Row, ThreadRecord, ViewChange


class Transcript:
    """The view of one thread for one renderer; `body` begins with the bytes of the last accepted body, plus what is new."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._accepted = bytearray()
        """Fragments before the newest reply, each with its comma."""
        self._newest: list[Row] = []
        """The newest reply's row and the visible rows after it."""
        self._generation = 1

    def fold(self, row: Row) -> None:
        """Take in the next row."""
        if not row.visible or row.quarantine == "excluded":
            return
        if row.generation != self._generation:
            self._generation = row.generation
            self._accepted.clear()
            self._newest.clear()
        if kind_of(row) == "reply":
            for fragment in self._renderer.fragments(messages(self._newest)):
                self._accepted += fragment + b","
            self._newest = [row]
        else:
            self._newest.append(row)

    def fold_views(self, changes: list[ViewChange]) -> None:
        """Take in what changed of unaccepted rows' views."""
        by_seq = {change.seq: change for change in changes}
        rows = [changed_row(row, by_seq[row.seq]) if row.seq in by_seq else row for row in self._newest]
        self._newest = [row for row in rows if row.quarantine != "excluded"]

    def body(self, head: bytes) -> bytes:
        """Return the whole request.

        Raises:
            UnsendableError: the gate found the view broken; nothing must be sent
        """
        check_forms(self._newest)
        view = messages(self._newest)
        gate(view)
        fragments = b",".join(self._renderer.fragments(view, newest=True))
        return b"".join((head, self._accepted, fragments, self._renderer.TAIL))


class Live:
    """A thread's folded state in this process: its position, and its view for each renderer that has been needed."""

    def __init__(self, thread: str) -> None:
        self.history = History(thread)
        self.record = ThreadRecord(id=thread)
        """As it was loaded; its kind and scope never change."""
        self.transcripts: dict[Renderer, Transcript] = {}
        self.rows: list[Row] | None = None
        """The loaded rows, until the first request has rendered them."""
        self.loops: Json = None
        """What was saved of the loop detector with the last outcome that had something to save."""
        self.epoch = 0
        """The lease's epoch up to which the state is complete; 0: none yet."""
        self.lease: Lease | None = None
        """The lease under which it was complete last."""

    def transcribe(self, rows: list[Row], renderer: Renderer) -> Transcript:
        """Render a thread's rows for a renderer that was not needed before."""
        self.rows = None
        transcript = self.transcripts[renderer] = Transcript(renderer)
        for row in rows:
            transcript.fold(row)
        return transcript

    def fold(self, rows: list[Row], changes: list[ViewChange]) -> None:
        """Take in what a step stored; the position is fed by the turn itself."""
        if self.rows is not None:
            by_seq = {change.seq: change for change in changes}
            if by_seq:
                self.rows = [changed_row(row, by_seq[row.seq]) if row.seq in by_seq else row for row in self.rows]
            self.rows += rows
        for transcript in self.transcripts.values():
            if changes:
                transcript.fold_views(changes)
            for row in rows:
                transcript.fold(row)
