"""A session as it is at one moment, for a client that joins or comes back."""

from __future__ import annotations

from ensign.protocol.wire import SessionInfo, Snapshot
from ensign.session.session import Session


def info_of(session: Session) -> SessionInfo:
    """The session's row in a list."""
    return SessionInfo(
        session_id=session.id,
        title=session.title,
        cwd=str(session.cwd),
        created_at=session.created_at,
        last_event_at=session.services.clock(),
        open=True,
    )


def snapshot_of(session: Session) -> Snapshot:
    """Everything a client shows; the next event it gets is the one after `session.log.seq`."""
    return Snapshot(
        info=info_of(session),
        mode=session.authority.mode,
        model=session.turns.model_id,
        entries=tuple(session.chat.entries),
        partial=session.chat.partial(),
        tasks=session.manager.records(),
        approvals=session.approvals.open(),
        todos=session.chat.todos,
        turn_id=session.turns.turn_id,
        queued=session.turns.queued,
        usage=session.usage,
    )
