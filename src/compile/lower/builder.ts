/**
 * The one builder that every notation lowers through. It keeps the nodes with the place they come from, shares end nodes,
 * and hangs the bounds that hold for every notation on the graph: steps on what is entered, budgets on what is done.
 *
 * Ids: an authored node has its own id (`idOf`), everything else one from `fresh`, so that the two never meet.
 */
import type { EndState, TerminalCode } from '../../ir/codes.ts';
import type {
  AgentDef,
  BoundaryDef,
  Expr,
  FlowBody,
  Input,
  Meter,
  MeterId,
  ModelEffect,
  Node,
  NodeId,
  ToolDef,
  ToolEffect,
} from '../../ir/nodes.ts';
import { reserveOfModel, reserveOfTool } from '../document/definitions.ts';
import { boundaryOf } from '../document/boundary.ts';
import type { GateMode } from '../document/boundary.ts';
import { agentMeterIds, agentMeters, agentSteps, budgetMeters, chargesOf, clockMeter } from './budget-meters.ts';
import { builtinTool } from '../../catalog/builtin-tools.ts';
import { object } from '../expressions/cel-text.ts';
import { serverTool } from '../document/definitions.ts';
import type { Definitions } from '../document/definitions.ts';
import { prune } from './prune.ts';
import type { Range } from '../source/range.ts';
import { paced, rateMeters } from './rate-meters.ts';

export interface Lowered {
  readonly body: FlowBody;
  /** Where the author wrote what a node comes from. */
  readonly places: ReadonlyMap<NodeId, Range>;
}

export interface BuildOptions extends Pick<FlowBody, 'extendable' | 'itemised' | 'keepEnded' | 'rates' | 'stores'> {
  readonly id: string;
  readonly entry: NodeId;
  /** Where a let, a pick or a fork goes whose expression cannot be evaluated; a failed end unless told. */
  readonly fail?: NodeId;
  /** What a run returns that a budget ends; nothing unless told. */
  readonly returns?: Expr;
  /** Looks at every node once all are there, and gives it back with what a notation hangs on nodes that it did not add itself. */
  readonly dress?: (id: NodeId, node: Node) => Node;
}

export interface Builder {
  readonly definitions: Definitions;
  /** The id that an authored node has in the graph. */
  idOf(authored: string): NodeId;
  /** An id for a node that nobody wrote. */
  fresh(hint: string): NodeId;
  /** Adds a node. `at` is where it was written; nodes without a place of their own show their origin's. */
  add<Id extends NodeId>(id: Id, node: Node, at?: Range): Id;
  has(id: NodeId): boolean;
  /** Adds a meter; the node that charges it names it in `charges`. */
  meter(id: MeterId, meter: Meter): MeterId;
  /** An end node, shared by all that end alike. */
  end(ending: {
    readonly state: EndState;
    readonly code: TerminalCode | 'error';
    readonly output?: Expr;
    readonly origin?: string;
  }): NodeId;
  /** Where an unhandled failure goes: failed, with the code of that failure. */
  failedEnd(output?: Expr): NodeId;
  /** Declares an agent that the sections do not: a bare document takes whom it names. */
  agent(def: AgentDef): void;
  /** A model call with its worst case reserved. `prompt` is the text of the user's turn. */
  model(agent: string, prompt: Expr): ModelEffect;
  /** The definition of a tool that is declared, or that an MCP server of the document has. */
  toolDef(name: string): ToolDef | undefined;
  /** Whether any policy decides about calls. */
  hasPolicies(): boolean;
  /** The boundary of an agent with these tools, which becomes part of the flow. */
  boundary(agent: string, tools: readonly string[], mode: GateMode): BoundaryDef;
  /** A tool call with its worst case reserved. One expression per argument; the call's input is `args`. */
  tool(name: string, args: Input): ToolEffect;
  build(options: BuildOptions): Lowered;
}

export function createBuilder(notation: string, definitions: Definitions): Builder {
  const nodes = new Map<NodeId, Node>();
  const places = new Map<NodeId, Range>();
  const meters = new Map<MeterId, Meter>();
  const agents: { [id: string]: AgentDef } = { ...definitions.agents };
  const tools: { [name: string]: ToolDef } = { ...definitions.tools };
  const boundaries: { [agent: string]: BoundaryDef } = {};
  const taken = new Map<string, number>();
  const ends = new Map<string, NodeId>();

  const builder: Builder = {
    definitions,
    idOf: (authored) => (authored.startsWith('~') ? `~${authored}` : authored),
    fresh(hint) {
      const count = (taken.get(hint) ?? 0) + 1;
      taken.set(hint, count);
      // Two tildes in front are left to authored ids.
      const base = hint.startsWith('~') ? `~:${hint}` : `~${hint}`;
      return count === 1 ? base : `${base}#${count}`;
    },
    add(id, node, at) {
      if (nodes.has(id)) throw new Error(`invariant: node \`${id}\` is added twice`);
      nodes.set(id, node);
      if (at !== undefined) places.set(id, at);
      return id;
    },
    has: (id) => nodes.has(id),
    meter(id, meter) {
      meters.set(id, meter);
      return id;
    },
    end({ state, code, output = 'null', origin = 'end' }) {
      const key = JSON.stringify([state, code, output, origin]);
      let id = ends.get(key);
      if (id === undefined) {
        id = builder.add(builder.fresh(`${state}:${code}`), { op: 'end', origin, state, code, output });
        ends.set(key, id);
      }
      return id;
    },
    failedEnd: (output) => builder.end({ state: 'failed', code: 'error', output }),
    agent(def) {
      agents[def.id] = def;
    },
    model(agent, prompt) {
      return { kind: 'model', agent, input: { prompt }, reserve: reserveOfModel(agents[agent], definitions) };
    },
    toolDef(name) {
      const def = Object.hasOwn(tools, name)
        ? tools[name]
        : (serverTool(name, definitions.servers) ?? builtinTool(name));
      if (def !== undefined) tools[name] = def;
      return def;
    },
    hasPolicies: () => Object.keys(definitions.policies).length > 0,
    boundary(agent, names, mode) {
      const granted = Object.fromEntries(
        names.map((name) => [
          name,
          {
            def: builder.toolDef(name),
            cost: definitions.toolCosts[name] ?? 0,
            approval: definitions.toolApprovals.has(name),
          },
        ]),
      );
      const own = Object.hasOwn(definitions.agentBoundaries, agent) ? definitions.agentBoundaries[agent] : undefined;
      const boundary = boundaryOf([definitions.boundary, own], granted, mode, (content) =>
        definitions.versionOf(content),
      );
      boundaries[agent] = boundary;
      return boundary;
    },
    tool: (name, args) => ({
      kind: 'tool',
      tool: name,
      input: { args: object(Object.entries(args)) },
      reserve: reserveOfTool(builder.toolDef(name), definitions.toolCosts[name]),
    }),
    build({ id, entry, fail = builder.failedEnd(), returns, dress, ...kept }) {
      if (dress !== undefined) for (const [at, node] of [...nodes]) nodes.set(at, dress(at, node));
      const exhausted = builder.end({ state: 'failed', code: 'BUDGET_EXHAUSTED', output: returns });
      const late = builder.end({ state: 'failed', code: 'TIMEOUT', output: returns });
      const budget = {
        ...budgetMeters(definitions.budgets, exhausted),
        ...(kept.extendable === true ? clockMeter(definitions.deadlineMs, late) : {}),
      };
      const own = agentMeters(definitions.agentBudgets, exhausted, late);
      for (const [meter, each] of Object.entries({ ...budget, ...own, ...rateMeters(tools, exhausted) }))
        meters.set(meter, each);
      const charged = new Map(
        [...nodes].map(([at, node]) => [
          at,
          chargesOf(paced(ofAgent(definitions.models.withFallback(node, agents), definitions), tools), budget),
        ]),
      );
      const pruned = prune({ nodes: charged, meters, entry, fail });
      const body: FlowBody = {
        ir: 1,
        id,
        notation,
        entry,
        fail,
        nodes: pruned.nodes,
        meters: pruned.meters,
        agents,
        tools,
        models: definitions.models.usedBy(Object.values(agents)),
        deadlineMs: definitions.deadlineMs,
        least: {},
        ...(builder.hasPolicies() ? { policies: definitions.policies } : {}),
        ...(Object.keys(boundaries).length === 0 ? {} : { boundaries }),
        ...kept,
      };
      return { body, places };
    },
  };
  return builder;
}

/** A model call charges what its agent may use as well. */
function ofAgent(node: Node, { agentBudgets }: Definitions): Node {
  if (node.op !== 'do' || node.effect.kind !== 'model') return node;
  const { agent } = node.effect;
  const own = [
    ...(node.enters === undefined ? [] : agentSteps(agentBudgets, agent)),
    ...agentMeterIds(agentBudgets, agent),
  ];
  return own.length === 0 ? node : { ...node, charges: [...(node.charges ?? []), ...own] };
}
