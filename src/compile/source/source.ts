/**
 * Text in, located data and diagnostics out. YAML 1.2, of which JSON is a part; `locate` gives the same for an object made by
 * a program, so that one validation serves both. Nothing in here throws, whatever the text.
 */
import { parseDocument, type Document } from 'yaml';
import { createReport, type Diagnostic, type Report } from '../diagnose/diagnostics.ts';
import { locateObject } from './locate-object.ts';
import type { Located } from './located.ts';
import { createSource, START } from './range.ts';
import { reportSyntax } from './syntax-errors.ts';
import { locateYaml } from './yaml-tree.ts';

export const TEXT_MAX = 8 * 1024 * 1024;

export interface Parsed {
  /** Null where the text could not be read at all; otherwise what later steps may go on with, errors or not. */
  readonly doc: Located | null;
  /** Already holds the parser's findings; later steps add theirs to it. */
  readonly report: Report;
  readonly diagnostics: readonly Diagnostic[];
}

/** What the text is, in the words of a message, and what to put into an empty one. */
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
