"""Socket of a server."""

import socket


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Args:
        host: address to listen at; other machines cannot reach a loopback address, such as
            127.0.0.1.
        port: port; 0 for a free one.

    Raises:
        OSError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        message = f"port {port} of {host} cannot be used: {error.strerror}; port 0 is a free one"
        raise OSError(message) from None
    # else an answer waits 40 ms; asyncio sets it only for sockets that name their protocol
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def format_url(listener: socket.socket, host: str, path: str = "") -> str:
    """Return the URL of a server with this socket and host."""
    url_host = f"[{host}]" if listener.family == socket.AF_INET6 else host
    return f"http://{url_host}:{listener.getsockname()[1]}{path}"
