import {
  ENDPOINTS, bodies, browse, delay, eventually, group, holds, message, names, numbered, one, refused, rejected, same, take,
} from '../case.mjs';
import { proxy } from '../proxy.mjs';

const test = group('connections');
const RETRIES = { retryOptions: { maxRetries: 5, retryDelayInMs: 200, timeoutInMs: 10_000 } };

test('missing queues', async (t) => {
  const path = t.path();
  await refused('MessagingEntityNotFound', t.sender(path).sendMessages(message()));
  await refused('MessagingEntityNotFound', t.sender(path).createMessageBatch());
  await refused('MessagingEntityNotFound', t.receiver(path).receiveMessages(1));
  await refused('MessagingEntityNotFound', t.shared.acceptNextSession(path));
  await refused('SessionCannotBeLocked', t.shared.acceptSession(path, 's')); // the only error that the SDK has there
}, { warns: true });

test('names in any case', async (t) => {
  const queue = await t.queue();
  await t.send(queue.toUpperCase(), message('x'));
  same((await one(t.receiver(queue))).body, 'x', 'body');
});

test('every node serves every queue', async (t) => {
  const queue = await t.queue();
  for (const endpoint of ENDPOINTS) await t.client({ endpoint }).createSender(queue).sendMessages(message(endpoint));
  for (const endpoint of ENDPOINTS) {
    const receiver = t.client({ endpoint }).createReceiver(queue);
    const got = await one(receiver);
    same(got.body, endpoint, 'body');
    await receiver.completeMessage(got);
  }
  same(await browse(t.receiver(queue)), [], 'peeked');
});

test('a lock is renewed and settled at another node', async (t) => {
  const queue = await t.queue();
  await t.send(queue, message('x'));
  const first = t.client({ endpoint: ENDPOINTS[0] }).createReceiver(queue);
  const got = await one(first);
  await first.close();
  const other = t.client({ endpoint: ENDPOINTS.at(-1) }).createReceiver(queue);
  await other.completeMessage(got);
  same(await browse(other), [], 'peeked');
}, { warns: true });

test('many links of one client', async (t) => {
  const queues = await Promise.all(Array.from({ length: 20 }, () => t.queue()));
  await Promise.all(queues.map(async (queue) => {
    const sender = t.sender(queue), receiver = t.receiver(queue);
    await sender.sendMessages(message(queue));
    const got = await one(receiver);
    same(got.body, queue, 'body');
    await receiver.completeMessage(got);
  }));
});

test('closed client', async (t) => {
  const queue = await t.queue();
  const client = t.client();
  const sender = client.createSender(queue), receiver = client.createReceiver(queue);
  await sender.sendMessages(message('x'));
  await client.close();
  same([sender.isClosed, receiver.isClosed], [true, true], 'closed');
  await rejected(() => sender.sendMessages(message('y')), 'connection is closed');
  same(bodies(await take(t.receiver(queue))), ['x'], 'bodies');
});

test('a sender opens a connection again', async (t) => {
  const queue = await t.queue(), way = t.closed(await proxy(ENDPOINTS[0]));
  const sender = t.client({ endpoint: way.endpoint, ...RETRIES }).createSender(queue);
  for (const m of numbered(6)) {
    await sender.sendMessages(m);
    way.cut();
  }
  same(bodies(await t.drain(queue, 6)), names(0, 6), 'bodies');
}, { warns: true });

test('a sender resends under its message id', async (t) => {
  const queue = await t.queue({ requiresDuplicateDetection: true }), way = t.closed(await proxy(ENDPOINTS[0]));
  const sender = t.client({ endpoint: way.endpoint, ...RETRIES }).createSender(queue);
  for (const [i, m] of numbered(200).entries()) {
    const sent = sender.sendMessages(m);
    if (i % 80 === 20) setTimeout(way.cut, i % 7); // during the send
    await sent;
  }
  same(bodies(await t.drain(queue, 200)), names(0, 200), 'bodies');
}, { warns: true });

test('a receiver opens a connection again', async (t) => {
  const queue = await t.queue(), way = t.closed(await proxy(ENDPOINTS[0]));
  const receiver = t.client({ endpoint: way.endpoint, ...RETRIES }).createReceiver(queue);
  for (let i = 0; i < 3; i++) {
    await t.send(queue, message(`${i}`));
    const got = await one(receiver);
    same(got.body, `${i}`, 'body');
    await receiver.completeMessage(got);
    way.cut();
  }
}, { warns: true });

test('a subscriber opens a connection again', async (t) => {
  const queue = await t.queue(), way = t.closed(await proxy(ENDPOINTS[0]));
  const receiver = t.client({ endpoint: way.endpoint, ...RETRIES }).createReceiver(queue), got = [];
  receiver.subscribe({ async processMessage(m) { got.push(m.body); }, async processError() {} });
  for (let i = 1; i <= 3; i++) {
    await t.send(queue, message(`${i}`));
    await eventually('the message comes', () => got.includes(`${i}`));
    way.cut();
  }
}, { warns: true });

test('management links open a connection again', async (t) => {
  const queue = await t.queue(), way = t.closed(await proxy(ENDPOINTS[0]));
  await t.send(queue, numbered(3));
  const receiver = t.client({ endpoint: way.endpoint, ...RETRIES }).createReceiver(queue);
  for (let i = 0; i < 3; i++) {
    same(bodies(await receiver.peekMessages(1)), [`${i}`], 'peeked');
    way.cut();
    await delay(300);
  }
}, { warns: true });

test('a session ends with its connection', async (t) => {
  const queue = await t.queue({ requiresSession: true }), way = t.closed(await proxy(ENDPOINTS[0]));
  await t.send(queue, message('x', { sessionId: 's' }));
  const lost = await t.client({ endpoint: way.endpoint }).acceptSession(queue, 's');
  const got = await one(lost);
  way.cut();
  await eventually('the receiver closes', () => lost.isClosed);
  await refused('SessionLockLost', lost.completeMessage(got));
  const again = await one(await t.session(queue, 's'));
  same([again.body, again.deliveryCount], ['x', 0], 'message');
}, { warns: true });

test('nobody listens', async (t) => {
  const way = await proxy(ENDPOINTS[0]);
  await way.close();
  const sender = t.client({ endpoint: way.endpoint }).createSender('q');
  await assertUnreachable(sender.sendMessages(message()));
}, { warns: true });

async function assertUnreachable(call) {
  const failed = await call.then(() => undefined, (error) => error);
  holds(failed?.code === 'ServiceCommunicationProblem' || failed?.code === 'GeneralError', `got ${failed?.code}: ${failed}`);
}

test('identifiers and entity paths', async (t) => {
  const queue = await t.queue();
  const client = t.client({ identifier: 'me' });
  const sender = client.createSender(queue, { identifier: 'my sender' });
  const receiver = client.createReceiver(queue, { identifier: 'my receiver' });
  await sender.sendMessages(message('x'));
  same((await one(receiver)).body, 'x', 'body');
  same([sender.entityPath, receiver.entityPath, sender.identifier, receiver.identifier], [queue, queue, 'my sender', 'my receiver'], 'names');
});
