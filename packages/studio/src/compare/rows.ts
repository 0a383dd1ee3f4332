/** What two runs have in common, and what not: rows aligned by node and visit. */
import type { RunEvent } from '@sluice-internal/wire';
import type { RunReport } from '../data/types.ts';
import { dollars, duration, inline, short } from '../ui/format.ts';

export interface ComparedRow {
  readonly what: string;
  /** The node of the row, if it is about one. */
  readonly node: string | null;
  readonly a: string | null;
  readonly b: string | null;
  /** Of numbers: how much more B has. */
  readonly delta: string;
  readonly isSame: boolean;
}

export interface Side {
  readonly report: RunReport;
  readonly events: readonly RunEvent[];
}

const MAX = 280;

export function comparedRows(a: Side, b: Side): readonly ComparedRow[] {
  return [
    textRow('input', null, inputOf(a), inputOf(b)),
    ...aligned(outputsOf(a.events), outputsOf(b.events)),
    textRow('code', null, a.report.code, b.report.code),
    textRow('output', null, shown(a.report.output), shown(b.report.output)),
    ...amountRows(a, b),
  ];
}

interface Entry {
  readonly key: string;
  readonly what: string;
  readonly node: string;
  readonly text: string;
}

/** Outputs of visits and answers of people, in the order in which they came. */
function outputsOf(events: readonly RunEvent[]): readonly Entry[] {
  const counts = new Map<string, number>();
  return events.flatMap((event): readonly Entry[] => {
    const { type, node } = event;
    if (type !== 'node.finished' && type !== 'node.failed' && type !== 'question.answered') return [];
    const kind = type === 'question.answered' ? 'answer' : 'visit';
    const number = (counts.get(`${kind}|${node}`) ?? 0) + 1;
    counts.set(`${kind}|${node}`, number);
    const what = kind === 'answer' ? `answer at ${node}` : number === 1 ? node : `${node}, visit ${number}`;
    return [{ key: `${kind}|${node}|${number}`, what, node, text: textOf(event) }];
  });
}

function textOf(event: RunEvent): string {
  if (event.type === 'node.finished') return event.output === null ? 'done' : inline(event.output, MAX);
  if (event.type === 'node.failed') return `failed: ${event.error?.message ?? ''}`;
  return event.type === 'question.answered' ? `${event.choice} by ${event.by}` : '';
}

/** Entries of both keep their order: what only one of them has stands where it came. */
function aligned(a: readonly Entry[], b: readonly Entry[]): readonly ComparedRow[] {
  const [inA, inB] = [new Map(a.map((each) => [each.key, each])), new Map(b.map((each) => [each.key, each]))];
  const order: Entry[] = [];
  const rest = [...b];
  for (const entry of a) {
    if (inB.has(entry.key)) {
      const at = rest.findIndex(({ key }) => key === entry.key);
      if (at >= 0) order.push(...rest.splice(0, at).filter(({ key }) => !inA.has(key)));
      if (rest[0]?.key === entry.key) rest.shift();
    }
    order.push(entry);
  }
  order.push(...rest.filter(({ key }) => !inA.has(key)));
  return order.map(({ key, what, node }) =>
    textRow(what, node, inA.get(key)?.text ?? null, inB.get(key)?.text ?? null),
  );
}

function textRow(what: string, node: string | null, a: string | null, b: string | null): ComparedRow {
  return { what, node, a, b, delta: '', isSame: a === b };
}

function inputOf({ events }: Side): string | null {
  const [first] = events;
  return first?.type === 'run.started' ? inline(first.input, MAX) : null;
}

function shown(value: unknown): string | null {
  return value === null || value === undefined ? null : inline(value, MAX);
}

const AMOUNTS = {
  modelCalls: 'model calls',
  toolCalls: 'tool calls',
  tokens: 'tokens',
  costUsd: 'cost',
  retries: 'retries',
};

function amountRows(a: Side, b: Side): readonly ComparedRow[] {
  const used = Object.entries(AMOUNTS).map(([measure, what]) => {
    const write = measure === 'costUsd' ? dollars : short;
    return numberRow(what, a.report.usage[measure] ?? 0, b.report.usage[measure] ?? 0, write);
  });
  return [...used, numberRow('time', timeOf(a), timeOf(b), duration)];
}

function timeOf({ events }: Side): number {
  return (events.at(-1)?.at ?? 0) - (events[0]?.at ?? 0);
}

function numberRow(what: string, a: number, b: number, write: (amount: number) => string): ComparedRow {
  const delta = a === b ? '' : `${b > a ? '+' : '−'}${write(Math.abs(b - a))}`;
  return { what, node: null, a: write(a), b: write(b), delta, isSame: a === b };
}
