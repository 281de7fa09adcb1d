"""Sending bytes that may not be a request, and hearing what is made of them."""

from __future__ import annotations

import asyncio
import contextlib

from door_client import Answer, Connection
from door_serving import Serving


async def said(server: Serving, data: bytes) -> bytes:
    """All that is answered to these bytes until the server hangs up."""
    connection = await Connection.open(server.port)
    connection.send(data)
    answers = await connection.remainder()
    connection.close()
    return answers


def statuses(answers: bytes) -> list[int]:
    parts = answers.split(b"HTTP/1.1 ")[1:]
    return [int(part[:3]) for part in parts]


async def too_large(server: Serving, head: bytes, pieces: int) -> Answer:
    """The answer to a body of so many pieces of 64 KiB, sent for as long as the server takes them."""
    connection = await Connection.open(server.port)
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n" if b"chunked" in head else b" " * 65536

    async def send() -> None:
        connection.send(head)
        with contextlib.suppress(ConnectionError):
            for _ in range(pieces):
                connection.send(piece)
                await connection.writer.drain()

    sending = asyncio.ensure_future(send())
    answer = await connection.answer()
    await connection.remainder()
    connection.close()
    await sending
    return answer
