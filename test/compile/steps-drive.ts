/** Runs a workflow on the core alone: compiled from text, with agents that are plain functions and time that stands still. */
import { hash } from 'node:crypto';
import { compile } from '../../src/compile/compile.ts';
import type { Diagnostic } from '../../src/compile/diagnose/diagnostics.ts';
import type { Picture } from '../../src/compile/picture/picture.ts';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import { outstanding } from '../../src/core/outstanding.ts';
import { createProgram } from '../../src/core/program.ts';
import type { Json } from '../../src/expr/json.ts';
import type { Command, Event, Fact, Outcome, Settled } from '../../src/ir/events.ts';
import { settle } from '../../src/core/settle.ts';
import { pure } from '../../src/runtime/engine/pure.ts';

export interface Compiled {
  readonly flow: CompiledFlow | null;
  readonly diagnostics: readonly Diagnostic[];
  readonly picture: Picture | null;
}

export function compileSteps(source: string | object): Compiled {
  const { flow, diagnostics, graph } = compile(source, {
    file: 'test.yaml',
    hash: (text) => hash('sha256', text, 'hex'),
  });
  return { flow: flow ?? null, diagnostics, picture: graph ?? null };
}

/** What an agent does with a call: a reply, a failure class, or, with the text `never`, nothing for ever. */
export type Reply = string | { readonly error: 'transient' | 'timeout' | 'fatal' | 'refused' | 'policy' | 'budget' };
export type Agents = { readonly [agent: string]: (prompt: string, command: Command) => Reply };

export interface Driven {
  readonly outcome: Outcome;
  readonly path: readonly string[];
  readonly events: readonly Event[];
  readonly commands: readonly Command[];
  readonly flow: CompiledFlow;
}

/** `order` picks which of the outstanding calls comes back next. */
export function drive(
  source: string | object,
  agents: Agents,
  input: Json = 'in',
  order: (open: readonly Command[]) => Command = ([first]) => first as Command,
): Driven {
  const { flow, diagnostics } = compileSteps(source);
  if (flow === null) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  const program = createProgram(flow, pure);
  const events: Event[] = [];
  const commands: Command[] = [];
  let at = 1000;
  const feed = (state: Parameters<typeof settle>[1], fact: Fact) => {
    const turn = settle(program, state, [fact], at);
    events.push(...turn.events);
    return turn.state;
  };
  let state = feed(null, { type: 'start', run: 'r', flow: flow.hash, input, seed: 1, origin: {} });
  while (state !== null && state.outcome === null) {
    const { commands: open, wake } = outstanding(program, state);
    const live = open.filter((command) => agents[command.name]?.(String(command.input['prompt']), command) !== 'never');
    if (live.length === 0) {
      at = wake ?? at;
      state = feed(state, { type: 'tick' });
      continue;
    }
    const command = order(live);
    commands.push(command);
    at += 10;
    const reply = agents[command.name]?.(String(command.input['prompt']), command) ?? { error: 'fatal' as const };
    const result: Settled =
      typeof reply === 'string'
        ? { ok: true, value: { text: reply }, used: { inputTokens: 2, outputTokens: 1 } }
        : {
            ok: false,
            error: { class: reply.error, type: 'TestError', message: `${command.name} said ${reply.error}` },
          };
    state = feed(state, { type: 'settle', key: command.key, attempt: command.attempt, result });
  }
  const outcome = state?.outcome;
  if (outcome === null || outcome === undefined) throw new Error('the run did not end');
  const path = events.flatMap((event) => {
    const node = 'node' in event && event.node !== undefined ? flow.nodes[event.node] : undefined;
    const entered = event.type === 'effect.requested' || (event.type === 'slots.written' && node?.op === 'let');
    return entered && node?.label.enters !== undefined ? [node.label.enters] : [];
  });
  return { outcome, path, events, commands, flow };
}
