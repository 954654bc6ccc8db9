import { ServiceBusAdministrationClient } from '@azure/service-bus';
import {
  CERTIFICATE, connection, eventually, group, holds, later, message, nothing, numbered, one, pick, plain, same, take,
} from '../case.mjs';

const test = group('administration');
const FOREVER = 'P10675199DT2H48M5.4775807S';

// Checks that a call fails with a code. The answer to a read of a missing entity is a list without entries.
export async function rejected(code, call, text = '') {
  const error = await call.then(() => undefined, (failed) => failed);
  same(pick(error ?? {}, ['name', 'code']), { name: 'RestError', code }, 'error');
  holds(error.message.includes(text), `got ${error.message}, want ${text}`);
}

export async function collected(iterator) {
  const all = [];
  for await (const item of iterator) all.push(item);
  return all;
}

test('defaults of a queue', async (t) => {
  const client = t.administration();
  const created = await client.createQueue(t.path());
  const wanted = {
    lockDuration: 'PT1M', maxDeliveryCount: 10, requiresSession: false, requiresDuplicateDetection: false,
    deadLetteringOnMessageExpiration: false, enablePartitioning: false, status: 'Active', enableBatchedOperations: true,
    enableExpress: false, defaultMessageTimeToLive: FOREVER, autoDeleteOnIdle: FOREVER,
    duplicateDetectionHistoryTimeWindow: 'PT10M', forwardTo: undefined, forwardDeadLetteredMessagesTo: undefined,
  };
  for (const queue of [created, await client.getQueue(created.name)]) same(pick(queue, Object.keys(wanted)), wanted, 'properties');
  same(created._response.status, 201, 'status');
});

test('properties of a queue', async (t) => {
  const wanted = {
    lockDuration: 'PT45S', maxDeliveryCount: 3, requiresSession: true, requiresDuplicateDetection: true,
    duplicateDetectionHistoryTimeWindow: 'P1D', defaultMessageTimeToLive: 'PT5H', deadLetteringOnMessageExpiration: true,
    maxMessageSizeInKilobytes: 256,
  };
  const queue = await t.queue(wanted);
  same(pick(await t.administration().getQueue(queue), Object.keys(wanted)), wanted, 'properties');
});

test('change of a queue', async (t) => {
  const client = t.administration(), path = await t.queue();
  const queue = await client.getQueue(path);
  Object.assign(queue, { maxDeliveryCount: 1, lockDuration: 'PT1S', defaultMessageTimeToLive: 'PT1H' });
  const wanted = pick(await client.updateQueue(queue), ['maxDeliveryCount', 'lockDuration', 'defaultMessageTimeToLive']);
  same(wanted, { maxDeliveryCount: 1, lockDuration: 'PT1S', defaultMessageTimeToLive: 'PT1H' }, 'answer');
  same(pick(await client.getQueue(path), Object.keys(wanted)), wanted, 'properties');
  await t.send(path, message('x'));
  const receiver = t.receiver(path);
  await receiver.abandonMessage(await one(receiver));
  await nothing(receiver);
  same((await one(t.deadLetters(path))).deadLetterReason, 'MaxDeliveryCountExceeded', 'reason');
});

test('fixed properties of a queue', async (t) => {
  const client = t.administration(), path = await t.queue();
  for (const name of ['requiresSession', 'requiresDuplicateDetection', 'enablePartitioning']) {
    await rejected('ServiceError', client.updateQueue({ ...await client.getQueue(path), [name]: true }), "can't be changed");
  }
});

test('wrong values', async (t) => {
  const client = t.administration();
  for (const properties of [{ maxDeliveryCount: 0 }, { lockDuration: 'PT0S' }, { duplicateDetectionHistoryTimeWindow: 'PT1S' },
    { duplicateDetectionHistoryTimeWindow: 'P8D' }, { lockDuration: 'a minute' }]) {
    await rejected('ServiceError', client.createQueue(t.path(), properties), 'SubCode=40000');
  }
});

test('existing and missing queues', async (t) => {
  const client = t.administration(), path = await t.queue(), missing = t.path();
  same([await client.queueExists(path), await client.queueExists(missing)], [true, false], 'existence');
  await rejected('MessageEntityAlreadyExistsError', client.createQueue(path));
  await rejected('MessageEntityNotFoundError', client.getQueue(missing));
  await rejected('MessageEntityNotFoundError', client.getQueueRuntimeProperties(missing));
  await rejected('MessageEntityNotFoundError', client.deleteQueue(missing));
  await client.deleteQueue(path);
  await rejected('MessageEntityNotFoundError', client.getQueue(path));
  holds(!(await collected(client.listQueues())).some((q) => q.name === path), 'a deleted queue is listed');
});

test('pages of queues', async (t) => {
  const paths = [];
  for (let i = 0; i < 110; i++) paths.push(await t.queue());
  const client = t.administration();
  for (const list of ['listQueues', 'listQueuesRuntimeProperties']) {
    const names = new Set((await collected(client[list]())).map((q) => q.name));
    same(paths.filter((path) => !names.has(path)), [], `missing in ${list}`);
  }
  const pages = client.listQueues().byPage({ maxPageSize: 7 });
  const { value: first } = await pages.next();
  const { value: second } = await pages.next();
  same([first.length, second.length], [7, 7], 'lengths of pages');
  const again = await client.listQueues().byPage({ maxPageSize: 7, continuationToken: first.continuationToken }).next();
  holds(again.value.length === 7 && first.every((q) => again.value.every((other) => other.name !== q.name)), 'a page repeats');
});

test('counts of a queue', async (t) => {
  const path = await t.queue(), client = t.administration();
  await t.send(path, ...numbered(5).map((m) => ({ ...m, body: 'x'.repeat(1000) })));
  const receiver = t.receiver(path);
  await t.sender(path).scheduleMessages(numbered(2), later());
  const [first, second] = await take(receiver, 2);
  await receiver.deadLetterMessage(first);
  await receiver.completeMessage(second);
  const wanted = {
    activeMessageCount: 3, deadLetterMessageCount: 1, scheduledMessageCount: 2, totalMessageCount: 6, transferMessageCount: 0,
    transferDeadLetterMessageCount: 0,
  };
  const counts = await eventually('the counts are right', async () => {
    const got = await client.getQueueRuntimeProperties(path);
    return JSON.stringify(pick(got, Object.keys(wanted))) === JSON.stringify(wanted) && got;
  });
  holds(counts.sizeInBytes > 3000, `${counts.sizeInBytes} bytes`);
  holds(counts.createdAt <= counts.modifiedAt && counts.modifiedAt <= Date.now() + 5000, 'the times are wrong');
});

test('status', async (t) => {
  const path = await t.queue(), client = t.administration();
  await t.send(path, message('x'));
  const queue = await client.getQueue(path);
  await client.updateQueue({ ...queue, status: 'ReceiveDisabled' });
  same((await client.getQueue(path)).status, 'ReceiveDisabled', 'status');
  await t.send(path, message('y'));
  await client.updateQueue({ ...queue, status: 'Active' });
  await t.drain(path, 2);
});

test('namespace', async (t) => {
  const got = await t.administration().getNamespaceProperties();
  holds(got.name && ['Basic', 'Standard', 'Premium'].includes(got.messagingSku), `name ${got.name}, tier ${got.messagingSku}`);
  holds(got.createdAt instanceof Date && !Number.isNaN(got.createdAt.getTime()), 'no time of creation');
});

test('names', async (t) => {
  const client = t.administration();
  for (const path of [`${t.path()}/x.y-z_0`, 'n'.repeat(200) + t.path().slice(-20)]) {
    await client.createQueue(path);
    same((await client.getQueue(path)).name, path, 'name');
    await t.send(path, message('x'));
    await t.drain(path, 1);
  }
  await rejected('ServiceError', client.createQueue('a!b'), "'a!b' is not a valid entity name");
});

test('defaults of a topic and a subscription', async (t) => {
  const client = t.administration(), path = t.path();
  await client.createTopic(path);
  await client.createSubscription(path, 's');
  const topic = {
    name: path, requiresDuplicateDetection: false, enablePartitioning: false, status: 'Active', enableBatchedOperations: true,
    enableExpress: false, supportOrdering: true, defaultMessageTimeToLive: FOREVER, duplicateDetectionHistoryTimeWindow: 'PT10M',
  };
  same(pick(await client.getTopic(path), Object.keys(topic)), topic, 'topic');
  const subscription = {
    topicName: path, subscriptionName: 's', lockDuration: 'PT1M', maxDeliveryCount: 10, requiresSession: false, status: 'Active',
    deadLetteringOnMessageExpiration: false, defaultMessageTimeToLive: FOREVER, forwardTo: undefined,
  };
  same(pick(await client.getSubscription(path, 's'), Object.keys(subscription)), subscription, 'subscription');
});

test('change of a topic', async (t) => {
  const client = t.administration(), path = await t.topic({}, { requiresDuplicateDetection: true });
  const topic = await client.getTopic(path);
  Object.assign(topic, { defaultMessageTimeToLive: 'PT1H', duplicateDetectionHistoryTimeWindow: 'PT30S' });
  await client.updateTopic(topic);
  same(pick(await client.getTopic(path), ['defaultMessageTimeToLive', 'duplicateDetectionHistoryTimeWindow', 'requiresDuplicateDetection']),
    { defaultMessageTimeToLive: 'PT1H', duplicateDetectionHistoryTimeWindow: 'PT30S', requiresDuplicateDetection: true }, 'properties');
  await rejected('ServiceError', client.updateTopic({ ...topic, requiresDuplicateDetection: false }));
});

test('change of a subscription', async (t) => {
  const client = t.administration(), path = await t.topic({ s: { requiresSession: true } });
  const subscription = await client.getSubscription(path, 's');
  const changed = { lockDuration: 'PT10S', maxDeliveryCount: 2, defaultMessageTimeToLive: 'PT1H', deadLetteringOnMessageExpiration: true };
  await client.updateSubscription({ ...subscription, ...changed });
  same(pick(await client.getSubscription(path, 's'), [...Object.keys(changed), 'requiresSession']), { ...changed, requiresSession: true },
    'properties');
  await rejected('ServiceError', client.updateSubscription({ ...subscription, requiresSession: false }));
});

test('existing and missing topics and subscriptions', async (t) => {
  const client = t.administration(), path = await t.topic({ s: {} }), missing = t.path();
  same([await client.topicExists(path), await client.topicExists(missing)], [true, false], 'existence of topics');
  same([await client.subscriptionExists(path, 's'), await client.subscriptionExists(path, 'none')], [true, false], 'existence');
  await rejected('MessageEntityAlreadyExistsError', client.createTopic(path));
  await rejected('MessageEntityAlreadyExistsError', client.createQueue(path));
  await rejected('MessageEntityAlreadyExistsError', client.createSubscription(path, 's'));
  await rejected('MessageEntityNotFoundError', client.getTopic(missing));
  await rejected('MessageEntityNotFoundError', client.deleteTopic(missing));
  await rejected('MessageEntityNotFoundError', client.createSubscription(missing, 's'));
  await rejected('MessageEntityNotFoundError', client.getSubscription(path, 'none'));
  await rejected('MessageEntityNotFoundError', client.deleteSubscription(path, 'none'));
  await rejected('MessageEntityNotFoundError', client.getSubscriptionRuntimeProperties(path, 'none'));
  await client.deleteSubscription(path, 's');
  same(await client.subscriptionExists(path, 's'), false, 'existence after the deletion');
  await client.createSubscription(path, 's');
  await client.deleteTopic(path);
  same([await client.topicExists(path), await client.subscriptionExists(path, 's')], [false, false], 'existence after the deletion');
});

test('lists of topics and subscriptions', async (t) => {
  const names = Array.from({ length: 15 }, (_, i) => `s${i}`).sort();
  const client = t.administration(), path = await t.topic(Object.fromEntries(names.map((name) => [name, {}])));
  for (const list of ['listTopics', 'listTopicsRuntimeProperties']) {
    holds((await collected(client[list]())).some((topic) => topic.name === path), `the topic is missing in ${list}`);
  }
  for (const list of ['listSubscriptions', 'listSubscriptionsRuntimeProperties']) {
    same((await collected(client[list](path))).map((s) => [s.topicName, s.subscriptionName]).sort(), names.map((s) => [path, s]), list);
  }
  const sizes = [];
  for await (const page of client.listSubscriptions(path).byPage({ maxPageSize: 6 })) sizes.push(page.length);
  same(sizes, [6, 6, 3], 'lengths of pages');
});

test('counts of a topic and a subscription', async (t) => {
  const client = t.administration(), path = await t.topic({ a: {}, b: {} });
  await t.send(path, numbered(3));
  await t.sender(path).scheduleMessages(message(), later());
  const receiver = t.closed(t.shared.createReceiver(path, 'a'));
  await receiver.deadLetterMessage(await one(receiver));
  const counts = (got) => [got.activeMessageCount, got.deadLetterMessageCount, got.totalMessageCount].join();
  await eventually('the counts are right', async () =>
    counts(await client.getSubscriptionRuntimeProperties(path, 'a')) === '2,1,3'
    && counts(await client.getSubscriptionRuntimeProperties(path, 'b')) === '3,0,3');
  same(pick(await client.getTopicRuntimeProperties(path), ['subscriptionCount', 'scheduledMessageCount']),
    { subscriptionCount: 2, scheduledMessageCount: 1 }, 'counts of the topic');
});

test('the older version of the API', async (t) => {
  const made = new ServiceBusAdministrationClient(connection(t.number), { serviceVersion: '2017-04' });
  const client = CERTIFICATE ? made : plain(made), path = t.path();
  await client.createQueue(path, { maxDeliveryCount: 4 });
  same((await client.getQueue(path)).maxDeliveryCount, 4, 'count');
});
