// Runs the cases with the Azure Service Bus SDK for JavaScript against a running cluster:
//
//     SERIATIM_ENDPOINTS="http://127.0.0.1:9324" node suite.mjs [BEGINNING_OF_A_NAME...]

import { readdirSync } from 'node:fs';
import { AzureLogger, setLogLevel } from '@azure/logger';
import { CASES, CERTIFICATE, Case, current } from './case.mjs';

// Cases mostly wait. Each has queues of its own.
const AT_ONCE = 8;
// The time for one case, in milliseconds.
const TIMEOUT = 180_000;

const strays = [];
// The SDK gives the address of the node as a name for TLS, about which Node warns.
process.on('warning', (warning) => { if (warning.code !== 'DEP0123') strays.push(String(warning)); });
for (const event of ['unhandledRejection', 'uncaughtException']) {
  process.on(event, (error) => (current.getStore()?.warnings ?? strays).push(`${event}: ${error?.stack ?? error}`));
}
setLogLevel('warning');
AzureLogger.log = (...words) => (current.getStore()?.warnings ?? strays).push(words.join(' '));

// Runs a case, and returns a description of its failure.
async function run(number, definition) {
  const running = new Case(number, definition.name);
  const started = Date.now();
  let failure = '', timer;
  await current.run(running, async () => {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('the case takes too long')), TIMEOUT);
    });
    try {
      await Promise.race([late, running.run(definition.steps)]);
      if (running.warnings.length > 0 && !definition.warns) failure = 'warnings of the SDK';
    } catch (error) {
      failure = error?.stack ?? String(error);
    }
    clearTimeout(timer);
  });
  if (failure) failure = [definition.name, failure, ...running.warnings].join('\n');
  const seconds = ((Date.now() - started) / 1000).toFixed(1).padStart(5);
  console.log(`${failure ? 'FAILED' : 'ok    '} ${seconds}s ${definition.name}`);
  return failure;
}

const parts = process.argv.slice(2);
const files = readdirSync(new URL('cases', import.meta.url)).filter((name) => name.endsWith('.mjs')).sort();
for (const file of files) await import(`./cases/${file}`);
const chosen = CASES.filter(({ name, secure }) =>
  (CERTIFICATE || !secure) && (parts.length === 0 || parts.some((part) => name.startsWith(part))));

const failures = [];
let next = 0;
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  while (next < chosen.length) {
    const number = next++;
    const failure = await run(number, chosen[number]);
    if (failure) failures.push(failure);
  }
}));
if (strays.length > 0) failures.push(`outside of cases\n${strays.join('\n')}`);
for (const failure of failures) console.log(`\nFAILED ${failure}`);
console.log(`${chosen.length} cases, ${failures.length} failed`);
process.exit(failures.length > 0 || chosen.length === 0 ? 1 : 0);
