/** Measures of runs, each computed from journals and reports alone, so that whoever evaluates an agent needs nothing else. */
import type { Json } from '../../src/expr/json.ts';
import type { Node } from '../../src/ir/nodes.ts';
import type { Driven } from '../loop/drive.ts';
import { traceFields } from './trace-fields.ts';

export interface Measured extends Driven {
  /** How it should have ended, in how many turns, and whether somebody had to take over. */
  readonly expected: string;
  readonly reference: number;
  readonly anomaly: boolean;
  readonly remembered: readonly Json[];
}
type Runs = readonly Measured[];

const GOOD = new Set(['SUCCESS', 'PARTIAL_SUCCESS']);
const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);
const sum = (runs: Runs, of: (run: Measured) => number): number => runs.reduce((total, run) => total + of(run), 0);
const good = ({ report }: Measured): boolean => GOOD.has(report.code ?? '');
const handedOver = ({ report }: Measured): boolean =>
  report.state === 'suspended' || (report.state === 'failed' && report.code !== 'TIMEOUT');
const answers = ({ read }: Measured) =>
  traceFields(read).escalations.flatMap(({ answer }) =>
    answer === null ? [] : [answer as { choice: string; text?: string }],
  );

export const taskSuccessRate = (runs: Runs): number => {
  const able = runs.filter(({ expected }) => GOOD.has(expected));
  return share(able.filter(good).length, able.length);
};
export const correctTermination = (runs: Runs): number =>
  share(runs.filter(({ report, expected }) => report.code === expected).length, runs.length);

/** A transition is legal where its node has it, and where deciding again comes to the same. */
export const trajectoryValidity = (runs: Runs): number => {
  const taken = runs.flatMap(({ read, difference }) =>
    read.events.flatMap((event) =>
      event.type === 'route.picked'
        ? [difference === null && leadsTo(read.program.flow.nodes[event.node], event.to)]
        : [],
    ),
  );
  return share(taken.filter(Boolean).length, taken.length);
};
export const trajectoryEfficiency = (runs: Runs): number =>
  Math.max(...runs.filter(good).map(({ report, reference }) => report.usage.steps / reference));

export const escalationAccuracy = (runs: Runs): { readonly precision: number; readonly recall: number } => {
  const over = runs.filter(handedOver);
  const right = over.filter(({ anomaly }) => anomaly).length;
  return { precision: share(right, over.length), recall: share(right, runs.filter(({ anomaly }) => anomaly).length) };
};
export const stepCount = (runs: Runs): number =>
  share(
    sum(runs, ({ report }) => report.usage.steps),
    runs.length,
  );
export const loopDepth = (runs: Runs): number =>
  Math.max(
    ...runs.map(({ read }) => {
      const plan = (read.state.threads.get('0')?.slots['plan'] ?? []) as unknown as readonly {
        id: string;
        parent?: string;
      }[];
      const depth = (id: string | undefined): number =>
        id === undefined ? 0 : 1 + depth(plan.find((step) => step.id === id)?.parent);
      return Math.max(0, ...plan.map(({ id }) => depth(id)));
    }),
  );
export const toolCallCount = (runs: Runs): number => sum(runs, ({ read }) => traceFields(read).calls.length);
export const failedToolCalls = (runs: Runs): number =>
  sum(runs, ({ read }) => traceFields(read).calls.filter(({ ok }) => ok === false).length);
export const retryRate = (runs: Runs): number =>
  share(
    sum(runs, ({ report }) => report.usage.retries),
    sum(runs, ({ report }) => report.usage.modelCalls + report.usage.toolCalls),
  );
export const timeoutRate = (runs: Runs): number =>
  share(runs.filter(({ report }) => report.code === 'TIMEOUT').length, runs.length);

/** No dimension that has a limit is above it. */
export const budgetAdherence = (runs: Runs): number =>
  share(
    runs.filter(({ read, report }) =>
      Object.values(read.program.flow.meters).every(({ unit, max }) => {
        const used = unit === 'costMicros' ? report.usage.costUsd * 1_000_000 : report.usage[unit as 'steps'];
        return max === null || used === undefined || used <= max;
      }),
    ).length,
    runs.length,
  );
export const costPerSuccess = (runs: Runs): number =>
  sum(runs, ({ report }) => report.usage.costUsd) / runs.filter(good).length;

/** Of the writes that come from outside, those whose observation was accepted just before. */
export const groundingRate = (runs: Runs): number => {
  const writes = runs.flatMap(({ read }) =>
    read.events.flatMap((event, at) => {
      if (event.type !== 'slots.written' || read.program.flow.nodes[event.node]?.op !== 'do') return [];
      const judged = read.events.slice(0, at).findLast(({ type }) => type === 'effect.judged');
      return [judged?.type === 'effect.judged' && judged.verdict === 'accepted'];
    }),
  );
  return share(writes.filter(Boolean).length, writes.length);
};
export const memoryQuality = (runs: Runs): number => {
  const entries = runs.flatMap(
    ({ remembered }) => remembered as unknown as readonly { sources?: readonly unknown[] }[],
  );
  return share(entries.filter(({ sources = [] }) => sources.length > 0).length, entries.length);
};
export const overrideRate = (runs: Runs): number => {
  const given = runs.flatMap(answers);
  return share(given.filter(({ choice }) => choice !== 'approve').length, given.length);
};
export const correctionRate = (runs: Runs): number =>
  share(runs.filter((run) => answers(run).some(({ text }) => typeof text === 'string')).length, runs.length);
export const traceCompleteness = (runs: Runs): number => {
  const fields = runs.flatMap(({ read }) => Object.entries(traceFields(read)).map(([, value]) => value !== null));
  return share(fields.filter(Boolean).length, fields.length);
};

function leadsTo(node: Node | undefined, to: string): boolean {
  return node?.op === 'pick' && (node.otherwise === to || node.cases.some((each) => each.to === to));
}
