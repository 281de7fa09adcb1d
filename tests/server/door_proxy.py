"""A bad network between a client and a server: cuts, stalls and slices what the server says, by a seed."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from types import TracebackType

FAULTS = ("rst", "fin", "stall", "none")


class Proxy:
    """Each connection is let through for so many bytes, in pieces of so many, and then meets its fault."""

    def __init__(self, port: int, seed: int, most: int = 4000, faults: tuple[str, ...] = FAULTS) -> None:
        self._to, self._chance, self._most, self._faults = port, random.Random(seed), most, faults
        self._busy: set[asyncio.Task[None]] = set()
        self.cuts = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._met, "127.0.0.1", 0, backlog=1000)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in list(self._busy):
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        fault, left = self._chance.choice(self._faults), self._chance.randint(0, self._most)
        piece = self._chance.choice((1, 7, 100, 65536))
        there, out = await asyncio.open_connection("127.0.0.1", self._to)
        asking = asyncio.ensure_future(_pass(reader, out))
        try:
            while data := await there.read(piece):
                if fault != "none" and len(data) > left:
                    writer.write(data[:left])
                    await writer.drain()
                    self.cuts += 1
                    await self._strike(fault, reader, writer)
                    return
                left -= len(data)
                writer.write(data)
                await writer.drain()
            await _finish(writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            out.transport.abort()
            writer.transport.abort()
            self._busy.discard(task)

    async def _strike(self, fault: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if fault == "rst":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif fault == "fin":
            await _finish(writer)
        else:  # nothing more comes, and nobody says so: the client must give up by itself
            await asyncio.Event().wait()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def _finish(writer: asyncio.StreamWriter) -> None:
    await writer.drain()
    writer.close()
    await writer.wait_closed()
