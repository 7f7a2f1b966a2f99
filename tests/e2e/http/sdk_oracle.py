#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official Python client as oracle: it reads every golden stream from our fault server, and so do we; where it
gives a text and usage, ours must be the same, and where it refuses, so must we. What we send must fit its types.

    sdk_oracle.py openai|anthropic FAULT_SERVER ASK SSE_FOLDER

Exit code 77 (skipped) only when the client is not installed: pip install openai anthropic
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

KEY = "sk-test-not-a-key"

# Streams whose meaning the client and we see differently on purpose, and why.
OPENAI_DIFFERENT = {
    "truncated": "the client takes the end of the connection for the end of the answer",
    "glued": "the client cannot read two frames on one line",
    "finish_error": "the client does not know finish_reason \"error\"",
    "think_in_text": "the client leaves thoughts in the text",
    "mistral_parts": "the client leaves a list of parts as it is",
    "odd_usage": "the client passes usage on unchecked",
    "lone_surrogate": "Python keeps halves of characters, which no file can hold",
}
ANTHROPIC_DIFFERENT = {
    "anthropic_truncated": "the client takes the end of the connection for the end of the answer",
}


class Server:
    """The fault server with some steps, as a context."""

    def __init__(self, program, steps):
        self.folder = tempfile.TemporaryDirectory()
        command = [program, "--journal", self.folder.name, *steps]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()
        self.folder.cleanup()

    def request(self, number):
        return json.loads(pathlib.Path(self.folder.name, f"{number}.body").read_text())


def ask_us(ask, provider, url, *more):
    environment = dict(os.environ, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    result = subprocess.run([ask, provider, url, "m-1", *more], env=environment, capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    assert KEY not in result.stdout
    return json.loads(result.stdout)


def ask_openai(openai, url):
    """(text, reasoning, finish, usage) as the client reads them, or the name of its exception."""
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=5)
    text, reasoning, finish, usage = "", "", None, None
    try:
        stream = client.chat.completions.create(model="m-1", messages=[{"role": "user", "content": "x"}], stream=True,
                                                stream_options={"include_usage": True})
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices[:1]:
                finish = choice.finish_reason or finish
                delta = choice.delta
                if delta is not None:
                    text += delta.content or ""
                    text += delta.refusal or ""
                    reasoning += getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or ""
    except (openai.OpenAIError, json.JSONDecodeError, TypeError, AttributeError) as error:
        return type(error).__name__
    return text, reasoning, finish, usage


def check_same(name, ours, theirs):
    if isinstance(theirs, str):
        assert "error" in ours, f"{name}: the client raises {theirs}, we answer {ours}"
        return
    text, reasoning, finish, usage = theirs
    assert "error" not in ours, f"{name}: the client answers {theirs}, we say {ours}"
    assert (ours["text"], ours["reasoning"], ours["finish_raw"]) == (text, reasoning, finish or ""), f"{name}: {ours} is not {theirs}"
    expected = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    assert (ours["usage"]["input_tokens"], ours["usage"]["output_tokens"]) == expected, f"{name}: {ours} is not {usage}"


def known_fields(typed_dict):
    return set(typing.get_type_hints(typed_dict))


def check_openai_request(body, effort):
    from openai.types import chat
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from pydantic import TypeAdapter

    valid = TypeAdapter(CompletionCreateParamsStreaming).validate_python(body, strict=True)
    list(valid["messages"])   # an Iterable is validated only as it is read
    assert set(body) <= known_fields(CompletionCreateParamsStreaming), body
    assert set(body["stream_options"]) <= known_fields(chat.ChatCompletionStreamOptionsParam), body
    for message, param in zip(body["messages"], (chat.ChatCompletionSystemMessageParam, chat.ChatCompletionUserMessageParam), strict=True):
        TypeAdapter(param).validate_python(message, strict=True)
        assert set(message) <= known_fields(param), message
    expected = {"model", "messages", "max_completion_tokens", "stream", "stream_options"} | ({"reasoning_effort"} if effort else set())
    assert set(body) == expected, body   # no sampling parameter, nothing that is not needed


def run_openai(fault_server, ask, folder):
    import openai

    files = sorted(path for path in folder.glob("*.sse") if not path.name.startswith("anthropic"))
    compared = refused = 0
    for path in files:
        with Server(fault_server, [f"sse:{path}"]) as server:
            ours, theirs = ask_us(ask, "openai", server.url), ask_openai(openai, server.url)
            check_openai_request(server.request(1), effort=False)
        if path.stem in OPENAI_DIFFERENT:
            try:
                check_same(path.stem, ours, theirs)
            except AssertionError:
                continue
            raise AssertionError(f"{path.stem} is read alike: take it off the list")
        check_same(path.stem, ours, theirs)
        compared, refused = compared + 1, refused + isinstance(theirs, str)
    text = "A text of our own: \u00b5\u2264\U0001f680, \"quoted\"\n\tand more.\n"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        with Server(fault_server, [f"text:{file.name}"]) as server:   # the streams that our own tests are made of
            theirs = ask_openai(openai, server.url)
            assert theirs[0] == text, theirs
            check_same("text", ask_us(ask, "openai", server.url, "high"), theirs)
            check_openai_request(server.request(2), effort=True)
    print(f"openai {openai.__version__}: {compared} streams read alike ({refused} refused by both), "
          f"{len(OPENAI_DIFFERENT)} differ on purpose, {len(files) + 1} requests valid")


def ask_anthropic(anthropic, url):
    client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=KEY, max_retries=0, timeout=5)
    try:
        with client.messages.stream(model="m-1", max_tokens=500, messages=[{"role": "user", "content": "x"}]) as stream:
            message = stream.get_final_message()
    except anthropic.AnthropicError as error:
        return type(error).__name__
    return ("".join(block.text for block in message.content if block.type == "text"),
            "".join(block.thinking for block in message.content if block.type == "thinking"), message.stop_reason, message.usage)


def run_anthropic(fault_server, ask, folder):
    import anthropic
    from anthropic.types import TextBlockParam, message_create_params
    from pydantic import TypeAdapter

    params = message_create_params.MessageCreateParamsStreaming
    compared = 0
    files = sorted(folder.glob("anthropic*.sse"))
    for path in files:
        with Server(fault_server, [f"sse:{path}"]) as server:
            ours, theirs = ask_us(ask, "anthropic", server.url), ask_anthropic(anthropic, server.url)
            body = server.request(1)
        TypeAdapter(params).validate_python(body)
        for block in body["messages"][0]["content"]:   # an Iterable is validated only as it is read
            TypeAdapter(TextBlockParam).validate_python(block, strict=True)
            assert set(block) <= known_fields(TextBlockParam), block
        assert set(body) == {"model", "max_tokens", "messages", "stream", "system"} <= known_fields(params), body
        if path.stem in ANTHROPIC_DIFFERENT:
            continue
        if isinstance(theirs, str):
            assert "error" in ours, f"{path.stem}: the client raises {theirs}, we answer {ours}"
        else:
            text, reasoning, stop, usage = theirs
            total = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
            assert (ours["text"], ours["reasoning"]) == (text, reasoning), f"{path.stem}: {ours} is not {theirs}"
            assert ours["finish_raw"].split(" ")[0] == stop, f"{path.stem}: {ours} is not {theirs}"
            assert (ours["usage"]["input_tokens"], ours["usage"]["output_tokens"]) == (total, usage.output_tokens), f"{path.stem}: {ours} is not {usage}"
        compared += 1
    print(f"anthropic {anthropic.__version__}: {compared} streams read alike, {len(ANTHROPIC_DIFFERENT)} differ on purpose, {len(files)} requests valid")


def main():
    sdk, fault_server, ask, folder = sys.argv[1:]
    try:
        __import__(sdk)
    except ImportError as error:
        print(f"skipped: {error}; pip install {sdk}")
        return 77
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]   # everything is on the loopback
    {"openai": run_openai, "anthropic": run_anthropic}[sdk](fault_server, ask, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
