/** Runs a case on the command line, with a script for the tools too, and looks at what a person would read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Ran } from '../../packages/cli/test/cli/cli.ts';
import { sluice } from '../../packages/cli/test/cli/in-process.ts';
import type { Case, Deed } from './cases.ts';

export interface OnScreen {
  /** Texts that are on the screen at the end of the run. */
  readonly screen?: readonly string[];
  /** The exit status. */
  readonly exit?: number;
}

/** A command changes the folder of this process: one at a time. */
let last: Promise<unknown> = Promise.resolve();

function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  const result = last.then(work);
  last = result.catch(() => undefined);
  return result;
}

/** A command in the folder of a case. */
export type Command = (...args: readonly string[]) => Promise<Ran>;

/** Runs the case as `r_1`, and then what else is to be done in its folder. */
export function onCommandLine<Result>(
  each: Case<object>,
  use: (ran: Ran, command: Command) => Promise<Result>,
  more: readonly string[] = [],
): Promise<Result> {
  const tools = Object.fromEntries(Object.entries(each.world ?? {}).map(([tool, deeds]) => [tool, entriesOf(deeds)]));
  const declared = Object.keys((each.document as { readonly tools?: object }).tools ?? {});
  const rest = Object.fromEntries(declared.map((tool) => [tool, { result: { ok: true } }]));
  const script = { ...each.script, tools: { ...rest, ...tools, ...each.script.tools } };
  // The cases of a file run at once, where `onTestFinished` may belong to another one.
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-case-'));
  writeFileSync(join(cwd, 'case.yaml'), JSON.stringify(each.document));
  writeFileSync(join(cwd, 'script.yaml'), JSON.stringify(script));
  const input = typeof each.input === 'string' ? each.input : JSON.stringify(each.input ?? 'hello');
  const user = each.user === undefined ? [] : ['--user', each.user];
  const command: Command = (...args) => sluice(args, { cwd });
  return alone(async () =>
    use(
      await command('run', 'case.yaml', '--script', 'script.yaml', '--run', 'r_1', '--input', input, ...user, ...more),
      command,
    ),
  ).finally(() => rmSync(cwd, { recursive: true, force: true }));
}

export async function expectScreen(each: Case<OnScreen>): Promise<void> {
  const { screen, exit } = each.expect;
  if (screen === undefined && exit === undefined) return;
  await onCommandLine(each, async ({ stdout, stderr, status }) => {
    for (const text of screen ?? []) expect(`${stdout}${stderr}`).toContain(text);
    if (exit !== undefined) expect(status).toBe(exit);
  });
}

function entriesOf(deeds: Deed | readonly Deed[]): readonly Deed[] {
  return Array.isArray(deeds) ? (deeds as readonly Deed[]) : [deeds as Deed];
}

export interface Checked {
  /** `check` refuses the document; one of its errors has all of these texts, in its message or in its help. */
  readonly refused?: readonly string[];
  /** Errors with these codes do not count. */
  readonly not_refused_as?: readonly string[];
  /** `check` warns; one of its warnings has all of these texts. */
  readonly warned?: readonly string[];
  /** A part of the certificate. */
  readonly bounds?: object;
  /** The table of tools: each of these lines is in it. */
  readonly tools?: readonly object[];
}

interface Certificate {
  readonly ok: boolean;
  readonly diagnostics: readonly {
    readonly severity: string;
    readonly code: string;
    readonly message: string;
    readonly help?: string;
  }[];
  readonly bounds?: object;
  readonly tools?: readonly object[];
}

export function isChecked({ refused, warned, bounds, tools }: Checked): boolean {
  return [refused, warned, bounds, tools].some((each) => each !== undefined);
}

export async function expectChecked(each: Case<Checked>): Promise<void> {
  const { refused, not_refused_as: not = [], warned, bounds, tools } = each.expect;
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-case-'));
  writeFileSync(join(cwd, 'case.yaml'), JSON.stringify(each.document));
  const { stdout } = await alone(() => sluice(['check', 'case.yaml', '--json'], { cwd })).finally(() =>
    rmSync(cwd, { recursive: true, force: true }),
  );
  const certificate = JSON.parse(stdout) as Certificate;
  expect(certificate.ok, stdout).toBe(refused === undefined);
  if (refused !== undefined) expectText(certificate, 'error', refused, not);
  if (warned !== undefined) expectText(certificate, 'warning', warned);
  if (bounds !== undefined) expect(certificate.bounds).toMatchObject(bounds);
  for (const line of tools ?? []) expect(certificate.tools).toContainEqual(expect.objectContaining(line));
}

function expectText(
  { diagnostics }: Certificate,
  severity: string,
  texts: readonly string[],
  not: readonly string[] = [],
): void {
  const said = diagnostics
    .filter((each) => each.severity === severity && !not.includes(each.code))
    .map(({ message, help = '' }) => `${message} ${help}`);
  expect(
    said.filter((text) => texts.every((part) => text.includes(part))),
    said.join('\n'),
  ).not.toEqual([]);
}
