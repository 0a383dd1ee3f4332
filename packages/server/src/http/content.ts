/** What a caller without the right to content sees: what happened, and nothing of what was said. */
import type { Report, RunEvent } from '@sluice-internal/library';

/** The fields of events that hold words, arguments, results or values. */
const WORDS = new Set(['args', 'data', 'input', 'message', 'output', 'packet', 'reason', 'result', 'text']);

export function redactedEvent(event: RunEvent): RunEvent {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [key, WORDS.has(key) ? null : withoutMessage(key, value)]),
  ) as unknown as RunEvent;
}

/** Errors keep their class and type. */
function withoutMessage(key: string, value: unknown): unknown {
  return key === 'error' && typeof value === 'object' && value !== null ? { ...value, message: null } : value;
}

/** The fields of a report that stay as they are. */
const SHOWN = [
  'run',
  'flow',
  'hash',
  'state',
  'code',
  'path',
  'usage',
  'startedAt',
  'endedAt',
  'changed',
  'approvals',
] as const;

export function redactedReport(report: Report): object {
  const { error, waiting, receipts } = report;
  return {
    ...Object.fromEntries(
      SHOWN.flatMap((key) => (key in report ? [[key, (report as unknown as Record<string, unknown>)[key]]] : [])),
    ),
    output: null,
    error: error === null ? null : { ...error, message: null },
    waiting: waiting.map(({ id, node, choices }) => ({ id, node, choices })),
    receipts: receipts.map(({ seq, tool, effect, status }) => ({ seq, tool, effect, status })),
  };
}
