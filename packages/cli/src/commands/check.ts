/** `sluice check`: all mistakes of all documents, then the certificate of each flow. */
import { BUDGET_ROWS, RISKY } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Measure } from '@sluice-internal/kernel/ir';
import { tighteningKeys } from '@sluice-internal/compile/prove';
import type { Bound, Bounds } from '@sluice-internal/compile/prove';
import type { Diagnostic } from '@sluice-internal/compile/source';
import {
  FAILED,
  OK,
  checkReport,
  compileFile,
  countLine,
  dollars,
  grouped,
  modelDiagnostics,
  oneLine,
  plural,
  prerequisiteDiagnostics,
  readNumber,
  renderAll,
  table,
  toolTable,
} from '@sluice-internal/library/documents';
import type { Cli, CompiledFile, ExitStatus } from '@sluice-internal/library/documents';
import type { Options } from '../table/command-table.ts';

export async function checkCommand(cli: Cli, files: readonly string[], options: Options<'check'>): Promise<ExitStatus> {
  const maxCost = readNumber('--max-cost', options.maxCost);
  const checked: {
    readonly compiled: CompiledFile;
    readonly diagnostics: readonly Diagnostic[];
    readonly ok: boolean;
  }[] = [];
  for (const file of files) {
    const compiled = await compileFile(file);
    const missing = [...(await prerequisiteDiagnostics(compiled, 'warning')), ...modelDiagnostics(compiled)];
    const advice = [...missing, ...nobodyApproves(compiled), ...overMaxCost(compiled, maxCost)];
    const diagnostics = [...compiled.result.diagnostics, ...advice];
    checked.push({ compiled, diagnostics, ok: diagnostics.every(({ severity }) => severity !== 'error') });
  }
  const reports = checked.map(({ compiled, diagnostics }) => checkReport(compiled.result, diagnostics));
  if (cli.json)
    cli.printJson(
      files.length === 1 ? reports[0] : reports.map((report, index) => ({ file: files[index], ...report })),
    );
  else for (const { compiled, diagnostics } of checked) tell(cli, compiled, diagnostics);
  return checked.every(({ ok }) => ok) ? OK : FAILED;
}

function tell(cli: Cli, { file, text, result }: CompiledFile, diagnostics: readonly Diagnostic[]): void {
  if (diagnostics.length > 0) cli.screen.note(`${renderAll(diagnostics, text, cli.screen, file)}\n`);
  cli.screen.print(countLine(file, diagnostics));
  if (result.flow !== undefined && result.bounds !== undefined)
    cli.screen.print(certificate(result.flow, result.bounds));
}

/** In a flow without `people`, every user who can write to the database can answer. */
function nobodyApproves({ file, result: { flow } }: CompiledFile): readonly Diagnostic[] {
  if (flow === undefined || flow.people !== undefined) return [];
  const risky = Object.entries(flow.tools).filter(([, { effect }]) => RISKY.has(effect));
  const [first] = risky;
  if (first === undefined) return [];
  const [name, { effect }] = first;
  const rest = risky.length === 1 ? '' : `, and ${plural(risky.length - 1, 'tool')} more`;
  return [
    {
      ...({ severity: 'warning', code: 'nobody-approves', file, line: 1, column: 1 } as const),
      message: `no \`people\` are declared, so everybody with access to the database can approve (\`${name}\` is ${effect}${rest})`,
      help: 'Declare `people`, or write `sluice.people.yaml` beside the document.',
    },
  ];
}

/** An error if the worst case costs more than `--max-cost`. */
function overMaxCost({ file, result }: CompiledFile, maxCost: number | undefined): readonly Diagnostic[] {
  const most = result.bounds?.flow.costUsd.most;
  if (maxCost === undefined || most === undefined || (most !== null && most <= maxCost)) return [];
  const problem: Pick<Diagnostic, 'code' | 'message' | 'help'> =
    most === null
      ? {
          code: 'unbounded-cost',
          message: `nothing bounds the cost of this flow, but \`--max-cost\` is ${dollars(maxCost)}`,
          help: 'Set `budgets.cost_usd`, or a cap on each cycle.',
        }
      : {
          code: 'over-max-cost',
          message: `this flow may cost up to ${dollars(most)}, more than the ${dollars(maxCost)} of \`--max-cost\``,
          help: 'Lower its caps or its budget, or raise the limit.',
        };
  return [{ severity: 'error', file, line: 1, column: 1, ...problem }];
}

function widthText(width: number | undefined, branches: readonly unknown[]): string {
  if (width === undefined) return plural(branches.length, 'branch', 'branches');
  return width === 0 ? 'all items' : `up to ${plural(width, 'branch', 'branches')}`;
}

function certificate(flow: CompiledFlow, bounds: Bounds): string {
  const rows = [
    ['flow', `${oneLine(flow.id)}  ${flow.hash}`],
    ['nodes', nodesText(Object.keys(bounds.nodes))],
    ['cycles', bounds.cycles.length === 0 ? 'none' : cycleText(bounds.cycles[0])],
    ...bounds.cycles.slice(1).map((cycle) => ['', cycleText(cycle)]),
    ['ends', bounds.codes.join(', ')],
    ...bounds.concurrent.map(({ at, branches, width }) => [
      'at once',
      `${widthText(width, branches)} at ${oneLine(at)}`,
    ]),
  ];
  const tighter = tighteningKeys(flow, bounds);
  const costs = MEASURES.flatMap(({ measure, label }) => {
    const bound = bounds.flow[measure];
    const keys = (tighter[measure] ?? []).map((key) => `\`${key}\``).join(' or ');
    const hint = keys === '' ? [] : [bound.most === null ? `set ${keys}` : `lower it with ${keys}`];
    return bound.least === 0 && bound.most === 0
      ? []
      : [[`  ${label}`, amount(measure, bound.least), amount(measure, bound.most), ...hint]];
  });
  return [indent(table(rows)), ...toolLines(flow), indent(table([['', 'least', 'most'], ...costs]))].join('\n');
}

/** One line for each tool: what happens to a call, by which rule, and how its result is verified. */
function toolLines(flow: CompiledFlow): readonly string[] {
  const rows = toolTable(flow).map(({ tool, agents, effect, call, rule, verified }) => [
    `  ${oneLine(tool)}`,
    effect,
    call,
    oneLine(rule),
    verified === 'none' ? '' : `verified by ${verified}`,
    agents.length === 0 ? '' : `for ${agents.map((agent) => oneLine(agent)).join(', ')}`,
  ]);
  return rows.length === 0 ? [] : [indent(`tools\n${table(rows)}`)];
}

/** The amounts of a whole run. The largest single input is not one of them. */
const MEASURES = BUDGET_ROWS.filter(({ largest }) => largest === undefined);

function amount(measure: Measure, value: Bound['most']): string {
  if (value === null) return 'no bound';
  return measure === 'costUsd' ? dollars(value) : grouped(value);
}

const NAMES_MAX = 12;

function nodesText(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => oneLine(name));
  const rest = names.length - shown.length;
  return `${names.length}: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function cycleText(cycle: Bounds['cycles'][number] | undefined): string {
  if (cycle === undefined) return '';
  const caps = cycle.caps.map(({ label, max }) => `${label} ${grouped(max)}`);
  return `${cycle.nodes.map((name) => oneLine(name)).join(', ')}: ended by ${caps.length === 0 ? 'nothing' : caps.join(', ')}`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
