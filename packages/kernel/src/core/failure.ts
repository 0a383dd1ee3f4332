/** Failures as records that flows can route on. A broken invariant is thrown instead. */
import { reasonOf } from '../expr/error.ts';
import type { Json } from '../expr/json.ts';
import { codeOfFailure } from '../ir/codes.ts';
import type { ErrorRecord, Failure } from '../ir/events.ts';
import { onlyReads } from '../ir/effect-classes.ts';
import type { CompiledFlow, DoNode, Node, NodeId } from '../ir/nodes.ts';
import type { Visit } from './program.ts';

/** The first declared route that takes this failure. */
export function route(
  { program, thread }: Pick<Visit, 'program' | 'thread'>,
  { failed, fail }: Pick<DoNode, 'failed' | 'fail'>,
  error: ErrorRecord,
): NodeId {
  const slots = { ...thread.slots, error: error as unknown as Json };
  for (const { when, to } of failed) {
    try {
      if (program.evaluate(when, slots) === true) return to;
    } catch {
      // A guard that cannot be evaluated does not hold.
    }
  }
  return fail;
}

export function errorRecord(node: Node, { class: kind, type, message }: Failure, attempt: number): ErrorRecord {
  return { class: kind, type, message, node: authorOf(node), code: codeOfFailure(kind, attempt) };
}

/** An expression that cannot be evaluated is a semantic failure of its node. */
export function expressionError(node: Node, cause: unknown): ErrorRecord {
  const message = reasonOf(cause);
  if (message.startsWith('invariant:')) throw cause;
  return errorRecord(node, { class: 'semantic', type: 'ExpressionError', message }, 1);
}

/** The authored name of a node. */
export function authorOf({ label }: Node): string {
  return label.authored ?? label.name;
}

/** True for a call of a declared tool that changes something each time it is made. */
export function addsEffects({ tools }: Pick<CompiledFlow, 'tools'>, { effect }: DoNode): boolean {
  const tool = effect.kind === 'tool' && Object.hasOwn(tools, effect.tool) ? tools[effect.tool] : undefined;
  return tool !== undefined && !tool.idempotent && !onlyReads(tool.effect);
}

/** The name of the agent, tool, check, question or wait of an effect. */
export function nameOf({ effect }: DoNode): string {
  switch (effect.kind) {
    case 'model':
      return effect.agent;
    case 'tool':
      return effect.tool;
    case 'check':
      return effect.check;
    case 'ask':
    case 'wait':
      return effect.about;
  }
}
