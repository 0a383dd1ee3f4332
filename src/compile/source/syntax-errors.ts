/**
 * The YAML parser's errors in an author's words. One slip often makes the parser stumble several times on the same line, so
 * only its first complaint per line is passed on.
 */
import type { Document, YAMLError } from 'yaml';
import type { Report } from '../diagnose/diagnostics.ts';
import { positionOf } from './range.ts';

const REPORTED_MAX = 100;

/** Reports every syntax error; true where there was one, so that the tree cannot be trusted. */
export function reportSyntax(document: Document.Parsed, report: Report): boolean {
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const deep = errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (deep !== undefined) {
    report.error('too-deep', rangeOf(deep), 'this document is nested too deeply to be read', { help: 'Flatten it.' });
    return true;
  }
  const lines = new Set<number>();
  for (const error of errors) {
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
