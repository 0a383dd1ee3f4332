/** The loop detector, with its defaults, on recorded agents: TRAIL traces with human notes, and airline conversations. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Script } from '@sluice-internal/testing';
import { createEngine, openMemory } from '@sluice-internal/library';
import type { Report } from '@sluice-internal/library';
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';
import { compiled } from '../../../../test/support/harness.ts';

const TRAIL = new URL('trail/traces.jsonl', EVAL_DATA);
const AIRLINE = new URL('tau-airline/trajectories.jsonl', EVAL_DATA);
const TOOLS = new URL('tau-airline/airline_tools.json', EVAL_DATA);
const lines = <T>(file: URL): T[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

interface Call {
  readonly agent: string;
  readonly name: string;
  readonly args: { readonly [field: string]: Json };
  readonly ok: boolean;
  readonly result: Json;
}

/** Runs one agent that makes the recorded calls and gets the recorded results. */
async function rerun(calls: readonly Call[], loop: object, writes: ReadonlySet<string>): Promise<Report> {
  const names = [...new Set(calls.map(({ name }) => name))].sort();
  const tools = Object.fromEntries(
    names.map((name) => [
      name,
      { description: name, input: { type: 'object' }, effect: writes.has(name) ? 'write' : 'read' },
    ]),
  );
  const flow = compiled({
    agents: [{ id: 'bot', name: 'bot', instructions: 'Answer.', tools: names }],
    tools,
    boundary: { tools: { allow: ['*'] } },
    budgets: { tool_calls: 500, model_calls: 500 },
    protections: { loop },
    flow: { id: 'f', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] }] },
  });
  const script: Script = {
    agents: {
      bot: [...calls.map(({ name, args }) => ({ text: '', tools: [{ name, args }] })), { text: 'done' }],
    },
    tools: Object.fromEntries(
      names.map((tool) => [
        tool,
        calls
          .filter(({ name }) => name === tool)
          .map(({ ok, result }) => (ok ? { result } : { error: 'fatal' as const, message: String(result) })),
      ]),
    ),
    approvals: Object.fromEntries(names.map((name) => [name, 'approve'])),
  };
  const engine = createEngine({ journal: openMemory(), script });
  const report = await engine.settled(await engine.start(flow, { input: 'Answer.' }));
  await engine.close();
  return report;
}

interface Seen {
  /** The detector found a loop: it held a call back, or told the agent of failures that repeat. */
  readonly found: boolean;
  readonly held: boolean;
}

async function detect(calls: readonly Call[], loop: object, writes: ReadonlySet<string> = new Set()): Promise<Seen> {
  let [found, held] = [false, false];
  for (const agent of new Set(calls.map((call) => call.agent))) {
    const mine = calls.filter((call) => call.agent === agent);
    const report = await rerun(mine, loop, writes);
    const decisions = report.decisions.filter(({ failure }) => failure === 'tool_loop');
    held ||= decisions.some(({ action }) => action !== 'surface');
    found ||= decisions.length > 0;
    // Without a decision every recorded call was made.
    expect(decisions.length > 0 ? mine.length : report.usage.toolCalls).toBe(mine.length);
  }
  return { found, held };
}

interface TraceEvent {
  readonly kind: string;
  readonly name: string;
  readonly agent: string;
  readonly step: string | null;
  readonly tool: string;
  readonly in: string;
  readonly out: Json;
  readonly err?: string;
  readonly status: string;
}
interface Trace {
  readonly id: string;
  readonly label: { readonly loop: boolean };
  readonly events: readonly TraceEvent[];
}

/** A tool call, or a step of an agent that acts by writing code: the code is in the model's reply after it. */
function callOf(event: TraceEvent, later: readonly TraceEvent[]): Call[] {
  const { kind, name, agent, tool, step, out, err, status } = event;
  const outcome = { agent, ok: status !== 'Error', result: err ?? out };
  if (kind === 'TOOL' && name !== 'FinalAnswerTool')
    return [{ ...outcome, name: tool, args: JSON.parse(event.in) as Call['args'] }];
  if (kind !== 'CHAIN' || !agent.endsWith('CodeAgent.run')) return [];
  const reply = later.find((each) => each.kind === 'LLM' && each.agent === agent && each.step === step);
  const code = /```(?:py|python)?\n([^]*?)```/.exec(String(reply?.out))?.[1] ?? String(reply?.out);
  return [{ ...outcome, name: 'python', args: { code } }];
}

interface Score {
  readonly found: number;
  readonly missed: number;
  readonly wrong: number;
  readonly held: number;
  readonly traces: number;
  readonly f1: number;
}

function scoreOf(seen: readonly (Seen & { readonly loop: boolean })[]): Score {
  const count = (loop: boolean, found: boolean): number =>
    seen.filter((each) => each.loop === loop && each.found === found).length;
  const [found, missed, wrong] = [count(true, true), count(true, false), count(false, true)];
  const held = seen.filter((each) => each.held).length;
  return { found, missed, wrong, held, traces: seen.length, f1: (2 * found) / (2 * found + missed + wrong) };
}

type Found = Seen & { readonly loop: boolean };

/** The rule of the specification, on its own and without a reset: three equal calls among the last five of an agent. */
function hasThreeEqual(calls: readonly Call[]): boolean {
  const prints = calls.map(({ agent, name, args }) => `${agent} ${name} ${JSON.stringify(args)}`);
  return calls.some((call, at) => {
    const mine = prints.slice(0, at + 1).filter((_, index) => calls[index]?.agent === call.agent);
    return mine.slice(-5).filter((print) => print === mine.at(-1)).length >= 3;
  });
}

describe('TRAIL', () => {
  const tracesOf = () => lines<Trace>(TRAIL).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const callsOf = ({ events }: Trace) => events.flatMap((event, at) => callOf(event, events.slice(at + 1)));

  // The notes and the extraction of calls agree with the published figures of this rule: precision .75, recall .21 here.
  test('the rule of the specification alone finds 3 of 14 loops, and one wrongly', ({ skip }) => {
    skip(!existsSync(TRAIL), 'the data is absent');
    const score = scoreOf(
      tracesOf().map((trace) => {
        const found = hasThreeEqual(callsOf(trace));
        return { loop: trace.label.loop, found, held: found };
      }),
    );
    expect(score).toMatchObject({ found: 3, missed: 11, wrong: 1, traces: 59 });
  });

  // Rules were chosen on the traces at even positions in the order of their ids. `others` are the traces at odd positions.
  test('the defaults find loops with few false trips', { timeout: 300_000 }, async ({ skip }) => {
    skip(!existsSync(TRAIL), 'the data is absent');
    const seen: Found[] = [];
    for (const trace of tracesOf()) seen.push({ loop: trace.label.loop, ...(await detect(callsOf(trace), {})) });
    const [all, tuning, others] = [() => true, isEven, isOdd].map((part) =>
      scoreOf(seen.filter((_, index) => part(index))),
    ) as [Score, Score, Score];
    console.log(`trail: ${JSON.stringify({ all, tuning, others })}`);
    expect(others.f1).toBeGreaterThanOrEqual(0.6);
    expect(all.f1).toBeGreaterThanOrEqual(0.6);
    expect(all.wrong / all.traces).toBeLessThanOrEqual(0.04);
  });
});
const isEven = (index: number): boolean => index % 2 === 0;
const isOdd = (index: number): boolean => index % 2 === 1;

interface Conversation {
  readonly reward: number;
  readonly messages: readonly {
    readonly role: string;
    readonly content: Json;
    readonly tool_calls?: readonly { readonly name: string; readonly args: string }[];
  }[];
}

describe('airline conversations', () => {
  const declared = JSON.parse(existsSync(TOOLS) ? readFileSync(TOOLS, 'utf8') : '[]') as readonly {
    readonly function: { readonly name: string };
    readonly x_mutates?: boolean;
  }[];
  const writes = new Set(declared.filter(({ x_mutates: is }) => is === true).map((each) => each.function.name));

  test('the defaults find no loop in a successful run', { timeout: 300_000 }, async ({ skip }) => {
    skip(!existsSync(AIRLINE), 'the data is absent');
    const runs: (Seen & { readonly good: boolean })[] = [];
    for (const { reward, messages } of lines<Conversation>(AIRLINE)) {
      const asked = messages.flatMap((message) => message.tool_calls ?? []);
      const answers = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
      const calls = answers.map((result, index) => ({
        agent: 'a',
        name: asked[index]?.name ?? '',
        args: JSON.parse(asked[index]?.args ?? '{}') as Call['args'],
        ok: !String(result).startsWith('Error'),
        result,
      }));
      runs.push({ good: reward === 1, ...(await detect(calls, {}, writes)) });
    }
    const found = runs.filter((run) => run.found);
    console.log(
      `airline: ${found.length} of ${runs.length} found, ${runs.filter(({ held }) => held).length} held back`,
    );
    expect(found.filter(({ good }) => good)).toEqual([]);
  });
});
