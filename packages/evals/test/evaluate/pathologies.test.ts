/** Every detector: a planted run that has it, and a near miss that does not. The runs are real; only models and tools are scripted. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { PATHOLOGIES } from '../../src/diagnose/pathologies.ts';
import { isSupportedWrite } from '../../src/journal/record.ts';
import { CASES, findingsOf } from './planted.ts';

describe('pathologies', () => {
  test('there are 23, and every detector has a case', () => {
    expect(PATHOLOGIES).toHaveLength(23);
    const found = PATHOLOGIES.filter(({ detect }) => detect !== undefined);
    expect(Object.keys(CASES)).toEqual(found.map(({ id }) => id));
  });

  test.each(Object.entries(CASES))('%s: found in the planted run, with events that exist', async (id, [planted]) => {
    const { findings } = await findingsOf(planted);
    const finding = findings.find((each) => each.id === id);
    expect(finding, JSON.stringify(findings)).toBeDefined();
    expect(finding?.events.length).toBeGreaterThan(0);
    expect(finding?.containment).not.toBe('');
    expect(finding?.remedy).toMatch(/`|node |document/);
  });

  test.each(Object.entries(CASES))('%s: not found in the near miss', async (id, [, near]) => {
    const { findings } = await findingsOf(near);
    expect(findings.filter((each) => each.id === id)).toEqual([]);
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
