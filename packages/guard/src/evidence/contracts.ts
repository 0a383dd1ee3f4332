/** The predicates of contracts, which read the whole session: files, commands, reports, checklists, tests. */
import { ARTIFACTS } from '@sluice-internal/kernel/catalog';
import type { PredicateName } from '@sluice-internal/kernel/catalog';
import { isRecord, listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import {
  briefPath,
  fieldAt,
  listFault,
  pathsIn,
  readBrief,
  readObject,
  readSourceObject,
  resultsIn,
  setting,
  type Read,
} from './artifacts.ts';
import { mayWrite } from './command-writes.ts';
import {
  conflicting,
  invalid,
  missing,
  pass,
  type CommandRun,
  type Evidence,
  type Validator,
  type Verdict,
} from './evidence.ts';
import { coveredBy, mentions, normalPath, outOfDate } from './records.ts';
import { runGate } from './run-gate.ts';
import { requireBrief } from './validators/turn.ts';
import { requireRelatedTestsPass } from './validators/related-tests.ts';
import { fakeTestFiles, ranAsReported, staleReport, withoutAssertions } from './validators/reports.ts';

const CONTRACTS: { readonly [name in PredicateName]: Validator } = {
  FilesWritten: filesWritten,
  CommandSucceeded: commandSucceeded,
  FileExists: fileExists,
  TestReport: testReport,
  ChecklistComplete: checklistComplete,
  BriefComplete: briefComplete,
  RelatedTestsPass: requireRelatedTestsPass,
};

type Requirement = { readonly [field: string]: Json };

/** Checks the requirements of a contract in order. Each is `FilesWritten: {…}` or an object with a `Type`. */
export async function contractHolds(name: string, evidence: Evidence): Promise<Verdict> {
  const { Requires, gate, ...config } = evidence.config;
  const shown: string[] = [];
  for (const entry of listOf(Requires) as readonly (Requirement | null)[]) {
    const { Type, ...rest } = entry ?? {};
    const [predicate = '', fields = null] = typeof Type === 'string' ? [Type, rest] : (Object.entries(rest)[0] ?? []);
    const own = isRecord(fields) ? fields : {};
    const verdict = await contractOf(predicate)({ ...evidence, config: { ...config, ...own, Contract: name } });
    if (!verdict.ok) return verdict;
    shown.push(...(verdict.evidence ?? []));
  }
  if (!isRecord(gate)) return pass([...new Set(shown)]);
  const ran = await runGate({ ...evidence, config: { ...config, ...gate } });
  return ran.ok ? pass([...new Set(shown)]) : { ...ran, reason: `Contract '${name}' failed — ${ran.reason}` };
}

function contractOf(name: string): Validator {
  const known: { readonly [name: string]: Validator } = CONTRACTS;
  return (
    (Object.hasOwn(known, name) ? known[name] : undefined) ??
    (() => invalid(`unknown contract '${name}'. Verify it is declared under 'Orchestration.Contracts'.`))
  );
}

/** Each file must be on disk at its full path, and written in this session by a file tool or by a command. */
async function filesWritten(evidence: Evidence): Promise<Verdict> {
  const source = sourceOf(evidence);
  const field = setting(evidence, 'Field', 'files_to_change');
  const listed = await valueIn(evidence, source, field);
  if (!listed.ok) return missing(failed(evidence, `the files from \`${source}\` are not known: ${listed.why}`));
  const written = new Set(evidence.filesWritten('session'));
  const byCommand = evidence.commands('session').some(({ passed, command }) => passed && mayWrite(command));
  const left: string[] = [];
  const problem = listFault(listed.value);
  if (problem !== null) return missing(failed(evidence, `\`${field}\` of \`${source}\` ${problem}`));
  for (const path of pathsIn(listed.value)) {
    const isWritten = byCommand || written.has(normalPath(path));
    if (!isWritten || (await evidence.readText(path)) === null) left.push(path);
  }
  return left.length === 0
    ? pass()
    : missing(failed(evidence, `files from \`${source}\` not written: ${left.join(', ')}`));
}

async function commandSucceeded(evidence: Evidence): Promise<Verdict> {
  const wanted = await patternsOf(evidence);
  if (!wanted.ok) return missing(failed(evidence, `the command that must succeed is not known: ${wanted.why}`));
  const runs = evidence.commands('session');
  const shown: CommandRun[] = [];
  for (const pattern of wanted.value) {
    const covering = coveredBy(pattern, runs);
    if (covering === null) return notCovered(evidence, pattern, runs);
    shown.push(...covering);
  }
  return pass([...new Set(shown.map(({ id }) => id))]);
}

function notCovered(evidence: Evidence, pattern: string, runs: readonly CommandRun[]): Verdict {
  const tried = runs.filter((run) => mentions(run, pattern.replaceAll('&&', '|')));
  const old = tried.findLast(({ passed, stale }) => passed && stale !== null);
  if (old !== undefined && old === tried.at(-1)) return conflicting(failed(evidence, outOfDate(old)), [old.id]);
  const how = tried.length === 0 ? 'has not run' : 'has not succeeded';
  const hint = tried.some(({ passed }) => passed)
    ? ' An exit code that is discarded, as by `|| true`, does not count.'
    : '';
  const refuse = tried.length === 0 ? missing : invalid;
  const why = failed(
    evidence,
    `\`${pattern}\` ${how} in this session. Run it with shell_run until it ends with exit code 0`,
  );
  return refuse(
    `${why}${hint}`,
    tried.map(({ id }) => id),
  );
}

async function fileExists(evidence: Evidence): Promise<Verdict> {
  const path = setting(evidence, 'Path');
  if (path !== '' && (await evidence.readText(path)) !== null) return pass();
  return missing(failed(evidence, `\`${path}\` does not exist`));
}

async function testReport(evidence: Evidence): Promise<Verdict> {
  const path = setting(evidence, 'Path', setting(evidence, 'TestReportPath', ARTIFACTS.testReport));
  const report = await readObject(evidence, path);
  if (!report.ok) return missing(failed(evidence, report.why));
  const results = resultsIn(report.value);
  if (results.length === 0) return missing(failed(evidence, `\`${path}\` has no results`));
  const failures = results.filter(({ status }) => status !== 'PASS');
  if (evidence.config['NoFailures'] !== false && failures.length > 0)
    return invalid(
      failed(evidence, `\`${path}\` has failures: ${failures.map(({ criterion }) => criterion).join(', ')}`),
    );
  const untrue = staleReport(evidence, path, results) ?? ranAsReported(results, evidence, path);
  if (untrue !== null) return { ...untrue, reason: failed(evidence, untrue.reason.replace(/\.$/, '')) };
  if (evidence.config['HasAssertions'] !== true) return pass();
  const brief = await readBrief(evidence);
  return fakeTestFiles(report.value) ?? (await withoutAssertions(evidence, brief.ok ? brief.value : {})) ?? pass();
}

async function briefComplete(evidence: Evidence): Promise<Verdict> {
  const verdict = await requireBrief(evidence);
  return verdict.ok ? verdict : { ...verdict, reason: failed(evidence, verdict.reason.replace(/\.$/, '')) };
}

/** Items of a JSON list, or the boxes of a Markdown file. There must be at least one. */
async function checklistComplete(evidence: Evidence): Promise<Verdict> {
  const source = sourceOf(evidence);
  const field = setting(evidence, 'Field');
  const items = await itemsOf(evidence, source, field);
  if (!items.ok) return missing(failed(evidence, items.why));
  const open = items.value.filter(({ done }) => !done);
  if (items.value.length > 0 && open.length === 0) return pass();
  const what =
    items.value.length === 0 ? 'has no items' : `is not complete: ${open.map(({ text }) => text).join(', ')}`;
  const refuse = items.value.length === 0 ? missing : invalid;
  return refuse(failed(evidence, `the checklist in \`${source}\` ${what}`));
}

interface Item {
  readonly text: string;
  readonly done: boolean;
}

async function itemsOf(evidence: Evidence, source: string, field: string): Promise<Read<Item[]>> {
  if (field === '') {
    const text = await evidence.readText(source);
    if (text === null) return { ok: false, why: `\`${source}\` does not exist` };
    const boxes = [...text.matchAll(/^\s*[-*+]\s+\[([ xX])\]\s*(.*)$/gm)];
    return { ok: true, value: boxes.map(([, mark, label = '']) => ({ text: label.trim(), done: mark !== ' ' })) };
  }
  const listed = await valueIn(evidence, source, field);
  if (!listed.ok) return listed;
  return { ok: true, value: Array.isArray(listed.value) ? listed.value.map(itemOf) : [] };
}

function itemOf(item: Json): Item {
  if (typeof item === 'string')
    return { text: item.replace(/^\s*([-*+]\s+)?\[[ xX]\]\s*/, ''), done: /^\s*([-*+]\s+)?\[[xX]\]/.test(item) };
  if (!isRecord(item)) return { text: String(item), done: item === true };
  const text =
    [item['item'], item['text'], item['name'], item['criterion'], item['title']].find(
      (each) => typeof each === 'string',
    ) ?? JSON.stringify(item);
  const flagged = ['done', 'complete', 'completed', 'checked'].some((name) => item[name] === true);
  const status = typeof item['status'] === 'string' ? item['status'].toLowerCase() : '';
  return { text: String(text), done: flagged || ['done', 'complete', 'completed', 'pass', 'passed'].includes(status) };
}

async function patternsOf(evidence: Evidence): Promise<Read<string[]>> {
  const pattern = setting(evidence, 'Pattern');
  if (pattern !== '') return { ok: true, value: [pattern] };
  const field = setting(evidence, 'PatternField');
  if (field === '') return { ok: false, why: 'neither `Pattern` nor `PatternField` is set' };
  const source = sourceOf(evidence, 'PatternSource');
  const value = await valueIn(evidence, source, field);
  if (!value.ok) return value;
  const patterns = (Array.isArray(value.value) ? value.value : [value.value]).filter(
    (each): each is string => typeof each === 'string' && each.trim() !== '',
  );
  return patterns.length > 0
    ? { ok: true, value: patterns }
    : { ok: false, why: `\`${field}\` of \`${source}\` names no command` };
}

/** The word `brief` stands for the brief, wherever it lies. */
function sourceOf(evidence: Evidence, key = 'Source'): string {
  const named = setting(evidence, key, 'brief');
  return named === 'brief' ? briefPath(evidence) : named;
}

async function valueIn(evidence: Evidence, source: string, field: string): Promise<Read<Json>> {
  const file = await readSourceObject(evidence, source);
  if (!file.ok) return file;
  const value = fieldAt(file.value, field);
  return value === undefined ? { ok: false, why: `\`${source}\` has no \`${field}\`` } : { ok: true, value };
}

function failed(evidence: Evidence, why: string): string {
  return `Contract '${setting(evidence, 'Contract')}' failed — ${why}.`;
}
