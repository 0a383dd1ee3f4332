/**
 * The tool calls of one reply, one after the other: what was called is done and observed, whatever came of it, and the
 * agent is told. A call that fails, or that names a tool the agent does not have, is an observation and not the end of a run.
 */
import type { DoNode, Expr, Input, NodeId, Write } from '../core/ir.ts';
import { OBSERVATIONS, REPLY, ROUNDS_MAX, TALK } from './agent-slots.ts';
import type { AgentTurn } from './agent-slots.ts';
import { addBlame } from './blame.ts';
import type { Builder } from './builder.ts';
import { isIdentifier, quote } from './cel-text.ts';
import { rewriteNames } from './rewrite.ts';

const CALL = 'call';
const CALLS = '_calls';
const ALLOWED = '_allowed';

/** Adds the fork over the calls, and what follows it: back to `ask`, or on where a closing call was made. */
export function addCalls(builder: Builder, turn: AgentTurn, ask: NodeId): NodeId {
  const { hint, origin, at, closing, next, roundsMax = ROUNDS_MAX } = turn;
  const rounds = builder.meter(`rounds:${hint}`, {
    unit: 'visits',
    max: roundsMax * turn.visitsMax,
    over: next,
    label: `tool rounds of ${origin}`,
  });
  const closed = `${REPLY}.toolCalls.exists(c, c.name == ${quote(closing ?? '')})`;
  const after =
    closing === undefined
      ? ask
      : builder.add(
          builder.fresh(`${hint}.after`),
          { op: 'pick', origin, cases: [{ when: closed, to: next }], otherwise: ask },
          at,
        );
  return builder.add(
    builder.fresh(`${hint}.calls`),
    {
      op: 'fork',
      origin,
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
      fail: addBlame(builder, hint, origin, CALLS, builder.failedEnd()),
    },
    at,
  );
}

function addDispatch(builder: Builder, turn: AgentTurn): NodeId {
  const { hint, origin, at, closing, tools, agent } = turn;
  const done = builder.end({ state: 'completed', code: 'SUCCESS' });
  const failed = builder.add(
    builder.fresh(`${hint}.failed`),
    {
      op: 'let',
      origin,
      writes: [
        ...told(agent, 'text("[ERROR] ", error.message)', { ok: 'false', error: 'error.message' }),
        { slot: 'error', mode: 'set', value: 'null' },
      ],
      next: done,
    },
    at,
  );
  const unknown = builder.add(
    builder.fresh(`${hint}.unknown`),
    {
      op: 'let',
      origin,
      writes: told(agent, `text("[NOT FOUND] there is no tool ", ${CALL}.name, ${quote(available(tools))})`, {
        ok: 'false',
        error: `text("unknown tool ", ${CALL}.name)`,
      }),
      next: done,
    },
    at,
  );
  const cases = tools.map((tool) => ({
    when: `${CALL}.name == ${quote(tool)}`,
    to: addTool(builder, turn, tool, { done, failed }),
  }));
  if (closing !== undefined)
    cases.unshift({ when: `${CALL}_index >= size(upTo(${REPLY}.toolCalls, "name", ${quote(closing)}))`, to: done });
  return builder.add(builder.fresh(`${hint}.dispatch`), { op: 'pick', origin, cases, otherwise: unknown }, at);
}

function addTool(
  builder: Builder,
  turn: AgentTurn,
  name: string,
  ways: { readonly done: NodeId; readonly failed: NodeId },
): NodeId {
  const { hint, origin, at, agent } = turn;
  const tool = builder.toolDef(name);
  const check = builder.definitions.toolChecks[name];
  const undo = tool?.compensate ?? null;
  const node: DoNode = {
    op: 'do',
    origin,
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
    writes: told(agent, 'it', { ok: OK, result: 'it' }),
    timeoutMs: tool?.timeoutMs ?? null,
    retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
    next: ways.done,
    failed: [],
    fail: ways.failed,
  };
  const call = builder.add(builder.fresh(`${hint}.${name}`), node, at);
  return builder.definitions.toolApprovals.has(name) ? askFirst(builder, turn, name, call, ways) : call;
}

/** The tool's own definition demands that somebody agrees to every call. */
function askFirst(
  builder: Builder,
  { hint, origin, at, agent }: AgentTurn,
  tool: string,
  call: NodeId,
  ways: { readonly done: NodeId; readonly failed: NodeId },
): NodeId {
  const denied = builder.add(
    builder.fresh(`${hint}.${tool}.denied`),
    {
      op: 'let',
      origin,
      writes: told(agent, quote(`[DENIED] the call of ${tool} was not approved`), {
        ok: 'false',
        error: quote('not approved'),
      }),
      next: ways.done,
    },
    at,
  );
  const decided = builder.add(
    builder.fresh(`${hint}.${tool}.decided`),
    { op: 'pick', origin, cases: [{ when: `${ALLOWED} == "approve"`, to: call }], otherwise: denied },
    at,
  );
  const input: Input = { message: quote(`${agent} wants to call ${tool}.`), tool: quote(tool), args: `${CALL}.args` };
  return builder.add(
    builder.fresh(`${hint}.${tool}.approval`),
    {
      op: 'do',
      origin,
      effect: {
        kind: 'ask',
        about: tool,
        choices: ['approve', 'reject'],
        onExpiry: 'reject',
        code: 'CONFIRM_REQUIRED',
        askedBy: agent,
        input,
        reserve: {},
      },
      writes: [{ slot: ALLOWED, mode: 'set', value: 'it.choice' }],
      timeoutMs: null,
      retry: { max: 0, baseMs: 0, capMs: 0, on: [] },
      next: decided,
      failed: [],
      fail: ways.failed,
    },
    at,
  );
}

/** A command that ran and said it failed is no success, although the call itself went well. */
const OK: Expr =
  'type(it) == map && it.exitCode != null ? it.exitCode == 0 : type(it) == string ? !re(it, "^\\\\[(ERROR|DENIED|TIMEOUT|NOT FOUND|EXIT)") : true';

/** What the agent is told, and what the run knows from then on. */
function told(agent: string, content: Expr, outcome: Input): readonly Write[] {
  const id = `text(${quote(agent)}, ".", turn, ".", size(${TALK}), ".", ${CALL}_index)`;
  return [
    {
      slot: TALK,
      mode: 'append',
      value: { role: quote('tool'), toolCallId: `${CALL}.id`, name: `${CALL}.name`, content },
    },
    {
      slot: OBSERVATIONS,
      mode: 'append',
      value: { id, turn: 'turn', agent: quote(agent), tool: `${CALL}.name`, args: `${CALL}.args`, ...outcome },
    },
  ];
}

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
