import { bodies, delay, group, later, message, refused, same, take } from '../case.mjs';

const test = group('duplicates');
const WINDOW = 20;

const detecting = (t, properties) => t.queue({ requiresDuplicateDetection: true, ...properties });
const named = (body, messageId, properties) => message(body, { messageId, ...properties });

test('a duplicate is dropped', async (t) => {
  const queue = await detecting(t);
  await t.send(queue, named('first', 'a'), named('other', 'b'), named('second', 'a'));
  same(bodies(await t.drain(queue, 2)), ['first', 'other'], 'bodies');
});

test('ids outlive their messages', async (t) => {
  const queue = await detecting(t);
  await t.send(queue, named('1', 'a'));
  same(bodies(await t.drain(queue, 1)), ['1'], 'bodies');
  await t.send(queue, named('2', 'a'));
  await t.drain(queue, 0);
});

test('duplicates in one batch', async (t) => {
  const queue = await detecting(t);
  await t.send(queue, [named('1', 'a'), named('2', 'b'), named('3', 'a')], [named('4', 'b'), named('5', 'c')]);
  same(bodies(await t.drain(queue, 3)), ['1', '2', '5'], 'bodies');
});

test('without detection', async (t) => {
  const queue = await t.queue();
  await t.send(queue, named('1', 'a'), named('2', 'a'));
  same(bodies(await t.drain(queue, 2)), ['1', '2'], 'bodies');
});

test('ids are compared exactly', async (t) => {
  const queue = await detecting(t);
  const ids = ['a', 'A', ' a', 'a ', 'ä', 'é'.repeat(128), 'a/b.c_d', '世界'];
  await t.send(queue, ...[...ids, ...ids].map((id) => named(id, id)));
  same((await t.drain(queue, ids.length)).map((m) => m.messageId), ids, 'ids');
});

test('nothing but the id counts', async (t) => {
  const queue = await detecting(t);
  await t.send(queue, named('1', 'a', { sessionId: 's', subject: 'x' }),
    named('2', 'a', { sessionId: 't', applicationProperties: { a: 1 } }));
  same(bodies(await t.drain(queue, 1)), ['1'], 'bodies');
});

test('scheduled first', async (t) => {
  const queue = await detecting(t);
  const sender = t.sender(queue);
  await sender.scheduleMessages(named('scheduled', 'a'), later(4));
  await sender.sendMessages(named('plain', 'a'));
  same(bodies(await t.drain(queue, 1)), ['scheduled'], 'bodies');
});

test('scheduled second', async (t) => {
  const queue = await detecting(t);
  const sender = t.sender(queue);
  await sender.sendMessages(named('plain', 'a'));
  const numbers = await sender.scheduleMessages(named('scheduled', 'a'), later());
  same(numbers.length, 1, 'numbers');
  await refused('MessageNotFound', sender.cancelScheduledMessages(numbers));
  same(bodies(await t.drain(queue, 1)), ['plain'], 'bodies');
}, { warns: true });

test('cancelled ids stay', async (t) => {
  const queue = await detecting(t);
  const sender = t.sender(queue);
  await sender.cancelScheduledMessages(await sender.scheduleMessages(named('1', 'a'), later()));
  await sender.sendMessages(named('2', 'a'));
  await t.drain(queue, 0);
});

test('the window ends', async (t) => {
  const queue = await detecting(t, { duplicateDetectionHistoryTimeWindow: `PT${WINDOW}S` });
  await t.send(queue, named('1', 'a'));
  await delay(12_000);
  await t.send(queue, named('2', 'a')); // does not renew the window
  await delay((WINDOW - 12 + 2) * 1000);
  await t.send(queue, named('3', 'a'));
  same(bodies(await t.drain(queue, 2)), ['1', '3'], 'bodies');
});

test('partitions', async (t) => {
  const queue = await detecting(t, { enablePartitioning: true });
  await t.send(queue, named('1', 'a', { partitionKey: 'p' }), named('2', 'a', { partitionKey: 'q' }),
    named('3', 'a', { partitionKey: 'p' }), named('4', 'b'), named('5', 'b'));
  same(bodies(await t.drain(queue, 3)).sort(), ['1', '2', '4'], 'bodies');
});

test('deferred and dead ids stay', async (t) => {
  const queue = await detecting(t);
  await t.send(queue, named('1', 'a'), named('2', 'b'));
  const receiver = t.receiver(queue);
  const [first, second] = await take(receiver, 2);
  await receiver.deferMessage(first);
  await receiver.deadLetterMessage(second);
  await t.send(queue, named('3', 'a'), named('4', 'b'));
  await t.drain(queue, 0);
});
