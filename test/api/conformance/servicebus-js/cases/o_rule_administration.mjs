import { bodies, group, message, nothing, one, pick, same, take } from '../case.mjs';
import { collected, rejected } from './j_administration.mjs';

const test = group('rule administration');

// Creates a topic with the subscription s, and returns what a case needs of them.
async function subscribed(t) {
  const topic = await t.topic({ s: {} });
  return { topic, client: t.administration(), receiver: t.closed(t.shared.createReceiver(topic, 's')) };
}

const names = async (client, topic) => (await collected(client.listRules(topic, 's'))).map((rule) => rule.name);

test('default', async (t) => {
  const { topic, client } = await subscribed(t);
  const rule = await client.getRule(topic, 's', '$Default');
  same([rule.name, rule.filter.sqlExpression], ['$Default', '1=1'], 'rule');
});

test('create, read and delete', async (t) => {
  const { topic, client } = await subscribed(t);
  const sql = { sqlExpression: 'a = @p', sqlParameters: { '@p': 'x' } }, action = { sqlExpression: 'SET b = 1' };
  const made = await client.createRule(topic, 's', 'sql', sql, action);
  for (const rule of [made, await client.getRule(topic, 's', 'sql')]) {
    same([rule.filter.sqlExpression, rule.filter.sqlParameters, rule.action.sqlExpression], ['a = @p', { '@p': 'x' }, 'SET b = 1'], 'rule');
  }
  await rejected('MessageEntityAlreadyExistsError', client.createRule(topic, 's', 'sql', { sqlExpression: '1=1' }));
  await rejected('MessageEntityNotFoundError', client.getRule(topic, 's', 'none'));
  await rejected('MessageEntityNotFoundError', client.deleteRule(topic, 's', 'none'));
  same([await client.ruleExists(topic, 's', 'sql'), await client.ruleExists(topic, 's', 'none')], [true, false], 'existence');
  await client.deleteRule(topic, 's', 'sql');
  same(await names(client, topic), ['$Default'], 'names');
});

test('correlation', async (t) => {
  const { topic, client } = await subscribed(t);
  const filter = {
    correlationId: '1', messageId: '2', to: '3', replyTo: '4', subject: '5', sessionId: '6', replyToSessionId: '7', contentType: '8',
    applicationProperties: { text: 'é', number: 5, flag: true, time: new Date('2026-01-02T03:04:05.000Z') },
  };
  await client.createRule(topic, 's', 'r', filter);
  same(pick((await client.getRule(topic, 's', 'r')).filter, Object.keys(filter)), filter, 'filter');
});

test('change', async (t) => {
  const { topic, client, receiver } = await subscribed(t);
  await client.deleteRule(topic, 's', '$Default');
  await client.createRule(topic, 's', 'r', { sqlExpression: 'n = 1' });
  await t.send(topic, message('first', { applicationProperties: { n: 1 } }));
  const rule = await client.getRule(topic, 's', 'r');
  rule.filter = { sqlExpression: 'n = @n', sqlParameters: { '@n': 2 } };
  await client.updateRule(topic, 's', rule);
  await t.send(topic, message('1', { applicationProperties: { n: 1 } }), message('2', { applicationProperties: { n: 2 } }));
  same(bodies(await take(receiver, 2)), ['first', '2'], 'bodies');
  await nothing(receiver);
});

test('action with parameters', async (t) => {
  const { topic, client, receiver } = await subscribed(t);
  await client.deleteRule(topic, 's', '$Default');
  await client.createRule(topic, 's', 'r', { sqlExpression: '1=1' }, { sqlExpression: 'SET x = @x', sqlParameters: { '@x': 'value' } });
  await t.send(topic, message('x'));
  same((await one(receiver)).applicationProperties, { x: 'value', RuleName: 'r' }, 'properties');
});

test('wrong rules', async (t) => {
  const { topic, client } = await subscribed(t);
  for (const [name, sqlExpression] of [['r', 'a ='], ['r', 'a = @missing'], ['a'.repeat(51), '1=1'], ['r', `a = '${'x'.repeat(1100)}'`]]) {
    await rejected('ServiceError', client.createRule(topic, 's', name, { sqlExpression }), 'SubCode=40000');
  }
  same(await names(client, topic), ['$Default'], 'names');
});

test('pages', async (t) => {
  const { topic, client } = await subscribed(t);
  await client.deleteRule(topic, 's', '$Default');
  const wanted = Array.from({ length: 12 }, (_, i) => `r${String(i).padStart(2, '0')}`);
  for (const name of wanted) await client.createRule(topic, 's', name, { sqlExpression: '1=1' });
  const sizes = [];
  for await (const page of client.listRules(topic, 's').byPage({ maxPageSize: 5 })) sizes.push(page.length);
  same([sizes, await names(client, topic)], [[5, 5, 2], wanted], 'pages and names');
});

test('of a new subscription', async (t) => {
  const topic = await t.topic({ s: { defaultRuleOptions: { name: 'mine', filter: { sqlExpression: 'n = 1' } } } });
  const client = t.administration();
  same(await names(client, topic), ['mine'], 'names');
  await t.send(topic, message('1', { applicationProperties: { n: 1 } }), message('2'));
  same(bodies(await take(t.closed(t.shared.createReceiver(topic, 's')))), ['1'], 'bodies');
});
