#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS is verified, certificates come from where the user says, proxies from the environment.

    tls_and_proxy.py ASK

Exit code 77 (skipped) only when there is no openssl program to make certificates with.
"""
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

KEY = "sk-test-not-a-key"
EVENTS = ('data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'
          'data: [DONE]\n\n')
RESPONSE = ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
            f"Content-Length: {len(EVENTS)}\r\n\r\n{EVENTS}").encode()


def read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        block = connection.recv(65536)
        if not block:
            break
        head += block
    return head


class Listener:
    """Runs `serve(connection)` for each connection to a loopback port."""

    def __init__(self, serve):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.serve = serve
        self.count = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            self.count += 1
            threading.Thread(target=self.serve_one, args=(connection,), daemon=True).start()

    def serve_one(self, connection):
        connection.settimeout(10)
        try:
            with connection:
                self.serve(connection)
        except OSError:
            pass   # the peer refused us: that is what most of these tests are about


def answer(connection):
    head = read_head(connection)
    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    if not lengths:
        return   # the peer closed the connection politely after it had seen the certificate
    length = lengths[0]
    have = len(head.split(b"\r\n\r\n", 1)[1])
    while have < length:
        have += len(connection.recv(65536))
    connection.sendall(RESPONSE)


def tls_server(folder, name, alternatives):
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                    f"subjectAltName={alternatives}", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as secured:
            answer(secured)

    return Listener(serve), str(certificate)


def relay(source, target):
    try:
        while block := source.recv(65536):
            target.sendall(block)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def proxy_connection(seen):
    """A forward proxy: CONNECT tunnels, and absolute requests answered on the server's behalf."""

    def serve(connection):
        head = read_head(connection)
        first = head.split(b"\r\n")[0].decode()
        seen.append((first, KEY.encode() in head))
        if not first.startswith("CONNECT "):
            connection.sendall(RESPONSE)
            return
        host, port = first.split()[1].rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=relay, args=(connection, server), daemon=True).start()
            relay(server, connection)

    return serve


def ask(program, url, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        environment.pop(name, None)
    environment.update(variables, OPENAI_API_KEY=KEY)
    result = subprocess.run([program, "openai", url, "m-1"], env=environment, capture_output=True, text=True, timeout=30)
    assert KEY not in result.stdout + result.stderr
    return json.loads(result.stdout) if result.returncode == 0 else {"error": "configuration", "message": result.stderr}


def main():
    program = sys.argv[1]
    if shutil.which("openssl") is None:
        print("skipped: no openssl program; apt-get install openssl")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        right, right_file = tls_server(folder, "right", "IP:127.0.0.1")
        other, other_file = tls_server(folder, "other", "DNS:other.example")
        right_url, other_url = (f"https://127.0.0.1:{server.port}/v1" for server in (right, other))

        unknown = ask(program, right_url)
        assert unknown.get("error") == "unreachable" and "certificate" in unknown["message"], unknown
        assert ask(program, right_url, SSL_CERT_FILE=right_file).get("text") == "Hello"
        assert ask(program, right_url, CURL_CA_BUNDLE=right_file).get("text") == "Hello"
        assert ask(program, right_url, CURL_CA_BUNDLE=other_file, SSL_CERT_FILE=right_file).get("error") == "unreachable"
        assert ask(program, right_url, KF_ASK_CA_FILE=right_file, SSL_CERT_FILE=other_file).get("text") == "Hello"
        assert ask(program, right_url, KF_ASK_CA_FILE=other_file, SSL_CERT_FILE=right_file).get("error") == "unreachable"
        wrong_name = ask(program, other_url, SSL_CERT_FILE=other_file)
        assert wrong_name.get("error") == "unreachable" and "127.0.0.1" in wrong_name["message"], wrong_name

        seen = []
        proxy = Listener(proxy_connection(seen))
        proxy_url = f"http://127.0.0.1:{proxy.port}"
        assert ask(program, right_url, SSL_CERT_FILE=right_file, https_proxy=proxy_url).get("text") == "Hello"
        assert seen == [(f"CONNECT 127.0.0.1:{right.port} HTTP/1.1", False)], seen   # the key went through the tunnel alone
        plain = Listener(answer)
        plain_url = f"http://127.0.0.1:{plain.port}/v1"
        assert ask(program, plain_url, http_proxy=proxy_url).get("text") == "Hello"
        assert len(seen) == 2 and seen[1][0] == f"POST {plain_url}/chat/completions HTTP/1.1", seen
        assert plain.count == 0
        assert ask(program, plain_url, http_proxy=proxy_url, no_proxy="127.0.0.1").get("text") == "Hello"
        assert len(seen) == 2 and plain.count == 1, seen
        assert ask(program, plain_url, ALL_PROXY=proxy_url).get("text") == "Hello"
        assert len(seen) == 3 and plain.count == 1, seen
        dead = ask(program, plain_url, http_proxy="http://127.0.0.1:1")
        assert dead.get("error") == "unreachable", dead
    print("tls_and_proxy: 12 calls went as they should")
    return 0


if __name__ == "__main__":
    sys.exit(main())
