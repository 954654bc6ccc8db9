import { bodies, browse, delay, eventually, group, later, message, nothing, one, same, take } from '../case.mjs';

const test = group('expiry');
const SOON = 2000;

const dies = (t, properties) => t.queue({ deadLetteringOnMessageExpiration: true, ...properties });

test('properties of a time to live', async (t) => {
  const queue = await t.queue();
  await t.send(queue, message('x', { timeToLive: 300_000 }), message('y'));
  const [limited, unlimited] = await t.drain(queue, 2);
  same([limited.timeToLive, limited.expiresAtUtc - limited.enqueuedTimeUtc], [300_000, 300_000], 'time to live');
  same(unlimited.timeToLive, undefined, 'time to live of the other');
  const raw = limited._rawAmqpMessage.properties;
  same(raw.absoluteExpiryTime - raw.creationTime, 300_000, 'expiry in the properties');
});

test('expired', async (t) => {
  const queue = await t.queue();
  await t.send(queue, message('expires', { timeToLive: SOON }), message('stays'));
  await eventually('the message expires', async () => (await browse(t.receiver(queue))).length === 1);
  same(bodies(await t.drain(queue, 1)), ['stays'], 'bodies');
  same(await browse(t.deadLetters(queue)), [], 'dead letters');
});

test('expired and dead-lettered', async (t) => {
  const queue = await dies(t);
  await t.send(queue, message('x', { timeToLive: SOON }));
  const dead = await one(t.deadLetters(queue));
  same([dead.body, dead.deadLetterReason], ['x', 'TTLExpiredException'], 'dead letter');
  await nothing(t.receiver(queue));
});

test('time to live of the queue', async (t) => {
  const queue = await dies(t, { defaultMessageTimeToLive: 'PT2S' });
  await t.send(queue, message('1'), message('2', { timeToLive: 3_600_000 }));
  same(bodies(await take(t.deadLetters(queue), 2)), ['1', '2'], 'bodies'); // the shorter one counts
});

test('the shorter time counts', async (t) => {
  const queue = await t.queue({ defaultMessageTimeToLive: 'PT1H' });
  await t.send(queue, message('x', { timeToLive: SOON }));
  await eventually('the message expires', async () => (await browse(t.receiver(queue))).length === 0);
});

test('dead letters do not expire', async (t) => {
  const queue = await t.queue();
  await t.send(queue, message('x', { timeToLive: 4000 }));
  const receiver = t.receiver(queue);
  await receiver.deadLetterMessage(await one(receiver));
  await delay(6000);
  same((await one(t.deadLetters(queue))).body, 'x', 'body');
});

test('deferred messages do not expire', async (t) => {
  const queue = await dies(t);
  await t.send(queue, message('x', { timeToLive: 4000 }));
  const receiver = t.receiver(queue);
  const got = await one(receiver);
  await receiver.deferMessage(got);
  await delay(6000);
  const [back] = await receiver.receiveDeferredMessages(got.sequenceNumber);
  await receiver.completeMessage(back);
  same(back.body, 'x', 'body');
});

test('locked messages are completed after their time', async (t) => {
  const queue = await dies(t);
  await t.send(queue, message('x', { timeToLive: SOON }));
  const receiver = t.receiver(queue);
  const got = await one(receiver);
  await delay(4000);
  await receiver.completeMessage(got);
  await nothing(t.deadLetters(queue));
});

test('time of a scheduled message', async (t) => {
  const queue = await t.queue();
  await t.sender(queue).scheduleMessages(message('x', { timeToLive: 30_000 }), later(3));
  same(bodies(await t.drain(queue, 1)), ['x'], 'bodies');
});

test('expired in a session', async (t) => {
  const queue = await dies(t, { requiresSession: true });
  await t.send(queue, message('x', { sessionId: 's', timeToLive: SOON }), message('y', { sessionId: 's' }));
  const dead = await one(t.deadLetters(queue));
  same([dead.body, dead.sessionId, dead.deadLetterReason], ['x', 's', 'TTLExpiredException'], 'dead letter');
  same((await one(await t.session(queue, 's'))).body, 'y', 'body');
});
