// Calls the SQS API with the JavaScript SDK v3, which checks digests of bodies itself. Any
// warning is an error.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import * as sqs from '@aws-sdk/client-sqs';

const run = randomUUID().slice(0, 8);
const complaints = [];
process.on('warning', (warning) => complaints.push(String(warning)));
for (const level of ['warn', 'error']) console[level] = (...words) => complaints.push(words.join(' '));

const logger = {
  trace() {}, debug() {}, info() {},
  warn: (...words) => complaints.push(words.join(' ')),
  error: () => {}, // refusals that are expected
};
const endpoints = (process.env.SERIATIM_ENDPOINTS ?? process.env.AWS_ENDPOINT_URL).split(' ');
const clients = endpoints.map((endpoint) => new sqs.SQSClient({ endpoint, region: 'us-east-1', logger }));
let turn = 0;

// Each call goes to the next node.
const call = (name, input) => clients[turn++ % clients.length].send(new sqs[`${name}Command`](input));
const md5 = (text) => createHash('md5').update(text).digest('hex');
const nameOf = (url) => url.slice(url.lastIndexOf('/') + 1);
const arn = (url) => `arn:aws:sqs:us-east-1:000000000000:${nameOf(url)}`;

async function create(name, attributes = {}) {
  const input = { QueueName: `${name}-${run}.fifo`, Attributes: { FifoQueue: 'true', ...attributes } };
  return (await call('CreateQueue', input)).QueueUrl;
}

async function counts(url) {
  const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'];
  const { Attributes } = await call('GetQueueAttributes', { QueueUrl: url, AttributeNames: names });
  return names.map((name) => Number(Attributes[name]));
}

async function refused(type, name, input) {
  await assert.rejects(call(name, input), (error) => {
    assert.equal(error.name, type);
    assert.ok(error instanceof sqs.SQSServiceException);
    return true;
  });
}

async function messages() {
  const url = await create('js');
  assert.equal(nameOf((await call('GetQueueUrl', { QueueName: nameOf(url) })).QueueUrl), nameOf(url));
  const attributes = {
    text: { DataType: 'String', StringValue: 'é <&>' },
    number: { DataType: 'Number', StringValue: '42' },
    bytes: { DataType: 'Binary', BinaryValue: Uint8Array.from({ length: 256 }, (_, i) => i) },
  };
  const body = 'first "body" é \r\n\t \u{1F600}';
  const send = { QueueUrl: url, MessageBody: body, MessageGroupId: 'g', MessageDeduplicationId: '1', MessageAttributes: attributes };
  const sent = await call('SendMessage', send);
  assert.equal(sent.MD5OfMessageBody, md5(body));
  const again = await call('SendMessage', send);
  assert.deepEqual([again.MessageId, again.SequenceNumber], [sent.MessageId, sent.SequenceNumber]);

  const receive = {
    QueueUrl: url, MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'], WaitTimeSeconds: 10, ReceiveRequestAttemptId: 'A',
  };
  const first = (await call('ReceiveMessage', receive)).Messages;
  assert.deepEqual((await call('ReceiveMessage', receive)).Messages, first);
  const [message] = first;
  assert.equal(message.Body, body);
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.equal(message.Attributes.SequenceNumber, sent.SequenceNumber);
  assert.equal(message.MessageAttributes.text.StringValue, attributes.text.StringValue);
  assert.deepEqual(Uint8Array.from(message.MessageAttributes.bytes.BinaryValue), attributes.bytes.BinaryValue);
  assert.equal((await call('ReceiveMessage', { QueueUrl: url })).Messages, undefined);

  await call('ChangeMessageVisibility', { QueueUrl: url, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: 0 });
  const [second] = (await call('ReceiveMessage', { QueueUrl: url, WaitTimeSeconds: 10 })).Messages;
  await call('DeleteMessage', { QueueUrl: url, ReceiptHandle: second.ReceiptHandle });
  assert.deepEqual(await counts(url), [0, 0]);
  assert.equal((await call('SendMessage', send)).MessageId, sent.MessageId);
  return url;
}

async function batches(url) {
  const Entries = Array.from({ length: 10 }, (_, i) => (
    { Id: `e${i}`, MessageBody: `m${i}`, MessageGroupId: `g${i % 2}`, MessageDeduplicationId: `b${i}` }));
  const sent = await call('SendMessageBatch', { QueueUrl: url, Entries });
  assert.equal(sent.Successful.length, 10);
  assert.equal((sent.Failed ?? []).length, 0);
  const got = (await call('ReceiveMessage', { QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 10 })).Messages;
  assert.deepEqual(got.map((m) => m.Body), [0, 2, 4, 6, 8, 1, 3, 5, 7, 9].map((i) => `m${i}`));
  const handles = got.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle }));
  const hidden = await call('ChangeMessageVisibilityBatch', { QueueUrl: url, Entries: handles.map((h) => ({ ...h, VisibilityTimeout: 60 })) });
  assert.equal(hidden.Successful.length, 10);
  handles[9].ReceiptHandle = 'garbage';
  const removed = await call('DeleteMessageBatch', { QueueUrl: url, Entries: handles });
  assert.deepEqual([removed.Successful.length, removed.Failed.map((f) => f.Code)], [9, ['ReceiptHandleIsInvalid']]);
  await call('PurgeQueue', { QueueUrl: url });
  assert.deepEqual(await counts(url), [0, 0]);
}

async function settings(url) {
  await call('TagQueue', { QueueUrl: url, Tags: { team: 'payments', stage: 'test' } });
  await call('UntagQueue', { QueueUrl: url, TagKeys: ['stage'] });
  assert.deepEqual((await call('ListQueueTags', { QueueUrl: url })).Tags, { team: 'payments' });
  await call('SetQueueAttributes', { QueueUrl: url, Attributes: { VisibilityTimeout: '41' } });
  const { Attributes } = await call('GetQueueAttributes', { QueueUrl: url, AttributeNames: ['All'] });
  assert.deepEqual([Attributes.VisibilityTimeout, Attributes.QueueArn], ['41', arn(url)]);
  await call('AddPermission', { QueueUrl: url, Label: 'L', AWSAccountIds: ['111122223333'], Actions: ['SendMessage'] });
  await call('RemovePermission', { QueueUrl: url, Label: 'L' });
  assert.deepEqual((await call('ListQueues', { QueueNamePrefix: `js-${run}` })).QueueUrls.map(nameOf), [nameOf(url)]);
}

async function redrive() {
  const dead = await create('js-dead');
  const policy = JSON.stringify({ deadLetterTargetArn: arn(dead), maxReceiveCount: 1 });
  const source = await create('js-source', { RedrivePolicy: policy, VisibilityTimeout: '0', ContentBasedDeduplication: 'true' });
  assert.deepEqual((await call('ListDeadLetterSourceQueues', { QueueUrl: dead })).queueUrls.map(nameOf), [nameOf(source)]);
  const sent = await call('SendMessage', { QueueUrl: source, MessageBody: 'poison', MessageGroupId: 'g' });
  await call('ReceiveMessage', { QueueUrl: source, WaitTimeSeconds: 10 });
  assert.equal((await call('ReceiveMessage', { QueueUrl: source })).Messages, undefined);
  const [moved] = (await call('ReceiveMessage', { QueueUrl: dead, VisibilityTimeout: 0, WaitTimeSeconds: 10 })).Messages;
  assert.deepEqual([moved.Body, moved.MessageId], ['poison', sent.MessageId]);
  assert.ok((await call('StartMessageMoveTask', { SourceArn: arn(dead) })).TaskHandle);
  let task;
  for (let i = 0; i < 300 && task?.Status !== 'COMPLETED'; i++) {
    [task] = (await call('ListMessageMoveTasks', { SourceArn: arn(dead) })).Results;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  assert.deepEqual([task.Status, Number(task.ApproximateNumberOfMessagesMoved)], ['COMPLETED', 1]);
  assert.deepEqual(await counts(source), [1, 0]);
  const handle = Buffer.from(JSON.stringify({ taskId: randomUUID(), sourceArn: arn(dead) })).toString('base64');
  await refused('ResourceNotFoundException', 'CancelMessageMoveTask', { TaskHandle: handle });
  return [dead, source];
}

async function refusals(url) {
  const gone = await create('js-gone');
  await call('DeleteQueue', { QueueUrl: gone });
  await refused('QueueDoesNotExist', 'SendMessage', { QueueUrl: gone, MessageBody: 'm', MessageGroupId: 'g' });
  await assert.rejects(call('SendMessage', { QueueUrl: url, MessageBody: 'm', MessageGroupId: 'g' }),
    (error) => error.$metadata.httpStatusCode === 400 && /ContentBasedDeduplication/.test(error.message));
  await refused('EmptyBatchRequest', 'SendMessageBatch', { QueueUrl: url, Entries: [] });
  await refused('ReceiptHandleIsInvalid', 'DeleteMessage', { QueueUrl: url, ReceiptHandle: 'garbage' });
}

const url = await messages();
await batches(url);
await settings(url);
const others = await redrive();
await refusals(url);
for (const queue of [url, ...others]) await call('DeleteQueue', { QueueUrl: queue });
for (const client of clients) client.destroy();
// Ignore the warning of the SDK that it will stop supporting an old Node.js.
assert.deepEqual(complaints.filter((line) => !/NodeVersionSupportWarning|upgrade to node/.test(line)), [], 'warnings of the client');
const { version } = createRequire(import.meta.url)('@aws-sdk/client-sqs/package.json');
console.log(`@aws-sdk/client-sqs ${version}, node ${process.version}: all steps passed`);
