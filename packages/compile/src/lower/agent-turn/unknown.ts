/**
 * A call with effects that did not answer in time, or was in flight at a crash: it may have happened. An idempotent tool is called again under the same
 * key. For other tools, the tool of `verify` looks it up. If the outcome stays unknown, the agent gets a message about it,
 * and the same call is made again only if a person approves it.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Case, Compensation, Expr, Input, NodeId, Retry, ToolDef } from '@sluice-internal/kernel/ir';
import { isIdentifier, object, present, quote } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { controlsOfNode } from '../controlled.ts';
import { NO_RETRY, set, type Call } from '../kit.ts';
import type { Builder } from '../builder-types.ts';
import { name as nameOf, type Gate } from './gate.ts';
import { outcomeOf } from './outcome.ts';
import { CALL, callerOf } from './turn.ts';

export const LOOKUP = '_lookup';
/** Repetitions under the same key. */
const REPEATS_MAX = 2;

/** The retry of a tool call: a call with effects is repeated under its key only if the tool is idempotent. */
export function repetitionOf({ kit, tool }: Gate): Retry {
  const { effect = 'write', idempotent = false } = kit.builder.toolDef(tool) ?? {};
  if (onlyReads(effect) || !idempotent) return NO_RETRY;
  return { max: REPEATS_MAX, baseMs: 500, capMs: 5_000, on: ['timeout'], budgeted: true };
}

/** Holds if a call may have happened: one whose time was over before it was sent did not. */
export const MAY_HAVE_HAPPENED: Expr = 'error.class == "timeout" && error.type != "DeadlineError"';

/** The server or the command behind the tool gets no idempotency key, so it cannot recognise a repeated call. */
export function hasNoKey({ implementation: how, effect, idempotent }: ToolDef): boolean {
  if (onlyReads(effect) || idempotent || how === null || typeof how !== 'object' || Array.isArray(how)) return false;
  const { builtin } = how as { readonly builtin?: Json };
  return 'mcp' in how || 'code' in how || builtin === 'shell_run' || builtin === 'code_run';
}

/** The arguments of a call: as a whole, and each of them. */
export interface Doubted {
  readonly args: Expr;
  readonly arg: (field: string) => Expr;
}

/** How it is found out if a call happened that an earlier process may have sent, before the call is undone. */
export function unclearOf(builder: Builder, tool: string, doubted: Doubted): Pick<Compensation, 'unclear'> {
  const { toolLookups } = builder.definitions;
  const lookup = Object.hasOwn(toolLookups, tool) ? toolLookups[tool] : undefined;
  if (lookup !== undefined) {
    const { effect, timeoutMs = null } = lookupOf(builder, lookup, { tool, ...doubted });
    return { unclear: { lookup: { tool: lookup, input: effect.input, timeoutMs } } };
  }
  return builder.toolDef(tool)?.idempotent === true ? { unclear: { again: true } } : {};
}

/** A second call can have a second effect. */
export function isRisky(def: ToolDef | undefined): boolean {
  return !onlyReads(def?.effect ?? 'write') && def?.idempotent !== true;
}

/** The case for a call without an answer; none for tools that only read. */
export function addUnknownOutcome(gate: Gate, shared: Map<string, NodeId>): readonly Case[] {
  const { kit, tool } = gate;
  const def = kit.builder.toolDef(tool);
  if (onlyReads(def?.effect ?? 'write')) return [];
  const unknown = shared.get('unknown') ?? addUnknownMessage(gate);
  shared.set('unknown', unknown);
  const lookup = kit.builder.definitions.toolLookups[tool];
  return [{ when: MAY_HAVE_HAPPENED, to: lookup === undefined ? unknown : addLookup(gate, lookup, unknown) }];
}

/** The agent gets the message that the outcome is not known. */
function addUnknownMessage(gate: Gate): NodeId {
  const { kit, turn, done } = gate;
  const words =
    '. It may or may not have happened. Do not call it again with the same arguments; say that the outcome is not known.';
  const content = `{"unknown": true, "message": text("[UNKNOWN] ", ${CALL}.name, ": ", error.message, ${quote(words)})}`;
  const writes = outcomeOf(turn.agent, content, { ok: 'false', error: 'error.message', unknown: 'true' });
  return kit.set(
    { hint: `${turn.hint}.unknown-outcome`, origin: turn.origin },
    [...writes, set('error', 'null')],
    done,
  );
}

/** The call of the `verify` tool. It gets the arguments of the unclear call that its schema has. */
export function lookupOf(
  { toolDef, tool }: Builder,
  lookup: string,
  doubted: { readonly tool: string; readonly args: Expr; readonly arg: (field: string) => Expr },
  by: Input = {},
): Pick<Call, 'effect' | 'into' | 'schema' | 'timeoutMs'> {
  const def = toolDef(lookup);
  const schema = def?.input as { properties?: { [field: string]: unknown } } | null | undefined;
  const fields = Object.keys(schema?.properties ?? {}).filter(isIdentifier);
  const args = fields.length === 0 ? doubted.args : object(fields.map((field) => [field, doubted.arg(field)]));
  return {
    effect: { ...tool(lookup, {}), input: { args, ...by, verifies: quote(doubted.tool) } },
    into: LOOKUP,
    ...(def === undefined || def.output === true ? {} : { schema: def.output }),
    timeoutMs: def?.timeoutMs ?? null,
  };
}

/** The arguments of a lookup, for its controls. */
export function argsIn({ effect: { input } }: Pick<Call, 'effect'>): Expr {
  return input['args'] ?? 'null';
}

function addLookup(gate: Gate, lookup: string, unknown: NodeId): NodeId {
  const { kit, turn, tool, done } = gate;
  const arg = (field: string): Expr => `${CALL}.args.${field}`;
  const say = (hint: string, content: Expr, outcome: Input): NodeId =>
    kit.set(
      { hint: nameOf(gate, hint), origin: turn.origin },
      [...outcomeOf(turn.agent, content, outcome, `${lookup} (lookup)`), set('error', 'null')],
      done,
    );
  const happened = say('looked-up', LOOKUP, { ok: 'true', result: LOOKUP, lookedUp: 'true' });
  const missed = say(
    'not-found',
    quote(`[ERROR] ${tool} did not answer in time. ${lookup} shows that it did not happen.`),
    { ok: 'false', error: 'error.message' },
  );
  const call = lookupOf(kit.builder, lookup, { tool, args: `${CALL}.args`, arg }, { agent: quote(turn.agent) });
  return kit.call(
    { hint: nameOf(gate, 'lookup'), origin: turn.origin, authored: callerOf(turn) },
    {
      ...call,
      ...present({ controls: controlsOfNode(kit, { tool: lookup, args: argsIn(call), askedBy: turn.agent }) }),
      next: kit.when({ hint: nameOf(gate, 'lookup.found'), origin: turn.origin }, ABSENT, missed, happened),
      fail: unknown,
    },
  );
}

/** A lookup finds nothing if it gives false, null, an empty list, or an object whose `found` or `done` is false. */
export const ABSENT: Expr = `${LOOKUP} == null || ${LOOKUP} == false || ${LOOKUP} == [] || (type(${LOOKUP}) == map && (${LOOKUP}.found == false || ${LOOKUP}.done == false))`;
