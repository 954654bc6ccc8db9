import { bodies, browse, group, message, nothing, one, refused, same, take } from '../case.mjs';

const test = group('rules');

// Creates a topic with a subscription, and returns what a case needs of them.
async function filtered(t) {
  const topic = await t.topic({ s: {} });
  return { topic, rules: t.shared.createRuleManager(topic, 's'), receiver: t.closed(t.shared.createReceiver(topic, 's')) };
}

async function listed(rules) {
  const all = {};
  for await (const rule of rules.listRules()) {
    if (rule) all[rule.name] = [rule.filter, rule.action]; // the SDK lists undefined if there is none
  }
  return all;
}

test('default', async (t) => {
  const { topic, rules, receiver } = await filtered(t);
  same(Object.keys(await listed(rules)), ['$Default'], 'rules');
  await rules.deleteRule('$Default');
  same(await listed(rules), {}, 'rules');
  await t.send(topic, message('x'));
  await nothing(receiver);
});

test('create, list and delete', async (t) => {
  const { rules } = await filtered(t);
  await rules.createRule('sql', { sqlExpression: "color = 'red' AND size > 5" }, { sqlExpression: "SET chosen = 'yes'" });
  await rules.createRule('correlation', { subject: 'x', applicationProperties: { n: 1, flag: true, text: 'é' } });
  const all = await listed(rules);
  same(Object.keys(all).sort(), ['$Default', 'correlation', 'sql'], 'names');
  same([all.sql[0].sqlExpression, all.sql[1].sqlExpression], ["color = 'red' AND size > 5", "SET chosen = 'yes'"], 'SQL rule');
  same([all.correlation[0].subject, all.correlation[0].applicationProperties], ['x', { n: 1, flag: true, text: 'é' }], 'correlation rule');
  await refused('MessagingEntityAlreadyExists', rules.createRule('sql', { sqlExpression: '1=1' }));
  await rules.deleteRule('sql');
  await refused('MessagingEntityNotFound', rules.deleteRule('sql'));
  same(Object.keys(await listed(rules)).sort(), ['$Default', 'correlation'], 'names after the deletion');
}, { warns: true });

test('wrong expressions', async (t) => {
  const { rules } = await filtered(t);
  await refused('GeneralError', rules.createRule('wrong', { sqlExpression: 'size >' }));
  await refused('GeneralError', rules.createRule('wrong', { sqlExpression: '1=1' }, { sqlExpression: 'SET' }));
  same(Object.keys(await listed(rules)), ['$Default'], 'rules');
}, { warns: true });

test('SQL filter', async (t) => {
  const { topic, rules, receiver } = await filtered(t);
  await rules.deleteRule('$Default');
  await rules.createRule('r', { sqlExpression: "color IN ('red', 'blue') AND size >= 2 AND size <= 5 AND sys.Label LIKE 'a%'" });
  const of = (body, color, size, subject) => message(body, { subject, applicationProperties: { color, size } });
  await t.send(topic, of('1', 'red', 2, 'abc'), of('2', 'green', 2, 'abc'), of('3', 'blue', 5.0, 'a'), of('4', 'red', 6, 'a'),
    of('5', 'red', 3, 'ba'), message('6'));
  same(bodies(await take(receiver, 2)), ['1', '3'], 'bodies');
  await nothing(receiver);
});

test('correlation filter', async (t) => {
  const { topic, rules, receiver } = await filtered(t);
  await rules.deleteRule('$Default');
  await rules.createRule('r', { correlationId: 'c', subject: 's', applicationProperties: { n: 1 } });
  await t.send(topic, message('1', { correlationId: 'c', subject: 's', applicationProperties: { n: 1, more: 2 } }),
    message('2', { correlationId: 'c', subject: 's', applicationProperties: { n: 2 } }), message('3', { correlationId: 'c', subject: 's' }));
  same(bodies(await take(receiver)), ['1'], 'bodies');
  await nothing(receiver);
});

test('action', async (t) => {
  const { topic, rules, receiver } = await filtered(t);
  await rules.deleteRule('$Default');
  await rules.createRule('r', { sqlExpression: 'size > 1' }, { sqlExpression: "SET double = size * 2; SET sys.Label = 'big'; REMOVE gone" });
  await t.send(topic, message('x', { subject: 'x', applicationProperties: { size: 3, gone: 1 } }));
  const got = await one(receiver);
  same([got.subject, got.applicationProperties], ['big', { size: 3, double: 6, RuleName: 'r' }], 'message');
});

test('several rules', async (t) => {
  const { topic, rules, receiver } = await filtered(t);
  await rules.deleteRule('$Default');
  await rules.createRule('a', { sqlExpression: 'n > 0' }, { sqlExpression: "SET by = 'a'" });
  await rules.createRule('b', { sqlExpression: 'n > 1' }, { sqlExpression: "SET by = 'b'" });
  await rules.createRule('c', { sqlExpression: 'n > 1' });
  await rules.createRule('d', { sqlExpression: 'n > 1' });
  await t.send(topic, message('x', { applicationProperties: { n: 2 } }));
  // A copy for each rule with an action, and one for all others.
  const got = await take(receiver, 3);
  same(got.map((m) => m.applicationProperties.by ?? '').sort(), ['', 'a', 'b'], 'copies');
  await nothing(receiver);
  same((await browse(receiver)).length, 3, 'peeked');
});

test('each subscription has a filter', async (t) => {
  const topic = await t.topic({ all: {}, sql: {}, action: {}, correlation: {} });
  const rules = {
    sql: [{ sqlExpression: "color = 'red'" }],
    action: [{ sqlExpression: "color = 'blue'" }, { sqlExpression: "SET color = 'done'" }],
    correlation: [{ correlationId: 'high', subject: 'red' }],
  };
  for (const [name, rule] of Object.entries(rules)) {
    const manager = t.shared.createRuleManager(topic, name);
    await manager.deleteRule('$Default');
    await manager.createRule('r', ...rule);
  }
  const sent = ['red', 'blue', 'green'].flatMap((color) => ['high', 'low'].map((priority) => message(`${color} ${priority}`,
    { subject: color, correlationId: priority, applicationProperties: { color } })));
  await t.send(topic, sent);
  const want = {
    all: bodies(sent), sql: ['red high', 'red low'], action: ['blue high', 'blue low'], correlation: ['red high'],
  };
  for (const [name, texts] of Object.entries(want)) {
    const receiver = t.closed(t.shared.createReceiver(topic, name));
    const got = await take(receiver, texts.length);
    same(bodies(got), texts, name);
    if (name === 'action') same(got.map((m) => m.applicationProperties.color), ['done', 'done'], 'colors');
    for (const m of got) await receiver.completeMessage(m);
    await nothing(receiver);
  }
});
