/**
 * Makes one refund: `refund-worker.ts DATABASE LEDGER`. The service keeps its ledger in a file elsewhere and recognises the key of a
 * call. Prints how it ended as one line of JSON.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { compile, createEngine } from '@sluice-internal/library';
import type { CompiledFlow } from '@sluice-internal/library';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { ToolFunction } from '@sluice-internal/tools/calls';

const [journal = '', ledger = ''] = process.argv.slice(2);
const { flow } = compile({
  agents: [{ id: 'triage', instructions: 'Sort the message.' }],
  tools: { 'payments.refund': { effect: 'financial' }, 'mail.send': { effect: 'communication' } },
  flow: {
    id: 'refund',
    entry: 'triage',
    nodes: [
      { id: 'triage', type: 'agent', agent: 'triage', routes: [{ to: 'pay' }] },
      { id: 'pay', type: 'tool', tool: 'payments.refund', params: { amount: 5 }, routes: [{ to: 'tell' }] },
      { id: 'tell', type: 'tool', tool: 'mail.send', params: { text: 'Paid.' } },
    ],
  },
});

const once =
  (tool: string): ToolFunction =>
  (_, { idempotencyKey: key }) => {
    const line = `${tool} ${key}`;
    const made = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : [];
    if (!made.includes(line)) appendFileSync(ledger, `${line}\n`);
    return 'done';
  };

const say = (value: object): unknown => process.stdout.write(`${JSON.stringify(value)}\n`);
const told = (error: unknown): object => ({
  error: error instanceof SluiceError ? error.code : `unnamed: ${String(error)}`,
});
try {
  const engine = createEngine({
    journal,
    model: () => 'a refund'.repeat(1000),
    tools: { 'payments.refund': once('refund'), 'mail.send': once('mail') },
    onNotice: () => undefined,
  });
  try {
    await engine.start(flow as CompiledFlow, { run: 'r', input: { message: 'money back' } });
    const { code } = await engine.settled('r');
    say({ code });
  } catch (error) {
    say(told(error));
  }
  await engine.close().catch((error: unknown) => say({ closing: told(error) }));
} catch (error) {
  say(told(error));
}
