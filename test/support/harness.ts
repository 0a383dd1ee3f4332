/**
 * The harness of tests that compile a document, run it under a script and look at the run. `playOn` runs it on a real engine with
 * the memory store and a virtual clock. `driveCore` runs it on the core alone, with functions for the calls.
 */
import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { compile } from '@sluice-internal/notations/driver';
import { createProgram, isOpenCall, outstanding, settle } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import { isMemoryCheck, memoryPerformer, policyPerformer } from '@sluice-internal/guard/policy';
import { createMemoryStore } from '@sluice-internal/store-sqlite';
import { createVirtualClock, pure } from '@sluice-internal/engine/ports';
import type { ChainedEvent, Engine, MemoryStore, Report } from '@sluice-internal/engine/ports';
import { promptOf } from '@sluice-internal/platform';
import type { Message } from '@sluice-internal/platform';
import { scriptedPerformer } from '@sluice-internal/library/host';
import type { Script } from '@sluice-internal/library/host';
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  Answer,
  Command,
  CompiledFlow,
  Event,
  Fact,
  Origin,
  Outcome,
  Question,
  RunState,
  Sent,
  Settled,
} from '@sluice-internal/kernel/ir';
import { createRuntime } from '@sluice-internal/engine/worker';
import { openMemory } from '@sluice-internal/engine/memory';
import type { CompileOptions } from '../../packages/notations/src/driver/compile.ts';

/** The flow of a document without errors. */
export function compiled(document: string | object, options: Omit<CompileOptions, 'hash'> = {}): CompiledFlow {
  return Object.keys(options).length === 0 ? compiledPlainly(document) : compiledWith(document, options);
}

const compiledPlainly = remembered((document) => compiledWith(document, {}));

function compiledWith(document: string | object, options: Omit<CompileOptions, 'hash'>): CompiledFlow {
  const { flow, diagnostics } = compile(document, { ...options, hash: (text) => hash('sha256', text, 'hex') });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return flow as CompiledFlow;
}

const REMEMBERED_MAX = 8;

/** Keeps the last few flows, since tests use one document many times in a row. Flows are frozen. */
export function remembered(
  make: (document: string | object) => CompiledFlow,
): (document: string | object) => CompiledFlow {
  const flows = new Map<string, CompiledFlow>();
  return (document) => {
    const key = JSON.stringify(document);
    const flow = flows.get(key) ?? make(document);
    flows.delete(key);
    flows.set(key, flow);
    for (const oldest of [...flows.keys()].slice(0, -REMEMBERED_MAX)) flows.delete(oldest);
    return flow;
  };
}

export interface Play {
  readonly input: Json;
  readonly seed?: number;
  readonly origin?: Origin;
  /** Given one after another while the run waits. Without `node`, an answer is for the first open question. */
  readonly answers?: readonly (Omit<Answer, 'by'> & { readonly node?: string })[];
  /** Cancels the run after the last answer. */
  readonly cancel?: boolean;
}

export interface Played {
  readonly run: string;
  readonly report: Report;
  readonly events: readonly ChainedEvent[];
}

/** Runs a flow on an engine to its end, or until it waits and no answer is left. Closes the engine after `look`. */
export async function playOn<Seen = object>(
  engine: Omit<Engine, 'read'>,
  flow: CompiledFlow,
  options: Play,
  look?: (run: string) => Promise<Seen>,
): Promise<Played & Seen> {
  const { answers = [], cancel = false, ...start } = options;
  try {
    const run = await engine.start(flow, start);
    let report = await engine.settled(run);
    for (const { node, ...answer } of answers) {
      expect(report.state).toBe('suspended');
      const waiting = node === undefined ? report.waiting[0] : report.waiting.find((each) => each.node === node);
      expect(waiting, `nothing waits on ${node ?? 'any node'}`).toBeDefined();
      await engine.answer(waiting?.id ?? '', { ...answer, by: 'ann' });
      report = await engine.settled(run);
    }
    if (cancel) {
      await engine.cancel(run, 'ann', 'no longer needed');
      report = await engine.settled(run);
    }
    const events: ChainedEvent[] = [];
    for await (const event of engine.events(run, { live: false })) events.push(event);
    return { run, report, events, ...((await look?.(run)) as Seen) };
  } finally {
    await engine.close();
  }
}

export interface Prompt {
  readonly agent: string;
  readonly messages: readonly Message[];
}

export interface Scripted {
  readonly engine: Engine;
  readonly store: ReturnType<typeof openMemory>;
  /** The prompts that models received, in order. */
  readonly prompts: readonly Prompt[];
}

/** An engine under a script, with the real checks of policies and memory. */
export function scriptedEngine(script: Script, memory: MemoryStore = createMemoryStore()): Scripted {
  const prompts: Prompt[] = [];
  const store = openMemory();
  const remembering = memoryPerformer(memory);
  const policy = policyPerformer();
  const scripted = scriptedPerformer(script, {
    perform: (call) => (isMemoryCheck(call.command) ? remembering : policy).perform(call),
  });
  const engine = createRuntime({
    store,
    clock: createVirtualClock(),
    pickUp: false,
    performer: {
      ...scripted,
      perform: (call) => {
        const { command, flow } = call;
        if (command.kind === 'model') prompts.push({ agent: command.name, messages: promptOf(flow, command) });
        return scripted.perform(call);
      },
    },
  });
  return { engine, store, prompts };
}

type CoreAnswer = Pick<Answer, 'choice' | 'text'> & { readonly by?: string };

export interface CoreWorld {
  readonly perform: (command: Command, open: readonly Command[]) => Settled;
  /** True for a call that never ends. */
  readonly hangs?: (command: Command) => boolean;
  /** The call that ends next. Default: the first. */
  readonly order?: (open: readonly Command[]) => Command;
  /** The answer to a question that has this choice. Default: `approve`. */
  readonly answer?: CoreAnswer | ((question: Question) => CoreAnswer);
  /** The answer of the host about a call that is dropped. Default: it was sent. */
  readonly sent?: (key: string) => Sent;
  /** True if the run is cancelled before this call ends. */
  readonly cancels?: (command: Command) => boolean;
  /** The time between two calls. Default: 0. */
  readonly stepMs?: number;
}

export interface CoreRun {
  readonly program: Program;
  readonly outcome: Outcome;
  readonly events: readonly Event[];
  /** The calls that ended, in order. */
  readonly commands: readonly Command[];
  /** The state at the end. */
  readonly state: RunState;
}

/** Runs a flow on the core alone. Questions are approved. If no call can end, the clock goes to the next deadline. */
export function driveCore(flow: CompiledFlow, world: CoreWorld, input: Json): CoreRun {
  const { perform, hangs = () => false, order = ([first]) => first as Command, stepMs = 0 } = world;
  const answerTo = (question: Question): Answer => {
    const { choices } = question;
    const wanted = typeof world.answer === 'function' ? world.answer(question) : world.answer;
    const preferred = choices.includes(wanted?.choice ?? '') ? wanted : undefined;
    const fallback = choices.includes('approve') ? { choice: 'approve' } : { choice: choices[0] ?? '', text: 'Go on.' };
    return { ...fallback, by: 'ann', proof: { via: 'os_user' }, ...preferred };
  };
  const program = createProgram(flow, pure);
  const events: Event[] = [];
  const commands: Command[] = [];
  let at = 1000;
  const feed = (state: RunState | null, fact: Fact): RunState | null => {
    const turn = settle(program, state, [fact], at);
    if (turn.events.length === 0 || turn.events.some(({ type }) => type === 'answer.refused'))
      throw new Error(`the ${fact.type} changed nothing: ${JSON.stringify(turn)}`);
    events.push(...turn.events);
    const asked =
      turn.state === null ? [] : [...turn.state.pending.values()].filter((each) => each.dropped !== undefined);
    return asked.reduce<RunState | null>(
      (after, { key }) =>
        after?.pending.get(key)?.dropped === undefined
          ? after
          : feed(after, { type: 'dropped', key, sent: world.sent?.(key) ?? 'yes' }),
      turn.state,
    );
  };
  let state = feed(null, { type: 'start', run: 'r', flow: flow.hash, input, seed: 1, origin: {} });
  while (state !== null && state.outcome === null) {
    const { commands: open, wake } = outstanding(program, state);
    const live = open.filter((command) => !hangs(command));
    if (live.length === 0) {
      const asked = [...state.pending.values()].find((pending) => !isOpenCall(pending) && pending.question !== null);
      at = asked === undefined ? (wake ?? at) : at;
      state = feed(
        state,
        asked?.question
          ? { type: 'answer', id: asked.question.id, answer: answerTo(asked.question) }
          : { type: 'tick' },
      );
      continue;
    }
    const command = order(live);
    commands.push(command);
    at += stepMs;
    const result = perform(command, open);
    if (world.cancels?.(command) === true) state = feed(state, { type: 'cancel', by: 'ann', why: 'no longer needed' });
    if (state?.pending.has(command.key) !== true) continue;
    state = feed(state, { type: 'settle', key: command.key, attempt: command.attempt, result });
  }
  if (state === null || state.outcome === null) throw new Error('the run did not end');
  return { program, outcome: state.outcome, events, commands, state };
}
