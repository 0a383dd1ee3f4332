/** `sluice check`: every mistake of every document at once, then what each flow can cost, before anything is spent. */
import type { Diagnostic } from '../../../compile/diagnose/diagnostics.ts';
import { certificate } from '../certificate.ts';
import type { Cli } from '../context.ts';
import { checkReport, countLine, renderAll } from '../diagnostics.ts';
import { compileFile, type CompiledFile } from '../document.ts';
import { FAILED, OK, type ExitStatus } from '../exit-status.ts';
import { readNumber } from '../option-values.ts';
import { dollars } from '../text.ts';

export interface CheckOptions {
  readonly maxCost?: string;
}

export async function checkCommand(cli: Cli, files: readonly string[], options: CheckOptions): Promise<ExitStatus> {
  const maxCost = readNumber('--max-cost', options.maxCost);
  const checked: {
    readonly compiled: CompiledFile;
    readonly diagnostics: readonly Diagnostic[];
    readonly ok: boolean;
  }[] = [];
  for (const file of files) {
    const compiled = await compileFile(file);
    const diagnostics = [...compiled.result.diagnostics, ...tooDear(compiled, maxCost)];
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
  if (diagnostics.length > 0) cli.screen.note(`${renderAll(diagnostics, text, cli.screen)}\n`);
  cli.screen.print(countLine(file, diagnostics));
  if (result.flow !== undefined && result.bounds !== undefined)
    cli.screen.print(certificate(result.flow, result.bounds));
}

/** The worst case against what the caller is ready to pay. */
function tooDear({ file, result }: CompiledFile, maxCost: number | undefined): readonly Diagnostic[] {
  const most = result.bounds?.flow.costUsd.most;
  if (maxCost === undefined || most === undefined || (most !== null && most <= maxCost)) return [];
  const place = { severity: 'error', file, line: 1, column: 1 } as const;
  if (most === null)
    return [
      {
        ...place,
        code: 'unbounded-cost',
        message: `nothing bounds what this flow may cost, but \`--max-cost\` is ${dollars(maxCost)}`,
        help: 'Set `budgets.cost_usd`, or a cap on what repeats.',
      },
    ];
  return [
    {
      ...place,
      code: 'over-max-cost',
      message: `this flow may cost up to ${dollars(most)}, more than the ${dollars(maxCost)} of \`--max-cost\``,
      help: 'Lower its caps or its budget, or raise the limit.',
    },
  ];
}
