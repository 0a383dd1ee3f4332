/** `sluice audit export`, `audit restore`, `audit heads`, the checks of both files, and `audit acts`. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import {
  auditRunFile,
  compareHeads,
  exportRun,
  headsOf,
  readHeadsFile,
  readRunFile,
  restoreRunFile,
} from '@sluice-internal/engine/audit';
import type { RunFile } from '@sluice-internal/engine/audit';
import { SluiceError } from '@sluice-internal/engine/ports';
import type { OperatorAct } from '@sluice-internal/engine/ports';
import { FAILED, OK, iso, oneLine, plural, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';
import { noteError } from '../view/report-error.ts';
import { writeText } from '../view/report-file.ts';
import { demandDatabase, demandOperator, withRun, withStore } from '../session/store.ts';

export async function auditExportCommand(cli: Cli, given: string, { out }: Options<'audit export'>): Promise<void> {
  const file = await withRun(cli, given, exportRun);
  write(out, file);
  const events = file.appends.reduce((sum, { count }) => sum + count, 0);
  cli.show({ run: file.run, file: out, events }, () => `run ${file.run} with ${plural(events, 'event')} is in ${out}`);
}

export async function auditRestoreCommand(cli: Cli, path: string, { key }: Options<'audit restore'>): Promise<void> {
  demandOperator(cli, 'a tenant cannot restore runs');
  const file = runFileAt(path);
  if (file === null)
    throw new SluiceError('file-not-found', `there is no file \`${path}\``, 'Name a file of `audit export`.');
  await withStore(cli, (store) => restoreRunFile(store, file, key ?? null));
  cli.show({ run: file.run, file: path }, () => `run ${file.run} is restored from ${path}`);
}

export async function auditHeadsCommand(cli: Cli, { out, webhook }: Options<'audit heads'>): Promise<void> {
  if (out === undefined && webhook === undefined)
    throw usage('`audit heads` needs a receiver', 'Add `--out FILE` or `--webhook URL`.');
  demandDatabase(cli, 'run-not-found', 'there are no runs');
  const heads = await withStore(cli, (store) => headsOf(store, Date.now()));
  if (out !== undefined) write(out, heads);
  if (webhook !== undefined) await post(webhook, heads);
  const where = [out, webhook].filter((each) => each !== undefined);
  cli.show(
    { file: out ?? null, webhook: webhook ?? null, runs: heads.runs.length },
    () => `the heads of ${plural(heads.runs.length, 'run')} are in ${where.join(' and ')}; keep them elsewhere`,
  );
}

/** Throws unless the receiver answers with a status of success. */
async function post(url: string, heads: object): Promise<void> {
  if (!/^https?:\/\//.test(url))
    throw usage(
      `\`--webhook\` takes an http or https address, not \`${url}\``,
      'Write it as --webhook https://example.com/heads',
    );
  let reason: string;
  try {
    const { ok, status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(heads),
      redirect: 'error',
      signal: AbortSignal.timeout(WEBHOOK_MS),
    });
    if (ok) return;
    reason = `status ${status}`;
  } catch (error) {
    const { message, cause } = error as Error;
    reason =
      cause instanceof Error
        ? `${message} (${cause.message || String((cause as NodeJS.ErrnoException).code)})`
        : message;
  }
  throw new SluiceError('not-delivered', `the heads were not delivered to \`${url}\`: ${reason}`, 'Send them again.');
}
const WEBHOOK_MS = 10_000;

/** The file of `audit export` at this path; null if there is no file. */
export function runFileAt(path: string): RunFile | null {
  if (!existsSync(path) || !statSync(path).isFile()) return null;
  const file = readRunFile(readFileSync(path, 'utf8'));
  if (file === null)
    throw new SluiceError(
      'file-unreadable',
      `\`${path}\` is not a file of \`sluice audit export\``,
      'Name a run or such a file.',
    );
  return file;
}

export async function verifyRunFile(
  cli: Cli,
  path: string,
  file: RunFile,
  trusted: string | null,
): Promise<ExitStatus> {
  const checked = await auditRunFile(file, trusted);
  if (cli.json) cli.printJson({ ok: checked.ok, file: path, runs: [checked] });
  else if (checked.ok) cli.screen.print(`${path} holds: run ${file.run}, ${plural(checked.events, 'event')} checked`);
  else noteError(cli.screen, 'chain-broken', checked.broken?.message ?? '');
  return checked.ok ? OK : FAILED;
}

export async function comparedHeads(cli: Cli, path: string) {
  if (!existsSync(path)) throw usage(`there is no file \`${path}\``, 'Write one with `sluice audit heads --out FILE`.');
  const heads = readHeadsFile(readFileSync(path, 'utf8'));
  if (heads === null)
    throw new SluiceError(
      'file-unreadable',
      `\`${path}\` is not a file of \`sluice audit heads\``,
      'Name another one.',
    );
  demandDatabase(cli, 'run-not-found', 'there are no runs to compare');
  const differences = await withStore(cli, (store) => compareHeads(store, heads));
  return { heads: path, at: iso(heads.at), runs: heads.runs.length, differences };
}

type ComparedHeads = Awaited<ReturnType<typeof comparedHeads>>;

export function printHeads(cli: Cli, { heads, at, runs, differences }: ComparedHeads): void {
  for (const difference of differences) noteError(cli.screen, 'chain-broken', difference);
  if (differences.length === 0) cli.screen.print(`${plural(runs, 'head')} of ${at} ${runs === 1 ? 'holds' : 'hold'}`);
  else cli.screen.print(`the database differs from ${heads} of ${at} in ${plural(differences.length, 'place')}`);
}

/** Only its owner can read the file. */
function write(path: string, content: object): void {
  writeText(path, `${JSON.stringify(content, null, 1)}\n`, 0o600);
}

/** Lists the acts of operators on the database, and the commands that were refused to tenants. */
export async function auditActsCommand(cli: Cli): Promise<void> {
  demandOperator(cli, 'a tenant cannot read the acts of operators');
  const acts = await withStore(cli, ({ shared }) => shared.acts());
  if (cli.json) cli.printJson(acts.map(jsonOf));
  else cli.printTable(['AT', 'BY', 'WHAT', 'ON', 'WHY'], acts.map(rowOf), 'nothing has been recorded yet');
}

function jsonOf({ at, by, what, key, why }: OperatorAct): object {
  return { at: iso(at), by, what, key, why };
}

function rowOf({ at, by, what, key, why }: OperatorAct): string[] {
  return [iso(at), oneLine(by, 24) || '-', what, oneLine(key, 60), oneLine(why, 80) || '-'];
}
