/**
 * The detectors on recorded agents with error notes by people (TRAIL). Traces with an even position in the order of their ids were
 * used for tuning; the figures are those of the others. The table of the guide must agree.
 */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import { findingsIn } from '../../src/diagnose/diagnose.ts';
import type { ReplyStep, ToolStep, Trajectory } from '../../src/diagnose/trajectory.ts';
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';

const FILE = new URL('trail/traces.jsonl', EVAL_DATA);

interface TraceEvent {
  readonly i: number;
  readonly kind: string;
  readonly name: string;
  readonly agent: string;
  readonly step?: string | null;
  readonly tool?: string;
  readonly t?: string;
  readonly in?: string | null;
  readonly out?: string | null;
  readonly err?: string;
  readonly status?: string;
}
interface Trace {
  readonly id: string;
  readonly label: {
    readonly loop: boolean;
    readonly resource_abuse: boolean;
    readonly ungrounded_observation: boolean;
  };
  readonly errors: readonly { readonly category: string }[];
  readonly events: readonly TraceEvent[];
}
const TOOL: ToolDef = {
  description: 'Searches, reads and runs code.',
  input: true,
  output: true,
  effect: 'read',
  implementation: null,
  timeoutMs: 0,
  permission: '',
  idempotent: true,
  compensate: null,
};

function trajectory({ id, events }: Trace): Trajectory {
  const at = ({ t, i }: TraceEvent): number => (t === undefined ? i * 1000 : Date.parse(t));
  const calls = events.flatMap((event): ToolStep[] => {
    const args = argsOf(event, events);
    if (args === null) return [];
    const tool = event.kind === 'CHAIN' ? 'python' : (event.tool ?? event.name);
    const ok = event.status !== 'Error';
    const error = ok ? null : { class: 'fatal', type: 'Error', message: event.err ?? '' };
    return [
      {
        ...STEP,
        seq: event.i + 1,
        settled: event.i + 1,
        at: at(event),
        agent: event.agent,
        node: event.agent,
        tool,
        args,
        print: `${tool} ${args}`,
        ok,
        result: event.out ?? null,
        error,
      },
    ];
  });
  const replies = events
    .filter(({ kind }) => kind === 'LLM')
    .map((event): ReplyStep => ({
      seq: event.i + 1,
      settled: event.i + 1,
      at: at(event),
      agent: event.agent,
      node: event.agent,
      branch: '0',
      text: (event.out ?? '').split('Code:')[0] ?? '',
      proposes: [],
      inputTokens: Math.ceil((event.in ?? '').length / 4),
      outputTokens: 0,
      reflection: false,
      invalid: [],
    }));
  const names = [...new Set(calls.map(({ tool }) => tool))];
  const last = events.length;
  return {
    run: id,
    flow: 'trail',
    state: 'completed',
    code: 'SUCCESS',
    goal: events.find(({ kind }) => kind === 'AGENT')?.in ?? '',
    answer: '',
    last,
    calls,
    replies,
    refused: [],
    trips: [],
    questions: [],
    plans: [],
    memory: [],
    forks: [],
    lateJoins: [],
    missing: [],
    failedChecks: [],
    decisions: [],
    instructions: [],
    reason: null,
    tools: Object.fromEntries(names.map((name) => [name, TOOL])),
    usage: { toolCalls: calls.length, modelCalls: replies.length, costUsd: 0 },
  };
}

const STEP = { effect: 'read', idempotent: true, paid: false, proposed: true, attempts: [], approvedBy: null } as const;

/** Of a tool, its input. An agent that acts by code writes it into the reply of the same step. Null if the event is no call. */
function argsOf({ kind, name, agent, step, in: input, i }: TraceEvent, events: readonly TraceEvent[]): string | null {
  if (kind === 'TOOL') return name === 'FinalAnswerTool' ? null : (input ?? '');
  if (kind !== 'CHAIN' || !agent.endsWith('CodeAgent.run')) return null;
  const reply = events.find((each) => each.kind === 'LLM' && each.step === step && each.i > i)?.out ?? '';
  return reply.split('Code:')[1] ?? null;
}

const noted =
  (category: string) =>
  ({ errors }: Trace): boolean =>
    errors.some((each) => each.category === category);
const RULES: readonly (readonly [title: string, ids: readonly string[], isNoted: (trace: Trace) => boolean])[] = [
  ['runaway-loops', ['runaway-loops'], ({ label }) => label.loop],
  ['tool-spam or duplicate-actions', ['tool-spam', 'duplicate-actions'], ({ label }) => label.resource_abuse],
  ['context-bloat', ['context-bloat'], noted('Context Handling Failures')],
];

function tableOf(traces: readonly Trace[]): string {
  const found = new Map(
    traces.map((trace) => [
      trace.id,
      new Set(findingsIn(trajectory(trace), { successes: [], openQuestions: 0, now: 0 }).map(({ id }) => id)),
    ]),
  );
  const rows = RULES.map(([title, ids, isNoted]) => {
    const hit = traces.filter(({ id }) => ids.some((each) => found.get(id)?.has(each) === true));
    const right = hit.filter(isNoted).length;
    const due = traces.filter(isNoted).length;
    const share = (whole: number): string => (whole === 0 ? '-' : (right / whole).toFixed(2));
    return `| ${title} | ${due} | ${hit.length} | ${share(hit.length)} | ${share(due)} |`;
  });
  return ['| detector | noted | found | precision | recall |', '|---|---|---|---|---|', ...rows].join('\n');
}

test('the table of the guide has the figures of the second half', ({ skip }) => {
  if (!existsSync(FILE)) return skip('the recorded traces are not at hand');
  const traces = readFileSync(FILE, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Trace)
    .sort((a, b) => a.id.localeCompare(b.id));
  const page = readFileSync(new URL('../../../../docs/guide/diagnosis.md', import.meta.url), 'utf8');
  const table = tableOf(traces.filter((_, index) => index % 2 === 1));
  expect(
    page.replaceAll(/ +\|/g, ' |').replaceAll(/\| +/g, '| '),
    `tuning half:\n${tableOf(traces.filter((_, index) => index % 2 === 0))}\n\nother half:\n${table}`,
  ).toContain(table);
});
