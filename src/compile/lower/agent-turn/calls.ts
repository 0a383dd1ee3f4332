/**
 * The tool calls of one reply, one after the other: what was called is done and observed, whatever came of it, and the
 * agent is told. A call that fails, or that names a tool the agent does not have, is an observation and not the end of a run.
 */
import type { BoundaryDef, DoNode, Expr, Input, MeterId, NodeId } from '../../../ir/nodes.ts';
import { OBSERVATIONS, REPLY, ROUNDS_MAX, TALK, breakerOf, callerOf } from './slots.ts';
import type { AgentTurn } from './slots.ts';
import { CALL, addRefusal, addStop, told } from './told.ts';
import { agentMeterIds } from '../budget-meters.ts';
import { addBlame } from '../blame.ts';
import { consequenceOf } from '../../document/boundary.ts';
import type { Builder } from '../builder.ts';
import { isIdentifier, quote } from '../../expressions/cel-text.ts';
import { addEligibility } from './eligibility.ts';
import { ANSWER, addQuestion, addTrouble } from './gate.ts';
import type { Gate } from './gate.ts';
import { rewriteNames } from '../../expressions/rewrite.ts';

const CALLS = '_calls';

/**
 * Adds the fork over the calls, and what follows it: back to `ask`, or on where a closing call was made; to `endless` when
 * that has gone on for too long.
 */
export function addCalls(builder: Builder, turn: AgentTurn, ask: NodeId, endless: NodeId): NodeId {
  const { hint, origin, at, closing, next, roundsMax = ROUNDS_MAX } = turn;
  const rounds = builder.meter(`rounds:${hint}`, {
    unit: 'visits',
    max: roundsMax * turn.visitsMax,
    over: endless,
    label: `tool rounds of ${origin}`,
  });
  const closed = `${REPLY}.toolCalls.exists(c, c.name == ${quote(closing ?? '')})`;
  const after =
    closing === undefined
      ? ask
      : builder.add(
          builder.fresh(`${hint}.after`),
          { op: 'pick', label: { name: origin }, cases: [{ when: closed, to: next }], otherwise: ask },
          at,
        );
  return builder.add(
    builder.fresh(`${hint}.calls`),
    {
      op: 'fork',
      label: { name: origin },
      charges: [rounds],
      over: { each: `${REPLY}.toolCalls`, as: CALL, head: addDispatch(builder, turn) },
      // In order: what is run may need what was written just before.
      widthMax: 1,
      need: 'all',
      eager: true,
      timeoutMs: null,
      into: CALLS,
      gather: [
        { slot: TALK, mode: 'concat' },
        { slot: OBSERVATIONS, mode: 'concat' },
      ],
      next: after,
      failed: [],
      fail: addBlame(builder, hint, origin, CALLS, turn.refused ?? builder.failedEnd()),
    },
    at,
  );
}

interface Ways {
  readonly done: NodeId;
  readonly failed: NodeId;
  /** The meters that every call is compared by. */
  readonly watched: readonly MeterId[];
}

/** Which tool is meant, and whether there is one: the first step of every call. */
function addDispatch(builder: Builder, turn: AgentTurn): NodeId {
  const { hint, origin, at, closing, tools, agent } = turn;
  const boundary = builder.boundary(agent, tools, turn.gate ?? 'eligible');
  const done = builder.end({ state: 'completed', code: 'SUCCESS' });
  const failed = builder.add(
    builder.fresh(`${hint}.failed`),
    {
      op: 'let',
      label: { name: origin },
      writes: [
        ...told(agent, 'text("[ERROR] ", error.message)', { ok: 'false', error: 'error.message' }),
        { slot: 'error', mode: 'set', value: 'null' },
      ],
      next: done,
    },
    at,
  );
  const watched = addBreaker(builder, turn, done);
  const cases = tools.map((tool) => ({
    when: `${CALL}.name == ${quote(tool)}`,
    to: addTool(builder, turn, boundary, tool, { done, failed, watched }),
  }));
  if (closing !== undefined)
    cases.unshift({ when: `${CALL}_index >= size(upTo(${REPLY}.toolCalls, "name", ${quote(closing)}))`, to: done });
  const otherwise = addUnknown(builder, turn, boundary, done);
  return builder.add(builder.fresh(`${hint}.registry`), { op: 'pick', label: { name: origin }, cases, otherwise }, at);
}

/** A call that only repeats others of its turn is not made, and the agent is told to try something else. */
function addBreaker(builder: Builder, turn: AgentTurn, done: NodeId): readonly MeterId[] {
  const breaker = breakerOf(turn);
  if (breaker === null || turn.tools.length === 0) return [];
  const { hint, origin } = turn;
  const { identical, window } = breaker;
  const reason = quote('the same call was made too often; try something else');
  const over = addRefusal(builder, turn, { hint: `${hint}.repeated`, step: 'breaker', tag: 'BLOCKED', reason }, done);
  const label = `repeated calls of ${origin}`;
  return [builder.meter(`repeats:${hint}`, { unit: 'repeats', max: identical - 1, window, over, label })];
}

function addUnknown(builder: Builder, turn: AgentTurn, boundary: BoundaryDef, done: NodeId): NodeId {
  const { hint, origin, at, agent, tools } = turn;
  const message = `text("unknown tool ", ${CALL}.name)`;
  const stop = { class: 'policy', type: 'UnknownToolError', code: 'PERMISSION_DENIED', message } as const;
  const consequence = consequenceOf(boundary, 'unregistered', null);
  if (consequence === 'fail') return addStop(builder, turn, { ...stop, hint: `${hint}.unknown` });
  if (consequence === 'ask') {
    const refusal = { step: 'registry', tag: 'NOT FOUND', reason: message };
    const gate: Gate = { builder, turn, tool: 'unknown', boundary, dispatch: done, done };
    const words = `text(${quote(`${agent} wants to call `)}, ${CALL}.name, ${quote(`, which it does not have${available(tools)}`)})`;
    return addQuestion(gate, 'unregistered', words, refusal, stop);
  }
  const content = `text("[NOT FOUND] there is no tool ", ${CALL}.name, ${quote(available(tools))})`;
  return builder.add(
    builder.fresh(`${hint}.unknown`),
    { op: 'let', label: { name: origin }, writes: told(agent, content, { ok: 'false', error: message }), next: done },
    at,
  );
}

function addTool(builder: Builder, turn: AgentTurn, boundary: BoundaryDef, name: string, ways: Ways): NodeId {
  const { hint, origin, at, agent } = turn;
  const tool = builder.toolDef(name);
  const check = builder.definitions.toolChecks[name];
  const undo = tool?.compensate ?? null;
  const dispatch = builder.fresh(`${hint}.${name}`);
  const gate: Gate = { builder, turn, tool: name, boundary, dispatch, done: ways.done };
  const charges = [...agentMeterIds(builder.definitions.agentBudgets, agent), ...ways.watched];
  const node: DoNode = {
    op: 'do',
    label: { name: origin, authored: callerOf(turn) },
    ...(charges.length === 0 ? {} : { charges }),
    effect: { ...builder.tool(name, {}), input: { args: `${CALL}.args`, agent: quote(agent), turn: 'turn' } },
    ...(undo === null
      ? {}
      : {
          undo: {
            tool: undo,
            input: sameArguments(tool?.input),
            timeoutMs: builder.toolDef(undo)?.timeoutMs ?? tool?.timeoutMs ?? 0,
          },
        }),
    ...(tool === undefined || tool.output === true ? {} : { schema: tool.output }),
    ...(check === undefined ? {} : { accept: rewriteNames(check, ([root]) => (root === 'result' ? 'it' : null)) }),
    writes: told(agent, 'it', { ok: OK, result: 'it', approved: `${ANSWER}.choice` }, sourceOf(name, tool?.trust)),
    timeoutMs: tool?.timeoutMs ?? null,
    retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
    next: ways.done,
    failed: [{ when: 'error.type == "RejectedError" || error.type == "SchemaError"', to: addUnverified(gate) }],
    fail: ways.failed,
  };
  builder.add(dispatch, node, at);
  return addEligibility(gate);
}

/** It ran, and what came back is not what it should have been: what was seen is kept, and none of it is committed. */
function addUnverified(gate: Gate): NodeId {
  const reason = 'text("the result was not verified: ", error.message)';
  return addTrouble(
    gate,
    'unverified',
    { step: 'verification', tag: 'UNVERIFIED', reason },
    { class: 'semantic', type: 'VerificationError', code: 'VALIDATION_FAIL', message: reason },
  );
}

function sourceOf(tool: string, trust: string | undefined): string {
  return `${tool} (${trust === 'trusted' ? 'trusted' : 'untrusted'})`;
}

/** A command that ran and said it failed is no success, although the call itself went well. */
const OK: Expr =
  'type(it) == map && it.exitCode != null ? it.exitCode == 0 : type(it) == string ? !re(it, "^\\\\[(ERROR|DENIED|TIMEOUT|NOT FOUND|EXIT)") : true';

function sameArguments(schema: unknown): Input {
  const properties = (schema as { properties?: { [field: string]: unknown } } | null)?.properties ?? {};
  return Object.fromEntries(
    Object.keys(properties)
      .filter(isIdentifier)
      .map((key) => [key, `input.args.${key}`]),
  );
}

function available(tools: readonly string[]): string {
  return tools.length === 0 ? '. There are no tools.' : `. There are: ${tools.join(', ')}.`;
}
