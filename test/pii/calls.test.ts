/** Everything that a call leaves in the journal has tokens, and a trusted call streams nothing. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Pipelines, withPii } from '../../src/effects/pii/pipeline.ts';
import { createVault, memoryPiiStore } from '../../src/effects/pii/vault.ts';
import type { Call, Performer } from '../../src/runtime/ports.ts';
import { compile } from '../../src/surfaces/library/compile.ts';

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
  const vault = createVault(memoryPiiStore(), randomBytes(32));
  const performer = withPii({ perform }, new Pipelines(() => vault));
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
  await expect(performed(brokenOff, 'other', { mode: 'block' })).rejects.toThrow(
    'personal data is not allowed here: ssn',
  );
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
