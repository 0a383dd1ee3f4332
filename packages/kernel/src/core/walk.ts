/** What a walk over controls asks: the questions and the input of checks, as they follow from the graph and the state. */
import type { Json } from '../expr/json.ts';
import type { Pending, RunState, Slots, Thread, Walk } from '../ir/events.ts';
import type { AskEffect, Asking, CheckControl, Control, Controls, DoNode } from '../ir/nodes.ts';
import { evaluateInput, nodeAt } from './program.ts';
import type { Program, Visit } from './program.ts';

export const START: Walk = { at: 0 };

/** The question of an open call, of its node or of a walk. */
export function askOf(program: Program, state: RunState, pending: Pending): AskEffect | null {
  const { effect, controls } = nodeAt(program, pending.node) as DoNode;
  if (pending.control === undefined) return effect.kind === 'ask' ? effect : null;
  const { walk } = state.threads.get(pending.thread) ?? {};
  return controls === undefined || walk === undefined ? null : (askingOf(controls, walk)?.ask ?? null);
}

/** The input of an open check or question of a walk. */
export function controlInput(program: Program, state: RunState, pending: Pending): { readonly [field: string]: Json } {
  const thread = state.threads.get(pending.thread) as Thread;
  const { walk = START } = thread;
  const effect = askOf(program, state, pending);
  if (effect !== null && pending.kind === 'ask')
    return evaluateInput(program, effect.input, slotsOf(thread.slots, walk));
  const node = nodeAt(program, pending.node) as DoNode;
  return checkInput({ program, state, thread, node }, pending.control ?? 0);
}

/** The question of a walk: that of a control, or the one about its refusal. */
export function askingOf({ walk: list }: Controls, { at, asks, refused }: Walk): Asking | null {
  const control = list[at];
  if (control === undefined) return null;
  if (asks === 'itself') return control.how === 'ask' ? control.with : null;
  const { question, instead = [] } = control.with;
  return (refused?.instead === undefined ? question : instead[refused.instead]?.question) ?? null;
}

/** Questions and checks do not see the time: their input must be the same while they are open. */
export function slotsOf(slots: Slots, walk: Walk, names: Slots = {}): Slots {
  const { refused, doubt = null, approved } = walk;
  const { reason = null, verdict = null } = refused ?? {};
  const repeated = walk.repeats !== undefined;
  return { ...slots, _walk: { reason, verdict, doubt, approved: approved !== undefined, repeated, ...names } };
}

export function checksFrom({ walk: list }: Controls, { again }: Walk, from: number): readonly CheckControl[] {
  const isPerformed = (each: Control): each is CheckControl =>
    each.how === 'check' && (again !== true || each.volatile === true);
  return list.slice(from).filter(isPerformed);
}

/** The call, and the checks that judge it. */
export function checkInput({ program, thread, node }: Visit<DoNode>, from: number): { readonly [field: string]: Json } {
  const { walk = START } = thread;
  const { args = null } = evaluateInput(program, node.effect.input, thread.slots);
  const slots = slotsOf(thread.slots, walk);
  const controls = checksFrom(node.controls as Controls, walk, from).map(
    ({ control, with: { check, input, asks } }) => ({
      control,
      check,
      input: evaluateInput(program, input, slots),
      ...(asks === true ? { asks } : {}),
    }),
  );
  const tool = node.effect.kind === 'tool' ? node.effect.tool : '';
  return { args, controls, tool, ...(walk.call === undefined ? {} : { call: walk.call }) };
}
