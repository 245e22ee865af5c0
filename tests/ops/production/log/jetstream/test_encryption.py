"""A bus in TLS: who shows no certificate that is believed is not the bus, and hears no password."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.encryption import AUTHORITY
from ops.production.log.server.server import nats_binary
from services.runtime.log_errors import LogUnavailable
from tests.stage.authority import Authority
from tests.stage.ports import reserved_port


@asynccontextmanager
async def in_tls(folder: Path) -> AsyncIterator[str]:
    """HOST:PORT of a server that speaks TLS alone, whose certificate lies in the folder."""
    port, shown = reserved_port(), Authority("of the bus").issue(folder)
    tls = {"cert_file": str(shown / "tls.crt"), "key_file": str(shown / "tls.key")}
    (folder / "nats.conf").write_text(json.dumps({"host": "127.0.0.1", "port": port, "tls": tls}))
    server = await asyncio.create_subprocess_exec(
        *(nats_binary(), "-c", str(folder / "nats.conf"), "-l", str(folder / "nats.log"))
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        await server.wait()


async def test_a_server_is_believed_by_its_authority_and_by_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with in_tls(tmp_path) as there:
        monkeypatch.setenv(AUTHORITY, str(tmp_path / "ca.crt"))
        for scheme in ("tls", "nats"):
            await (await connect(f"{scheme}://{there}", patience=20)).close()
        monkeypatch.setenv(AUTHORITY, str(Authority("of somebody else").issue(tmp_path / "other") / "ca.crt"))
        for scheme in ("tls", "nats"):
            with pytest.raises(LogUnavailable, match=r"its certificate is not believed .* KUELOG_BUS_CA"):
                await connect(f"{scheme}://{there}", patience=1)


async def test_to_who_takes_no_tls_no_password_is_said(tmp_path: Path) -> None:
    heard = bytearray()

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id": "x", "version": "2.12.0", "max_payload": 1048576, "auth_required": true}\r\n')
        heard.extend(await reader.read())
        writer.close()

    async with await asyncio.start_server(pretend, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(LogUnavailable, match="the server takes no TLS: write nats://"):
            await connect(f"tls://reader:secret@127.0.0.1:{port}", patience=1)
    assert not heard


@pytest.mark.parametrize(
    ("address", "authority", "says"),
    [
        ("http://bus:4222", "", "http:// leads to no bus: write nats://HOST:PORT"),
        ("nats://bus:70000", "", "its port is no number from 1 to 65535"),
        ("nats://bus:port", "", "its port is no number from 1 to 65535"),
        ("tls://a:4222,nats://b:4222", "", "write tls:// before each"),
        ("tls://bus:4222", "/nowhere", "KUELOG_BUS_CA=/nowhere holds no authority to believe (No such file"),
        ("tls://bus:4222", __file__, "name a file of its certificates in PEM"),
        ("nats://127.0.0.1:1", "/nowhere", "nobody listens there"),
    ],
)
async def test_what_leads_to_no_bus_says_what_to_write(
    address: str, authority: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AUTHORITY, authority)
    with pytest.raises(LogUnavailable) as found:
        await connect(address, patience=1)
    assert says in str(found.value)
