import { createHmac } from 'node:crypto';
import { AzureNamedKeyCredential, AzureSASCredential } from '@azure/core-auth';
import { ServiceBusAdministrationClient, ServiceBusClient } from '@azure/service-bus';
import {
  ENDPOINTS, KEY, SECRET, administration, browse, connection, delay, group, holds, message, one, refused, same, take,
} from '../case.mjs';

const register = group('tokens');
const test = (name, steps, options) => register(name, steps, { secure: true, ...options });

// Returns a shared access signature for an entity, or for everything.
function token(audience = '', { key = KEY, secret = SECRET, seconds = 600 } = {}) {
  const resource = encodeURIComponent(`sb://host/${audience}`), end = Math.floor(Date.now() / 1000 + seconds);
  const signature = encodeURIComponent(createHmac('sha256', secret).update(`${resource}\n${end}`).digest('base64'));
  return `SharedAccessSignature sr=${resource}&sig=${signature}&se=${end}&skn=${key}`;
}

const withToken = (text) => `Endpoint=sb://${ENDPOINTS[0]};SharedAccessSignature=${text}`;

async function exchange(client, queue) {
  await client.createSender(queue).sendMessages(message('x'));
  const receiver = client.createReceiver(queue);
  const got = await one(receiver);
  await receiver.completeMessage(got);
  same(got.body, 'x', 'body');
}

// Opens a client with a credential object, at a port other than 5671.
function withCredential(t, credential) {
  const options = { retryOptions: { maxRetries: 0 }, customEndpointAddress: `sb://${ENDPOINTS[0]}` };
  return t.closed(new ServiceBusClient(ENDPOINTS[0].split(':')[0], credential, options));
}

test('of everything', async (t) => exchange(t.client({ text: withToken(token()) }), await t.queue()));

test('of one entity', async (t) => {
  const queue = await t.queue();
  await exchange(t.client({ text: withToken(token(queue)) }), queue);
});

test('of another entity', async (t) => {
  const [queue, other] = [await t.queue(), await t.queue()];
  const client = t.client({ text: withToken(token(other)) });
  await refused('UnauthorizedAccess', client.createSender(queue).sendMessages(message()));
  await refused('UnauthorizedAccess', client.createReceiver(queue).receiveMessages(1));
  await refused('UnauthorizedAccess', client.createReceiver(queue).peekMessages(1));
}, { warns: true });

test('named key', async (t) => exchange(withCredential(t, new AzureNamedKeyCredential(KEY, SECRET)), await t.queue()));

test('signature', async (t) => exchange(withCredential(t, new AzureSASCredential(token())), await t.queue()));

test('expired', async (t) => {
  const client = t.client({ text: withToken(token('', { seconds: -10 })) });
  await refused('UnauthorizedAccess', client.createSender(await t.queue()).sendMessages(message()));
}, { warns: true });

test('wrong keys', async (t) => {
  const queue = await t.queue();
  for (const keys of [{ secret: 'another' }, { key: 'AKIAUNKNOWN000000000' }]) {
    const client = t.client({ text: connection(0, keys) });
    await refused('UnauthorizedAccess', client.createSender(queue).sendMessages(message()));
    await refused('UnauthorizedAccess', client.createReceiver(queue).receiveMessages(1));
  }
}, { warns: true });

test('malformed', async (t) => {
  const client = t.client({ text: withToken('SharedAccessSignature sr=x&sig=y&se=z&skn=k') });
  await refused('UnauthorizedAccess', client.createSender(await t.queue()).sendMessages(message()));
}, { warns: true });

test('that ends while it is used', async (t) => {
  const queue = await t.queue();
  const sender = t.client({ text: withToken(token('', { seconds: 5 })) }).createSender(queue);
  const end = Date.now() + 60_000;
  let sent = 0, failed;
  while (!failed && Date.now() < end) {
    try {
      await sender.sendMessages(message('x'));
      sent++;
      await delay(20);
    } catch (error) {
      failed = error;
    }
  }
  holds(failed, 'a sender works without a token');
  const receiver = t.receiver(queue, { receiveMode: 'receiveAndDelete' });
  await take(receiver, sent);
  holds((await browse(receiver)).length <= 1, 'more are stored than the last, whose outcome is unknown');
}, { warns: true });

test('administration with a named key', async (t) => {
  const client = new ServiceBusAdministrationClient(ENDPOINTS[0], new AzureNamedKeyCredential(KEY, SECRET));
  const path = t.path();
  await client.createQueue(path);
  same((await client.getQueue(path)).name, path, 'name');
});

test('administration without a key', async (t) => {
  const client = administration(0, { secret: 'another' });
  const error = await client.createQueue(t.path()).then(() => undefined, (failed) => failed);
  same([error?.code, error?.statusCode], ['UnauthorizedRequestError', 401], 'error');
});
