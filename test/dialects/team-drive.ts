/** Runs a team on the core alone: agents, checks and people are functions, and time stands still. For many small runs. */
import { hash } from 'node:crypto';
import { compile } from '@sluice-internal/notations/driver';
import type { Command, CompiledFlow, Event, Outcome, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { promptOf } from '@sluice-internal/platform';
import type { Message } from '@sluice-internal/platform';
import { pathOf } from '../../packages/engine/src/report/entered.ts';
import { driveCore } from '../support/harness.ts';

type Said =
  | string
  | { readonly text?: string; readonly tools?: readonly { readonly name: string; readonly args: Json }[] };
export interface World {
  /** What an agent says; it is told which call of its this is, and what it was told. */
  readonly say: (agent: string, call: number, messages: readonly Message[]) => Said;
  readonly check?: (name: string, input: Command['input']) => Json;
  readonly tool?: (name: string, args: Json) => Json;
  /** Which of the outstanding calls comes back next. */
  readonly order?: (open: readonly Command[]) => Command;
}
export interface Driven {
  readonly outcome: Outcome;
  readonly path: readonly string[];
  readonly events: readonly Event[];
  readonly flow: CompiledFlow;
  /** Every model call with what it was told, in the order in which they were answered. */
  readonly calls: readonly { readonly agent: string; readonly messages: readonly Message[] }[];
  /** How many model calls were open at once, at most. */
  readonly width: number;
}

export function compileTeam(document: object): CompiledFlow {
  const result = compile(document, { hash: (text) => hash('sha256', text, 'hex') });
  if (result.flow === undefined) throw new Error(result.diagnostics.map(({ message }) => message).join('\n'));
  return result.flow;
}

export function driveTeam(flow: CompiledFlow, world: World, input = 'the task'): Driven {
  const calls: Driven['calls'][number][] = [];
  const counts = new Map<string, number>();
  let width = 0;
  const { program, outcome, events } = driveCore(
    flow,
    {
      perform: (command, open) => {
        width = Math.max(width, open.filter(({ kind }) => kind === 'model').length);
        return perform(flow, world, command, calls, counts);
      },
      ...(world.order === undefined ? {} : { order: world.order }),
    },
    input,
  );
  return { outcome, path: pathOf(program, events), events, flow, calls, width };
}

function perform(
  flow: CompiledFlow,
  world: World,
  { kind, name, input }: Command,
  calls: Driven['calls'][number][],
  counts: Map<string, number>,
): Settled {
  if (kind === 'check') return { ok: true, value: world.check?.(name, input) ?? { ok: true, sections: [] } };
  if (kind === 'tool') return { ok: true, value: world.tool?.(name, input['args'] ?? null) ?? null };
  const messages = promptOf(flow, { name, input });
  calls.push({ agent: name, messages });
  const count = counts.get(name) ?? 0;
  counts.set(name, count + 1);
  const said = world.say(name, count, messages);
  if (typeof said === 'string') return { ok: true, value: { text: said } };
  const tools = (said.tools ?? []).map((call, index) => ({ id: `c${index}`, ...call }));
  return { ok: true, value: { text: said.text ?? '', ...(tools.length === 0 ? {} : { toolCalls: tools }) } };
}
