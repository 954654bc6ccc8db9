// The SDK uses WebSocket only with TLS.

import WebSocket from 'ws';
import { bodies, group, message, names, numbered, one, same, take } from '../case.mjs';

const register = group('websocket');
const test = (name, steps) => register(name, steps, { secure: true });

const client = (t) => t.client({ webSocketOptions: { webSocket: WebSocket } });

test('send and receive', async (t) => {
  const queue = await t.queue(), over = client(t);
  await over.createSender(queue).sendMessages(numbered(100));
  const receiver = over.createReceiver(queue);
  const got = await take(receiver, 100);
  for (const m of got) await receiver.completeMessage(m);
  same(bodies(got), names(0, 100), 'bodies');
});

test('large messages', async (t) => {
  const queue = await t.queue(), over = client(t);
  const sender = over.createSender(queue), receiver = over.createReceiver(queue);
  for (const byte of [1, 2, 3]) {
    await sender.sendMessages(message(Buffer.alloc(900_000, byte)));
    const got = await one(receiver);
    same([got.body.length, got.body.every((b) => b === byte)], [900_000, true], 'body');
    await receiver.completeMessage(got);
  }
});

test('sessions', async (t) => {
  const queue = await t.queue({ requiresSession: true }), over = client(t);
  await over.createSender(queue).sendMessages(numbered(3, { sessionId: 's' }));
  const receiver = await over.acceptNextSession(queue);
  await receiver.setSessionState('state');
  same([await receiver.getSessionState(), bodies(await take(receiver, 3))], ['state', names(0, 3)], 'state and bodies');
});
