import Long from 'long';
import {
  bodies, browse, delay, event, eventually, group, holds, message, names, nothing, numbered, one, refused, rejected, same, take,
} from '../case.mjs';

const test = group('receiving');
const DELETES = { receiveMode: 'receiveAndDelete' };

// Creates a queue with messages.
async function filled(t, count, properties) {
  const queue = await t.queue(properties);
  if (count > 0) await t.send(queue, numbered(count));
  return queue;
}

test('nothing to receive', async (t) => {
  const receiver = t.receiver(await t.queue());
  await nothing(receiver);
  await nothing(receiver, 50);
});

test('at most the count', async (t) => {
  const queue = await filled(t, 10);
  const receiver = t.receiver(queue);
  same(bodies(await receiver.receiveMessages(3, { maxWaitTimeInMs: 10_000 })), names(0, 3), 'bodies');
  same(bodies(await take(receiver, 7)), names(3, 10), 'bodies');
  await nothing(receiver);
});

test('more than there are', async (t) => {
  const queue = await filled(t, 3);
  const receiver = t.receiver(queue);
  same(bodies(await receiver.receiveMessages(50, { maxWaitTimeInMs: 10_000 })), names(0, 3), 'bodies');
  await t.send(queue, message('later'));
  same(bodies(await receiver.receiveMessages(50, { maxWaitTimeInMs: 10_000 })), ['later'], 'bodies');
});

test('message that comes later', async (t) => {
  const queue = await t.queue();
  const receiver = t.receiver(queue);
  const coming = receiver.receiveMessages(5, { maxWaitTimeInMs: 60_000 });
  await delay(2000);
  await t.send(queue, message('x'));
  same(bodies(await coming), ['x'], 'bodies');
});

test('iterator', async (t) => {
  const queue = await filled(t, 10);
  const receiver = t.receiver(queue), got = [];
  for await (const m of receiver.getMessageIterator()) {
    got.push(m.body);
    await receiver.completeMessage(m);
    if (got.length === 10) break;
  }
  same(got, names(0, 10), 'bodies');
  same(await browse(receiver), [], 'peeked');
});

test('iterator of deleted messages', async (t) => {
  const queue = await filled(t, 5);
  const got = [];
  for await (const m of t.receiver(queue, DELETES).getMessageIterator()) if (got.push(m.body) === 5) break;
  same(got, names(0, 5), 'bodies');
  same(await browse(t.receiver(queue)), [], 'peeked');
});

test('receive and delete', async (t) => {
  const queue = await filled(t, 5);
  const receiver = t.receiver(queue, DELETES);
  const got = await take(receiver, 5);
  same(bodies(got), names(0, 5), 'bodies');
  same([got[0].lockToken, got[0].lockedUntilUtc], [undefined, undefined], 'lock');
  await rejected(() => receiver.completeMessage(got[0]), 'receiveAndDelete');
  same(await browse(receiver), [], 'peeked');
  await t.send(queue, message('x'));
  same(bodies(await take(receiver)), ['x'], 'bodies');
});

test('receive and delete no more than asked', async (t) => {
  const queue = await filled(t, 10);
  const receiver = t.receiver(queue, DELETES);
  same(bodies(await take(receiver, 4)), names(0, 4), 'bodies');
  same(bodies(await browse(receiver)), names(4, 10), 'peeked');
});

test('locked for others', async (t) => {
  const queue = await filled(t, 1, { lockDuration: 'PT2S' });
  const options = { maxAutoLockRenewalDurationInMs: 0 };
  const first = t.receiver(queue, options), second = t.receiver(queue, options);
  same((await one(first)).deliveryCount, 0, 'delivery count');
  const again = await one(second);
  same([again.body, again.deliveryCount], ['0', 1], 'message after the end of the lock');
  await second.completeMessage(again);
});

test('locks outlive their receiver', async (t) => {
  const queue = await filled(t, 1, { lockDuration: 'PT10S' });
  const first = t.shared.createReceiver(queue);
  await one(first);
  await first.close();
  const receiver = t.receiver(queue);
  await nothing(receiver, 3000);
  same((await one(receiver)).deliveryCount, 1, 'delivery count');
});

test('competing receivers', async (t) => {
  const queue = await filled(t, 60);
  const got = [];
  await Promise.all(Array.from({ length: 3 }, async () => {
    const receiver = t.receiver(queue);
    for (;;) {
      const some = await receiver.receiveMessages(5, { maxWaitTimeInMs: 2000 });
      if (some.length === 0) return;
      for (const m of some) await receiver.completeMessage(m);
      got.push(...bodies(some));
    }
  }));
  same(got.sort((a, b) => a - b), names(0, 60), 'bodies');
});

test('two receives at once', async (t) => {
  const receiver = t.receiver(await t.queue());
  const first = receiver.receiveMessages(1, { maxWaitTimeInMs: 3000 });
  await delay(500);
  await rejected(() => receiver.receiveMessages(1), 'already receiving');
  same(await first, [], 'messages');
}, { warns: true });

test('abort', async (t) => {
  const queue = await t.queue();
  const receiver = t.receiver(queue), aborting = new AbortController();
  const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000, abortSignal: aborting.signal });
  await delay(1000);
  aborting.abort();
  await rejected(() => waiting, 'aborted');
  await t.send(queue, message('x'));
  same(bodies(await take(receiver)), ['x'], 'bodies');
}, { warns: true });

test('close during a receive', async (t) => {
  const queue = await t.queue();
  const receiver = t.shared.createReceiver(queue);
  const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 });
  await delay(1000);
  await receiver.close();
  same(await waiting, [], 'messages');
  await rejected(() => receiver.receiveMessages(1), 'has been closed');
  await t.send(queue, message('x'));
  same((await one(t.receiver(queue))).deliveryCount, 0, 'delivery count');
}, { warns: true });

test('many in one receive', async (t) => {
  const queue = await t.queue();
  for (let i = 0; i < 3; i++) await t.send(queue, numbered(100));
  const receiver = t.receiver(queue);
  const got = await take(receiver, 300);
  same(new Set(got.map((m) => m.lockToken)).size, 300, 'lock tokens');
  await receiver.completeMessage(got[0]);
  same((await browse(receiver, 500)).length, 299, 'peeked');
});

test('thousands of locked messages', async (t) => {
  const queue = await t.queue({ lockDuration: 'PT5M' });
  const all = numbered(3000), sender = t.sender(queue);
  for (let i = 0; i < all.length; i += 1000) await sender.sendMessages(all.slice(i, i + 1000));
  const receiver = t.receiver(queue, { maxAutoLockRenewalDurationInMs: 0 });
  const got = [];
  while (got.length < 2047) got.push(...await take(receiver, Math.min(50, 2047 - got.length))); // the SDK allows no more
  const deletes = t.receiver(queue, DELETES);
  for (let left = 3000 - 2047; left > 0; left -= 50) got.push(...await take(deletes, Math.min(50, left)));
  same(bodies(got), names(0, 3000), 'bodies');
});

test('peek', async (t) => {
  const queue = await t.queue();
  await t.send(queue, Array.from({ length: 10 }, (_, i) => message(`${i}`, { applicationProperties: { i } })));
  const receiver = t.receiver(queue);
  const first = await receiver.peekMessages(4);
  same(first.map((m) => [m.body, m.applicationProperties.i, m.state, m.lockedUntilUtc]),
    [0, 1, 2, 3].map((i) => [`${i}`, i, 'active', undefined]), 'first');
  same(bodies(await receiver.peekMessages(100)), names(4, 10), 'the others');
  same(await receiver.peekMessages(100), [], 'behind the last');
  same(bodies(await receiver.peekMessages(2, { fromSequenceNumber: first[2].sequenceNumber })), ['2', '3'], 'from the third');
  same(await receiver.peekMessages(2, { fromSequenceNumber: Long.fromString('4611686018427387904') }), [], 'from a number far behind');
  same(new Set((await take(receiver, 10)).map((m) => m.deliveryCount)), new Set([0]), 'delivery counts');
});

test('peek without bodies', async (t) => {
  const queue = await filled(t, 2);
  const got = await t.receiver(queue).peekMessages(5, { omitMessageBody: true });
  same(got.length, 2, 'messages');
});

test('peek shows locked and deferred messages', async (t) => {
  const queue = await filled(t, 2);
  const receiver = t.receiver(queue);
  const [locked, deferred] = await take(receiver, 2);
  await receiver.deferMessage(deferred);
  same((await browse(receiver)).map((m) => [m.body, m.state, `${m.sequenceNumber}`]),
    [['0', 'active', `${locked.sequenceNumber}`], ['1', 'deferred', `${deferred.sequenceNumber}`]], 'peeked');
});

test('peek of large messages', async (t) => {
  const queue = await t.queue();
  await t.send(queue, ...Array.from({ length: 6 }, () => message(Buffer.alloc(400_000))));
  const receiver = t.receiver(queue);
  let found = 0;
  for (let got; (got = await receiver.peekMessages(10)).length > 0;) found += got.length;
  same(found, 6, 'messages');
});

test('peeked messages cannot be settled', async (t) => {
  const queue = await filled(t, 1);
  const receiver = t.receiver(queue);
  const [peeked] = await receiver.peekMessages(1);
  for (const settle of ['completeMessage', 'abandonMessage', 'deferMessage', 'deadLetterMessage', 'renewMessageLock']) {
    await rejected(() => receiver[settle](peeked), 'message');
  }
});

// Subscribes, and returns the messages and errors that the handlers see.
function subscribed(receiver, options, work = async () => {}) {
  const seen = { messages: [], errors: [] };
  seen.subscription = receiver.subscribe({
    async processMessage(m) {
      await work(m);
      seen.messages.push(m);
    },
    async processError({ error, errorSource }) { seen.errors.push(`${errorSource}: ${error.code ?? error.message}`); },
  }, options);
  return seen;
}

test('subscribe', async (t) => {
  const queue = await filled(t, 20);
  const receiver = t.receiver(queue);
  const seen = subscribed(receiver);
  await eventually('all are processed', () => seen.messages.length === 20);
  await t.send(queue, message('another'));
  await eventually('another is processed', () => seen.messages.length === 21);
  same(bodies(seen.messages), [...names(0, 20), 'another'], 'bodies');
  await eventually('all are completed', async () => (await browse(receiver)).length === 0);
  same(seen.errors, [], 'errors');
  await seen.subscription.close();
  await t.send(queue, message('after the end'));
  same(bodies(await take(t.receiver(queue))), ['after the end'], 'bodies');
});

test('subscribe without completion', async (t) => {
  const queue = await filled(t, 4);
  const receiver = t.receiver(queue);
  const seen = subscribed(receiver, { autoCompleteMessages: false, maxConcurrentCalls: 4 });
  await eventually('all are processed', () => seen.messages.length === 4);
  same(bodies(await browse(receiver)), names(0, 4), 'peeked');
  await receiver.completeMessage(seen.messages[0]);
  await receiver.deadLetterMessage(seen.messages[1]);
  await receiver.deferMessage(seen.messages[2]);
  await receiver.abandonMessage(seen.messages[3]);
  await eventually('the abandoned one comes again', () => seen.messages.length === 5);
  same([seen.messages[4].body, seen.messages[4].deliveryCount], ['3', 1], 'message');
  same(seen.errors, [], 'errors');
});

test('subscribe with concurrent calls', async (t) => {
  const queue = await filled(t, 12);
  let running = 0, most = 0;
  const seen = subscribed(t.receiver(queue), { maxConcurrentCalls: 4 }, async () => {
    most = Math.max(most, ++running);
    await delay(300);
    running--;
  });
  await eventually('all are processed', () => seen.messages.length === 12);
  same(most, 4, 'calls at once');
});

test('subscribe with a handler that fails', async (t) => {
  const queue = await filled(t, 1, { maxDeliveryCount: 2 });
  let failures = 0;
  const seen = subscribed(t.receiver(queue), {}, async () => {
    failures++;
    throw new Error('the handler fails');
  });
  const dead = await one(t.deadLetters(queue));
  same([failures, dead.deadLetterReason], [2, 'MaxDeliveryCountExceeded'], 'failures and reason');
  same(seen.errors, Array(2).fill('processMessageCallback: the handler fails'), 'errors');
}, { warns: true });

test('subscribe and delete', async (t) => {
  const queue = await filled(t, 10);
  const receiver = t.receiver(queue, DELETES);
  const seen = subscribed(receiver, { maxConcurrentCalls: 5 });
  await eventually('all are processed', () => seen.messages.length === 10);
  same(bodies(seen.messages), names(0, 10), 'bodies');
  same([await browse(receiver), seen.errors], [[], []], 'peeked and errors');
});

test('subscribe to a queue that is missing', async (t) => {
  const seen = subscribed(t.receiver(t.path()));
  await eventually('an error is reported', () => seen.errors.length > 0);
  same(seen.errors[0], 'receive: MessagingEntityNotFound', 'error');
}, { warns: true });

test('subscribe and renew locks', async (t) => {
  const queue = await filled(t, 1, { lockDuration: 'PT5S' });
  const begun = event('the handler begins'), done = event('the message is processed');
  const seen = subscribed(t.receiver(queue), {}, async (m) => {
    begun.fire();
    await delay(12_000);
    done.fire(m);
  });
  await begun.wait();
  await nothing(t.receiver(queue), 11_000);
  same((await done.wait()).deliveryCount, 0, 'delivery count');
  await eventually('it is completed', async () => (await browse(t.receiver(queue))).length === 0);
  same(seen.errors, [], 'errors');
});

test('missing queue', async (t) => {
  const receiver = t.receiver(t.path());
  await refused('MessagingEntityNotFound', receiver.receiveMessages(1));
  await refused('MessagingEntityNotFound', receiver.peekMessages(1));
  holds(!receiver.isClosed, 'the receiver is closed');
}, { warns: true });
