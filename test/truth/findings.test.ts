/** The findings of `diagnose`: each pathology is found in the run that has it, nothing else is found, and nothing in honest runs. */
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { diagnose } from '../../packages/evals/src/diagnose/diagnose.ts';
import { recordOf } from '../../packages/evals/src/journal/record.ts';
import { casesOf, hold } from './cases.ts';
import type { Case } from './cases.ts';
import { play } from './play.ts';

hold<{ readonly findings: readonly string[] }>('a run with a pathology', 'findings.yaml', finds);

async function finds(each: Case<{ readonly findings: readonly string[] }>): Promise<void> {
  expect(await findingsOf(each)).toEqual(each.expect.findings);
}

/** A case of another file that waits for something else runs here as soon as its document compiles. */
const others = (file: string) =>
  casesOf<object>(file)
    .filter(({ document }) => compile(document).diagnostics.every(({ severity }) => severity !== 'error'))
    .map((each) => [each.id, each] as const);

test.concurrent.each(others('diagnosis.yaml'))('a run that fails: %s', async (id, each) => {
  expect(await findingsOf(each)).toEqual(OF_FAILURES[id] ?? OF_FAILURES[id.replace(/\/.*/, '')] ?? []);
});
test.concurrent.each([...others('honest.yaml'), ...others('untroubled.yaml')])('an honest run: %s', async (_, each) => {
  expect(await findingsOf(each)).toEqual([]);
});

/** What is wrong in the runs that fail, apart from the part that failed. */
const OF_FAILURES: { readonly [id: string]: readonly string[] } = {
  'a-tool-fails-again-and-again': ['runaway-loops'],
  'a-tool-fails-again-and-again/loop': [],
  'the-tool-calls-are-used-up': ['tool-spam', 'budget-blowout'],
  'the-model-calls-are-used-up': ['budget-blowout'],
  'the-time-is-used-up': ['budget-blowout'],
  'the-boundary-forbids-it': ['permission-creep'],
  'the-reply-has-the-wrong-shape/staged': ['validator-retry-storm'],
  'the-answer-is-refused': ['over-reflection'],
};

async function findingsOf(each: Case<object>): Promise<readonly string[]> {
  const { read } = await play(each);
  const { findings } = diagnose(recordOf(read));
  for (const { events, containment, remedy } of findings) {
    expect(events.every((seq) => read.events.some((event) => event.seq === seq))).toBe(true);
    expect(events.length * containment.length * remedy.length).toBeGreaterThan(0);
  }
  return findings.map(({ id }) => id);
}
