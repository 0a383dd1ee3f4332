/** A report as text: the one-line verdict after a run, and the page of `sluice show`. */
import { BUDGET_ROWS, hasEnded, isGood, onlyReads } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Report, Usage, Waiting } from '@sluice-internal/engine/ports';
import { doneText } from '@sluice-internal/engine/report';
import {
  dollars,
  fitted,
  framed,
  grouped,
  harmless,
  oneLine,
  plural,
  seconds,
  shellWord,
  shown,
  table,
} from '@sluice-internal/library/documents';
import type { Screen } from '@sluice-internal/library/documents';
import type { Escalation } from '@sluice-internal/kernel/catalog';
import { withCommandName } from '../table/command-name.ts';
import { fittedSections, sectionLines, sectionsOf } from './question.ts';

export function verdictLine(report: Report, { colors }: Screen): string {
  const head =
    report.state === 'suspended'
      ? colors.yellow(`? ${report.state} ${report.code ?? ''}`.trimEnd())
      : isGood(report.code)
        ? colors.green(`✓ ${report.code}`)
        : colors.red(`✗ ${report.state} ${report.code ?? ''}`.trimEnd());
  return `${head}  ${report.run}  ${colors.dim(usageText(report.usage))}`;
}

export function failureLine({ error }: Report): string | null {
  if (error === null) return null;
  const where = error.node === '' ? '' : ` at \`${oneLine(error.node)}\``;
  return `${error.type}${where}: ${oneLine(error.message, 500)}`;
}

/** The part that failed. */
export function partLine({ about, name, node, seq, why }: NonNullable<Report['failure']>): string {
  return `${about} ${oneLine(name)} at \`${oneLine(node)}\`, event ${seq}: ${oneLine(why, 300)}`;
}

export function usageText(usage: Usage): string {
  const always = BUDGET_ROWS.filter(({ charged, call }) => charged === 'visit' || call !== undefined);
  const parts = always.map(({ measure, one, many }) => plural(usage[measure], one, many));
  const tokens = usage.inputTokens + usage.outputTokens;
  if (tokens > 0) parts.push(`${grouped(tokens)} tokens`);
  if (usage.costUsd > 0) parts.push(dollars(usage.costUsd));
  if (usage.retries > 0) parts.push(plural(usage.retries, 'retry', 'retries'));
  parts.push(seconds(usage.wallClockSeconds * 1000));
  return parts.join(', ');
}

/** The commands that answer each question. `flags` are the options to repeat. */
export function waitingText(waiting: readonly Waiting[], flags: string, { colors, live, columns }: Screen): string {
  const width = live ? columns() - 2 : Infinity;
  return waiting
    .map((each) => {
      const { node, packet, expiresAt } = each;
      const until = expiresAt === null ? '' : colors.dim(`  until ${expiresAt}`);
      const question = framed(`? ${oneLine(node)} asks: ${packet.question}`, width).slice(`? ${oneLine(node)}`.length);
      const head = `${colors.yellow('?')} ${colors.bold(oneLine(node))}${question}${until}`;
      const who = approversLine(each);
      return [
        head,
        ...urgentLines(each, Math.min(width, TEXT_WIDTH) - 6).map((line) => `    ┆ ${line}`),
        ...(who === '' ? [] : [`    ${who}`]),
        ...answerLines(each, flags).map((line) => `    ${line}`),
      ].join('\n');
    })
    .join('\n');
}

/** The sections of a question that the end of a run shows. `sluice approvals` shows all of them. */
const URGENT: ReadonlySet<string> = new Set(['on yes', 'careful', 'again']);
const LINES_MAX = 12;

function urgentLines(question: Waiting, width: number): readonly string[] {
  const urgent = sectionsOf(question).filter(({ name }) => URGENT.has(name));
  return sectionLines(fittedSections(urgent, width, LINES_MAX).rows);
}
const TEXT_WIDTH = 116;

/** One line with the people who may answer, the answers so far, and the number that is missing. */
export function approversLine({ approvers }: Waiting): string {
  if (approvers === null) return '';
  const { people, roles, quorum, answers, missing } = approvers;
  const names = people.length === 0 ? 'nobody' : people.join(', ');
  const given = answers.map(({ by, choice }) => `${by}: ${choice}`).join(', ');
  const parts = [
    `may answer: ${names}${roles.length === 0 ? '' : ` (${roles.join(', ')})`}`,
    ...(quorum === 1 ? [] : [`${missing} of ${quorum} missing`]),
    ...(given === '' ? [] : [`answered: ${given}`]),
  ];
  return oneLine(parts.join('; '), 400);
}

/** The commands that send each signal. */
export function signalsText({ run, waits }: Report, flags: string, { colors }: Screen): string[] {
  return waits.flatMap(({ node, signal, until }) => {
    if (signal === null) return [];
    const late = until === null ? '' : colors.dim(`  until ${until}`);
    const command = withCommandName(`sluice signal ${run} ${shellWord(signal)}${flags}`);
    return [
      `${colors.yellow('?')} ${colors.bold(oneLine(node))} waits for the signal ${oneLine(signal)}${late}\n    ${command}`,
    ];
  });
}

/** The page of `sluice show`. */
export function reportPage(report: Report, width: number): string {
  const rows = [...headRows(report), ...storyRows(report), ...endRows(report)];
  return table(rows.map(([name, value]) => [name, fitted(value, width - NAMES_WIDTH)]));
}

type Row = readonly [name: string, value: string];

function headRows(report: Report): Row[] {
  return [
    ['run', report.run],
    ['flow', `${oneLine(report.flow)}  ${report.hash}`],
    ...(report.parent === undefined
      ? []
      : [['fork of', `${report.parent.run} at event ${report.parent.seq}`] as const]),
    ...(report.movedTo === undefined ? [] : [['moved to', report.movedTo] as const]),
    ['state', `${report.state}${report.code === null ? '' : `  ${report.code}`}`],
    ['path', pathText(report.path)],
    ['usage', usageText(report.usage)],
    ...(report.granted ?? []).map(
      ({ by, dimension, amount }) => ['granted', `${dimension} ${amount}, by ${oneLine(by)}`] as const,
    ),
  ];
}

/** What was answered, what it waits for, what failed, and what was done. */
function storyRows(report: Report): Row[] {
  const failure = failureLine(report);
  return [
    ...Object.entries(report.approvals).map(
      ([node, choice]) => ['approval', `${oneLine(node)}: ${oneLine(choice)}`] as const,
    ),
    ...waitRows(report),
    ...(failure === null ? [] : [['error', failure] as const]),
    ...(report.failure === null ? [] : [['failed', partLine(report.failure)] as const]),
    ...(report.escalation === undefined ? [] : [['goes to', rowLine(report.escalation)] as const]),
    ...(report.results ?? []).map(
      ({ name, agent, output, durationMs }) =>
        [
          'result',
          `${oneLine(name)} (${oneLine(agent)}, ${seconds(durationMs)}): ${oneLine(shown(output), 200)}`,
        ] as const,
    ),
    ...report.receipts.map((receipt) => ['receipt', receiptLine(receipt)] as const),
    ...(report.losses ?? []).map((loss) => ['lost', lossText(loss)] as const),
  ];
}

function lossText({ node, item, error, why }: NonNullable<Report['losses']>[number]): string {
  const where = `${oneLine(node)}${item === null ? '' : ` item ${item}`}`;
  return `${where}: ${error.type}: ${oneLine(error.message, 200)} (${oneLine(why, 200)})`;
}

/** What the answer is, and what was said against it. */
function endRows(report: Report): Row[] {
  const reason = ownReason(report);
  return [
    ...report.violations.map(({ message }) => ['violation', oneLine(message, 300)] as const),
    ...(reason === undefined ? [] : [['reason', oneLine(reason, 300)] as const]),
    ...(report.rejected === null ? [] : [['rejected', framed(report.rejected.text)] as const]),
    ...(report.output === null ? [] : [['output', framed(shown(report.output))] as const]),
  ];
}

/** The first and the last nodes of a long path; `--json` has all. */
function pathText(path: readonly string[]): string {
  if (path.length === 0) return '-';
  const left = path.length - 2 * PATH_END;
  const parts = left <= 1 ? path : [...path.slice(0, PATH_END), `… ${left} more …`, ...path.slice(-PATH_END)];
  return parts.map((name) => oneLine(name)).join(' > ');
}

const PATH_END = 10;

/** The longest name of a row, the gap, and the mark of a broken line. */
const NAMES_WIDTH = 15;

/** The people, signals and timers that the run waits for. */
function waitRows({ waiting, waits }: Report): Row[] {
  const questions = waiting.flatMap((each): Row[] => {
    const line = escalationLine(each);
    const row: Row = ['waiting', `${each.id}  ${oneLine(each.node)}: ${oneLine(each.message, 200)}`];
    return line === '' ? [row] : [row, ['goes to', line]];
  });
  const others = waits.map(({ node, signal, until }): Row => {
    const name = signal === null ? '' : `: signal ${oneLine(signal)}`;
    return ['waits', `${oneLine(node)}${name}  ${until ?? ''}`.trimEnd()];
  });
  return [...questions, ...others];
}

/** One effect that the engine committed: the tool, its arguments, its result, and who approved it. */
function receiptLine({ tool, args, result, status, approvedBy, inherited }: Report['receipts'][number]): string {
  const notes = [...(status === 'committed' ? [] : [status]), ...(inherited === true ? ['before the fork'] : [])];
  const state = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  const approval = approvedBy === null ? '' : `, approved by ${oneLine(approvedBy)}`;
  const returned = result === null ? '' : ` -> ${oneLine(shown(result), 160)}`;
  return `${oneLine(tool)} ${oneLine(shown(args), 160)}${returned}${state}${approval}`;
}

/** What the run lost, without the error that ended it, on one line. */
function lossesLine({ losses = [], error }: Report): string | null {
  const shownLosses = losses.filter((loss) => loss.error.message !== error?.message || loss.item !== null);
  if (shownLosses.length === 0) return null;
  const parts = shownLosses.slice(0, LOSSES_SHOWN).map(({ node, item, error: { type, message } }) => {
    const where = `\`${oneLine(node)}\`${item === null ? '' : ` item ${item}`}`;
    return `${where} (${type}: ${oneLine(message, 80)})`;
  });
  const more = shownLosses.length - parts.length;
  return `lost: ${parts.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}
const LOSSES_SHOWN = 3;

/** The receipts of calls with effects, the marked statements, and the refused answer, after a run. */
export function evidenceLines(report: Report): readonly string[] {
  const { receipts, violations, rejected } = report;
  const reason = ownReason(report);
  const lost = lossesLine(report);
  const done = hasEnded(report.state) ? doneText(receipts) : null;
  return [
    ...(lost === null ? [] : [lost]),
    ...receipts.filter(({ effect }) => !onlyReads(effect)).map((receipt) => `receipt: ${receiptLine(receipt)}`),
    ...(done === null ? [] : [done]),
    ...violations.map(({ message }) => `violation: ${oneLine(message, 300)}`),
    ...(reason === undefined
      ? []
      : [`${report.code === 'UNVERIFIED' ? 'unverified' : 'partial'}: ${oneLine(reason, 300)}`]),
    ...(rejected === null ? [] : [`rejected: ${oneLine(rejected.text, 300)}`]),
  ];
}

/** The reason of a partial success, unless it is one of the violations. */
function ownReason({ violations, reason }: Report): string | undefined {
  return violations.some(({ message }) => message === reason) ? undefined : reason;
}

export function escalationLine({ data }: Pick<Waiting, 'data'>): string {
  const row = rowIn(data);
  return row === null ? '' : rowLine(row);
}

function rowLine({ endpoint, severity, row, recovery }: Escalation): string {
  return oneLine(`${endpoint} (${row}, severity ${severity}): ${recovery}`, 300);
}

function rowIn({ escalation }: Waiting['data']): Escalation | null {
  return isRecord(escalation) && 'row' in escalation && 'endpoint' in escalation
    ? (escalation as unknown as Escalation)
    : null;
}

/** One command per choice, ready to paste. `flags` are the options to repeat. */
export function answerLines({ id, choices, needs, data, approvers }: Waiting, flags: string): readonly string[] {
  const [first] = approvers?.people ?? [];
  const key = first !== undefined && approvers?.signing.includes(first) === true ? ` --key ${shellWord(first)}` : '';
  const who = first === undefined ? '' : ` --as ${shellWord(first)}${key}`;
  return choices.map((choice) => {
    const content = contentFlag(choice, needs[choice], data);
    return harmless(withCommandName(`sluice answer ${id} ${shellWord(choice)}${content}${who}${flags}`));
  });
}

/** The option for the data or the text that a choice needs. */
function contentFlag(choice: string, needs: 'edit' | 'text' | 'either' | undefined, data: Waiting['data']): string {
  if (needs === undefined) return '';
  if (needs !== 'edit') return ' --text "…"';
  return choice === 'edit' ? editFlag(data) : ` --edit '{"…": "…"}'`;
}

/** The `--edit` option, filled in with the proposal. */
function editFlag({ tool, args, plan, stage, result }: Waiting['data']): string {
  // Of a stage, the result is edited. A stage that failed has none yet.
  const call = tool === undefined ? undefined : (args ?? {});
  const proposed = stage !== undefined ? (result ?? '…') : (plan ?? call);
  return proposed === undefined ? '' : ` --edit ${shellWord(JSON.stringify(proposed))}`;
}
