/**
 * The tool calls of one reply. They run at once, except calls that use the same resource. Each call is checked, made and
 * observed. The agent reads the outcomes in the order of the calls.
 * A failed call, or a call of an unknown tool, is an observation; it does not end the run.
 */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type {
  BoundaryDef,
  Case,
  Claim,
  Compensation,
  Expr,
  ForkNode,
  MeterId,
  NodeId,
  ToolDef,
} from '@sluice-internal/kernel/ir';
import { ANSWER, consequenceOf } from '@sluice-internal/controls';
import { quote } from '@sluice-internal/kernel/expr';
import { approversOfTool } from '../../document/people.ts';
import { rewriteNames } from '../../expressions/rewrite.ts';
import { agentMeterIds } from '../budget-meters.ts';
import { set, type Call, type Kit } from '../kit.ts';
import type { Builder } from '../builder-types.ts';
import { addRefused, controlsOfCall } from '../controlled.ts';
import { addQuestion, addTrouble, type Gate } from './gate.ts';
import { addLoopDetector } from './loop-detector.ts';
import { addUnknownOutcome, hasNoKey, repetitionOf, unclearOf, type Doubted } from './unknown.ts';
import { addRefusal, addStop, outcomeOf } from './outcome.ts';
import { CALL, OBSERVATIONS, REPLY, ROUNDS_MAX, TALK, asksPeople, callerOf, type AgentTurn } from './turn.ts';

const CALLS = '_calls';
/** Answers of a person to the questions of an MCP server during one call. */
const ELICITED = '_elicited';
/** The number of questions that a server may ask at one place of the flow. */
const ELICITATIONS_MAX = 20;
/** The number of tool calls of one reply that run at once, unless the agent sets another. */
const TOOL_WIDTH = 8;

/** `roundsEach`: the tool rounds after one visit of the first node, if they are fewer than `roundsMax`. */
export type CallingTurn = AgentTurn & { readonly begin: NodeId; readonly roundsEach?: number };

/** Adds the fork over the calls. Afterwards control goes to `ask`, on after a closing call, or to `endless`. */
export function addCalls(kit: Kit, turn: CallingTurn, ask: NodeId, endless: NodeId): NodeId {
  const { hint, origin, closing, next, roundsMax = ROUNDS_MAX } = turn;
  const rounds = kit.builder.meter(
    `rounds:${hint}`,
    { unit: 'visits', max: roundsMax * turn.visitsMax, over: endless, label: `tool rounds of ${origin}` },
    { of: turn.begin, max: turn.roundsEach ?? roundsMax },
  );
  const after = closing === undefined ? ask : kit.when({ hint: `${hint}.after`, origin }, closedBy(turn), next, ask);
  return kit.fork(
    { hint: `${hint}.calls`, origin, charges: [rounds] },
    {
      over: { each: `${REPLY}.toolCalls`, as: CALL, head: addDispatch(kit, turn), ...claimsOf(kit, turn) },
      widthMax: kit.builder.definitions.agents[turn.agent]?.toolWidth ?? TOOL_WIDTH,
      eager: true,
      into: CALLS,
      gather: [
        { slot: TALK, mode: 'concat' },
        { slot: OBSERVATIONS, mode: 'concat' },
      ],
      next: after,
      fail: kit.branchError({ hint: `${hint}.blame`, origin }, CALLS, turn.refused ?? kit.failedEnd()),
    },
  );
}

/** True if the reply has a call that ends the turn. */
function closedBy({ closing = '', closes }: AgentTurn): Expr {
  return `${REPLY}.toolCalls.exists(c, c.name == ${quote(closing)}${closes === undefined ? '' : ` && ${closes.when('c')}`})`;
}

/** The resources of the tools. A call that runs a file waits for the call before it that writes the file. */
function claimsOf(kit: Kit, { tools }: AgentTurn): Pick<OverList, 'claims'> {
  const entries = tools.flatMap((tool): [string, Claim][] => {
    const { resource, effect } = kit.builder.toolDef(tool) ?? {};
    return resource === undefined ? [] : [[tool, { resource, shared: onlyReads(effect) }]];
  });
  return entries.length === 0 ? {} : { claims: { key: `${CALL}.name`, of: Object.fromEntries(entries) } };
}
type OverList = Extract<ForkNode['over'], { each: Expr }>;

interface Ways {
  readonly done: NodeId;
  readonly failed: NodeId;
  /** The node that tells the agent about a refusal. */
  readonly refused: NodeId;
  /** The nodes that tools of a turn share. */
  readonly shared: Map<string, NodeId>;
  /** Meters that every call charges. */
  readonly watched: readonly MeterId[];
}

/** Finds the tool by name: the first step of every call. */
function addDispatch(kit: Kit, turn: CallingTurn): NodeId {
  const { hint, origin, closing, tools, agent } = turn;
  const boundary = kit.builder.boundary(agent, tools, turn.gate ?? 'eligible');
  const done = kit.end({ state: 'completed', code: 'SUCCESS' });
  const failed = kit.set(
    { hint: `${hint}.failed`, origin },
    [
      ...outcomeOf(agent, 'text("[ERROR] ", error.message)', { ok: 'false', error: 'error.message' }),
      set('error', 'null'),
    ],
    done,
  );
  const repeats = addLoopDetector(kit, turn, boundary, done);
  const counted = callMeters(kit, turn, failed);
  const refused = addRefused(kit, turn, done);
  const shared = new Map<string, NodeId>();
  const cases = tools.map((tool) => {
    const watched = [...repeats, ...(tool === closing ? counted.closing : counted.other)];
    return {
      when: `${CALL}.name == ${quote(tool)}`,
      to: addTool(kit, turn, boundary, tool, { done, failed, refused, shared, watched }),
    };
  });
  if (turn.callsMax !== undefined && turn.callsMax > 0) cases.unshift(addCallLimit(kit, turn, turn.callsMax, done));
  if (closing !== undefined && turn.closes !== undefined) cases.unshift(addUnclosed(kit, turn, turn.closes, done));
  if (closing !== undefined) {
    const later = `${CALL}_index >= size(upTo(${REPLY}.toolCalls, "name", ${quote(closing)}))`;
    cases.unshift({ when: turn.closes === undefined ? later : `${later} && ${closedBy(turn)}`, to: done });
  }
  const unknown = addUnknown(kit, turn, boundary, done);
  return kit.pick({ id: kit.builder.fresh(`${hint}.registry`), origin }, cases, unknown);
}

/** A call that should end the turn and cannot, as one without its argument, is answered. */
function addUnclosed(kit: Kit, turn: AgentTurn, closes: NonNullable<AgentTurn['closes']>, done: NodeId): Case {
  const { hint, closing = '' } = turn;
  const refusal = { step: 'arguments', tag: 'ERROR', reason: closes.reason };
  const to = addRefusal(kit, turn, `${hint}.unclosed`, refusal, done);
  return { when: `${CALL}.name == ${quote(closing)} && !(${closes.when(CALL)})`, to };
}

/**
 * Meters of the call that ends the turn, and of the others. They count the calls of all turns together, for the certificate.
 * `addCallLimit` limits those of one turn.
 */
function callMeters(kit: Kit, turn: CallingTurn, over: NodeId) {
  const { hint, origin, begin, callsMax = 0, visitsMax, closing } = turn;
  const meter = (id: MeterId, each: number, label: string): readonly MeterId[] => [
    kit.builder.meter(id, { unit: 'visits', max: each * visitsMax, over, label }, { of: begin, max: each }),
  ];
  return {
    closing: closing === undefined ? [] : meter(`closing:${hint}`, 1, `${closing} of ${origin}`),
    other: callsMax === 0 ? [] : meter(`calls:${hint}`, callsMax, `MaxToolCallsPerTurn of ${origin}`),
  };
}

/** Calls beyond the limit of the turn are not made. The call that ends the turn is not counted. */
function addCallLimit(kit: Kit, turn: AgentTurn, max: number, done: NodeId): Case {
  const { hint, closing } = turn;
  const reason = quote(`the limit of ${max} tool calls in one turn is used up`);
  const over = addRefusal(kit, turn, `${hint}.limit`, { step: 'limit', tag: 'DENIED', reason }, done);
  const made = `size(${TALK}.filter(m, m.role == "tool"))`;
  const counts = closing === undefined ? '' : ` && ${CALL}.name != ${quote(closing)}`;
  return { when: `${made} + ${CALL}_index >= ${max}${counts}`, to: over };
}

function addUnknown(kit: Kit, turn: AgentTurn, boundary: BoundaryDef, done: NodeId): NodeId {
  const { hint, origin, agent, tools } = turn;
  const reason = `text("unknown tool ", ${CALL}.name)`;
  const type = 'UnknownToolError';
  switch (consequenceOf(boundary, 'unregistered', null)) {
    case 'fail':
      return addStop(kit, turn, `${hint}.unknown`, { type, message: reason });
    case 'ask': {
      const refusal = { step: 'registry', tag: 'NOT FOUND', reason };
      const gate: Gate = { kit, turn, tool: 'unknown', boundary, dispatch: done, done };
      const message = `text(${quote(`${agent} wants to call `)}, ${CALL}.name, ${quote(`, which it does not have${available(tools)}`)})`;
      return addQuestion(gate, { about: 'unregistered', message, refusal, type });
    }
    case 'tell': {
      const content = `text("[NOT FOUND] there is no tool ", ${CALL}.name, ${quote(available(tools))})`;
      const writes = outcomeOf(agent, content, { ok: 'false', error: reason, refused: quote('registry') });
      return kit.set({ hint: `${hint}.unknown`, origin }, writes, done);
    }
  }
}

function addTool(kit: Kit, turn: AgentTurn, boundary: BoundaryDef, name: string, ways: Ways): NodeId {
  const { hint, origin, agent } = turn;
  const { builder } = kit;
  const tool = builder.toolDef(name);
  const dispatch = builder.fresh(`${hint}.${name}`);
  const gate: Gate = { kit, turn, tool: name, boundary, dispatch, done: ways.done };
  const asks = isServerTool(tool) && asksPeople(kit, turn);
  const outcome = { ok: OK, result: 'it', approved: `${ANSWER}.choice`, approvedBy: `${ANSWER}.by` };
  kit.call(
    {
      id: dispatch,
      origin,
      authored: callerOf(turn),
      charges: [...agentMeterIds(builder.definitions.agentBudgets, agent), ...ways.watched],
    },
    {
      effect: {
        ...builder.tool(name, {}),
        input: {
          args: `${CALL}.args`,
          agent: quote(agent),
          ...(turn.acrossTurns === true ? {} : { turn: 'turn' }),
          ...(asks ? { elicited: ELICITED } : {}),
        },
      },
      controls: controlsOfCall(kit, turn, boundary, name, { refused: ways.refused, stopped: kit.failedEnd() }),
      ...resultRules(builder, name, { args: `${CALL}.args`, arg: (field) => `${CALL}.args.${field}` }),
      writes: outcomeOf(agent, 'it', outcome, `${name} (${tool?.trust === 'trusted' ? 'trusted' : 'untrusted'})`),
      timeoutMs: tool?.timeoutMs ?? null,
      next: ways.done,
      retry: repetitionOf(gate),
      failed: [
        ...addUnknownOutcome(gate, ways.shared),
        { when: 'error.type == "RejectedError" || error.type == "SchemaError"', to: addUnverified(gate, ways.shared) },
        ...(asks ? [{ when: 'error.type == "McpInputRequired"', to: addElicitation(gate, ways.failed) }] : []),
      ],
      fail: ways.failed,
    },
  );
  return dispatch;
}

function isServerTool(tool: ToolDef | undefined): boolean {
  const how = tool?.implementation ?? null;
  return how !== null && typeof how === 'object' && 'mcp' in how;
}

/** An MCP server asks something during a call. A person answers, and the call is made again with the answer. */
function addElicitation(gate: Gate, failed: NodeId): NodeId {
  const { kit, turn, tool, boundary, dispatch } = gate;
  const charges = [
    kit.visits(`elicit:${turn.hint}`, ELICITATIONS_MAX, failed, `questions of MCP servers to ${turn.origin}`),
  ];
  const again = kit.set(
    { hint: `${turn.hint}.${tool}.elicited`, origin: turn.origin, charges },
    [{ slot: ELICITED, mode: 'append', value: ANSWER }, set('error', 'null')],
    dispatch,
  );
  return kit.ask(
    { hint: `${turn.hint}.${tool}.elicit`, origin: turn.origin, authored: callerOf(turn) },
    {
      about: tool,
      askedBy: tool,
      choices: [{ name: 'accept', edit: { type: 'object' }, needs: 'edit' }, 'decline', 'cancel'],
      onExpiry: 'cancel',
      code: 'MISSING_INFO',
      purpose: 'missing_information',
      row: 'missing_input',
      message: 'error.message',
      payload: { tool: quote(tool), args: `${CALL}.args` },
      into: ANSWER,
      timeoutMs: boundary.approvalTimeoutMs,
      next: again,
      fail: failed,
    },
  );
}

/**
 * The rules of a tool for its result: the compensation, the schema, and the condition that must hold. A call without a key is not made
 * again after a crash.
 */
export function resultRules(
  builder: Builder,
  name: string,
  given: Doubted,
): Pick<Call, 'undo' | 'schema' | 'accept' | 'recalls'> {
  const { toolDef, definitions } = builder;
  const { toolChecks } = definitions;
  const tool = toolDef(name);
  const undo = tool?.compensate ?? null;
  const check = Object.hasOwn(toolChecks, name) ? toolChecks[name] : undefined;
  return {
    ...(tool !== undefined && hasNoKey(tool) ? { recalls: 0 } : {}),
    ...(undo === null
      ? {}
      : { undo: { ...undoBy(builder, undo, tool?.timeoutMs ?? 0), ...settledBy(builder, name, given) } }),
    ...(tool === undefined || tool.output === true ? {} : { schema: tool.output }),
    ...(check === undefined ? {} : { accept: rewriteNames(check, ([root]) => (root === 'result' ? 'it' : null)) }),
  };
}

function undoBy(builder: Builder, tool: string, otherwiseMs: number): Compensation {
  const { costMicros } = builder.tool(tool, {}).reserve;
  const def = builder.toolDef(tool);
  const timeoutMs = def?.timeoutMs ?? otherwiseMs;
  const recalls = def !== undefined && hasNoKey(def) ? { recalls: 0 } : {};
  return { tool, timeoutMs, ...(costMicros === undefined ? {} : { costMicros }), ...recalls };
}

/** Who says if a call happened that is to be undone. */
function settledBy(builder: Builder, name: string, given: Doubted): Pick<Compensation, 'unclear' | 'approvers'> {
  return { ...unclearOf(builder, name, given), ...approversOfTool(builder.definitions, name) };
}

/** The tool ran, but its result failed verification: it is kept as an observation and not committed. */
function addUnverified(gate: Gate, shared: Ways['shared']): NodeId {
  const effect = gate.kit.builder.toolDef(gate.tool)?.effect ?? 'write';
  const consequence = consequenceOf(gate.boundary, 'unverified', effect);
  const known = shared.get(consequence);
  if (known !== undefined) return known;
  const reason = 'text("the result was not verified: ", error.message)';
  const refusal = { step: 'verification', tag: 'UNVERIFIED', reason };
  const added = addTrouble(gate, 'unverified', refusal, 'VerificationError');
  shared.set(consequence, added);
  return added;
}

/** A command with a non-zero exit code is not a success, although the call itself succeeded. */
const OK: Expr =
  'type(it) == map && it.exitCode != null ? it.exitCode == 0 : type(it) == string ? !re(it, "^\\\\[(ERROR|DENIED|TIMEOUT|NOT FOUND|EXIT)") : true';

function available(tools: readonly string[]): string {
  return tools.length === 0 ? '. There are no tools.' : `. Available: ${tools.join(', ')}.`;
}
