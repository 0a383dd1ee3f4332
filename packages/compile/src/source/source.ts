/**
 * Parses YAML 1.2, of which JSON is a part, into located data and diagnostics. `locate` does the same for an object of a
 * program, so one validation serves both. No text makes these functions throw.
 */
import { isScalar, parseDocument, visit, type Document } from 'yaml';
import { LIMITS } from '@sluice-internal/kernel/ir';
import { createReport, type Diagnostic, type Report } from './diagnostics.ts';
import { locateObject } from './locate-object.ts';
import type { Located } from './located.ts';
import { START, createSource, positionOf } from './range.ts';
import { explainSyntax } from './syntax-words.ts';
import { locateYaml } from './yaml-tree.ts';

const TEXT_MAX = LIMITS.documentText;

export interface Parsed {
  /** The data that later steps use, even if there were errors; null if the text could not be read at all. */
  readonly doc: Located | null;
  /** Already holds the parser's findings; later steps add theirs to it. */
  readonly report: Report;
  readonly diagnostics: readonly Diagnostic[];
}

/** The words of messages about the text, and the help for an empty text. */
export interface Kind {
  readonly what: string;
  readonly start: string;
}

const DOCUMENT: Kind = {
  what: 'this document',
  start: 'Start with the key of a notation, such as `flow:`.',
};

export function parseSource(input: string, file: string, kind: Kind = DOCUMENT): Parsed {
  const text = input.startsWith('\uFEFF') ? input.slice(1) : input;
  if (text.length > TEXT_MAX) {
    const report = createReport(createSource('', file));
    const megabytes = (text.length / 1024 / 1024).toFixed(1);
    report.error(
      'too-large',
      START,
      `${kind.what} has ${megabytes} MB, more than the ${TEXT_MAX / 1024 / 1024} MB that are read`,
      {
        help: 'Keep data out of the document: pass it as input, or let a tool fetch it.',
      },
    );
    return parsed(null, report);
  }
  const report = createReport(createSource(text, file));
  // The parser needs much time and memory for each value, so what has surely too many is not given to it.
  if (separatorsIn(text) <= SEPARATORS_MAX) return parsed(readYaml(text, report, kind), report);
  report.error('too-many-values', START, `${kind.what} has more than ${SEPARATORS_MAX} commas and lines`, {
    help: 'Keep data out of the document: pass it as input, or let a tool fetch it.',
  });
  return parsed(null, report);
}

/** Texts have commas and lines too. */
const SEPARATORS_MAX = 2 * LIMITS.documentValues;

function separatorsIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === LINE) count += 1;
  }
  return count;
}

const COMMA = 44;
const LINE = 10;

/** Locates an object that a program made: no lines, but its path in every message. */
export function locate(value: unknown, file = '<object>'): Parsed {
  const report = createReport(createSource('', file));
  return parsed(locateObject(value, report), report);
}

function readYaml(text: string, report: Report, { what, start }: Kind): Located | null {
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      prettyErrors: false,
      // Our own check is linear and reports the place of the first key. The library compares each key with each.
      uniqueKeys: false,
      version: '1.2',
    });
  } catch (error) {
    report.error(
      'syntax-error',
      START,
      `this text could not be parsed: ${error instanceof Error ? error.message : 'unknown reason'}`,
      { help: 'Write the document as YAML or JSON.' },
    );
    return null;
  }
  if (reportSyntax(document, report) || reportComment(document, report)) return null;
  if (document.contents === null) {
    report.error('empty-document', START, `${what} is empty`, { help: start });
    return null;
  }
  return locateYaml(document, report);
}

function parsed(doc: Located | null, report: Report): Parsed {
  return { doc, report, diagnostics: report.list() };
}

const REPORTED_MAX = 100;

/** Errors after which the parser has lost the structure: each later one is most likely a consequence of the first. */
const STRUCTURAL: ReadonlySet<string> = new Set([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'UNEXPECTED_TOKEN',
]);

/** Reports a comment as other languages write it. It has become part of the key after it, so the tree cannot be trusted. */
function reportComment(document: Document.Parsed, report: Report): boolean {
  let start: number | undefined;
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key) || key.type !== 'PLAIN' || !/^\/[/*]/.test(String(key.value))) return undefined;
      start = key.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return start !== undefined && foundComment(start, report);
}

function foundComment(start: number, report: Report): boolean {
  const [sign] = /^\/[/*]/.exec(report.source.text.slice(start, start + 2)) ?? [];
  if (sign === undefined) return false;
  report.error('syntax-error', { start, end: start + 2 }, `\`${sign}\` does not start a comment`, {
    help: `Start a comment with \`#\`. Put a text that starts with \`${sign}\` in quotes.`,
  });
  return true;
}

/** Reports every syntax error; true where there was one, so that the tree cannot be trusted. */
function reportSyntax(document: Document.Parsed, report: Report): boolean {
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const deep = errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (deep !== undefined) {
    report.error(
      'too-deep',
      explainSyntax(deep, report.source.text).at,
      'this document is nested too deeply to be read',
      { help: 'Flatten it.' },
    );
    return true;
  }
  const lines = new Set<number>();
  const structural = errors.find(({ code }) => STRUCTURAL.has(code));
  for (const error of errors) {
    if (error !== structural && STRUCTURAL.has(error.code)) continue;
    const { line } = positionOf(report.source, error.pos[0]);
    if (lines.has(line) || lines.size >= REPORTED_MAX) continue;
    lines.add(line);
    const { message, help, at } = explainSyntax(error, report.source.text);
    if (!foundComment(at.start, report)) report.error('syntax-error', at, message, { help });
  }
  return errors.length > 0;
}
