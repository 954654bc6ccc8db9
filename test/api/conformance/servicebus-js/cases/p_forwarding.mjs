import { bodies, browse, eventually, group, message, one, refused, same, take } from '../case.mjs';
import { rejected } from './j_administration.mjs';

const test = group('forwarding');

test('messages', async (t) => {
  const target = await t.queue(), source = await t.queue({ forwardTo: target });
  await t.send(source, message('x', { messageId: 'm', applicationProperties: { kept: 1 } }));
  const [got] = await t.drain(target, 1);
  same([got.body, got.messageId, got.applicationProperties], ['x', 'm', { kept: 1 }], 'message');
  await refused('GeneralError', t.receiver(source).receiveMessages(1), 'auto-forwarding');
}, { warns: true });

test('dead letters', async (t) => {
  const target = await t.queue(), source = await t.queue({ forwardDeadLetteredMessagesTo: target });
  await t.send(source, message('x'));
  const receiver = t.receiver(source);
  await receiver.deadLetterMessage(await one(receiver), { deadLetterReason: 'r', deadLetterErrorDescription: 'd' });
  const [got] = await t.drain(target, 1);
  same([got.body, got.deadLetterReason, got.deadLetterErrorDescription], ['x', 'r', 'd'], 'message');
});

test('transfer dead letters', async (t) => {
  const target = await t.queue(), source = await t.queue({ forwardTo: target }), client = t.administration();
  await client.updateQueue({ ...await client.getQueue(target), status: 'SendDisabled' });
  await t.send(source, message('x'), message('y'));
  same((await client.getQueueRuntimeProperties(source)).transferDeadLetterMessageCount, 2, 'count');
  const receiver = t.receiver(source, { subQueueType: 'transferDeadLetter' });
  same(bodies(await browse(receiver)), ['x', 'y'], 'peeked');
  const got = await one(receiver);
  same([got.body, got.deadLetterReason, got.deadLetterSource], ['x', 'MessagingEntityDisabledException', source], 'message');
  await receiver.completeMessage(got);
});

test('of a subscription', async (t) => {
  const target = await t.queue(), topic = await t.topic({ s: { forwardTo: target } });
  const { forwardTo } = await t.administration().getSubscription(topic, 's');
  same(forwardTo.endsWith(`/${target}`), true, `target ${forwardTo}`);
  await t.send(topic, message('x'));
  same(bodies(await t.drain(target, 1)), ['x'], 'bodies');
});

test('to a topic', async (t) => {
  const topic = await t.topic({ s: {} }), source = await t.queue({ forwardTo: topic });
  await t.send(source, message('x'));
  same(bodies(await take(t.closed(t.shared.createReceiver(topic, 's')))), ['x'], 'bodies');
});

test('targets', async (t) => {
  const client = t.administration(), target = await t.queue(), path = await t.queue({ forwardTo: target });
  const queue = await client.getQueue(path);
  await client.updateQueue(queue);
  same((await client.getQueue(path)).forwardTo, queue.forwardTo, 'target');
  await rejected('ServiceError', client.updateQueue({ ...await client.getQueue(target), forwardTo: path }), 'would come back');
  for (const name of ['forwardTo', 'forwardDeadLetteredMessagesTo']) {
    await rejected('ServiceError', client.createQueue(t.path(), { [name]: t.path() }), 'SubCode=40400');
  }
  await client.updateQueue({ ...queue, forwardTo: undefined });
  same((await client.getQueue(path)).forwardTo, undefined, 'target');
  await t.send(path, message('x'));
  await eventually('the message stays', async () => (await browse(t.receiver(path))).length === 1);
});
