import {
  bodies, browse, delay, event, eventually, group, holds, later, message, names, nothing, numbered, one, pick, refused, rejected, same,
  take,
} from '../case.mjs';

const test = group('sessions');
const BRIEF = { maxAutoLockRenewalDurationInMs: 0 };

const sessions = (t, properties) => t.queue({ requiresSession: true, ...properties });
const of = (sessionId, ...texts) => texts.map((text) => message(text, { sessionId }));
const next = async (t, queue, options) => t.closed(await t.shared.acceptNextSession(queue, options));

test('by id', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, ...of('a', 'a1'), ...of('b', 'b1'), ...of('a', 'a2'));
  const receiver = await t.session(queue, 'a');
  same(receiver.sessionId, 'a', 'session id');
  const left = receiver.sessionLockedUntilUtc - Date.now();
  holds(left > 30_000 && left < 120_000, `locked for ${left} ms`);
  const got = await take(receiver, 2);
  same(got.map((m) => pick(m, ['body', 'sessionId', 'deliveryCount'])),
    ['a1', 'a2'].map((body) => ({ body, sessionId: 'a', deliveryCount: 0 })), 'messages');
  for (const m of got) await receiver.completeMessage(m);
  await nothing(receiver);
});

test('next available', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'a1', 'a2'), of('b', 'b1'));
  const found = {};
  for (let i = 0; i < 2; i++) {
    const receiver = await next(t, queue);
    found[receiver.sessionId] = bodies(await receiver.receiveMessages(5, { maxWaitTimeInMs: 5000 }));
  }
  same(found, { a: ['a1', 'a2'], b: ['b1'] }, 'sessions');
});

test('next available comes later', async (t) => {
  const queue = await sessions(t);
  const accepting = next(t, queue);
  await delay(2000);
  await t.send(queue, of('late', 'x'));
  const receiver = await accepting;
  same([receiver.sessionId, (await one(receiver)).body], ['late', 'x'], 'session and body');
});

test('no session is available', async (t) => {
  const queue = await sessions(t);
  const client = t.client({ retryOptions: { maxRetries: 0, timeoutInMs: 2000 } });
  await refused('ServiceTimeout', client.acceptNextSession(queue));
}, { warns: true });

test('session without messages', async (t) => {
  const queue = await sessions(t);
  const receiver = await t.session(queue, 'empty');
  await nothing(receiver);
  await t.send(queue, of('empty', 'x'), of('other', 'y'));
  same(bodies(await receiver.receiveMessages(5, { maxWaitTimeInMs: 30_000 })), ['x'], 'bodies');
});

test('held session', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x'));
  const holder = await t.shared.acceptSession(queue, 'a');
  await refused('SessionCannotBeLocked', t.shared.acceptSession(queue, 'a'));
  await refused('SessionCannotBeLocked', t.client().acceptSession(queue, 'a'));
  const hasty = t.client({ retryOptions: { maxRetries: 0, timeoutInMs: 1500 } });
  await refused('ServiceTimeout', hasty.acceptNextSession(queue));
  await holder.close();
  same((await one(await t.session(queue, 'a'))).body, 'x', 'body');
}, { warns: true });

test('two sessions at once', async (t) => {
  const queue = await sessions(t);
  for (let i = 0; i < 5; i++) await t.send(queue, [...of('a', `${i}`), ...of('b', `${i}`)]);
  const consume = async (id) => {
    const receiver = await t.session(queue, id), got = [];
    while (got.length < 5) {
      const m = await one(receiver);
      got.push(m.body);
      await receiver.completeMessage(m);
    }
    return got;
  };
  same(await Promise.all(['a', 'b'].map(consume)), [names(0, 5), names(0, 5)], 'bodies');
});

test('wrong receivers', async (t) => {
  const withSessions = await sessions(t), without = await t.queue();
  await refused('GeneralError', t.receiver(withSessions).receiveMessages(1), 'non-sessionful message receiver');
  await refused('GeneralError', t.shared.acceptNextSession(without), 'sessionful message receiver cannot be created');
  await refused('SessionCannotBeLocked', t.shared.acceptSession(without, 'a')); // the only error that the SDK has there
}, { warns: true });

test('messages without a session', async (t) => {
  const queue = await sessions(t);
  const sender = t.sender(queue), text = 'The SessionId was not set';
  await refused('GeneralError', sender.sendMessages(message('x')), text);
  await refused('GeneralError', sender.sendMessages([...of('a', 'y'), message('x')]), text);
  await refused('GeneralError', sender.scheduleMessages(message('x'), later()), text);
  same(await browse(await t.session(queue, 'a')), [], 'peeked');
}, { warns: true });

test('state', async (t) => {
  const queue = await sessions(t);
  const receiver = await t.shared.acceptSession(queue, 'a');
  same(await receiver.getSessionState(), null, 'first state');
  for (const state of [{ step: 1, 'é': ['x'] }, 'é', 5, [1], '']) {
    await receiver.setSessionState(state);
    same(await receiver.getSessionState(), state, 'state');
  }
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  await receiver.setSessionState(bytes);
  await receiver.close();
  const again = await t.session(queue, 'a');
  holds(bytes.equals(await again.getSessionState()), 'the state of an empty session is lost');
  same(await (await t.session(queue, 'b')).getSessionState(), null, 'state of another session');
  await again.setSessionState(null);
  same(await again.getSessionState(), null, 'cleared state');
});

test('large state', async (t) => {
  const receiver = await t.session(await sessions(t), 'a');
  await receiver.setSessionState(Buffer.alloc(200_000, 'x'));
  same((await receiver.getSessionState()).length, 200_000, 'length of the state');
});

test('renewal', async (t) => {
  const queue = await sessions(t, { lockDuration: 'PT5S' });
  await t.send(queue, of('a', 'x'));
  const receiver = await t.session(queue, 'a', { ...BRIEF });
  const got = await one(receiver);
  let until = receiver.sessionLockedUntilUtc;
  for (let i = 0; i < 3; i++) {
    await delay(2500);
    const renewed = await receiver.renewSessionLock();
    holds(renewed > until, `locked until ${renewed}, before until ${until}`);
    same(receiver.sessionLockedUntilUtc, renewed, 'property');
    until = renewed;
  }
  await receiver.completeMessage(got);
  same(await browse(receiver), [], 'peeked');
});

test('automatic renewal', async (t) => {
  const queue = await sessions(t, { lockDuration: 'PT5S' });
  await t.send(queue, of('a', 'x'));
  const receiver = await t.session(queue, 'a');
  const got = await one(receiver);
  await delay(12_000);
  await receiver.completeMessage(got);
  same(await receiver.getSessionState(), null, 'state');
});

test('lost locks', async (t) => {
  const queue = await sessions(t, { lockDuration: 'PT2S' });
  await t.send(queue, of('a', 'x'));
  const first = await t.session(queue, 'a', { ...BRIEF });
  const got = await one(first);
  const second = await t.session(queue, 'a');
  for (const call of [() => first.completeMessage(got), () => first.renewSessionLock(), () => first.getSessionState(),
    () => first.setSessionState('s'), () => first.receiveMessages(1)]) await refused('SessionLockLost', call());
  const again = await one(second);
  same(pick(again, ['body', 'deliveryCount']), { body: 'x', deliveryCount: 1 }, 'message');
  await second.completeMessage(again);
}, { warns: true });

test('closed without settling', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x', 'y'));
  const first = await t.shared.acceptSession(queue, 'a');
  await take(first, 2);
  await first.close();
  same((await take(await t.session(queue, 'a'), 2)).map((m) => [m.body, m.deliveryCount]), [['x', 0], ['y', 0]], 'messages');
});

test('abandon', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x', 'y'));
  const receiver = await t.session(queue, 'a');
  await receiver.abandonMessage(await one(receiver), { added: 1 });
  same((await take(receiver, 2)).map((m) => [m.body, m.deliveryCount, m.applicationProperties]),
    [['x', 1, { added: 1 }], ['y', 0, undefined]], 'messages');
});

test('too many deliveries', async (t) => {
  const queue = await sessions(t, { maxDeliveryCount: 2 });
  await t.send(queue, of('a', 'x', 'y'));
  const receiver = await t.session(queue, 'a');
  for (let i = 0; i < 2; i++) await receiver.abandonMessage(await one(receiver));
  same((await one(receiver)).body, 'y', 'body');
  const dead = await one(t.deadLetters(queue));
  same([dead.body, dead.sessionId, dead.deadLetterReason], ['x', 'a', 'MaxDeliveryCountExceeded'], 'dead letter');
});

test('dead-letter', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x'));
  const receiver = await t.session(queue, 'a');
  await receiver.deadLetterMessage(await one(receiver), { deadLetterReason: 'r', deadLetterErrorDescription: 'd' });
  const deadLetters = t.deadLetters(queue);
  const dead = await one(deadLetters);
  same([dead.body, dead.sessionId, dead.deadLetterReason], ['x', 'a', 'r'], 'dead letter');
  await deadLetters.completeMessage(dead);
});

test('defer', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x', 'y'));
  const first = await t.shared.acceptSession(queue, 'a');
  const got = await one(first);
  await first.deferMessage(got);
  same((await one(first)).body, 'y', 'body');
  await first.close();
  await refused('MessageNotFound', (await t.session(queue, 'b')).receiveDeferredMessages(got.sequenceNumber));
  const receiver = await t.session(queue, 'a');
  const [back] = await receiver.receiveDeferredMessages([got.sequenceNumber]);
  same([back.body, back.sessionId, back.state], ['x', 'a', 'deferred'], 'message');
  await receiver.completeMessage(back);
  same(bodies(await browse(receiver)), ['y'], 'peeked');
}, { warns: true });

test('peek', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, [...of('a', 'a1'), ...of('b', 'b1'), ...of('a', 'a2')]);
  const receiver = await t.session(queue, 'a');
  same(bodies(await receiver.peekMessages(1)), ['a1'], 'first');
  same(bodies(await receiver.peekMessages(5)), ['a2'], 'next');
  same(bodies(await browse(receiver)), ['a1', 'a2'], 'peeked');
});

test('receive and delete', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x', 'y'));
  const receiver = await t.session(queue, 'a', { receiveMode: 'receiveAndDelete' });
  same(bodies(await take(receiver, 2)), ['x', 'y'], 'bodies');
  same(await browse(receiver), [], 'peeked');
});

test('iterator', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, of('a', 'x', 'y', 'z'));
  const receiver = await t.session(queue, 'a'), got = [];
  for await (const m of receiver.getMessageIterator()) {
    await receiver.completeMessage(m);
    if (got.push(m.body) === 3) break;
  }
  same(got, ['x', 'y', 'z'], 'bodies');
});

// Subscribes to a session, and returns the messages and errors that the handlers see.
function subscribed(receiver, options, work = async () => {}) {
  const seen = { messages: [], errors: [] };
  seen.subscription = receiver.subscribe({
    async processMessage(m) {
      await work(m);
      seen.messages.push(m);
    },
    async processError({ error }) { seen.errors.push(error.code ?? error.message); },
  }, options);
  return seen;
}

test('subscribe', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, numbered(20, { sessionId: 'a' }));
  const receiver = await t.session(queue, 'a');
  const seen = subscribed(receiver);
  await eventually('all are processed', () => seen.messages.length === 20);
  same([bodies(seen.messages), seen.errors], [names(0, 20), []], 'bodies and errors');
  await eventually('all are completed', async () => (await browse(receiver)).length === 0);
});

test('subscribe without completion', async (t) => {
  const queue = await sessions(t);
  await t.send(queue, numbered(5, { sessionId: 'a' }));
  const receiver = await t.session(queue, 'a');
  const seen = subscribed(receiver, { autoCompleteMessages: false, maxConcurrentCalls: 5 }, (m) => receiver.completeMessage(m));
  await eventually('all are processed', () => seen.messages.length === 5);
  same([bodies(seen.messages), seen.errors], [names(0, 5), []], 'bodies and errors');
  same(await browse(receiver), [], 'peeked');
});

test('a subscriber learns that its lock is lost', async (t) => {
  const queue = await sessions(t, { lockDuration: 'PT2S' });
  const receiver = await t.session(queue, 'a', { ...BRIEF });
  const lost = event('the lock is lost');
  receiver.subscribe({ async processMessage() {}, async processError({ error }) { lost.fire(error.code); } });
  same(await lost.wait(), 'SessionLockLost', 'error');
}, { warns: true });

test('sessions one after the other', async (t) => {
  const queue = await sessions(t);
  const ids = Array.from({ length: 10 }, (_, i) => `s${i}`);
  await t.send(queue, ids.flatMap((id) => of(id, `${id}-1`, `${id}-2`)));
  const seen = new Map();
  await Promise.all([1, 2, 3].map(async () => {
    const client = t.client({ retryOptions: { maxRetries: 0, timeoutInMs: 3000 } });
    for (;;) {
      let receiver;
      try {
        receiver = await client.acceptNextSession(queue);
      } catch (error) {
        if (error.code === 'ServiceTimeout') return;
        throw error;
      }
      const got = await take(receiver, 2);
      for (const m of got) await receiver.completeMessage(m);
      seen.set(receiver.sessionId, bodies(got));
      await receiver.close();
    }
  }));
  same(Object.fromEntries([...seen].sort()), Object.fromEntries(ids.map((id) => [id, [`${id}-1`, `${id}-2`]])), 'sessions');
}, { warns: true });

test('ids', async (t) => {
  const queue = await sessions(t);
  for (const id of ['世界', 'é'.repeat(128), 'a b', 'A', 'a', 'a/b']) {
    await t.send(queue, of(id, `of ${id}`));
    const receiver = await t.session(queue, id);
    const got = await one(receiver);
    same([receiver.sessionId, got.sessionId, got.body], [id, id, `of ${id}`], 'session');
  }
});

test('duplicates', async (t) => {
  const queue = await sessions(t, { requiresDuplicateDetection: true });
  await t.send(queue, message('1', { messageId: 'm', sessionId: 'a' }), message('2', { messageId: 'm', sessionId: 'a' }),
    message('3', { messageId: 'm', sessionId: 'b' }));
  const receiver = await t.session(queue, 'a');
  same(bodies(await take(receiver)), ['1'], 'bodies');
  same(await browse(await t.session(queue, 'b')), [], 'peeked');
});

test('closed receiver', async (t) => {
  const receiver = await t.shared.acceptSession(await sessions(t), 'a');
  await receiver.close();
  same(receiver.isClosed, true, 'closed');
  await rejected(() => receiver.receiveMessages(1), 'has been closed');
}, { warns: true });
