// Sends, receives, publishes, schedules, and works in a session with types that were generated from the published proto
// files, which are in the folder of the first argument, against the node at the address in
// the second one.
import assert from 'node:assert/strict';
import * as grpc from '@grpc/grpc-js';
import * as loader from '@grpc/proto-loader';
import type { ProtoGrpcType } from './generated/topics';
import type { ProtoGrpcType as InspectionGrpcType } from './generated/inspection';
import type { ProtoGrpcType as MessagesGrpcType } from './generated/messages';
import type { ProtoGrpcType as QueuesGrpcType } from './generated/queues';
import type { ProtoGrpcType as SessionsGrpcType } from './generated/sessions';

const [root, address] = process.argv.slice(2);
const options = { longs: String, enums: String, defaults: true, oneofs: true, includeDirs: [root] };
const load = (file: string) => grpc.loadPackageDefinition(loader.loadSync(`transport/grpc/${file}`, options));
const { seriatim: { v1: { Queues } } } = load('queues.proto') as unknown as QueuesGrpcType;
const { seriatim: { v1: { Topics } } } = load('topics.proto') as unknown as ProtoGrpcType;
const { seriatim: { v1: { Messages } } } = load('messages.proto') as unknown as MessagesGrpcType;
const { seriatim: { v1: { Sessions } } } = load('sessions.proto') as unknown as SessionsGrpcType;
const { seriatim: { v1: { Inspection } } } = load('inspection.proto') as unknown as InspectionGrpcType;
const queues = new Queues(address, grpc.credentials.createInsecure());
const topics = new Topics(address, grpc.credentials.createInsecure());
const messages = new Messages(address, grpc.credentials.createInsecure());
const sessions = new Sessions(address, grpc.credentials.createInsecure());
const inspection = new Inspection(address, grpc.credentials.createInsecure());

// unary returns a promise of a call.
function unary<In, Out>(
  client: grpc.Client,
  method: (input: In, done: (err: grpc.ServiceError | null, out?: Out) => void) => unknown,
  input: In,
): Promise<Out> {
  return new Promise((resolve, reject) => {
    method.call(client, input, (err, out) => (err || !out ? reject(err) : resolve(out)));
  });
}

async function receive(queue: string): Promise<string[]> {
  const got = await unary(queues, queues.Receive, { queue, maxMessages: 10, waitSeconds: 5 });
  await unary(queues, queues.Delete, { queue, receiptHandles: got.messages.map((m) => m.receiptHandle) });
  return got.messages.map((m) => m.body);
}

// scheduled schedules a message for tomorrow, peeks at it and cancels it.
async function scheduled(queue: string): Promise<void> {
  const { results: [result] } = await unary(messages, messages.ScheduleMessages, {
    queue,
    messages: [{ body: 'tomorrow', groupId: 's', deduplicationId: 's1', enqueueAtMs: String(Date.now() + 86_400_000) }],
  });
  const peeked = await unary(messages, messages.Peek, { queue });
  assert.deepEqual(
    peeked.messages.map((m) => [m.message?.body, m.state, m.message?.sequenceNumber]),
    [['tomorrow', 'MESSAGE_STATE_SCHEDULED', result.sequenceNumber]],
  );
  const known = await unary(inspection, inspection.LookUpDeduplication, { queue, deduplicationId: 's1' });
  assert.deepEqual([known.known, known.messageId], [true, result.messageId]);
  const cancel = { queue, sequenceNumbers: [result.sequenceNumber], forgetDeduplicationId: true };
  const cancelled = await unary(messages, messages.CancelScheduled, cancel);
  assert.deepEqual(cancelled.outcomes.map((o) => o.failure), [null]);
  const again = await unary(messages, messages.CancelScheduled, cancel);
  assert.deepEqual(again.outcomes.map((o) => o.failure?.reason), ['MessageNotFound']);
}

// inSession accepts a session, sets its state, settles its message, and loses the lock to a release.
async function inSession(queue: string): Promise<void> {
  await unary(queues, queues.Send, { queue, messages: [{ body: 'visit', groupId: 'patient', deduplicationId: 'v1' }] });
  const { session } = await unary(sessions, sessions.AcceptSession, { queue, sessionId: 'patient', lockSeconds: 60 });
  await assert.rejects(unary(sessions, sessions.AcceptSession, { queue, sessionId: 'patient' }), {
    code: grpc.status.FAILED_PRECONDITION,
  });
  await unary(sessions, sessions.SetSessionState, { queue, session, state: Buffer.from('waits') });
  const { state } = await unary(sessions, sessions.GetSessionState, { queue, session });
  assert.equal(state?.toString(), 'waits');
  const got = await unary(queues, queues.Receive, { queue, maxMessages: 1, session });
  assert.deepEqual(got.messages.map((m) => m.body), ['visit']);
  const held = await unary(inspection, inspection.GetGroup, { queue, groupId: 'patient' });
  assert.deepEqual([held.state, held.messages], ['GROUP_STATE_SESSION', '1']);
  const settled = await unary(messages, messages.Complete, { queue, session, receiptHandles: got.messages.map((m) => m.receiptHandle) });
  assert.deepEqual(settled.outcomes.map((o) => o.failure), [null]);
  const released = await unary(inspection, inspection.ReleaseGroup, { queue, groupId: 'patient' });
  assert.equal(released.session, true);
  await assert.rejects(unary(sessions, sessions.RenewSession, { queue, session }), { code: grpc.status.ABORTED });
}

async function main(): Promise<void> {
  const queue = 'stubs-typescript.fifo';
  const topic = 'stubs-typescript.fifo';
  await unary(queues, queues.CreateQueue, { queue, attributes: { FifoQueue: 'true' } });
  const sent = await unary(queues, queues.Send, {
    queue,
    messages: [
      { body: 'first', groupId: 'g', deduplicationId: '1' },
      { body: 'again', groupId: 'g', deduplicationId: '1' },
    ],
  });
  assert.deepEqual(sent.results.map((r) => r.duplicate), [false, true]);
  assert.deepEqual(await receive(queue), ['first']);

  await unary(topics, topics.CreateTopic, { topic, attributes: { FifoTopic: 'true' } });
  await unary(topics, topics.Subscribe, { topic, queue, attributes: { RawMessageDelivery: 'true' } });
  const published = [0, 1, 2].map((i) => ({ message: `m${i}`, groupId: 'g', deduplicationId: `p${i}` }));
  const stream = topics.PublishStream();
  stream.write({ topic });
  stream.write({ firstNumber: 1, messages: published });
  stream.end();
  const results: (boolean | undefined)[] = [];
  for await (const answer of stream) {
    for (const r of answer.results) {
      assert.equal(r.failure, null);
      results.push(r.duplicate);
    }
  }
  assert.deepEqual(results, [false, false, false]);
  assert.deepEqual(await receive(queue), ['m0', 'm1', 'm2']);
  await assert.rejects(unary(topics, topics.Publish, { topic: 'none.fifo', messages: published.slice(0, 1) }), {
    code: grpc.status.NOT_FOUND,
  });
  await scheduled(queue);
  await inSession(queue);
  for (const client of [queues, topics, messages, sessions, inspection]) {
    client.close();
  }
  console.log('typescript stubs: sent, received, published over a stream, scheduled, worked in a session');
}

void main();
