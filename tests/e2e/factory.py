# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the real binary, a small spec, candidates, transcripts."""
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

BINARY = os.environ.get("KFACTORY", "build/dev/bin/kfactory")
SOURCE = pathlib.Path(os.environ.get("KF_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
SPEC = SOURCE / "tests/specs/vector_add.json"


def candidate(body, hypothesis, tune=""):
    return f"""/*kfactory
{{ "plan": 1, "hypothesis": "{hypothesis}", {tune}
  "kernels": [{{"id": "main", "name": "add", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i64"]}}] }}
*/
extern "C" __global__ void add(const T* a, const T* b, T* c, long long n) {{
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  {body}
}}
"""


RIGHT = candidate("if (i < n) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));", "one thread an element")
RIGHT_AGAIN = candidate("if (i >= n) return;\n  const float x = static_cast<float>(a[i]);\n  c[i] = static_cast<T>(x + static_cast<float>(b[i]));",
                        "early exit")
WRONG = candidate("if (i < n) c[i] = static_cast<T>(static_cast<float>(a[i]) - static_cast<float>(b[i]));", "wrong sign")
TAIL = candidate("if (i + 1 < n) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));", "misses the last element")
BEYOND = candidate("if (i <= n) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));", "one element too many")
BROKEN = candidate("if (i < n) c[i] = undeclared_name;", "does not compile")


def fenced(source):
    return f"The candidate:\n```cuda\n{source}```\n"


LESSONS = '```json\n{"lessons": [{"claim": "nothing was learnt for certain", "technique": "none", "effect": "faster", "predicted": "", ' \
          '"dtypes": [], "shapes": [], "evidence": []}]}\n```'


def transcript(path, writers, repairers=(), librarian=LESSONS):
    with open(path, "w", encoding="utf-8") as file:
        for role, texts in (("writer", writers), ("repairer", repairers), ("librarian", [librarian])):
            for ordinal, text in enumerate(texts, 1):
                file.write(json.dumps({"role": role, "ordinal": ordinal, "text": text}) + "\n")


class Case(unittest.TestCase):
    """A scratch folder, an environment without settings, and the binary."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="kfactory-e2e.")
        self.folder = pathlib.Path(self.scratch.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("KFACTORY_")}
        self.environment.update(HOME=self.scratch.name, XDG_CONFIG_HOME=self.scratch.name, TERM="xterm")
        self.addCleanup(self.scratch.cleanup)

    def start(self, *arguments, **options):
        return subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def call(self, *arguments, code=0, seconds=240):
        done = subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, timeout=seconds)
        self.assertEqual(done.returncode, code, f"kfactory {' '.join(map(str, arguments))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    def replay(self, writers=(RIGHT, WRONG, BROKEN), repairers=(RIGHT_AGAIN, RIGHT)):
        path = self.folder / "transcript.jsonl"
        transcript(path, [fenced(text) for text in writers], [fenced(text) for text in repairers])
        return path

    def attempts(self, out):
        return json.loads(self.call("show", out, "--json").stdout)["attempts"]

    @staticmethod
    def without_times(value):
        """A JSON value without what depends on the time of day, on durations and on the run's name."""
        if isinstance(value, list):
            return [Case.without_times(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: Case.without_times(item) for key, item in value.items()
                if not key.endswith("_ms") and key not in ("utc", "started", "secret", "origin", "costs")}

    @staticmethod
    def ledger_content(out):
        """Records of attempts and lessons, by attempt, without times and without the run's own events."""
        database = sqlite3.connect(f"file:{out}/ledger.sqlite?mode=ro", uri=True)
        content = {}
        for sequence, attempt, stage, text in database.execute("SELECT sequence, attempt, stage, json FROM record ORDER BY sequence"):
            if stage == "run":
                continue
            blobs = []
            for digest, data in database.execute("SELECT digest, bytes FROM record_blob JOIN blob USING (digest) WHERE sequence = ? "
                                                 "ORDER BY position", (sequence,)):
                measured = stage == "measured"  # JSON with times in it; every other blob by its digest
                blobs.append(Case.without_times(json.loads(data)) if measured else digest)
            content.setdefault(attempt, []).append((stage, Case.without_times(json.loads(text)), blobs))
        database.close()
        return content
