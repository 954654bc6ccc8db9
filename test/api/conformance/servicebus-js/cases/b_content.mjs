// What a message holds comes back as it was sent.

import rhea from 'rhea';
import { annotated, group, holds, message, one, pick, rejected, same } from '../case.mjs';

const test = group('content');
const { types } = rhea;

async function returned(t, sent, options) {
  const queue = await t.queue();
  await t.send(queue, sent);
  return one(t.receiver(queue, options));
}

const BODIES = {
  text: 'Grüße, 世界 🎉\x00\x1f', 'empty text': '', number: -1.5, boolean: true, null: null, list: [1, 'a', null, []],
  object: { a: { b: [1, 2] }, 'é': '' },
};
for (const [name, body] of Object.entries(BODIES)) {
  test(`${name} in JSON`, async (t) => same((await returned(t, message(body))).body, body, 'body'));
}

test('every byte', async (t) => {
  const data = Buffer.from(Array.from({ length: 768 }, (_, i) => i & 255));
  const got = await returned(t, message(data));
  holds(data.equals(got.body), 'the body differs');
  same(got._rawAmqpMessage.bodyType, 'data', 'type of the body');
});

test('empty body', async (t) => same((await returned(t, message(Buffer.alloc(0)))).body.length, 0, 'length'));

test('bytes that are not parsed', async (t) => {
  const got = await returned(t, message({ a: 1 }), { skipParsingBodyAsJson: true });
  same(got.body.toString(), '{"a":1}', 'body');
});

const VALUES = {
  text: 'a', integer: -7, true: true, double: 1.5, list: [1, ['a']], map: { k: { x: 1 } }, null: null,
};
for (const [name, body] of Object.entries(VALUES)) {
  test(`value of type ${name}`, async (t) => {
    const got = await returned(t, annotated(body, 'value'));
    same([got._rawAmqpMessage.bodyType, got.body], ['value', body], 'body');
  });
}

test('sequences', async (t) => {
  const got = await returned(t, annotated([[1, 'a', null], [true]], 'sequence'));
  same([got._rawAmqpMessage.bodyType, got.body], ['sequence', [[1, 'a', null], [true]]], 'body');
});

test('application properties', async (t) => {
  const sent = {
    text: 'é', empty: '', true: true, false: false, null: null, zero: 0, int: 2 ** 31 - 1, negative: -(2 ** 31), long: 2 ** 40,
    double: 0.1, 'name with blanks.é': 1, time: new Date('2026-01-02T03:04:05.678Z'),
  };
  const queue = await t.queue();
  await t.send(queue, message('', { applicationProperties: sent }), message('', { applicationProperties: sent }));
  const numbers = { ...sent, time: sent.time.getTime() };
  same((await one(t.receiver(queue))).applicationProperties, numbers, 'properties');
  same((await one(t.receiver(queue, { skipConvertingDate: true }))).applicationProperties, sent, 'properties with dates');
});

// The SDK sends these types only if they are named.
const TYPED = {
  ubyte: ['wrap_ubyte', 255], byte: ['wrap_byte', -128], ushort: ['wrap_ushort', 65535], short: ['wrap_short', -32768],
  uint: ['wrap_uint', 2 ** 32 - 1], ulong: ['wrap_ulong', 2 ** 50], long: ['wrap_long', -(2 ** 50)], float: ['wrap_float', 0.5],
  symbol: ['wrap_symbol', 's'], binary: ['wrap_binary', Buffer.from([0, 255])], timestamp: ['wrap_timestamp', new Date(1767312000000)],
};

test('typed application properties', async (t) => {
  const applicationProperties = Object.fromEntries(Object.entries(TYPED).map(([name, [wrap, value]]) => [name, types[wrap](value)]));
  applicationProperties.uuid = types.wrap_uuid(Buffer.from('00112233445566778899aabbccddeeff', 'hex'));
  const got = (await returned(t, annotated(Buffer.alloc(0), 'data', { applicationProperties }), { skipConvertingDate: true })).applicationProperties;
  for (const [name, [, value]] of Object.entries(TYPED)) same(got[name], value, name);
  same(Buffer.from(got.uuid).toString('hex'), '00112233445566778899aabbccddeeff', 'uuid');
});

test('many application properties', async (t) => {
  const sent = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`name.${i} é`, 'x'.repeat(50)]));
  same((await returned(t, message('', { applicationProperties: sent }))).applicationProperties, sent, 'properties');
});

test('annotations, header and footer', async (t) => {
  const sent = {
    body: 'x', bodyType: 'data', messageAnnotations: { 'x-mine': 1, 'x-opt-partition-key': 'g' }, deliveryAnnotations: { 'x-way': 'w' },
    footer: { 'x-end': 'f' }, header: { durable: true, priority: 7, timeToLive: 600_000 },
    properties: {
      messageId: 'm', to: 'to', subject: 's', replyTo: 'r', correlationId: 'c', contentType: 'ct',
      contentEncoding: 'ce', groupId: 'g', groupSequence: 3, replyToGroupId: 'rg',
    },
  };
  const got = (await returned(t, sent))._rawAmqpMessage;
  same(pick(got.messageAnnotations, Object.keys(sent.messageAnnotations)), sent.messageAnnotations, 'annotations');
  same(got.footer, sent.footer, 'footer');
  same(pick(got.header, Object.keys(sent.header)), sent.header, 'header');
  same(pick(got.properties, Object.keys(sent.properties)), sent.properties, 'properties');
});

test('ids of every type', async (t) => {
  const queue = await t.queue({ requiresDuplicateDetection: true });
  const ids = [7, Buffer.alloc(16, 7), 'seven']; // a number, a UUID and a text
  for (const id of ids) for (let twice = 0; twice < 2; twice++) await t.send(queue, { body: '', messageId: id, correlationId: id });
  const got = await t.drain(queue, 3);
  same(got.map((m) => [m.messageId, m.correlationId]), ids.map((id) => [id, id]), 'ids');
});

test('partition key', async (t) => {
  const got = await returned(t, message('', { partitionKey: 'é/1' }));
  same([got.partitionKey, got.sessionId], ['é/1', undefined], 'partition key and session');
  const sender = t.sender(await t.queue());
  await rejected(() => sender.sendMessages(message('', { partitionKey: 'a', sessionId: 'b' })), 'cannot have different values');
});
