/** A failed run names the part that failed. A run that went well has no findings. */
import { expect } from 'vitest';
import type { Report } from '@sluice-internal/library';
import type { Ran } from '../../packages/cli/test/cli/cli.ts';
import { hold } from './cases.ts';
import type { Case } from './cases.ts';
import { onCommandLine } from './command.ts';
import type { Command } from './command.ts';
import { play } from './play.ts';

interface OfDiagnosis {
  readonly about: string | readonly string[];
  readonly name?: string;
  /** A part of the name. */
  readonly name_has?: string;
  readonly node?: string | readonly string[];
  readonly agent?: string;
  /** A part of the reason. */
  readonly says?: string;
}

interface Failure {
  readonly about: string;
  readonly name: string;
  readonly node: string;
  readonly agent: string | null;
  readonly seq: number;
  readonly why: string;
}

hold<OfDiagnosis>('the part that failed', 'diagnosis.yaml', fails);
hold<{ readonly code: string }>('an untroubled run', 'untroubled.yaml', succeeds);

async function fails(each: Case<OfDiagnosis>): Promise<void> {
  const wanted = each.expect;
  const { report, events } = await play(each);
  expect(['failed', 'cancelled'], `${report.state} ${report.code ?? ''}`).toContain(report.state);
  const failure = (report as Report & { readonly failure?: Failure | null }).failure;
  expect(failure, 'the report of a failed run has a failure').toMatchObject({ about: expect.any(String) as string });
  const { about, name, node, agent, seq, why } = failure as Failure;
  expect([wanted.about].flat(), JSON.stringify(failure)).toContain(about);
  if (wanted.name !== undefined) expect(name).toBe(wanted.name);
  if (wanted.name_has !== undefined) expect(name).toContain(wanted.name_has);
  if (wanted.node !== undefined) expect([wanted.node].flat()).toContain(node);
  if (wanted.agent !== undefined) expect(agent).toBe(wanted.agent);
  if (wanted.says !== undefined) expect(why).toContain(wanted.says);
  expect(
    events.map((event) => event.seq),
    'the decisive event is in the journal',
  ).toContain(seq);
}

async function succeeds(each: Case<{ readonly code: string }>): Promise<void> {
  await onCommandLine(each, (ran, command) => expectNoFindings(each.expect.code, ran, command), ['--json']);
}

async function expectNoFindings(code: string, { stdout }: Ran, command: Command): Promise<void> {
  const report = JSON.parse(stdout) as Report;
  expect(report.code).toBe(code);
  const diagnosed = await command('diagnose', 'r_1', '--json');
  expect(JSON.parse(diagnosed.stdout)).toMatchObject({ findings: [], failure: null });
}
