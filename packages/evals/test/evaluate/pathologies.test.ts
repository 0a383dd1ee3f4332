/** Every pathology: a planted run that has it, and a near miss that does not. The runs are real; only models and tools are scripted. */
import { describe, expect, test } from 'vitest';
import { diagnose, PATHOLOGIES } from '../../src/diagnose/diagnose.ts';
import type { Diagnosis } from '../../src/diagnose/diagnose.ts';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Peers } from '../../src/diagnose/detector.ts';
import { isSupportedWrite, recordOf } from '../../src/journal/record.ts';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';
import { bot, call, loop, steps } from './planted-kit.ts';
import type { Given, Planted } from './planted-kit.ts';
import { CASES } from './planted.ts';

async function diagnosed({ document, script, peers, ...options }: Given): Promise<Diagnosis> {
  const { read } = await drive(compileLoop(document), script, options);
  const record = recordOf(read);
  const usual = { successes: [], openQuestions: 0, now: read.state.now };
  return diagnose(record, { ...usual, ...peers });
}

describe('pathologies', () => {
  test('all 23 have a case', () => {
    expect(Object.keys(CASES)).toEqual(PATHOLOGIES.map(({ id }) => id));
    expect(PATHOLOGIES).toHaveLength(23);
  });

  test.each(Object.keys(CASES))('%s: found in the planted run, with events that exist', async (id) => {
    const diagnosis = await diagnosed(await (CASES[id] as Planted)[0]());
    const finding = diagnosis.findings.find((each) => each.id === id);
    expect(finding, JSON.stringify(diagnosis)).toBeDefined();
    expect(finding?.events.length).toBeGreaterThan(0);
    expect(finding?.events.every((seq) => Number.isInteger(seq) && seq > 0)).toBe(true);
    expect(finding?.containment).not.toBe('');
    expect(finding?.remedy).toMatch(/`|node |document/);
  });

  test.each(Object.keys(CASES))('%s: not found in the near miss', async (id) => {
    const diagnosis = await diagnosed(await (CASES[id] as Planted)[1]());
    expect(diagnosis.findings.filter((each) => each.id === id)).toEqual([]);
  });

  test('a call that fails twice in a row with the same error is a loop; with another error it is not', async () => {
    const failing = async (errors: readonly string[]): Promise<readonly string[]> => {
      const find = errors.map((message) => ({ error: 'fatal' as const, message }));
      const document = { ...loop(), protections: { loop: false } };
      const script = bot([call('find'), call('find'), 'it is 7'], { find });
      return (await diagnosed({ document, script })).findings.map(({ id }) => id);
    };
    expect(await failing(['no such index'])).toContain('runaway-loops');
    expect(await failing(['no such index', 'down'])).not.toContain('runaway-loops');
  });

  test('the amounts of successful runs are in the remedy', async () => {
    const successes = steps(20, (n) => ({
      toolCalls: n === 20 ? 6 : 4,
      modelCalls: 2,
      costUsd: 0.01,
    })) as Peers['successes'];
    const [planted] = CASES['tool-spam'] as Planted;
    const { findings } = await diagnosed({ ...(await planted()), peers: { successes } });
    expect(findings.find(({ id }) => id === 'tool-spam')?.remedy).toContain(
      'lower `tool_calls` to 6: 95 % of successes need 4',
    );
  });

  test('the agent and the first decisive step of a failed run are named', async () => {
    const two = {
      agents: [{ id: 'a' }, { id: 'b' }],
      flow: {
        id: 'f',
        entry: 'one',
        nodes: [
          { id: 'one', type: 'agent', agent: 'a', routes: [{ to: 'two' }] },
          { id: 'two', type: 'agent', agent: 'b' },
        ],
      },
    };
    const { failure } = await diagnosed({
      document: two,
      script: { agents: { a: ['fine'], b: [{ error: 'fatal', message: 'broken' }] } },
    });
    expect(failure).toMatchObject({ agent: 'b', node: 'two', why: 'broken' });
    const { failure: none } = await diagnosed({ document: two, script: { agents: { a: ['fine'], b: ['fine too'] } } });
    expect(none).toBeNull();
  });

  test('a memory write without the decision of the gate is supported by successful observations only', () => {
    const write = (citations: string[], value: Json) =>
      isSupportedWrite({
        input: {
          citations,
          observations: [
            { id: 'o1', ok: true },
            { id: 'o2', ok: false },
          ],
        },
        attempts: [{ seq: 1, at: 0, number: 1, ok: true, value, error: null, used: {}, unsent: false }],
      });
    const stored = { ok: true, state: 'active' };
    expect([write(['o1'], stored), write(['o2'], stored), write(['o9'], stored), write([], stored)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(write(['o2'], { ...stored, supported: true })).toBe(true);
    expect(write([], { ok: false, state: 'refused' })).toBe(true);
  });
});
