/** Everything that a call leaves in the journal has tokens, and a trusted call streams nothing. */
import { expect, test } from 'vitest';
import { Pipelines, withPii } from '@sluice-internal/pii';
import type { CompiledFlow, Settled } from '@sluice-internal/kernel/ir';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { openMemory } from '@sluice-internal/engine/memory';
import { vaultInProcess } from '../../../library/src/host/world-beside.ts';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';
import { playOn } from '../../../../test/support/harness.ts';

const compiled = (mode: string) =>
  compile({
    pii: { mode, trusted: ['clerk'] },
    agents: [{ id: 'clerk' }, { id: 'other' }],
    flow: { id: 'demo', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'clerk' }] },
  }).flow;
const SSN = '219-09-8812';

function performed(
  perform: Performer['perform'],
  name: string,
  {
    mode = 'tokenize',
    kind = 'model',
    onText,
  }: { readonly mode?: string; readonly kind?: 'model' | 'tool'; readonly onText?: Call['onText'] } = {},
) {
  const performer = withPii({ perform }, new Pipelines(vaultInProcess()));
  const { signal } = new AbortController();
  const command = { run: 'r', kind, name, input: { prompt: 'Hello.' } };
  return performer.perform({ command, flow: compiled(mode), signal, onText } as unknown as Call);
}

const brokenOff: Performer['perform'] = async () => {
  const partial = { text: `The number is ${SSN}, and`, parts: [{ type: 'text', text: `The number is ${SSN}, and` }] };
  return { ok: false, error: { class: 'transient', type: 'PartialReply', message: `broke off after ${SSN}`, partial } };
};

test.each(['clerk', 'other'])('a reply of %s that broke off has tokens', async (name) => {
  const result = await performed(brokenOff, name);
  expect(JSON.stringify(result)).not.toContain(SSN);
  expect(result).toMatchObject({
    ok: false,
    error: { message: 'broke off after [PII_SSN_001]', partial: { text: 'The number is [PII_SSN_001], and' } },
  });
});

test('`mode: block` refuses a reply that broke off with personal data', async () => {
  expect(await performed(brokenOff, 'other', { mode: 'block' })).toEqual({
    ok: false,
    error: { class: 'policy', type: 'PersonalDataError', message: 'personal data is not allowed here: ssn' },
  });
});

test('`mode: block` keeps that the outcome of a call is unknown', async () => {
  const lost: Performer['perform'] = async () => ({
    ok: false,
    error: { class: 'timeout', type: 'TimeoutError', message: `${SSN} did not answer` },
  });
  expect(await performed(lost, 'pay', { mode: 'block', kind: 'tool' })).toEqual({
    ok: false,
    error: { class: 'timeout', type: 'TimeoutError', message: 'personal data is not allowed here: ssn' },
  });
});

test.each(['a whole reply', 'a reply that broke off', 'a failure'])(
  '`mode: block` charges for %s that it refuses',
  async (what) => {
    const used = { inputTokens: 10, outputTokens: 5, costMicros: 7 };
    const error = { class: 'transient', type: 'PartialReply', message: SSN } as const;
    const results: { readonly [what: string]: Settled } = {
      'a whole reply': { ok: true, value: { text: SSN }, used },
      'a reply that broke off': { ok: false, error: { ...error, partial: { text: SSN } }, used },
      'a failure': { ok: false, error, used },
    };
    const result = await performed(async () => results[what] as Settled, 'other', { mode: 'block' });
    expect(result).toMatchObject({ ok: false, error: { message: 'personal data is not allowed here: ssn' }, used });
  },
);

test('`mode: block` undoes a call whose result it refuses', async () => {
  const engine = createEngine({
    journal: openMemory(),
    script: { tools: { 'orders.create': { result: { owner: SSN } }, 'orders.cancel': { result: { for: SSN } } } },
  });
  const { flow } = compile({
    pii: { mode: 'block' },
    tools: { 'orders.create': { compensate: 'orders.cancel' }, 'orders.cancel': {} },
    flow: { id: 'demo', entry: 'make', nodes: [{ id: 'make', type: 'tool', tool: 'orders.create' }] },
  });
  const { report } = await playOn(engine, flow as CompiledFlow, { input: null });
  expect(report).toMatchObject({
    code: 'PERMISSION_DENIED',
    error: { message: '`orders.create` was called, but its result is refused: personal data is not allowed here: ssn' },
    receipts: [{ tool: 'orders.create', result: null, status: 'compensated' }],
  });
});

test('the text of a trusted agent is not streamed, nor that of a tool', async () => {
  const streamed: string[] = [];
  const onText = (text: string): void => void streamed.push(text);
  const speak: Performer['perform'] = async (call) => {
    call.onText?.(`${call.command.name}: ${SSN}`);
    return { ok: true, value: { text: SSN } };
  };
  expect(await performed(speak, 'clerk', { onText })).toMatchObject({ value: { text: '[PII_SSN_001]' } });
  await performed(speak, 'other', { onText });
  await performed(speak, 'crm.find', { onText, kind: 'tool' });
  expect(streamed).toEqual([`other: ${SSN}`]);
});
