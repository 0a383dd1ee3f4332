/** Runs a workflow on the core alone: compiled from text, with functions as agents. */
import { hash } from 'node:crypto';
import { compile } from '../../src/driver/compile.ts';
import type { Diagnostic } from '@sluice-internal/compile/source';
import type { Picture } from '@sluice-internal/compile/picture';
import type { Command, CompiledFlow, Event, Outcome, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { driveCore } from '../../../../test/support/harness.ts';

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

/** The reply of an agent, its failure class, or the text `never` for a call that never ends. */
export type Reply = string | { readonly error: 'transient' | 'timeout' | 'fatal' | 'refused' | 'policy' | 'budget' };
export type Agents = { readonly [agent: string]: (prompt: string, command: Command) => Reply };

export interface Driven {
  readonly outcome: Outcome;
  readonly path: readonly string[];
  readonly events: readonly Event[];
  readonly commands: readonly Command[];
  readonly flow: CompiledFlow;
}

type Order = (open: readonly Command[]) => Command;

export function drive(source: string | object, agents: Agents, input: Json = 'in', order?: Order): Driven {
  const { flow, diagnostics } = compileSteps(source);
  if (flow === null) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return driveFlow(flow, agents, input, order);
}

/** `order` picks which of the outstanding calls comes back next. */
export function driveFlow(
  flow: CompiledFlow,
  agents: Agents,
  input: Json,
  order: Order = ([first]) => first as Command,
): Driven {
  const replyTo = (command: Command): Reply | undefined =>
    agents[command.name]?.(String(command.input['prompt']), command);
  const perform = (command: Command): Settled => {
    const reply = replyTo(command) ?? { error: 'fatal' as const };
    if (typeof reply === 'string')
      return { ok: true, value: { text: reply }, used: { inputTokens: 2, outputTokens: 1 } };
    const message = `${command.name} said ${reply.error}`;
    return { ok: false, error: { class: reply.error, type: 'TestError', message } };
  };
  const hangs = (command: Command): boolean => replyTo(command) === 'never';
  const { outcome, events, commands } = driveCore(flow, { perform, hangs, order, stepMs: 10 }, input);
  const path = events.flatMap((event) => {
    const node = 'node' in event && event.node !== undefined ? flow.nodes[event.node] : undefined;
    const entered = event.type === 'effect.requested' || (event.type === 'slots.written' && node?.op === 'let');
    return entered && node?.label.enters !== undefined ? [node.label.enters] : [];
  });
  return { outcome, path, events, commands, flow };
}
