/**
 * Requests an effect (L4). A request is made only if its input can be evaluated, its arguments are valid, no meter trips and
 * the worst case can be reserved. The journal stores the fingerprint of the input; performers get the input from the fold.
 */
import type { Json } from '../expr/json.ts';
import { worstCase } from '../ir/estimate.ts';
import type { EffectKey, ErrorRecord, EventBody, Question, RunState, Thread, Undo } from '../ir/events.ts';
import { stopsAtDeadline } from '../ir/meters.ts';
import type { DoNode, MeterId } from '../ir/nodes.ts';
import { isOver, outOfTime } from './admit.ts';
import { declaredOf } from './declared.ts';
import { digest } from './digest.ts';
import { errorRecord, expressionError, nameOf, route } from './failure.ts';
import { meterAt, reserve } from './meters.ts';
import { normalised, tripOnRepeat } from './repeats.ts';
import { evaluateInput } from './program.ts';
import type { Program } from './program.ts';
import { deadlineFrom, sooner, timingOf } from './timing.ts';

export function request(program: Program, state: RunState, thread: Thread, node: DoNode): readonly EventBody[] {
  // A run whose time is zero is over at its first call.
  if (isOver(state) && stopsAtDeadline(program.flow)) return outOfTime(state);
  const prepared = prepare(program, thread, node);
  if ('class' in prepared) return unasked(program, thread, node, prepared);
  const { input, undo } = prepared;
  const name = nameOf(node);
  const declared = declaredOf(program, node);
  const fingerprint = declared.fingerprint ?? digest(input, program.pure.hash);
  const print = declared.repeats === undefined ? undefined : comparedPrint(program, declared.repeats, input);
  const call = { name, print: `${name} ${print ?? fingerprint}` };
  const repeated = print === undefined ? null : tripOnRepeat(program, state, thread, node, call);
  if (repeated !== null) return [repeated];
  const timing = timingOf(program, state, thread, node);
  if ('type' in timing) return [timing];
  const { notBefore, paced, timed } = timing;
  if (notBefore !== undefined && state.deadline !== null && notBefore >= state.deadline)
    return unasked(program, thread, node, tooEarly(node, name));
  const reserved = reserve(program, state, thread, node, worstCase(program, node, input));
  if ('type' in reserved) return [reserved];
  const key = `${thread.id}#${thread.acts}`;
  // If the deadline can be extended, questions stay open past it.
  const pastDeadline = node.effect.kind === 'ask' && !stopsAtDeadline(program.flow);
  const timeout = deadlineFrom(state, notBefore ?? state.now, node.timeoutMs, pastDeadline);
  return [
    {
      type: 'effect.requested',
      thread: thread.id,
      key,
      node: thread.at,
      kind: node.effect.kind,
      name,
      input: fingerprint,
      deadline: sooner(timeout, timing.until),
      holds: reserved.holds.length > 0 ? reserved.holds : undefined,
      charge: declared.visits,
      watched: declared.repeats,
      print: print === fingerprint ? undefined : print,
      notBefore,
      paced,
      timed,
      question: questionOf(state, node, key, fingerprint),
      undo,
    },
  ];
}

/** The fingerprint of the input without differences of spelling and ignored fields. */
function comparedPrint(program: Program, repeats: readonly MeterId[], input: Prepared['input']): string {
  const ignored = new Set(repeats.flatMap((id) => meterAt(program, id).ignore ?? []));
  return digest(normalised(input, ignored), program.pure.hash);
}

interface Prepared {
  readonly input: { readonly [field: string]: Json };
  readonly undo: Undo | undefined;
}

/** The input, and the compensation with its arguments; or the error that keeps the effect from being requested. */
function prepare(program: Program, thread: Thread, node: DoNode): Prepared | ErrorRecord {
  try {
    const input = evaluateInput(program, node.effect.input, thread.slots);
    const undo = node.undo && {
      tool: node.undo.tool,
      args: evaluateInput(program, node.undo.input, { ...thread.slots, input }),
      timeoutMs: node.undo.timeoutMs,
    };
    const invalid = node.takes === undefined ? null : program.pure.validate(node.takes, input['args'] ?? null);
    if (invalid === null) return { input, undo };
    const message = `the arguments of \`${nameOf(node)}\` are not valid: ${invalid}`;
    return errorRecord(node, { class: 'semantic', type: 'ArgumentError', message }, 1);
  } catch (cause) {
    return expressionError(node, cause);
  }
}

/** An effect that cannot be requested fails in the same way as one that was. */
function unasked(program: Program, thread: Thread, node: DoNode, error: ErrorRecord): readonly EventBody[] {
  return [
    {
      type: 'expression.failed',
      thread: thread.id,
      node: thread.at,
      error,
      to: route(program, thread, node.failed, node.fail, error),
      charge: declaredOf(program, node).visits,
    },
  ];
}

function tooEarly(node: DoNode, name: string): ErrorRecord {
  const message = `the rate limit of \`${name}\` is used up, and the run has no time to wait`;
  return errorRecord(node, { class: 'rate_limit', type: 'RateLimitError', message }, 1);
}

function questionOf(state: RunState, { effect }: DoNode, key: EffectKey, payload: string): Question | undefined {
  if (effect.kind !== 'ask') return undefined;
  const { about, choices, onExpiry, code, askedBy } = effect;
  const id = `a_${state.run}.${key.replace(/[#:]/g, '.')}`;
  return { id, about, choices: choices.map(({ name }) => name), onExpiry, code, askedBy, payload };
}
