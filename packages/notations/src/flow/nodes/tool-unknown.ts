/**
 * A tool node whose call did not answer in time: it may have happened. An idempotent tool is called again under the same key.
 * For other tools `retry` does not repeat the call: the tool that `verify` names looks it up, and without one a person decides.
 * A later visit with the same arguments waits for a person, too. A call without a key that was in flight at a crash is decided by the
 * clause of `on_error` that matches `UnknownOutcome`, otherwise by a lookup or a person.
 */
import type { Case, Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { present } from '@sluice-internal/kernel/expr';
import { object, quote } from '@sluice-internal/compile/expressions';
import {
  ABSENT,
  LOOKUP,
  MAY_HAVE_HAPPENED,
  append,
  argsIn,
  controlsOfNode,
  hasNoKey,
  lookupOf,
  rowOfTool,
  set,
} from '@sluice-internal/compile/lower';
import type { Call, Step } from '@sluice-internal/compile/lower';
import type { Lowering, Prepared } from '../node-type.ts';
import { SLOT } from '../slots.ts';

const [APPROVE, REJECT] = ['approve', 'reject'] as const;

/** The parts of a tool node that a repetition needs. */
export interface Repeatable {
  readonly prepared: Prepared;
  readonly tool: string;
  readonly args: Input;
  readonly call: Call;
  /** The arguments whose sources are traced, if this tool gets them. */
  readonly traced: (tool: string) => Input | undefined;
}

/** The call, with the ways of an unknown outcome. */
export function addRiskyCall(lowering: Lowering, step: Step, given: Repeatable): NodeId {
  const { kit } = lowering;
  const { prepared, tool } = given;
  const { retry } = prepared.node.value;
  const call = onceOnly(given.call);
  const lookup = kit.builder.definitions.toolLookups[tool];
  const isVisitedAgain = lowering.visitsMax(prepared.node.id) > 1 || isInAttempts(lowering);
  const isLost = isLostAtCrash(lowering, tool);
  if (retry === undefined && lookup === undefined && !isVisitedAgain && !isLost) return kit.call(step, call);
  const failing = lowering.failing(prepared, 'unknown');
  const again = kit.builder.fresh(`${lowering.name(prepared.node.id)} again`);
  const unknown = addUnknown(lowering, given, lookup, { again, failing });
  const noted = isVisitedAgain ? note(lowering, given, unknown) : unknown;
  const lost = isLost ? addLost(lowering, given, lookup, { again, failing }) : [];
  const failed = [...lost, { when: MAY_HAVE_HAPPENED, to: noted }, ...(call.failed ?? [])];
  if (retry !== undefined || isVisitedAgain || isLost) {
    const most = (retry?.max_attempts ?? 2) * lowering.visitsMax(prepared.node.id);
    const meter = kit.visits(`again:${again}`, most, failing, `repetitions of ${lowering.name(prepared.node.id)}`);
    kit.call({ ...lowering.part(prepared, 'again'), id: again, charges: [meter] }, { ...unasked(call), failed });
  }
  if (!isVisitedAgain) return kit.call(step, { ...call, failed });
  const first = kit.call(lowering.part(prepared, 'call'), { ...call, failed });
  const before = `${SLOT.unknown} != null && ${SLOT.unknown}.exists(each, each.tool == ${quote(tool)} && each.args == ${argsOf(given)})`;
  const guard = addQuestion(lowering, given, again, failing);
  return kit.pick(step, [{ when: before, to: guard }], first);
}

/** The way of a call that did not answer in time. Without `retry` it is not made again. */
function addUnknown(lowering: Lowering, given: Repeatable, lookup: string | undefined, ways: Ways): NodeId {
  const { again, failing } = ways;
  const isRepeated = given.prepared.node.value.retry !== undefined;
  const asked = isRepeated ? addQuestion(lowering, given, again, failing) : failing;
  return lookup === undefined
    ? asked
    : addLookup(lowering, given, lookup, { asked, missed: isRepeated ? again : failing });
}

interface Ways {
  readonly again: NodeId;
  readonly failing: NodeId;
}

function isLostAtCrash({ kit }: Lowering, tool: string): boolean {
  const def = kit.builder.toolDef(tool);
  return def !== undefined && hasNoKey(def);
}

/** The ways of a call without a key that was in flight at a crash. The clauses of the author come first. */
function addLost(
  lowering: Lowering,
  given: Repeatable,
  lookup: string | undefined,
  { again, failing }: Ways,
): readonly Case[] {
  const asked = addQuestion(lowering, given, again, failing, STOPPED);
  const to = lookup === undefined ? asked : addLookup(lowering, given, lookup, { asked, missed: again });
  const isUnknown = 'error.type == "UnknownOutcome"';
  const own = (given.call.failed ?? []).map((each) => ({ ...each, when: `${isUnknown} && (${each.when})` }));
  return [...own, { when: isUnknown, to }];
}

const LATE = 'did not answer in time, and it may have happened. Call it again?';
const STOPPED = 'was in flight when the process stopped, and it may have happened. Call it again?';

/** A person has just decided that the call is made again, so its controls ask nothing. */
function unasked({ controls, ...call }: Call): Call {
  if (controls === undefined) return call;
  const walk = controls.walk.filter(({ how, with: given }) => how !== 'ask' && !('asks' in given));
  return walk.length === 0 ? call : { ...call, controls: { ...controls, walk } };
}

/** A node around this one may be tried again as a whole. */
function isInAttempts({ flow }: Lowering): boolean {
  return [...flow.nodes.values()].some(({ value: { type, retry } }) => retry !== undefined && WHOLE.has(type));
}

const WHOLE: ReadonlySet<string> = new Set(['map', 'parallel']);

/** A repetition after a timeout is decided by the nodes below, not by the call itself. */
function onceOnly(call: Call): Call {
  const { retry } = call;
  return retry === undefined ? call : { ...call, retry: { ...retry, on: retry.on.filter((on) => on !== 'timeout') } };
}

function argsOf({ args }: Repeatable): Expr {
  return object(Object.entries(args));
}

function note(lowering: Lowering, given: Repeatable, next: NodeId): NodeId {
  const entry = append(SLOT.unknown, { tool: quote(given.tool), args: argsOf(given) });
  return lowering.kit.set(lowering.part(given.prepared, 'noted'), [entry], next);
}

function addQuestion(lowering: Lowering, given: Repeatable, again: NodeId, failing: NodeId, why = LATE): NodeId {
  const { kit } = lowering;
  const { prepared, tool } = given;
  const { toolDef, definitions } = kit.builder;
  const decided = kit.pick(
    lowering.part(prepared, 'decided'),
    [{ when: `${SLOT.allowed} == ${quote(APPROVE)}`, to: again }],
    failing,
  );
  return kit.ask(lowering.part(prepared, 'unknown'), {
    about: tool,
    askedBy: lowering.askedBy,
    choices: [APPROVE, REJECT],
    onExpiry: REJECT,
    code: 'CONFIRM_REQUIRED',
    row: rowOfTool(toolDef(tool), definitions.toolCosts[tool]),
    message: quote(`${tool} ${why}`),
    payload: { tool: quote(tool), args: argsOf(given) },
    writes: [set(SLOT.allowed, 'it.choice')],
    next: decided,
    ...lowering.errors(prepared),
  });
}

interface LookupWays {
  readonly asked: NodeId;
  /** The node if the call did not happen. */
  readonly missed: NodeId;
}

/** The lookup tool gets the arguments that it takes. Its finding is the result of the node. */
function addLookup(lowering: Lowering, given: Repeatable, lookup: string, ways: LookupWays): NodeId {
  const { kit } = lowering;
  const { prepared, tool, args, call } = given;
  const arg = (field: string): Expr => args[field] ?? 'null';
  const writes = (call.writes ?? []).map((write) => (write.value === 'it' ? { ...write, value: LOOKUP } : write));
  const happened = kit.set(lowering.part(prepared, 'looked-up'), [...writes, set('error', 'null')], call.next);
  const found = lookupOf(kit.builder, lookup, { tool, args: argsOf(given), arg });
  const proposed = { tool: lookup, args: argsIn(found), askedBy: lowering.askedBy, traced: given.traced(lookup) };
  return kit.call(lowering.part(prepared, 'lookup'), {
    ...found,
    ...present({ controls: controlsOfNode(kit, proposed) }),
    next: kit.pick(lowering.part(prepared, 'found'), [{ when: ABSENT, to: ways.missed }], happened),
    fail: ways.asked,
  });
}
