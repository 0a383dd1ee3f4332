/**
 * Diagnostics: one sentence per mistake, a code with a page, a place, and help. A report collects them in any order and lists
 * each once, in the order of the text.
 */
import { present } from '@sluice-internal/kernel/expr';
import type { DiagnosticCode } from './codes.ts';
import { positionOf, type Range, type Source } from './range.ts';

interface RelatedPlace {
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * One mistake or warning in a document, with its place.
 * @example
 * const shown = ({ file, line, column, message }: Diagnostic) => `${file}:${line}:${column} ${message}`;
 */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine?: number;
  readonly endColumn?: number;
  readonly help?: string;
  readonly related?: readonly RelatedPlace[];
}

/** A place: a range, a located value, or the key of a map entry by its `keyRange`. */
type Place = Range | { readonly range: Range };

interface Detail {
  readonly help?: string | undefined;
  readonly related?: readonly Related[];
}

export interface Related {
  readonly message: string;
  readonly at: Place;
  /** Of another file. */
  readonly source?: Source;
}

export interface Report {
  readonly source: Source;
  error(code: DiagnosticCode, at: Place, message: string, detail?: Detail): void;
  warning(code: DiagnosticCode, at: Place, message: string, detail?: Detail): void;
  /** True once any error was reported. */
  failed(): boolean;
  /** True once an error of this code was reported. */
  has(code: DiagnosticCode): boolean;
  list(): readonly Diagnostic[];
  /** Makes the findings about another source part of this report. */
  include(other: Report): void;
}

export function createReport(source: Source): Report {
  const found: Diagnostic[] = [];
  const included: Report[] = [];
  let errors = 0;
  const add = (
    severity: Diagnostic['severity'],
    code: DiagnosticCode,
    at: Place,
    message: string,
    detail: Detail = {},
  ) => {
    if (severity === 'error') errors += 1;
    found.push(diagnosticAt(source, severity, code, at, message, detail));
  };
  return {
    source,
    error: (code, at, message, detail) => add('error', code, at, message, detail),
    warning: (code, at, message, detail) => add('warning', code, at, message, detail),
    failed: () => errors > 0 || included.some((each) => each.failed()),
    has: (code) => found.some((each) => each.code === code && each.severity === 'error'),
    list: () => {
      const ordered = found.toSorted((a, b) => a.line - b.line || a.column - b.column);
      return once([...ordered, ...included.flatMap((each) => each.list())]);
    },
    include: (other) => void included.push(other),
  };
}

function diagnosticAt(
  source: Source,
  severity: Diagnostic['severity'],
  code: DiagnosticCode,
  at: Place,
  message: string,
  detail: Detail,
): Diagnostic {
  const range = rangeOf(at);
  const start = positionOf(source, range.start);
  const end = positionOf(source, Math.max(range.start, range.end));
  return {
    severity,
    code,
    message: range.path === undefined || range.path === '' ? message : `${range.path}: ${message}`,
    file: source.file,
    line: start.line,
    column: start.column,
    endLine: end.line,
    endColumn: end.column,
    ...present({ help: detail.help, related: detail.related?.map((each) => relatedAt(source, each)) }),
  };
}

function relatedAt(own: Source, { source = own, ...related }: Related): RelatedPlace {
  const range = rangeOf(related.at);
  const where = range.path === undefined ? '' : ` (${range.path})`;
  return { message: related.message + where, file: source.file, ...positionOf(source, range.start) };
}

function rangeOf(at: Place): Range {
  return 'range' in at ? at.range : at;
}

function once(found: readonly Diagnostic[]): readonly Diagnostic[] {
  const seen = new Set<string>();
  return found.filter((each) => {
    const key = `${each.file}:${each.line}:${each.column}:${each.code}:${each.message}`;
    return seen.has(key) ? false : seen.add(key) !== undefined;
  });
}
