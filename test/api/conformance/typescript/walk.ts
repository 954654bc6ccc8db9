// Sends, receives and publishes with types that were generated from the published proto
// files, which are in the folder of the first argument, against the node at the address in
// the second one.
import assert from 'node:assert/strict';
import * as grpc from '@grpc/grpc-js';
import * as loader from '@grpc/proto-loader';
import type { ProtoGrpcType } from './generated/topics';
import type { ProtoGrpcType as QueuesGrpcType } from './generated/queues';

const [root, address] = process.argv.slice(2);
const options = { longs: String, defaults: true, oneofs: true, includeDirs: [root] };
const load = (file: string) => grpc.loadPackageDefinition(loader.loadSync(`transport/grpc/${file}`, options));
const { seriatim: { v1: { Queues } } } = load('queues.proto') as unknown as QueuesGrpcType;
const { seriatim: { v1: { Topics } } } = load('topics.proto') as unknown as ProtoGrpcType;
const queues = new Queues(address, grpc.credentials.createInsecure());
const topics = new Topics(address, grpc.credentials.createInsecure());

// unary makes a promise of a call.
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
  const messages = [0, 1, 2].map((i) => ({ message: `m${i}`, groupId: 'g', deduplicationId: `p${i}` }));
  const stream = topics.PublishStream();
  stream.write({ topic });
  stream.write({ firstNumber: 1, messages });
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
  await assert.rejects(unary(topics, topics.Publish, { topic: 'none.fifo', messages: messages.slice(0, 1) }), {
    code: grpc.status.NOT_FOUND,
  });
  queues.close();
  topics.close();
  console.log('typescript stubs: sent, received, published over a stream');
}

void main();
