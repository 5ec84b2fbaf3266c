"""Names of hosts to addresses, without waiting for a name service that is silent.

The event loop's own way works in threads that are waited for when the loop ends, for as long as the name service
takes; nobody waits for these.
"""

import asyncio
import socket
import threading
from contextlib import suppress
from functools import partial


async def resolved(host: str, port: int) -> list[str]:
    """The addresses of the host, at least one; `OSError` if there is none."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str], error: OSError | None) -> None:
        if found.done():
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(addresses)

    def look_up() -> None:
        try:
            listed = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            told = partial(tell, [str(each[4][0]) for each in listed], None)
        except OSError as error:
            told = partial(tell, [], error)
        except UnicodeError:
            told = partial(tell, [], OSError(0, f"{host} is not a host name"))
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(told)

    threading.Thread(target=look_up, name=f"resolve-{host}", daemon=True).start()
    return await found
