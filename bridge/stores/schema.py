"""The tables of the two databases, as numbered migrations.

`index.sqlite` is derived: a migration that cannot keep its content empties it and the
sources fill it again. `state.sqlite` is durable: its migrations keep every row.
"""

from typing import NamedTuple


class Migration(NamedTuple):
    number: int
    sql: str


INDEX: tuple[Migration, ...] = (
    Migration(
        1,
        """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        CREATE TABLE notes (
            id INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL,
            kind TEXT NOT NULL,
            revision TEXT NOT NULL,
            size INTEGER NOT NULL,
            lines INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            language TEXT NOT NULL,
            frontmatter TEXT NOT NULL,
            headings TEXT NOT NULL,
            blocks TEXT NOT NULL,
            tasks TEXT NOT NULL,
            issues TEXT NOT NULL,
            shape TEXT NOT NULL,
            seq INTEGER NOT NULL
        );
        CREATE INDEX notes_seq ON notes (seq);
        CREATE INDEX notes_modified ON notes (modified_ns);

        CREATE TABLE names (
            note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
            folded TEXT NOT NULL,
            name TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('title', 'alias')),
            head TEXT NOT NULL,
            PRIMARY KEY (folded, note_id, kind)
        ) WITHOUT ROWID;
        CREATE INDEX names_note ON names (note_id);
        CREATE INDEX names_head ON names (head);

        CREATE TABLE tags (
            note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
            folded TEXT NOT NULL,
            tag TEXT NOT NULL,
            PRIMARY KEY (folded, note_id)
        ) WITHOUT ROWID;
        CREATE INDEX tags_note ON tags (note_id);

        CREATE TABLE chunks (
            id INTEGER PRIMARY KEY,
            note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
            ordinal INTEGER NOT NULL,
            heading_path TEXT NOT NULL,
            first_line INTEGER NOT NULL,
            last_line INTEGER NOT NULL,
            text TEXT NOT NULL,
            embed_hash TEXT
        );
        CREATE INDEX chunks_note ON chunks (note_id, ordinal);
        CREATE INDEX chunks_embeddable ON chunks (note_id) WHERE embed_hash IS NOT NULL;

        CREATE TABLE pending (
            chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
            note_id INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            embed_text TEXT NOT NULL
        );
        CREATE INDEX pending_newest ON pending (modified_ns DESC);
        CREATE INDEX pending_note ON pending (note_id);

        CREATE TABLE links (
            note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
            ordinal INTEGER NOT NULL,
            target TEXT NOT NULL,
            target_key TEXT NOT NULL,
            kind TEXT NOT NULL,
            line INTEGER NOT NULL,
            heading TEXT,
            block TEXT,
            alias TEXT,
            resolved TEXT,
            resolved_id INTEGER,
            ambiguous TEXT NOT NULL DEFAULT '[]',
            PRIMARY KEY (note_id, ordinal)
        ) WITHOUT ROWID;
        CREATE INDEX links_key ON links (target_key);
        CREATE INDEX links_resolved ON links (resolved_id, note_id);

        CREATE TABLE files (
            path TEXT PRIMARY KEY,
            key TEXT NOT NULL,
            modified_ns INTEGER NOT NULL,
            size INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX files_key ON files (key);

        CREATE TABLE failures (
            path TEXT PRIMARY KEY,
            reason TEXT NOT NULL,
            modified_ns INTEGER NOT NULL,
            size INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE removals (
            seq INTEGER NOT NULL,
            note_id INTEGER NOT NULL,
            PRIMARY KEY (seq, note_id)
        ) WITHOUT ROWID;
        """,
    ),
)
"""`names.folded`, `links.target_key` and `files.key` are last path segments without `.md`,
folded by `bridge.paths.fold`; `names.head` are a name's first two words, by which names are
found in a text; `seq` numbers the transactions and is what the full-text index replays from;
`notes.shape` names the parser and chunker that made the rows. The vector table is made for the
model's dimensions by `stores.embeddings`."""

STATE: tuple[Migration, ...] = (
    Migration(
        1,
        """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        CREATE TABLE keys (
            name TEXT PRIMARY KEY,
            hash BLOB NOT NULL UNIQUE,
            created_at TEXT NOT NULL,
            read_only INTEGER NOT NULL,
            allow TEXT NOT NULL,
            deny TEXT NOT NULL,
            transcripts INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE contents (
            revision TEXT PRIMARY KEY,
            bytes BLOB NOT NULL
        );

        CREATE TABLE journal (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at TEXT NOT NULL,
            origin TEXT NOT NULL,
            verb TEXT NOT NULL CHECK (verb IN ('write', 'delete', 'move')),
            path TEXT NOT NULL,
            to_path TEXT,
            before TEXT,
            after TEXT
        );
        CREATE INDEX journal_path ON journal (path);

        CREATE TABLE conflicts (
            id TEXT PRIMARY KEY,
            at TEXT NOT NULL,
            path TEXT NOT NULL,
            kind TEXT NOT NULL,
            origin TEXT NOT NULL,
            base TEXT,
            ours TEXT,
            theirs TEXT NOT NULL,
            file TEXT NOT NULL,
            resolved_at TEXT
        );

        CREATE TABLE change_log (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at_ns INTEGER NOT NULL,
            path TEXT NOT NULL,
            title TEXT NOT NULL,
            kind TEXT NOT NULL,
            change TEXT NOT NULL,
            old_path TEXT,
            origin TEXT NOT NULL,
            revision TEXT
        );
        CREATE INDEX change_log_at ON change_log (at_ns);

        CREATE TABLE pins (
            path TEXT NOT NULL,
            other TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pinned', 'hidden')),
            PRIMARY KEY (path, other)
        ) WITHOUT ROWID;

        CREATE TABLE devices (
            name TEXT PRIMARY KEY,
            last_seen TEXT NOT NULL,
            livesync INTEGER NOT NULL,
            turn INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE sessions (
            device TEXT NOT NULL,
            session TEXT NOT NULL,
            began INTEGER NOT NULL,
            PRIMARY KEY (device, session)
        ) WITHOUT ROWID;

        CREATE TABLE acknowledged (
            device TEXT NOT NULL,
            path TEXT NOT NULL,
            revision TEXT NOT NULL,
            seen INTEGER NOT NULL,
            PRIMARY KEY (device, path)
        ) WITHOUT ROWID;
        """,
    ),
)
"""`contents` holds the bytes of journal sides once per revision; `devices.turn` counts a device's
calls, `sessions.began` and `acknowledged.seen` are such turns."""
