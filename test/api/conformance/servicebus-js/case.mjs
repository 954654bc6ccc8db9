// Cases and what they use: queues of their own, clients, and comparisons.

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceBusAdministrationClient, ServiceBusClient, isServiceBusError } from '@azure/service-bus';
import Long from 'long';

export { delay };
export const ENDPOINTS = process.env.SERIATIM_ENDPOINTS.split(' ').map((endpoint) => new URL(endpoint).host);
export const KEY = process.env.AWS_ACCESS_KEY_ID, SECRET = process.env.AWS_SECRET_ACCESS_KEY;
// The certificate of the nodes. With it, clients use TLS, and the nodes demand tokens.
export const CERTIFICATE = process.env.CONFORMANCE_TLS;
// The longest wait for an event that must come, in milliseconds.
const PATIENCE = 60_000;
const RUN = randomUUID().slice(0, 8);

export const CASES = [];
export const current = new AsyncLocalStorage();

// group returns a function that registers cases. Without warns, a warning of the SDK fails a case. A secure
// case needs tokens.
export function group(prefix) {
  return (name, steps, { warns = false, secure = false } = {}) => CASES.push({ name: `${prefix}.${name}`, steps, warns, secure });
}

export const same = (got, want, what) => assert.deepStrictEqual(got, want, `${what}: got ${show(got)}, want ${show(want)}`);
const show = (value) => JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v));

export const holds = (condition, what) => assert.ok(condition, what);

// Checks that a call fails with a code of the SDK, and returns the error.
export async function refused(code, call, text = '') {
  let result;
  try {
    result = await call;
  } catch (error) {
    if (!isServiceBusError(error) || error.code !== code || !error.message.includes(text)) {
      throw new Error(`got ${error.code}: ${error.message}, want ${code} with '${text}'`, { cause: error });
    }
    return error;
  }
  throw new Error(`returned ${show(result)}, want ${code}`);
}

// Checks that the SDK itself rejects a call.
export async function rejected(call, text) {
  await assert.rejects(async () => call(), (error) => {
    holds(error.message.includes(text), `got ${error}, want '${text}'`);
    return true;
  });
}

// Waits until check returns something true, and returns it.
export async function eventually(what, check) {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    const result = await check();
    if (result) return result;
    await delay(100);
  }
  throw new Error(`never: ${what}`);
}

// Returns a promise that other steps fulfil.
export function event(what) {
  let fire;
  const fired = new Promise((resolve) => { fire = resolve; });
  const late = async () => {
    const end = delay(PATIENCE, undefined, { ref: false }).then(() => { throw new Error(`never: ${what}`); });
    return Promise.race([fired, end]);
  };
  return { fire, wait: late };
}

export function connection(node = 0, { key = KEY, secret = SECRET, endpoint = ENDPOINTS[node % ENDPOINTS.length] } = {}) {
  const text = `Endpoint=sb://${endpoint};SharedAccessKeyName=${key};SharedAccessKey=${secret}`;
  return CERTIFICATE ? text : `${text};UseDevelopmentEmulator=true`;
}

// Returns an administration client, which sends requests without TLS if the nodes have none.
export function administration(node = 0, options = {}) {
  const client = new ServiceBusAdministrationClient(connection(node, options), { retryOptions: { maxRetries: 0 } });
  return CERTIFICATE ? client : plain(client);
}

export function plain(client) {
  client.pipeline.addPolicy({
    name: 'plain',
    sendRequest(request, next) {
      request.url = request.url.replace('https://', 'http://');
      request.allowInsecureConnection = true;
      return next(request);
    },
  });
  return client;
}

let ids = 0;
export const message = (body = '', properties = {}) => ({ messageId: `id-${ids++}`, body, ...properties });
export const annotated = (body, bodyType, more) => ({ body, bodyType, properties: { messageId: `id-${ids++}` }, ...more });
export const numbered = (count, properties) => Array.from({ length: count }, (_, i) => message(`${i}`, properties));
export const names = (from, to) => Array.from({ length: to - from }, (_, i) => `${from + i}`);
export const bodies = (messages) => messages.map((m) => m.body);
export const later = (seconds = 3600) => new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000);

// The surroundings of one case. All that it opens is closed at the end.
export class Case {
  constructor(number, name) {
    this.name = name;
    this.number = number;
    this.warnings = [];
    this.closing = [];
  }

  async run(steps) {
    try {
      await steps(this);
    } finally {
      for (const close of this.closing.reverse()) await close();
    }
  }

  path() {
    return `js/${this.name.replaceAll(/[^a-z.]/g, '-')}.${RUN}.${ids++}`;
  }

  administration() {
    return administration(this.number);
  }

  // Creates a queue.
  async queue(properties) {
    const path = this.path();
    await this.administration().createQueue(path, properties);
    return path;
  }

  // Creates a topic with subscriptions.
  async topic(subscriptions, properties) {
    const path = this.path();
    await this.administration().createTopic(path, properties);
    for (const [name, options] of Object.entries(subscriptions)) {
      await this.administration().createSubscription(path, name, options);
    }
    return path;
  }

  // Opens a client of the next node. It does not repeat calls, so that no failure is hidden.
  client({ text, endpoint, ...options } = {}) {
    const chosen = endpoint ?? ENDPOINTS[this.number % ENDPOINTS.length];
    const made = new ServiceBusClient(text ?? connection(0, { endpoint: chosen }), { retryOptions: { maxRetries: 0 }, ...options });
    return this.closed(made);
  }

  closed(opened) {
    this.closing.push(() => opened.close());
    return opened;
  }

  get shared() {
    return (this.opened ??= this.client());
  }

  sender(queue) {
    return this.closed(this.shared.createSender(queue));
  }

  // The SDK changes options, so it has a copy.
  receiver(queue, options) {
    return this.closed(this.shared.createReceiver(queue, { ...options }));
  }

  deadLetters(queue, options) {
    return this.receiver(queue, { subQueueType: 'deadLetter', ...options });
  }

  // Sends messages one by one.
  async send(queue, ...messages) {
    const sender = this.shared.createSender(queue);
    for (const one of messages) await sender.sendMessages(one);
    await sender.close();
  }

  // Receives and completes messages, checks that no other comes, and returns them.
  async drain(queue, count, options) {
    const receiver = this.shared.createReceiver(queue, options);
    const got = await take(receiver, count);
    for (const one of got) await receiver.completeMessage(one);
    await nothing(receiver);
    await receiver.close();
    return got;
  }

  // Accepts a session, which may be held for a moment by a receiver that was closed.
  async session(queue, id, options) {
    return this.closed(await eventually(`session ${id} is free`, async () => {
      try {
        return await this.shared.acceptSession(queue, id, options);
      } catch (error) {
        if (error.code !== 'SessionCannotBeLocked') throw error;
      }
    }));
  }
}

// Receives a number of messages.
export async function take(receiver, count = 1) {
  const got = [], end = Date.now() + PATIENCE;
  while (got.length < count && Date.now() < end) {
    got.push(...await receiver.receiveMessages(count - got.length, { maxWaitTimeInMs: 5000 }));
  }
  same(got.length, count, 'messages received');
  return got;
}

export const one = async (receiver) => (await take(receiver))[0];

export async function nothing(receiver, wait = 1000) {
  same(bodies(await receiver.receiveMessages(10, { maxWaitTimeInMs: wait })), [], 'messages received');
}

// Peeks from the first message on.
export const browse = (receiver, count = 10) => receiver.peekMessages(count, { fromSequenceNumber: Long.ONE });

// Returns chosen properties of an object.
export const pick = (object, properties) => Object.fromEntries(properties.map((name) => [name, object[name]]));
