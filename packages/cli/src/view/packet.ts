/** Data of a question as lines that a person can read: names and values instead of JSON. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { harmless, oneLine, pad, unpadded, widthOf, wrap } from '@sluice-internal/library/documents';

const INDENT = '  ';
const NAMES_MAX = 24;

/** At most `linesMax` lines of at most `width` columns. The last one then has the number of lines that are left out. */
export function packetLines(packet: Json, width: number, linesMax = 40): readonly string[] {
  const lines = linesOf(packet, Math.max(20, width));
  if (lines.length <= linesMax) return lines;
  return [
    ...lines.slice(0, linesMax - 1),
    `… ${lines.length - linesMax + 1} more lines; \`sluice approvals --json\` has all`,
  ];
}

function linesOf(value: Json, width: number): string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => hanging('- ', item, width));
  if (!isRecord(value)) return wrap(textOf(value), width);
  const entries = Object.entries(value);
  const column = Math.min(NAMES_MAX, Math.max(0, ...entries.map(([name]) => widthOf(shownName(name)))));
  return entries.flatMap(([name, field]) => {
    if (isEmpty(field)) return [`${pad(shownName(name), column)}  -`];
    if (!isNested(field)) return hanging(`${pad(shownName(name), column)}  `, field, width);
    return [shownName(name), ...linesOf(field, width - INDENT.length).map((line) => INDENT + line)];
  });
}

/** A value after a heading; its further lines stand below its first one. */
function hanging(head: string, value: Json, width: number): string[] {
  const lines = linesOf(value, Math.max(10, width - widthOf(head)));
  return lines.map((line, index) => (index === 0 ? head : ' '.repeat(widthOf(head))) + line);
}

function shownName(name: string): string {
  return oneLine(name);
}

function textOf(value: Json): string {
  return typeof value === 'string' ? unpadded(harmless(value)) : JSON.stringify(value);
}

/** A list of short values stays beside its name. */
function isNested(value: Json): boolean {
  return isRecord(value) || (Array.isArray(value) && value.some((item: Json) => typeof item === 'object'));
}

function isEmpty(value: Json): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}
