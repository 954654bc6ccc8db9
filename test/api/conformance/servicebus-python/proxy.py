"""A TCP proxy whose connections a case cuts."""

import socket
import threading


class Proxy:
    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock, self.open = threading.Lock(), []

    async def __aenter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    async def __aexit__(self, *_):
        self.listener.close()
        self.cut()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            server = socket.create_connection(self.target)
            with self.lock:
                self.open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=forward, args=(source, sink), daemon=True).start()

    def cut(self):
        """Resets all connections."""
        with self.lock:
            cut, self.open = self.open, []
        for s in cut:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            end(s)


def end(s):
    try:
        s.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended already


def forward(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    finally:
        end(source)
        end(sink)
