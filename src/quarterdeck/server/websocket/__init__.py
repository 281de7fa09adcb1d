"""WebSockets on our own connections: frames as RFC 6455 has them, and nothing else between a cursor and a socket."""
