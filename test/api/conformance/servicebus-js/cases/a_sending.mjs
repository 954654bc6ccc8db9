import { bodies, browse, event, group, holds, message, names, numbered, one, pick, refused, rejected, same } from '../case.mjs';

const test = group('sending');

test('one message', async (t) => {
  const queue = await t.queue();
  const sent = {
    body: 'body', messageId: 'm-1', contentType: 'text/plain', correlationId: 'c-1', subject: 's-1', to: 't-1', replyTo: 'r-1',
    replyToSessionId: 'rs-1', sessionId: 'g-1', partitionKey: 'g-1', applicationProperties: { number: 1 },
  };
  const before = Date.now() - 5000;
  await t.send(queue, sent);
  const got = await one(t.receiver(queue));
  same(pick(got, Object.keys(sent)), sent, 'properties');
  same(pick(got, ['deliveryCount', 'state']), { deliveryCount: 0, state: 'active' }, 'delivery');
  same(pick(got, ['deadLetterReason', 'deadLetterErrorDescription', 'deadLetterSource']),
    { deadLetterReason: undefined, deadLetterErrorDescription: undefined, deadLetterSource: undefined }, 'dead letter');
  holds(got.sequenceNumber.gt(0), `sequence number ${got.sequenceNumber}`);
  holds(got.enqueuedTimeUtc > before && got.enqueuedTimeUtc < before + 300_000, `enqueued at ${got.enqueuedTimeUtc}`);
  const left = got.lockedUntilUtc - got.enqueuedTimeUtc;
  holds(left > 59_000 && left < 300_000, `locked for ${left} ms`);
  holds(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(got.lockToken), `lock token ${got.lockToken}`);
});

test('order of a list', async (t) => {
  const queue = await t.queue();
  await t.send(queue, numbered(20));
  const got = await t.drain(queue, 20);
  same(bodies(got), names(0, 20), 'bodies');
  const first = got[0].sequenceNumber;
  same(got.map((m) => m.sequenceNumber.sub(first).toNumber()), [...got.keys()], 'sequence numbers');
});

test('order of single messages', async (t) => {
  const queue = await t.queue();
  await t.send(queue, ...numbered(10));
  same(bodies(await t.drain(queue, 10)), names(0, 10), 'bodies');
});

test('messages at once', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  await Promise.all(numbered(40).map((m) => sender.sendMessages(m)));
  same(bodies(await t.drain(queue, 40)).sort((a, b) => a - b), names(0, 40), 'bodies');
});

test('batch', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  const batch = await sender.createMessageBatch();
  holds(batch.maxSizeInBytes >= 256 * 1024, `${batch.maxSizeInBytes} bytes`);
  const empty = batch.sizeInBytes;
  for (let i = 0; i < 5; i++) {
    holds(batch.tryAddMessage({ body: `${i}`, messageId: `m-${i}`, applicationProperties: { i } }), 'a message does not fit');
  }
  same(batch.count, 5, 'count');
  holds(batch.sizeInBytes > empty, 'the size does not grow');
  await sender.sendMessages(batch);
  same((await t.drain(queue, 5)).map((m) => pick(m, ['body', 'messageId', 'applicationProperties'])),
    names(0, 5).map((i) => ({ body: i, messageId: `m-${i}`, applicationProperties: { i: Number(i) } })), 'messages');
});

test('batch that is full', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  const batch = await sender.createMessageBatch();
  while (batch.tryAddMessage(message(Buffer.alloc(50_000, 'x'))));
  holds(batch.count > 4 && batch.count < 25, `${batch.count} messages of 50 kB in a batch`);
  await sender.sendMessages(batch);
  await t.drain(queue, batch.count);
});

test('batch with a limit of its own', async (t) => {
  const sender = t.sender(await t.queue());
  const batch = await sender.createMessageBatch({ maxSizeInBytes: 1000 });
  same([batch.tryAddMessage(message('x'.repeat(500))), batch.tryAddMessage(message('x'.repeat(500)))], [true, false], 'added');
  await sender.sendMessages(batch);
  await rejected(() => sender.createMessageBatch({ maxSizeInBytes: 10_000_000 }), 'Max message size');
});

test('empty list and empty batch', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  await refused('GeneralError', sender.sendMessages([]));
  await refused('GeneralError', sender.sendMessages(await sender.createMessageBatch()));
  await t.drain(queue, 0);
}, { warns: true });

test('batch of hundreds', async (t) => {
  const queue = await t.queue();
  await t.send(queue, numbered(500));
  same(bodies(await t.drain(queue, 500)), names(0, 500), 'bodies');
});

test('message of several frames', async (t) => {
  const queue = await t.queue();
  const body = Buffer.from(Array.from({ length: 900_000 }, (_, i) => i * 7));
  await t.send(queue, message(body));
  holds(body.equals((await t.drain(queue, 1))[0].body), 'the body differs');
});

test('too large', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  await refused('MessageSizeExceeded', sender.sendMessages(message(Buffer.alloc(1_100_000))));
  await refused('MessageSizeExceeded', sender.sendMessages([message(Buffer.alloc(600_000)), message(Buffer.alloc(600_000))]));
  same(await browse(t.receiver(queue)), [], 'peeked');
  await sender.sendMessages(message('x'));
  same(bodies(await t.drain(queue, 1)), ['x'], 'bodies');
}, { warns: true });

test('over the limit of the queue', async (t) => {
  const queue = await t.queue({ maxMessageSizeInKilobytes: 256 });
  const sender = t.sender(queue);
  await refused('MessageSizeExceeded', sender.sendMessages(message(Buffer.alloc(270_000))));
  same((await sender.createMessageBatch()).maxSizeInBytes, 256 * 1024, 'limit of a batch');
}, { warns: true });

test('wrong arguments', async (t) => {
  const sender = t.sender(await t.queue());
  await rejected(() => sender.sendMessages(message('', { messageId: 'x'.repeat(129) })), '128');
  await rejected(() => sender.sendMessages(message('', { sessionId: 'x'.repeat(129) })), '128');
  await rejected(() => sender.sendMessages({ text: 'no body' }), 'must be of type');
});

test('closed sender', async (t) => {
  const queue = await t.queue();
  const sender = t.shared.createSender(queue);
  await sender.sendMessages(message('x'));
  await sender.close();
  same(sender.isClosed, true, 'closed');
  await rejected(() => sender.sendMessages(message('y')), 'has been closed');
  same(bodies(await t.drain(queue, 1)), ['x'], 'bodies');
});

test('a received message is sent again', async (t) => {
  const [first, second] = [await t.queue(), await t.queue()];
  await t.send(first, message({ deep: ['x'] }, { applicationProperties: { a: 1 }, correlationId: 'c', timeToLive: 600_000 }));
  const sent = await one(t.receiver(first));
  await t.send(second, sent);
  const got = await one(t.receiver(second));
  const properties = ['body', 'messageId', 'correlationId', 'applicationProperties', 'timeToLive'];
  same(pick(got, properties), pick(sent, properties), 'properties');
});

test('sending and receiving at once', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue), done = event('all messages are received'), seen = new Set();
  t.receiver(queue).subscribe({
    async processMessage(m) { if (seen.add(m.body).size === 100) done.fire(); },
    async processError({ error }) { done.fire(error); },
  }, { maxConcurrentCalls: 10 });
  for (const m of numbered(100)) await sender.sendMessages(m);
  same(await done.wait(), undefined, 'error');
});
