import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import type { Command } from '../../src/ir/events.ts';
import { withPii } from '../../src/effects/pii/pipeline.ts';
import type { ProtectedCall, PiiPipeline } from '../../src/effects/pii/pipeline.ts';
import type { Call, Clock } from '../../src/runtime/ports.ts';

const clock: Clock = {
  virtual: true,
  now: () => 0,
  elapsed: () => 0,
  at: () => () => undefined,
  sleep: async () => undefined,
};
const callOf = (command: Partial<Command>): Call => ({
  command: {
    run: 'r',
    key: '0#0',
    attempt: 1,
    ordinal: 0,
    kind: 'model',
    name: 'a',
    node: 'n',
    input: {},
    notBefore: 0,
    deadline: null,
    ...command,
  },
  flow: {} as CompiledFlow,
  clock,
  signal: new AbortController().signal,
  idempotencyKey: 'key',
});
/** Performs nothing and keeps what it was asked to. */
const recorder = () => {
  const seen: ProtectedCall[] = [];
  return {
    seen,
    perform: async (call: ProtectedCall) => (seen.push(call), { ok: true as const, value: { text: 'ok' } }),
  };
};
const digits: PiiPipeline = {
  protect(text) {
    const tokens = new Map<string, string>();
    const out = text.replace(/\d{3,}/g, (value) => {
      const token = `[PII_${tokens.size + 1}]`;
      tokens.set(token, value);
      return token;
    });
    return { text: out, tokens };
  },
  restore: (text, tokens) => [...tokens].reduce((said, [token, value]) => said.replaceAll(token, value), text),
};

describe('what enters an agent', () => {
  test('goes through the pipeline of that agent, in the run that it is for', async () => {
    const inner = recorder();
    const asked: string[] = [];
    const pipelines = (agent: string, run: string) => (asked.push(`${run}/${agent}`), agent === 'a' ? digits : null);
    const performer = withPii(inner, pipelines);
    await performer.perform(
      callOf({
        input: {
          prompt: 'call 555123',
          messages: [{ role: 'user', content: 'id 999' }],
          source: { workflow: '12345', step: 0, upstream: null },
        },
      }),
    );
    await performer.perform(callOf({ name: 'b', input: { prompt: 'call 555123' } }));
    expect(inner.seen[0]?.command.input).toEqual({
      prompt: 'call [PII_1]',
      messages: [{ role: 'user', content: 'id [PII_1]' }],
      source: { workflow: '12345', step: 0, upstream: null },
    });
    expect(inner.seen[1]?.command.input).toEqual({ prompt: 'call 555123' });
    expect(asked).toEqual(['r/a', 'r/b']);
  });

  test('can be restored by the performer of the call', async () => {
    const inner = recorder();
    await withPii(inner, () => digits).perform(callOf({ input: { prompt: 'call 555123' } }));
    expect(inner.seen[0]?.restore?.('dial [PII_1]')).toBe('dial 555123');
  });

  test('is left as it is without a pipeline', async () => {
    const inner = recorder();
    const call = callOf({ input: { prompt: 'call 555123' } });
    await withPii(inner).perform(call);
    expect(inner.seen[0]?.command).toEqual(call.command);
    expect(inner.seen[0]).toMatchObject({ idempotencyKey: 'key', signal: call.signal });
  });

  test('is about agents only: tools pass through untouched', async () => {
    const inner = recorder();
    const call = callOf({ kind: 'tool', input: { args: '555123' } });
    await withPii(inner, () => digits).perform(call);
    expect(inner.seen[0]).toBe(call);
  });

  test('questions go to the wrapped performer', () => {
    const answered = { choice: 'approve', by: 'script' };
    const asked = { question: {} as never, node: 'n', name: 'x', ordinal: 0 };
    expect(withPii({ ...recorder(), answer: () => answered }).answer?.(asked)).toBe(answered);
    expect(withPii(recorder()).answer).toBeUndefined();
  });
});
