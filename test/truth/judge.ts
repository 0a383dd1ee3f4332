/** Compares what a run says of itself with what is expected, and with the world's own list of calls. */
import { expect } from 'vitest';
import type { Json, Report } from '@sluice-internal/library';
import type { Case } from './cases.ts';
import type { OnScreen } from './command.ts';
import { aboutOf } from './play.ts';
import type { Played, Reached } from './play.ts';

export interface Expected extends OnScreen {
  /** One of these codes; null for a run that waits. */
  readonly code?: string | null | readonly (string | null)[];
  /** None of these codes. */
  readonly not_code?: readonly string[];
  readonly state?: string | readonly string[];
  /** Fields of the report. */
  readonly report?: object;
  readonly output?: Json;
  /** Exactly these, in order. Those of undo calls are left out. */
  readonly receipts?: readonly object[];
  /** Exactly these calls reached the world, in order. */
  readonly world?: readonly string[];
  /** How often tools were called. */
  readonly calls?: { readonly [tool: string]: number };
  /** The tools or nodes that people were asked about, in order. */
  readonly asks?: readonly string[];
  /** The row of the last question. */
  readonly question_row?: string;
  /** The counts of the report are those of the world. */
  readonly counted?: boolean;
  /** All calls of these tools had one idempotency key. */
  readonly one_key?: readonly string[];
}

export function judge(each: Case<Expected>, played: Played): void {
  const { expect: wanted } = each;
  const { report } = played;
  if (wanted.code !== undefined) expect(oneOf(wanted.code), codeOf(report)).toContain(report.code);
  if (wanted.not_code !== undefined) expect(wanted.not_code, codeOf(report)).not.toContain(report.code);
  if (wanted.state !== undefined) expect(oneOf(wanted.state), codeOf(report)).toContain(report.state);
  if (wanted.report !== undefined) expect(report).toMatchObject(wanted.report);
  if ('output' in wanted) expect(report.output).toEqual(wanted.output);
  if (wanted.receipts !== undefined) expect(deedsOf(each, report)).toMatchObject(wanted.receipts);
  if (wanted.world !== undefined) expect(played.world.map(({ tool }) => tool)).toEqual(wanted.world);
  for (const [tool, times] of Object.entries(wanted.calls ?? {}))
    expect(played.world.filter((call) => call.tool === tool).length, `calls of ${tool}`).toBe(times);
  for (const tool of wanted.one_key ?? [])
    expect(
      new Set(played.world.filter((call) => call.tool === tool).map(({ key }) => key)).size,
      `keys of ${tool}`,
    ).toBe(1);
  if (wanted.counted === true) expectCounted(each, played);
  if (wanted.asks !== undefined) expectAsked(wanted.asks, played);
  if (wanted.question_row !== undefined)
    expect(JSON.stringify(played.asked.at(-1)), 'the row of the last question').toContain(`"${wanted.question_row}"`);
}

function expectAsked(wanted: readonly string[], { asked }: Played): void {
  expect(asked.map((question) => aboutOf(question).find((name) => wanted.includes(name)) ?? question.node)).toEqual(
    wanted,
  );
}

/**
 * Decision 82 over any run: every undo has an earlier call that reached the world, every deed has one receipt, and nothing else
 * has one.
 */
export function expectLawful(each: Case<object>, { report, world }: Played): void {
  const tools = toolsOf(each);
  const undoOf = undosOf(each);
  const forward = world.filter(({ tool }) => !undoOf.has(tool));
  const undone = new Set<Reached>();
  world.forEach((undo, index) => {
    const of = undoOf.get(undo.tool);
    if (of === undefined) return;
    const earlier = world.slice(0, index).find((call) => call.tool === of && !undone.has(call) && same(undo, call));
    expect(
      earlier,
      `${undo.tool} ${JSON.stringify(undo.args)} undoes a call that never reached the world`,
    ).toBeDefined();
    if (undo.became === 'done') undone.add(earlier as Reached);
  });
  for (const tool of new Set(
    [...forward, ...report.receipts].map((each) => each.tool).filter((name) => !undoOf.has(name)),
  )) {
    const own = forward.filter((call) => call.tool === tool);
    const receipts = report.receipts.filter((receipt) => receipt.tool === tool);
    const isRead = tools[tool]?.effect === 'read';
    const told = own.filter(({ became }) => became === 'done' || (became !== 'failed' && !isRead));
    const keys = new Set(told.map(({ key }) => key));
    expect(receipts.length, `receipts of ${tool} beside its calls ${JSON.stringify(own)}`).toBe(keys.size);
    const compensated = receipts.filter(({ status }) => status === 'compensated').length;
    expect(compensated, `compensated receipts of ${tool}`).toBe(own.filter((call) => undone.has(call)).length);
  }
}

/** What was sent is counted once, whatever became of it; undo calls are counted apart. */
function expectCounted(each: Case<object>, { report, world }: Played): void {
  const undos = undosOf(each);
  const keysOf = (calls: readonly Reached[]): number => new Set(calls.map(({ key }) => key)).size;
  const asked = world.filter(({ tool }) => !undos.has(tool));
  expect(report.usage).toMatchObject({ toolCalls: keysOf(asked), undoCalls: keysOf(world) - keysOf(asked) });
}

function deedsOf(each: Case<object>, { receipts }: Report): readonly Report['receipts'][number][] {
  const undos = undosOf(each);
  return receipts.filter(({ tool }) => !undos.has(tool));
}

/** Each tool that undoes another, with that other one. */
function undosOf(each: Case<object>): ReadonlyMap<string, string> {
  const pairs = Object.entries(toolsOf(each)).flatMap(([tool, { compensate }]) =>
    compensate === undefined ? [] : [[compensate, tool] as const],
  );
  return new Map(pairs);
}

interface ToolOfCase {
  readonly effect?: string;
  readonly compensate?: string;
}

function toolsOf({ document }: Case<object>): { readonly [name: string]: ToolOfCase } {
  return (document as { readonly tools?: { readonly [name: string]: ToolOfCase } }).tools ?? {};
}

/** An undo gets the arguments of its call, unless the tool declares others; then the result of the call tells. */
function same(undo: Reached, call: Reached): boolean {
  return JSON.stringify(undo.args) === JSON.stringify(call.args) || undo.undoes !== null;
}

function codeOf({ code, state, error, rejected }: Report): string {
  return `the run ended ${state} ${code ?? ''} ${JSON.stringify(error)} ${JSON.stringify(rejected)}`;
}

function oneOf<Item>(given: Item | readonly Item[]): readonly Item[] {
  return Array.isArray(given) ? (given as readonly Item[]) : [given as Item];
}
