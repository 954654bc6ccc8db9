import Long from 'long';
import { bodies, browse, delay, eventually, group, holds, message, nothing, numbered, one, pick, refused, rejected, same, take } from '../case.mjs';

const test = group('settling');

// Creates a queue with a message, and returns the queue, a receiver and the received message.
async function withMessage(t, properties, options) {
  const queue = await t.queue(properties);
  await t.send(queue, message('x', { applicationProperties: { kept: 1 } }));
  const receiver = t.receiver(queue, options);
  return { queue, receiver, got: await one(receiver) };
}

const BRIEF = { maxAutoLockRenewalDurationInMs: 0 };

test('complete', async (t) => {
  const { receiver, got } = await withMessage(t);
  await receiver.completeMessage(got);
  same(await browse(receiver), [], 'peeked');
  for (const settle of ['completeMessage', 'abandonMessage', 'deferMessage', 'deadLetterMessage']) {
    await rejected(() => receiver[settle](got), 'already settled');
  }
});

test('complete out of order', async (t) => {
  const queue = await t.queue();
  await t.send(queue, numbered(10));
  const receiver = t.receiver(queue);
  const even = (await take(receiver, 10)).filter((_, i) => i % 2 === 0);
  await Promise.all(even.reverse().map((m) => receiver.completeMessage(m)));
  same(bodies(await browse(receiver, 20)), ['1', '3', '5', '7', '9'], 'peeked');
});

test('settle after the receiver has closed', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.close();
  await rejected(() => receiver.completeMessage(got), 'has been closed');
  const other = t.receiver(queue);
  await other.completeMessage(got); // over the management link
  same(await browse(other), [], 'peeked');
}, { warns: true });

test('settle with another client', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.close();
  await t.client().createReceiver(queue).deadLetterMessage(got, { deadLetterReason: 'r', deadLetterErrorDescription: 'd', more: 5 });
  const dead = await one(t.deadLetters(queue));
  same([dead.deadLetterReason, dead.deadLetterErrorDescription, dead.applicationProperties.more], ['r', 'd', 5], 'dead letter');
}, { warns: true });

test('abandon', async (t) => {
  const { receiver, got } = await withMessage(t);
  let again = got;
  for (let count = 1; count < 4; count++) {
    await receiver.abandonMessage(again);
    again = await one(receiver);
    same(pick(again, ['body', 'deliveryCount']), { body: 'x', deliveryCount: count }, 'message');
  }
  await receiver.completeMessage(again);
});

test('abandoned messages come first', async (t) => {
  const queue = await t.queue();
  await t.send(queue, numbered(3));
  const receiver = t.receiver(queue);
  await receiver.abandonMessage(await one(receiver));
  same(bodies(await take(receiver, 3)), ['0', '1', '2'], 'bodies');
});

test('abandon with properties', async (t) => {
  const { receiver, got } = await withMessage(t);
  await receiver.abandonMessage(got, { added: 'a', kept: 2, time: new Date(1767312000000), flag: true, double: 0.5 });
  same((await one(receiver)).applicationProperties,
    { added: 'a', kept: 2, time: 1767312000000, flag: true, double: 0.5 }, 'properties');
});

test('too many deliveries', async (t) => {
  const { queue, receiver, got } = await withMessage(t, { maxDeliveryCount: 3 });
  let again = got;
  for (let count = 0; count < 3; count++) {
    same(again.deliveryCount, count, 'delivery count');
    await receiver.abandonMessage(again);
    if (count < 2) again = await one(receiver);
  }
  await nothing(receiver);
  const dead = await one(t.deadLetters(queue));
  same(dead.deadLetterReason, 'MaxDeliveryCountExceeded', 'reason');
  holds(dead.deadLetterErrorDescription, 'no description');
  same([dead.body, dead.messageId, dead.applicationProperties.kept], ['x', got.messageId, 1], 'message');
});

test('too many expired locks', async (t) => {
  const { queue, receiver } = await withMessage(t, { lockDuration: 'PT1S', maxDeliveryCount: 1 }, BRIEF);
  const deadLetters = t.deadLetters(queue);
  const [dead] = await eventually('the message is dead-lettered', async () => {
    await receiver.receiveMessages(1, { maxWaitTimeInMs: 1000 });
    const got = await deadLetters.receiveMessages(1, { maxWaitTimeInMs: 1000 });
    return got.length > 0 && got;
  });
  same(dead.deadLetterReason, 'MaxDeliveryCountExceeded', 'reason');
});

test('dead-letter', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.deadLetterMessage(got, { deadLetterReason: 'r é', deadLetterErrorDescription: 'd', added: 'a', kept: 2 });
  await nothing(receiver);
  const deadLetters = t.deadLetters(queue);
  const dead = await one(deadLetters);
  same(pick(dead, ['deadLetterReason', 'deadLetterErrorDescription', 'body', 'messageId']),
    { deadLetterReason: 'r é', deadLetterErrorDescription: 'd', body: 'x', messageId: got.messageId }, 'message');
  same(dead.applicationProperties, { kept: 2, added: 'a', DeadLetterReason: 'r é', DeadLetterErrorDescription: 'd' }, 'properties');
  await deadLetters.completeMessage(dead);
  same(await browse(deadLetters), [], 'peeked');
});

test('dead-letter without a reason', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.deadLetterMessage(got);
  const dead = await one(t.deadLetters(queue));
  same([dead.body, dead.deadLetterReason || '', dead.deadLetterErrorDescription || ''], ['x', '', ''], 'message');
});

test('dead-letter queue', async (t) => {
  const queue = await t.queue();
  await t.send(queue, numbered(5));
  const receiver = t.receiver(queue);
  for (const m of await take(receiver, 5)) {
    await receiver.deadLetterMessage(m, { deadLetterReason: m.body, deadLetterErrorDescription: 'd' });
  }
  const deadLetters = t.deadLetters(queue);
  same((await browse(deadLetters)).map((m) => [m.body, m.deadLetterReason]), ['0', '1', '2', '3', '4'].map((i) => [i, i]), 'peeked');
  const got = await take(deadLetters, 5);
  await deadLetters.abandonMessage(got[0]);
  await deadLetters.deferMessage(got[1]);
  await deadLetters.renewMessageLock(got[2]);
  await deadLetters.completeMessage(got[2]);
  const [back] = await deadLetters.receiveDeferredMessages(got[1].sequenceNumber);
  same([back.body, back.deadLetterReason], ['1', '1'], 'deferred message');
  await deadLetters.completeMessage(back);
  const again = await one(deadLetters);
  same([again.body, again.deliveryCount], ['0', got[0].deliveryCount + 1], 'abandoned message');
});

test('dead letters never die again', async (t) => {
  const { queue, receiver, got } = await withMessage(t, { maxDeliveryCount: 2 });
  await receiver.deadLetterMessage(got);
  const deadLetters = t.deadLetters(queue);
  for (let i = 0; i < 5; i++) await deadLetters.abandonMessage(await one(deadLetters));
  same((await one(deadLetters)).body, 'x', 'body');
});

test('receive and delete dead letters', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.deadLetterMessage(got);
  const deadLetters = t.deadLetters(queue, { receiveMode: 'receiveAndDelete' });
  same((await one(deadLetters)).body, 'x', 'body');
  same(await browse(deadLetters), [], 'peeked');
});

test('dead letters are sent again', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.deadLetterMessage(got, { deadLetterReason: 'r', deadLetterErrorDescription: 'd' });
  const deadLetters = t.deadLetters(queue);
  const dead = await one(deadLetters);
  await t.send(queue, dead);
  await deadLetters.completeMessage(dead);
  same((await one(receiver)).body, 'x', 'body');
});

test('defer', async (t) => {
  const { receiver, got } = await withMessage(t);
  await receiver.deferMessage(got, { added: 'a' });
  await nothing(receiver);
  const [back] = await receiver.receiveDeferredMessages(got.sequenceNumber);
  same([back.body, `${back.sequenceNumber}`, back.state, back.deliveryCount, back.applicationProperties],
    ['x', `${got.sequenceNumber}`, 'deferred', 1, { kept: 1, added: 'a' }], 'message');
  holds(back.lockToken && back.lockedUntilUtc > Date.now(), 'the message has no lock');
  await receiver.completeMessage(back);
  same(await browse(receiver), [], 'peeked');
});

test('deferred messages are settled', async (t) => {
  const queue = await t.queue();
  await t.send(queue, numbered(4));
  const receiver = t.receiver(queue);
  const got = await take(receiver, 4);
  for (const m of got) await receiver.deferMessage(m);
  const numbers = got.map((m) => m.sequenceNumber);
  const back = await receiver.receiveDeferredMessages(numbers);
  same(bodies(back), ['0', '1', '2', '3'], 'bodies');
  await receiver.completeMessage(back[0]);
  await receiver.abandonMessage(back[1], { added: 1 });
  await receiver.deferMessage(back[2], { added: 2 });
  await receiver.deadLetterMessage(back[3], { deadLetterReason: 'r', deadLetterErrorDescription: 'd' });
  const dead = await one(t.deadLetters(queue));
  same([dead.body, dead.deadLetterReason, dead.deadLetterErrorDescription], ['3', 'r', 'd'], 'dead letter');
  const again = await receiver.receiveDeferredMessages(numbers.slice(1, 3));
  same(again.map((m) => [m.body, m.applicationProperties]), [['1', { added: 1 }], ['2', { added: 2 }]], 'messages');
  await nothing(receiver);
});

test('deferred messages are brought into order', async (t) => {
  const queue = await t.queue();
  await t.send(queue, ...['2', '4', '1', '3'].map((body) => message(body)));
  const first = t.receiver(queue), put = new Map(), errors = [];
  let expected = 1;
  first.subscribe({
    processMessage: async (m) => {
      if (Number(m.body) === expected) {
        expected++;
        await first.completeMessage(m);
      } else {
        await first.deferMessage(m);
        put.set(m.body, m.sequenceNumber);
      }
    },
    processError: async ({ error }) => { errors.push(error); },
  }, { autoCompleteMessages: false });
  await eventually('all are processed', () => put.size === 3);
  await first.close();
  const second = t.receiver(queue);
  for (; put.has(`${expected}`); expected++) {
    const [m] = await second.receiveDeferredMessages(put.get(`${expected}`));
    same(m.body, `${expected}`, 'body');
    await second.completeMessage(m);
  }
  same([expected, await browse(second), errors], [5, [], []], 'next number, messages left and errors');
});

test('deferred messages are deleted', async (t) => {
  const { queue, receiver, got } = await withMessage(t);
  await receiver.deferMessage(got);
  const deletes = t.receiver(queue, { receiveMode: 'receiveAndDelete' });
  same(bodies(await deletes.receiveDeferredMessages([got.sequenceNumber])), ['x'], 'bodies');
  same(await browse(receiver), [], 'peeked');
});

test('unknown deferred messages', async (t) => {
  const { receiver, got } = await withMessage(t);
  await refused('MessageNotFound', receiver.receiveDeferredMessages(Long.fromNumber(4711)));
  await refused('MessageNotFound', receiver.receiveDeferredMessages(got.sequenceNumber));
  await receiver.deferMessage(got);
  await receiver.receiveDeferredMessages(got.sequenceNumber);
  await refused('MessageNotFound', receiver.receiveDeferredMessages(got.sequenceNumber));
}, { warns: true });

test('deferred locks end', async (t) => {
  const { receiver, got } = await withMessage(t, { lockDuration: 'PT1S' }, BRIEF);
  await receiver.deferMessage(got);
  await receiver.receiveDeferredMessages(got.sequenceNumber);
  const [back] = await eventually('the deferred message is free', async () => {
    try {
      return await receiver.receiveDeferredMessages(got.sequenceNumber);
    } catch (error) {
      if (error.code !== 'MessageNotFound') throw error;
    }
  });
  await receiver.completeMessage(back);
}, { warns: true });

test('renew a lock', async (t) => {
  const { receiver, got } = await withMessage(t, { lockDuration: 'PT5S' }, BRIEF);
  let until = got.lockedUntilUtc;
  for (let i = 0; i < 3; i++) {
    await delay(2500);
    const renewed = await receiver.renewMessageLock(got);
    holds(renewed > until && got.lockedUntilUtc === renewed, `locked until ${renewed}, before until ${until}`);
    until = renewed;
  }
  await receiver.completeMessage(got);
  same(await browse(receiver), [], 'peeked');
});

test('automatic renewal', async (t) => {
  const { queue, receiver, got } = await withMessage(t, { lockDuration: 'PT5S' }, { maxAutoLockRenewalDurationInMs: 60_000 });
  await nothing(t.receiver(queue), 12_000);
  await receiver.completeMessage(got);
  same(await browse(receiver), [], 'peeked');
});

test('automatic renewal ends', async (t) => {
  const { queue, receiver, got } = await withMessage(t, { lockDuration: 'PT3S' }, { maxAutoLockRenewalDurationInMs: 1000 });
  same((await one(t.receiver(queue))).deliveryCount, 1, 'delivery count');
  await refused('MessageLockLost', receiver.completeMessage(got));
}, { warns: true });

test('renew the lock of a deferred message', async (t) => {
  const { receiver, got } = await withMessage(t);
  await receiver.deferMessage(got);
  const [back] = await receiver.receiveDeferredMessages(got.sequenceNumber);
  const until = back.lockedUntilUtc;
  await eventually('the lock is longer', async () => (await receiver.renewMessageLock(back)) > until);
  await receiver.completeMessage(back);
});

test('lost locks', async (t) => {
  const { queue, receiver, got } = await withMessage(t, { lockDuration: 'PT1S' }, BRIEF);
  same((await one(t.receiver(queue))).deliveryCount, 1, 'delivery count');
  await refused('MessageLockLost', receiver.renewMessageLock(got));
  await refused('MessageLockLost', receiver.completeMessage(got));
  same(`${(await browse(receiver))[0].sequenceNumber}`, `${got.sequenceNumber}`, 'peeked');
}, { warns: true });

for (const settle of ['abandonMessage', 'deferMessage', 'deadLetterMessage']) {
  test(`lost lock and ${settle}`, async (t) => {
    const { queue, receiver, got } = await withMessage(t, { lockDuration: 'PT1S' }, BRIEF);
    const other = t.receiver(queue);
    const again = await one(other);
    await refused('MessageLockLost', receiver[settle](got));
    await other.completeMessage(again);
  }, { warns: true });
}

test('nothing is sent to dead letters', async (t) => {
  const queue = await t.queue();
  await refused('GeneralError', t.sender(`${queue}/$DeadLetterQueue`).sendMessages(message()));
}, { warns: true });
