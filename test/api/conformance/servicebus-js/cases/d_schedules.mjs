import Long from 'long';
import { annotated, bodies, browse, group, holds, later, message, names, nothing, numbered, one, pick, refused, rejected, same } from '../case.mjs';

const test = group('schedules');

test('one message', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue), receiver = t.receiver(queue), due = later(4);
  const [number] = await sender.scheduleMessages(message('x', { messageId: 'm' }), due);
  const [peeked] = await browse(receiver);
  same([peeked.state, String(peeked.sequenceNumber), peeked.scheduledEnqueueTimeUtc], ['scheduled', String(number), due], 'peeked');
  const got = await one(receiver);
  holds(Date.now() >= due, 'the message came early');
  same(pick(got, ['messageId', 'scheduledEnqueueTimeUtc', 'state']),
    { messageId: 'm', scheduledEnqueueTimeUtc: due, state: 'active' }, 'received');
  holds(got.enqueuedTimeUtc >= due, `enqueued at ${got.enqueuedTimeUtc}, due at ${due}`);
  await receiver.completeMessage(got);
});

test('many', async (t) => {
  const queue = await t.queue();
  const numbers = await t.sender(queue).scheduleMessages(numbered(30), later(3));
  same(numbers.map((n) => n.sub(numbers[0]).toNumber()), [...numbers.keys()], 'numbers');
  same(bodies(await t.drain(queue, 30)), names(0, 30), 'bodies');
});

test('order of time', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue), start = later(5).getTime();
  for (const [name, seconds] of [['third', 2], ['first', 0], ['second', 1]]) {
    await sender.scheduleMessages(message(name), new Date(start + 1000 * seconds));
  }
  await sender.sendMessages(message('now'));
  same(bodies(await t.drain(queue, 4)), ['now', 'first', 'second', 'third'], 'bodies');
});

test('activation gives a new number', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  const [number] = await sender.scheduleMessages(message('scheduled'), later(3));
  await sender.sendMessages(message('plain'));
  const [plain, scheduled] = await t.drain(queue, 2);
  same(bodies([plain, scheduled]), ['plain', 'scheduled'], 'bodies');
  holds(scheduled.sequenceNumber.gt(plain.sequenceNumber) && plain.sequenceNumber.gt(number), 'the number is that of the schedule');
});

test('cancel one', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  const numbers = await sender.scheduleMessages(numbered(3), later(4));
  await sender.cancelScheduledMessages(numbers[1]);
  same(bodies(await t.drain(queue, 2)), ['0', '2'], 'bodies');
});

test('cancel many', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue), receiver = t.receiver(queue);
  const numbers = await sender.scheduleMessages(numbered(40), later());
  await sender.cancelScheduledMessages(numbers.slice(0, 39));
  same(bodies(await browse(receiver, 50)), ['39'], 'peeked');
});

test('cancel unknown', async (t) => {
  const sender = t.sender(await t.queue());
  await refused('MessageNotFound', sender.cancelScheduledMessages(Long.fromNumber(4711)));
  const number = await sender.scheduleMessages(message(), later());
  await sender.cancelScheduledMessages(number);
  await refused('MessageNotFound', sender.cancelScheduledMessages(number));
}, { warns: true });

test('cancel after activation', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue);
  const number = await sender.scheduleMessages(message('x'), later(2));
  same((await one(t.receiver(queue))).body, 'x', 'body');
  await refused('MessageNotFound', sender.cancelScheduledMessages(number));
}, { warns: true });

test('property of a message', async (t) => {
  const queue = await t.queue();
  const due = later(3);
  await t.send(queue, message('scheduled', { scheduledEnqueueTimeUtc: due }), message('plain'));
  same((await t.drain(queue, 2)).map((m) => [m.body, m.scheduledEnqueueTimeUtc]), [['plain', undefined], ['scheduled', due]], 'messages');
});

test('property in a batch', async (t) => {
  const queue = await t.queue();
  await t.send(queue, [message('scheduled', { scheduledEnqueueTimeUtc: later(3) }), message('plain')]);
  same(bodies(await t.drain(queue, 2)), ['plain', 'scheduled'], 'bodies');
});

test('time in the past', async (t) => {
  const queue = await t.queue();
  await t.sender(queue).scheduleMessages(message('x'), later(-60));
  same(bodies(await t.drain(queue, 1)), ['x'], 'bodies');
});

test('far future', async (t) => {
  const queue = await t.queue();
  const sender = t.sender(queue), receiver = t.receiver(queue), due = later(400 * 86_400);
  const number = await sender.scheduleMessages(message('x'), due);
  same((await browse(receiver))[0].scheduledEnqueueTimeUtc, due, 'time');
  await sender.cancelScheduledMessages(number);
  same(await browse(receiver), [], 'peeked');
});

test('in sessions', async (t) => {
  const queue = await t.queue({ requiresSession: true });
  const sender = t.sender(queue);
  const [, gone] = await sender.scheduleMessages([message('a', { sessionId: 's' }), message('b', { sessionId: 's' })], later(3));
  await sender.cancelScheduledMessages(gone);
  const receiver = await t.session(queue, 's');
  const got = await one(receiver);
  same(pick(got, ['body', 'sessionId']), { body: 'a', sessionId: 's' }, 'message');
  await receiver.completeMessage(got);
  await nothing(receiver);
});

test('annotated messages', async (t) => {
  const queue = await t.queue();
  const sent = ['a', 'b'].map((body) => annotated(body, 'value', { applicationProperties: { body } }));
  const numbers = await t.sender(queue).scheduleMessages(sent, later(2));
  same(numbers.length, 2, 'numbers');
  same((await t.drain(queue, 2)).map((m) => [m.body, m.applicationProperties.body, m._rawAmqpMessage.bodyType]),
    [['a', 'a', 'value'], ['b', 'b', 'value']], 'messages');
});

test('wrong arguments', async (t) => {
  const sender = t.sender(await t.queue());
  await rejected(() => sender.scheduleMessages(message(), 'tomorrow'), 'scheduledEnqueueTimeUtc');
  await rejected(() => sender.cancelScheduledMessages('number'), 'sequenceNumbers');
});
