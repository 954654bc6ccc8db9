import {
  bodies, browse, delay, eventually, group, holds, later, message, names, nothing, numbered, one, pick, refused, same, take,
} from '../case.mjs';

const test = group('topics');

const of = (t, topic, name, options) => t.closed(t.shared.createReceiver(topic, name, { ...options }));
const dead = (t, topic, name) => of(t, topic, name, { subQueueType: 'deadLetter' });

async function drained(t, topic, name, count) {
  const receiver = of(t, topic, name);
  const got = await take(receiver, count);
  for (const m of got) await receiver.completeMessage(m);
  await nothing(receiver);
  return got;
}

test('each subscription has its copy', async (t) => {
  const topic = await t.topic({ a: {}, b: {} });
  const sent = {
    body: { x: ['é'] }, messageId: 'm-1', contentType: 'text/plain', correlationId: 'c-1', subject: 's-1', to: 't-1', replyTo: 'r-1',
    sessionId: 'g-1', applicationProperties: { number: 1, text: 'é', flag: true },
  };
  await t.send(topic, sent);
  for (const name of ['a', 'b']) {
    const [got] = await drained(t, topic, name, 1);
    same(pick(got, Object.keys(sent)), sent, 'properties');
    same([got.deliveryCount, got.state], [0, 'active'], 'delivery');
  }
});

test('lists and batches', async (t) => {
  const topic = await t.topic({ a: {}, b: {} });
  const sender = t.sender(topic);
  await sender.sendMessages(numbered(20));
  const batch = await sender.createMessageBatch();
  holds(batch.maxSizeInBytes >= 256 * 1024, `${batch.maxSizeInBytes} bytes`);
  for (const m of numbered(300)) batch.tryAddMessage(m);
  same(batch.count, 300, 'count');
  await sender.sendMessages(batch);
  for (const name of ['a', 'b']) same(bodies(await drained(t, topic, name, 320)), [...names(0, 20), ...names(0, 300)], 'bodies');
});

test('large messages', async (t) => {
  const topic = await t.topic({ a: {} });
  const sender = t.sender(topic), body = Buffer.alloc(900_000, 'x');
  await sender.sendMessages(message(body));
  holds(body.equals((await one(of(t, topic, 'a'))).body), 'the body differs');
  await refused('MessageSizeExceeded', sender.sendMessages(message(Buffer.alloc(1_100_000))));
}, { warns: true });

test('without subscriptions', async (t) => {
  const topic = await t.topic({});
  await t.send(topic, message('lost'));
  await t.administration().createSubscription(topic, 's');
  await t.send(topic, message('kept'));
  same(bodies(await drained(t, topic, 's', 1)), ['kept'], 'bodies');
});

test('subscriptions are settled apart', async (t) => {
  const topic = await t.topic({ a: {}, b: {}, c: {}, d: {} });
  await t.send(topic, message('x'));
  const receivers = ['a', 'b', 'c', 'd'].map((name) => of(t, topic, name));
  const got = await Promise.all(receivers.map((receiver) => one(receiver)));
  await receivers[0].completeMessage(got[0]);
  await receivers[1].abandonMessage(got[1], { added: 1 });
  await receivers[2].deferMessage(got[2]);
  await receivers[3].deadLetterMessage(got[3], { deadLetterReason: 'r', deadLetterErrorDescription: 'd' });
  same(await browse(receivers[0]), [], 'peeked in a');
  const again = await one(receivers[1]);
  same([again.deliveryCount, again.applicationProperties], [1, { added: 1 }], 'message of b');
  same((await receivers[2].receiveDeferredMessages(got[2].sequenceNumber))[0].body, 'x', 'body of c');
  const dying = await one(dead(t, topic, 'd'));
  same([dying.body, dying.deadLetterReason], ['x', 'r'], 'dead letter of d');
});

test('receive and delete', async (t) => {
  const topic = await t.topic({ a: {}, b: {} });
  await t.send(topic, numbered(5));
  same(bodies(await take(of(t, topic, 'a', { receiveMode: 'receiveAndDelete' }), 5)), names(0, 5), 'bodies');
  same([(await browse(of(t, topic, 'a'))).length, (await browse(of(t, topic, 'b'))).length], [0, 5], 'peeked');
});

test('subscribe', async (t) => {
  const topic = await t.topic({ a: {}, b: {} }), seen = { a: [], b: [] };
  for (const name of ['a', 'b']) {
    of(t, topic, name).subscribe({ async processMessage(m) { seen[name].push(m.body); }, async processError() {} });
  }
  await t.send(topic, ...numbered(10));
  await eventually('all are processed', () => seen.a.length === 10 && seen.b.length === 10);
  same(seen, { a: names(0, 10), b: names(0, 10) }, 'bodies');
});

test('peek and renew', async (t) => {
  const topic = await t.topic({ a: { lockDuration: 'PT5S' } });
  await t.send(topic, numbered(3));
  const receiver = of(t, topic, 'a', { maxAutoLockRenewalDurationInMs: 0 });
  same(bodies(await receiver.peekMessages(2)), ['0', '1'], 'peeked');
  const got = await one(receiver), until = got.lockedUntilUtc;
  await delay(1500);
  holds((await receiver.renewMessageLock(got)) > until, 'the lock is not longer');
});

test('duplicates', async (t) => {
  const topic = await t.topic({ a: {}, b: {} }, { requiresDuplicateDetection: true });
  await t.send(topic, message('1', { messageId: 'm' }), message('2', { messageId: 'm' }),
    [message('3', { messageId: 'n' }), message('4', { messageId: 'n' }), message('5', { messageId: 'm' })]);
  for (const name of ['a', 'b']) same(bodies(await drained(t, topic, name, 2)), ['1', '3'], 'bodies');
});

test('without detection', async (t) => {
  const topic = await t.topic({ a: {} });
  await t.send(topic, message('1', { messageId: 'm' }), message('2', { messageId: 'm' }));
  same(bodies(await drained(t, topic, 'a', 2)), ['1', '2'], 'bodies');
});

test('schedule', async (t) => {
  const topic = await t.topic({ a: {}, b: {} });
  const sender = t.sender(topic), due = later(4);
  const scheduled = await sender.scheduleMessages(numbered(3), due);
  same(scheduled.length, 3, 'numbers');
  await sender.cancelScheduledMessages(scheduled[1]);
  await refused('MessageNotFound', sender.cancelScheduledMessages(scheduled[1]));
  await sender.sendMessages([message('property', { scheduledEnqueueTimeUtc: due }), message('plain')]);
  for (const name of ['a', 'b']) same(bodies(await drained(t, topic, name, 4)), ['plain', '0', '2', 'property'], 'bodies');
  holds(Date.now() >= due, 'the messages came early');
}, { warns: true });

test('duplicates and schedules', async (t) => {
  const topic = await t.topic({ a: {} }, { requiresDuplicateDetection: true });
  const sender = t.sender(topic);
  await sender.scheduleMessages(message('scheduled', { messageId: 'm' }), later(3));
  await sender.sendMessages(message('plain', { messageId: 'm' }));
  await sender.sendMessages(message('first', { messageId: 'n' }));
  const [number] = await sender.scheduleMessages(message('second', { messageId: 'n' }), later(3));
  await refused('MessageNotFound', sender.cancelScheduledMessages(number));
  same(bodies(await drained(t, topic, 'a', 2)), ['first', 'scheduled'], 'bodies');
}, { warns: true });

test('sessions', async (t) => {
  const topic = await t.topic({ with: { requiresSession: true }, without: {} });
  await t.send(topic, message('1', { sessionId: 'a' }), message('2', { sessionId: 'b' }), message('3', { sessionId: 'a' }));
  const receiver = t.closed(await t.shared.acceptSession(topic, 'with', 'a'));
  same(bodies(await take(receiver, 2)), ['1', '3'], 'bodies of the session');
  await receiver.setSessionState({ step: 1 });
  same(await receiver.getSessionState(), { step: 1 }, 'state');
  const next = t.closed(await t.shared.acceptNextSession(topic, 'with'));
  same([next.sessionId, bodies(await take(next))], ['b', ['2']], 'next session');
  same(bodies(await drained(t, topic, 'without', 3)).sort(), ['1', '2', '3'], 'bodies without sessions');
});

test('a message without a session', async (t) => {
  const topic = await t.topic({ with: { requiresSession: true }, without: {} });
  await t.send(topic, message('x'));
  same(bodies(await drained(t, topic, 'without', 1)), ['x'], 'bodies');
  same((await one(dead(t, topic, 'with'))).deadLetterReason, 'Session id is null.', 'reason');
});

test('time to live', async (t) => {
  const topic = await t.topic({ a: { deadLetteringOnMessageExpiration: true }, b: {} }, { defaultMessageTimeToLive: 'PT2S' });
  await t.send(topic, message('x'));
  same((await one(dead(t, topic, 'a'))).deadLetterReason, 'TTLExpiredException', 'reason');
  await eventually('the message expires', async () => (await browse(of(t, topic, 'b'))).length === 0);
});

test('too many deliveries', async (t) => {
  const topic = await t.topic({ a: { maxDeliveryCount: 1 } });
  await t.send(topic, message('x'));
  const receiver = of(t, topic, 'a');
  await receiver.abandonMessage(await one(receiver));
  await nothing(receiver);
  const letters = dead(t, topic, 'a');
  const dying = await one(letters);
  same(dying.deadLetterReason, 'MaxDeliveryCountExceeded', 'reason');
  await letters.completeMessage(dying);
  same(await browse(letters), [], 'peeked');
});

test('wrong links', async (t) => {
  const topic = await t.topic({ a: {} });
  await refused('GeneralError', t.receiver(topic).receiveMessages(1), 'Nothing can be received from a topic');
  await refused('GeneralError', t.sender(`${topic}/Subscriptions/a`).sendMessages(message()), 'Nothing can be sent to a subscription');
  await refused('MessagingEntityNotFound', of(t, topic, 'none').receiveMessages(1));
}, { warns: true });

test('a subscription that is deleted', async (t) => {
  const topic = await t.topic({ a: {} });
  const receiver = of(t, topic, 'a');
  await nothing(receiver);
  await t.administration().deleteSubscription(topic, 'a');
  await eventually('the receiver fails', async () => {
    const failed = await receiver.receiveMessages(1, { maxWaitTimeInMs: 500 }).then(() => undefined, (error) => error);
    return failed?.code === 'MessagingEntityNotFound';
  });
}, { warns: true });
