-- SPDX-License-Identifier: Apache-2.0
-- docs/formats/ledger.md. user_version 1; a change here is a new version.
CREATE TABLE attempt (
  id                INTEGER PRIMARY KEY CHECK (id >= 1),
  role              TEXT NOT NULL,
  ordinal           INTEGER NOT NULL,
  max_output_tokens INTEGER NOT NULL
) STRICT;

CREATE TABLE record (
  sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),
  attempt  INTEGER NOT NULL CHECK (attempt >= 0),
  tune     INTEGER NOT NULL,
  stage    TEXT NOT NULL,
  json     TEXT NOT NULL
) STRICT;
CREATE INDEX record_by_attempt ON record (attempt, sequence);

CREATE TABLE blob (
  id     INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  bytes  BLOB NOT NULL
) STRICT;

CREATE TABLE record_blob (
  sequence INTEGER NOT NULL REFERENCES record (sequence),
  position INTEGER NOT NULL,
  digest   BLOB NOT NULL REFERENCES blob (digest),
  PRIMARY KEY (sequence, position)
) STRICT, WITHOUT ROWID;

-- Append-only, also for whoever opens the file by hand.
CREATE TRIGGER attempt_keeps BEFORE UPDATE ON attempt BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER attempt_stays BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER record_keeps BEFORE UPDATE ON record BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER record_stays BEFORE DELETE ON record BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER blob_keeps BEFORE UPDATE ON blob BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER blob_stays BEFORE DELETE ON blob BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER record_blob_keeps BEFORE UPDATE ON record_blob BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER record_blob_stays BEFORE DELETE ON record_blob BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
