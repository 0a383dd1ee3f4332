/** Diagnostics as text and as JSON, and the error that stops a command because of them. */
import { existsSync } from 'node:fs';
import { tighteningKeys } from '@sluice-internal/compile/prove';
import type { CompileResult } from '@sluice-internal/notations/driver';
import { createSource, lineOf } from '@sluice-internal/compile/source';
import type { Diagnostic } from '@sluice-internal/compile/source';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { CompiledFile } from './document.ts';
import { readText } from './files.ts';
import { FAILED, USAGE, type ExitStatus } from './exit-status.ts';
import type { Colors, Screen } from './screen.ts';
import { toolTable } from './tool-table.ts';
import { plural, widthOf } from './text.ts';

/** The JSON of `check --json`, and of `run --json` if the document does not compile. */
export function checkReport(
  result: CompileResult,
  diagnostics = result.diagnostics,
): { readonly ok: boolean; readonly [field: string]: unknown } {
  return {
    ok: result.ok && diagnostics.every(({ severity }) => severity !== 'error'),
    flow: result.flow?.id ?? result.graph?.title ?? null,
    hash: result.flow?.hash ?? null,
    notation: result.notation,
    diagnostics,
    tools: result.flow === undefined ? [] : toolTable(result.flow),
    bounds: result.bounds?.flow ?? null,
    certificate:
      result.bounds === undefined
        ? null
        : {
            nodes: result.bounds.nodes,
            cycles: result.bounds.cycles,
            codes: result.bounds.codes,
            concurrent: result.bounds.concurrent,
            tighten: result.flow === undefined ? {} : tighteningKeys(result.flow, result.bounds),
          },
  };
}

export class DiagnosticsError extends Error {
  readonly report: object;
  readonly rendered: (screen: Screen) => string;
  readonly status: ExitStatus;

  constructor(report: object, rendered: (screen: Screen) => string, status: ExitStatus = FAILED) {
    super('there are errors in the document');
    this.report = report;
    this.rendered = rendered;
    this.status = status;
  }
}

/** The mistakes of a script or a suite. */
export function mistakesIn(file: string, text: string, diagnostics: readonly Diagnostic[]): DiagnosticsError {
  return new DiagnosticsError(
    { ok: false, diagnostics },
    (screen) => `${renderAll(diagnostics, text, screen)}\n\n${countLine(file, diagnostics)}`,
  );
}

/** The flow of a document. Throws the mistakes of the document. */
export function requireFlow(compiled: CompiledFile): CompiledFlow {
  const { ok, flow } = compiled.result;
  if (!ok || flow === undefined) throw failedCompile(compiled);
  return flow;
}

/** A document whose only errors are missing prerequisites is right, and lacks a file: exit status 2, as for other prerequisites. */
export function failedCompile({ file, text, result }: CompiledFile): DiagnosticsError {
  const errors = result.diagnostics.filter(({ severity }) => severity === 'error');
  const lacksFiles = errors.length > 0 && errors.every(({ code }) => code === 'missing-prerequisite');
  return new DiagnosticsError(
    checkReport(result),
    (screen) => `${renderAll(result.diagnostics, text, screen, file)}\n\n${countLine(file, result.diagnostics)}`,
    lacksFiles ? USAGE : FAILED,
  );
}

/** `text` is the text of `file`. Diagnostics about other files, such as sub-flows, quote those files. */
export function renderAll(
  diagnostics: readonly Diagnostic[],
  text: string | undefined,
  { colors }: Screen,
  file?: string,
): string {
  const textOf = (other: string): string | undefined => {
    if (file === undefined || other === file) return text;
    return existsSync(other) ? readText(other) : undefined;
  };
  return diagnostics.map((each) => renderDiagnostic(each, textOf(each.file), colors)).join('\n\n');
}

export function countLine(file: string, diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  const warnings = diagnostics.length - errors;
  const parts = [
    ...(errors > 0 ? [plural(errors, 'error')] : []),
    ...(warnings > 0 ? [plural(warnings, 'warning')] : []),
  ];
  return `${file}: ${parts.length === 0 ? 'no errors' : parts.join(', ')}`;
}

const WIDTH_MAX = 120;

/** The message, the place, the line with a mark under it, the help, and the page of the code. */
export function renderDiagnostic(diagnostic: Diagnostic, sourceText: string | undefined, colors: Colors): string {
  const strong = (text: string): string =>
    colors.bold(diagnostic.severity === 'error' ? colors.red(text) : colors.yellow(text));
  const side = (text: string): string => colors.bold(colors.blue(text));
  const gutter = String(diagnostic.line).length;
  const indent = ' '.repeat(gutter);
  const lines = [
    `${strong(`${diagnostic.severity}[${diagnostic.code}]`)}${colors.bold(`: ${printable(diagnostic.message)}`)}`,
    `${indent}${side('-->')} ${diagnostic.file}:${diagnostic.line}:${diagnostic.column}`,
  ];
  const excerpt = sourceText === undefined ? null : excerptOf(diagnostic, sourceText);
  if (excerpt !== null) {
    lines.push(`${indent} ${side('|')}`);
    lines.push(`${side(`${diagnostic.line} |`)} ${excerpt.line}`);
    lines.push(`${indent} ${side('|')} ${excerpt.pad}${strong(excerpt.mark)}`);
  }
  for (const related of diagnostic.related ?? []) {
    lines.push(
      `${indent} ${side('=')} note: ${printable(related.message)}: ${related.file}:${related.line}:${related.column}`,
    );
  }
  if (diagnostic.help !== undefined)
    lines.push(`${indent} ${side('=')} ${colors.bold(colors.green('help'))}: ${printable(diagnostic.help)}`);
  lines.push(`${indent} ${side('=')} see docs/errors/${diagnostic.code}.md`);
  return lines.join('\n');
}

interface Excerpt {
  readonly line: string;
  readonly pad: string;
  readonly mark: string;
}

function excerptOf(diagnostic: Diagnostic, sourceText: string): Excerpt | null {
  const source = createSource(sourceText.startsWith('\uFEFF') ? sourceText.slice(1) : sourceText, diagnostic.file);
  const whole = lineOf(source, diagnostic.line);
  if (whole.trim() === '') return null;
  const start = diagnostic.column - 1;
  const end = diagnostic.endLine === diagnostic.line ? (diagnostic.endColumn ?? start + 1) - 1 : whole.trimEnd().length;
  // A long line is cut around the place, so that the mark stays on the screen.
  const cut = start > WIDTH_MAX - 20 ? start - 40 : 0;
  const shown = whole.slice(cut, cut + WIDTH_MAX);
  const pad = shown.slice(0, start - cut);
  const marked = shown.slice(start - cut, Math.max(end, start + 1) - cut);
  return {
    line: printable(shown),
    pad: ' '.repeat(widthOf(printable(pad))),
    mark: '^'.repeat(Math.max(1, widthOf(printable(marked)))),
  };
}

/** Control characters would move the cursor or worse; a tab becomes one space so that the mark lines up. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}
