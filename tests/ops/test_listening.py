import aiohttp
import pytest
from aiohttp import web

from ops.listening import PortTaken, listening
from ops.metrics_endpoint import served


async def test_a_port_that_is_taken_is_told_with_what_wanted_it(unused_tcp_port: int) -> None:
    async with served(lambda: None, unused_tcp_port):
        with pytest.raises(PortTaken, match=f"metrics can't be served on port {unused_tcp_port}: "):
            async with served(lambda: None, unused_tcp_port):
                pass


async def test_a_free_port_is_found_told_and_left_again() -> None:
    async with (
        listening(web.Application(), 0, what="nothing", host="127.0.0.1") as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/") as answer,
    ):
        assert answer.status == 404
    async with listening(web.Application(), port, what="nothing", host="127.0.0.1") as again:
        assert again == port
