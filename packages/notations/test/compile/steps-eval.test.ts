/** Step documents as people write them, kept outside of the project: each loads, or is refused for a reason that is named here. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { compileSteps } from './steps-drive.ts';

const root = path.resolve(import.meta.dirname, '../../../..');
const file = path.resolve(root, '../shared/eval/openfang-workflows/workflow_json_blocks.jsonl');
const present = existsSync(file);
const documents = present
  ? readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
  : [];

const absent = `not there, so not tested: ${file}`;
if (!present) console.log(absent);

describe('workflow documents of others', () => {
  const results = documents.map((text) => {
    const { flow, diagnostics } = compileSteps(text);
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    return { text, flow, codes: [...new Set(errors.map(({ code }) => code))], errors };
  });

  test('every document whose steps all name an agent loads', ({ skip }) => {
    skip(!present, absent);
    const whole = results.filter(({ text }) => {
      const { steps } = JSON.parse(text) as { steps?: readonly { agent?: unknown; agent_name?: unknown }[] };
      return (
        Array.isArray(steps) && steps.every(({ agent, agent_name: name }) => agent !== undefined || name !== undefined)
      );
    });
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.filter(({ flow }) => flow === null)).toEqual([]);
  });

  test('the others are refused for a stated reason', ({ skip }) => {
    skip(!present, absent);
    const counts: { [reason: string]: number } = {};
    for (const { flow, codes } of results) {
      const reason = flow === null ? codes.join('+') : 'loads';
      counts[reason] = (counts[reason] ?? 0) + 1;
    }
    console.log(`${documents.length} documents: ${JSON.stringify(counts)}`);
    expect(
      Object.keys(counts).every((reason) =>
        ['loads', 'no-notation', 'unknown-notation', 'wrong-type', 'missing-agent'].includes(reason),
      ),
    ).toBe(true);
    expect(
      results.every(({ flow, errors }) => flow !== null || errors.every(({ message }) => message.length > 10)),
    ).toBe(true);
  });
});
