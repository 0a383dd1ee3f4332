/**
 * Text in, located data and diagnostics out. YAML 1.2, of which JSON is a part; `locate` gives the same for an object made by
 * a program, so that one validation serves both. Nothing here throws, for any text.
 */
import { parseDocument, type Document, type YAMLError } from 'yaml';
import { createReport, type Diagnostic, type Report } from '../diagnose/diagnostics.ts';
import { locateObject } from './locate-object.ts';
import type { Located } from './located.ts';
import { START, createSource, positionOf } from './range.ts';
import { locateYaml } from './yaml-tree.ts';

export const TEXT_MAX = 8 * 1024 * 1024;

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
  start: 'Start with `flow:`, `workflow:`, `Orchestration:`, `staged:` or `loop:`.',
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
  return parsed(readYaml(text, report, kind), report);
}

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
      // Our own check is linear and says where the first one stands; the library's compares each key with each.
      uniqueKeys: false,
      version: '1.2',
    });
  } catch (error) {
    report.error(
      'syntax-error',
      START,
      `this text could not be parsed: ${error instanceof Error ? error.message : 'unknown reason'}`,
    );
    return null;
  }
  if (reportSyntax(document, report)) return null;
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

/** Reports every syntax error; true where there was one, so that the tree cannot be trusted. */
function reportSyntax(document: Document.Parsed, report: Report): boolean {
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const deep = errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (deep !== undefined) {
    report.error('too-deep', rangeOf(deep), 'this document is nested too deeply to be read', { help: 'Flatten it.' });
    return true;
  }
  const lines = new Set<number>();
  const structural = errors.find(({ code }) => STRUCTURAL.has(code));
  for (const error of errors) {
    if (error !== structural && STRUCTURAL.has(error.code)) continue;
    const { line } = positionOf(report.source, error.pos[0]);
    if (lines.has(line) || lines.size >= REPORTED_MAX) continue;
    lines.add(line);
    const { message, help } = explain(error);
    report.error('syntax-error', rangeOf(error), message, { help });
  }
  return errors.length > 0;
}

function rangeOf(error: YAMLError) {
  return { start: error.pos[0], end: Math.max(error.pos[0] + 1, error.pos[1]) };
}

function explain(error: YAMLError): { message: string; help?: string } {
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return { message: 'a tab is used as indentation', help: 'Indent with spaces; YAML does not allow tabs there.' };
    case 'BLOCK_AS_IMPLICIT_KEY':
      return {
        message: 'a second `key: value` starts here, in the middle of a value',
        help: 'Put text that contains `: ` in quotes, or check the indentation of this line and the next.',
      };
    case 'MULTILINE_IMPLICIT_KEY':
      return { message: 'this key goes on over a line break', help: 'Check for a missing `:` or a wrong indentation.' };
    case 'BAD_INDENT':
      return {
        message: sentence(error.message),
        help: 'Line it up with its neighbours, or close the bracket or quote before it.',
      };
    case 'MISSING_CHAR':
      return {
        message: sentence(error.message),
        help: 'Something before this place was opened and not closed, or left out.',
      };
    case 'BAD_SCALAR_START':
      return { message: sentence(error.message), help: 'Put the text in quotes.' };
    case 'BAD_DQ_ESCAPE':
      return {
        message: sentence(error.message),
        help: 'Double the backslash, or use single quotes, where it stands for itself.',
      };
    case 'MULTIPLE_DOCS':
      return { message: 'a second document starts here', help: 'Keep one document per file; remove the `---`.' };
    case 'TAG_RESOLVE_FAILED':
      return {
        message: sentence(error.message),
        help: 'Tags such as `!name` have no meaning here; put text that starts with `!` in quotes.',
      };
    default:
      return { message: sentence(error.message) };
  }
}

function sentence(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
