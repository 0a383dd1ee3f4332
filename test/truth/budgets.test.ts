/** What does not fit into a budget, and how a run goes on with more of it. */
import { expect } from 'vitest';
import type { Json } from '@sluice-internal/library';
import { hold } from './cases.ts';
import type { Case } from './cases.ts';
import { onCommandLine } from './command.ts';
import type { Command } from './command.ts';
import { judge } from './judge.ts';
import type { Expected } from './judge.ts';
import { play } from './play.ts';

interface Step {
  readonly command: readonly string[];
  readonly status: number;
  readonly report?: object;
  readonly says?: readonly string[];
}

interface OfBudgets extends Expected {
  /** The report has no such word: not in the output, not in an error. */
  readonly never_says?: string;
  readonly outputs_with?: { readonly text: string; readonly times: number };
  /** On the command line: the report of `run`, and of the commands that follow. */
  readonly first?: object;
  readonly then?: readonly Step[];
  /** The grants in the journal, in order. */
  readonly granted?: readonly object[];
}

hold<OfBudgets>('a budget', 'budgets.yaml', (each) =>
  each.expect.then === undefined ? stop(each) : goOn(each, each.expect.then),
);

async function stop(each: Case<OfBudgets>): Promise<void> {
  const played = await play(each);
  judge(each, played);
  const { never_says: word, outputs_with: found } = each.expect;
  if (word !== undefined) expect(JSON.stringify([played.report.output, played.report.error])).not.toContain(word);
  if (found === undefined) return;
  const items = played.report.output as readonly Json[];
  expect(items.filter((item) => JSON.stringify(item).includes(found.text)).length).toBe(found.times);
}

async function goOn(each: Case<OfBudgets>, steps: readonly Step[]): Promise<void> {
  await onCommandLine(
    each,
    async (ran, command) => {
      expect(JSON.parse(ran.stdout)).toMatchObject(each.expect.first ?? {});
      for (const step of steps) await take(step, command);
      if (each.expect.granted === undefined) return;
      const { stdout } = await command('trace', 'r_1', '--json');
      const events = JSON.parse(stdout) as readonly { readonly type: string }[];
      expect(events.filter(({ type }) => type === 'budget.granted')).toMatchObject(each.expect.granted);
    },
    ['--json'],
  );
}

async function take({ command: words, status, report, says = [] }: Step, command: Command): Promise<void> {
  const done = await command(...words, '--script', 'script.yaml', '--json');
  expect(done.status, `${done.stdout}${done.stderr}`).toBe(status);
  if (report !== undefined) expect(JSON.parse(done.stdout)).toMatchObject(report);
  for (const text of says) expect(`${done.stdout}${done.stderr}`).toContain(text);
}
