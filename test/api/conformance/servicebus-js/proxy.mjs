// A TCP proxy whose connections a case cuts.

import net from 'node:net';

export async function proxy(target) {
  const [host, port] = target.split(':');
  const open = new Set();
  const listener = net.createServer((client) => {
    const server = net.connect({ host, port });
    for (const [source, sink] of [[client, server], [server, client]]) {
      open.add(source);
      source.pipe(sink);
      source.on('error', () => {}); // the other side is destroyed, too
      source.on('close', () => {
        open.delete(source);
        sink.destroy();
      });
    }
  });
  await new Promise((listening) => { listener.listen(0, '127.0.0.1', listening); });
  const cut = () => { for (const socket of open) socket.resetAndDestroy(); };
  return {
    endpoint: `127.0.0.1:${listener.address().port}`,
    cut,
    async close() {
      cut();
      await new Promise((closed) => { listener.close(closed); });
    },
  };
}
