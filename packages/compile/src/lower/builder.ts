/**
 * The one builder that every notation lowers through. `add` completes a node at once: it adds the fallback models and the
 * meters that apply in every notation. `build` drops unreached nodes and puts the flow together.
 *
 * Ids: an authored node has its own id (`idOf`), every other node one from `fresh`, so that the two never collide.
 */
import type {
  AgentDef,
  Approvers,
  BoundaryDef,
  Expr,
  FlowBody,
  Meter,
  MeterId,
  Node,
  NodeId,
  SharedProtections,
  ToolDef,
  View,
} from '@sluice-internal/kernel/ir';
import { present } from '@sluice-internal/kernel/expr';
import { decisionOf } from '@sluice-internal/kernel/catalog';
import { approvalTimeoutMs, boundaryOf, grantsOf } from '../document/boundary.ts';
import type { Boundary } from '../document/schema/bounds.ts';
import { CLOCK, commonMeters, shareOf, type BudgetShare, type CommonMeters } from './budget-meters.ts';
import { object, quote } from '@sluice-internal/kernel/expr';
import type { Review } from '../document/notify.ts';
import { withApprovers } from '../document/people.ts';
import { VERDICT } from './verdict-slot.ts';
import { reserveOfModel, reserveOfTool, toolNamed, type Definitions } from '../document/definitions.ts';
import type { Protections } from '../document/protections.ts';
import { ONE_REPAIR } from './fit.ts';
import { addDeadlockMonitor } from './deadlock-monitor.ts';
import { protectCall, type StageProtections } from './protected-call.ts';
import type { Builder, Effects } from './builder-types.ts';
import { createKit, type Kit } from './kit.ts';
import { prune } from './reached.ts';
import { addMemory } from './memory/memory.ts';
import type { Range } from '../source/range.ts';
import type { Share } from '../graph/graph.ts';

export interface BuilderOptions {
  /** The output of a run that a budget ends; null unless given. */
  readonly returns?: Expr;
  /** Set if a person can grant the run more time. */
  readonly extendable?: boolean;
  /** False if the notation has a deadlock monitor of its own. */
  readonly monitored?: boolean;
  /** The protections of the stage whose nodes are added now; null if they are those of the document. */
  readonly stage?: () => StageProtections | null;
  /** The people who may answer an escalation of the stage whose nodes are being added. Undefined if the document names none. */
  readonly approvers?: () => Approvers | undefined;
  /** Completes a node before the common meters are added: for fields that a notation sets on nodes of shared lowerings. */
  readonly complete?: (id: NodeId, node: Node) => Node;
}

export function createBuilder(notation: string, definitions: Definitions, options: BuilderOptions = {}): Builder {
  const nodes = new Map<NodeId, Node>();
  const places = new Map<NodeId, Range>();
  const shares: Share[] = [];
  const effects = createEffects(definitions);
  const { extendable = false, monitored = true, complete = (_, node) => node, stage = () => null, returns } = options;
  const asked = (node: Node): Node => withApprovers(node, definitions.people, options.approvers?.());
  const fresh = createIds();
  const end = createEnds(nodes, fresh);
  const common = metersOf(definitions, { extendable, returns }, end);
  const meters = new Map<MeterId, Meter>(Object.entries(common.meters));
  const open = createShares(meters);
  const finished = (id: NodeId, given: Node): Node => {
    const replying = withReply(complete(id, given), definitions, effects.used.agents);
    const own = stage();
    if (own !== null) effects.standIns(fallbacksOf(own.protections));
    const node = asked(protectCall(id, replying, definitions.protections, protecting, own));
    if (node.op !== 'do' || node.effect.kind !== 'tool') return common.charged(node, undefined);
    const tool = effects.toolDef(node.effect.tool);
    if (tool?.rate !== undefined) meters.set(...common.rate(node.effect.tool, tool.rate));
    return common.charged(node, tool);
  };
  const failedEnd = (output?: Expr): NodeId => end({ state: 'failed', code: 'error', output });
  const builder: Builder = {
    ...effects,
    idOf: (authored) => (authored.startsWith('~') ? `~${authored}` : authored),
    fresh,
    add(id, node, at) {
      if (nodes.has(id)) throw new Error(`invariant: node \`${id}\` is added twice`);
      // The place in the order is taken before `complete` can add nodes of its own.
      nodes.set(id, node);
      nodes.set(id, open.charged(finished(id, node)));
      if (at !== undefined) places.set(id, at);
      return id;
    },
    has: (id) => nodes.has(id),
    meter(id, meter, share) {
      meters.set(id, meter);
      if (share !== undefined) shares.push({ counted: id, of: [share.of], max: share.max, atStart: 0 });
      return id;
    },
    sharing: open.sharing,
    end,
    failedEnd,
    build({ id, entry: given, fail = failedEnd(), ...kept }) {
      const unwatched = monitored && !addDeadlockMonitor({ nodes, meters, fail, kit }, definitions.protections);
      const entry = addMemory({ nodes, meters, entry: given, fail }, kit, { ...effects.definitions, ...effects.used });
      const clock = definitions.deadlineMs === null ? {} : { clock: CLOCK };
      const used = { ...prune({ nodes, meters, entry, fail }), ...clock, ...effects.definitionsUsed() };
      const rest = { ...protectionFields(definitions.protections), ...kept, ...viewOf(kept.view, nodes) };
      return { body: { ir: 1, id, notation, entry, fail, ...used, least: {}, ...rest }, places, shares, unwatched };
    },
  };
  // Nodes that complete other nodes charge only the common meters.
  const add: Builder['add'] = (id, node) => {
    nodes.set(id, common.charged(asked(node), undefined));
    return id;
  };
  const kit = createKit({ ...builder, add });
  const protecting = { kit, stopped: (node?: string): NodeId => stoppedEnd(kit, { ...options, node }) };
  return builder;
}

function metersOf(
  definitions: Definitions,
  { extendable, returns: output }: { readonly extendable: boolean; readonly returns: BuilderOptions['returns'] },
  end: ReturnType<typeof createEnds>,
): CommonMeters {
  return commonMeters({
    ...definitions,
    timeMs: definitions.deadlineMs,
    extendable,
    exhausted: end({ state: 'failed', code: 'BUDGET_EXHAUSTED', output }),
    late: end({ state: 'failed', code: 'TIMEOUT', output }),
  });
}

/** The report shows the last verdict of a verifier. */
function viewOf(view: View | undefined, nodes: ReadonlyMap<NodeId, Node>): { readonly view?: View } {
  const isJudged = [...nodes.values()].some(
    (node) => node.op === 'do' && node.effect.kind === 'model' && node.effect.input['verdict'] !== undefined,
  );
  return isJudged ? { view: { ...view, judgement: { ...view?.judgement, verdict: VERDICT } } } : {};
}

/** Models that only protections name. */
function fallbacksOf({ breaker, velocity }: Protections): readonly string[] {
  const fallback = breaker?.fallback ?? null;
  return [
    ...(fallback !== null && 'model' in fallback ? [fallback.model] : []),
    ...(velocity?.fallback === undefined ? [] : [velocity.fallback.model]),
  ];
}

/** The protections of the flow. A field at its default is left out. */
function protectionFields({ tier, breaker, retryBudget, declared }: Protections): Pick<FlowBody, 'tier' | 'shared'> {
  const shared: SharedProtections = {
    ...(breaker === null ? {} : { breaker }),
    ...(retryBudget === null && !declared.has('retry_budget') ? {} : { retryBudget }),
  };
  return {
    ...(tier === 'batch' ? {} : { tier }),
    ...(Object.keys(shared).length === 0 ? {} : { shared }),
  };
}

function createEnds(nodes: Map<NodeId, Node>, fresh: Builder['fresh']): Builder['end'] {
  const ends = new Map<string, NodeId>();
  return ({ state, code, output = 'null', origin = 'end' }) => {
    const key = JSON.stringify([state, code, output, origin]);
    const known = ends.get(key);
    if (known !== undefined) return known;
    const id = fresh(`${state}:${code}`);
    nodes.set(id, { op: 'end', label: { name: origin }, state, code, output });
    ends.set(key, id);
    return id;
  };
}

/** The end of a run that spends too fast: it records the decision, then ends. Without a node, all calls share it. */
function stoppedEnd(
  kit: Kit,
  { returns, stage, node }: BuilderOptions & { readonly node: string | undefined },
): NodeId {
  const { builder } = kit;
  const next = builder.end({ state: 'failed', code: 'BUDGET_EXHAUSTED', output: returns });
  const shared = '~velocity.stopped';
  if (node === undefined && builder.has(shared)) return shared;
  // If stages recover from failures, the table decides the next action.
  const decision = decisionOf('cost_overrun', stage === undefined ? 'abort' : 'block');
  const hint = node === undefined ? 'velocity.stopped' : `velocity.stopped.${node}`;
  return kit.fail({ hint, origin: 'velocity', decision }, { ...TOO_FAST, node: node ?? 'velocity' }, next);
}

const TOO_FAST = {
  type: 'VelocityError',
  message: quote('the run spends faster than `protections.velocity` allows'),
} as const;

function createShares(meters: Map<MeterId, Meter>) {
  const open: BudgetShare[] = [];
  const sharing: Builder['sharing'] = (name, budgets, over, add) => {
    if (budgets === undefined) return add();
    const share = shareOf(name, budgets, over);
    for (const [id, meter] of Object.entries(share.meters)) meters.set(id, meter);
    open.push(share);
    const result = add();
    open.pop();
    return result;
  };
  /** The node with the charges of every share that is open. */
  const charged = (node: Node): Node => open.reduce((each, share) => share.charged(each), node);
  return { sharing, charged };
}

/**
 * A model call with its fallback models. A reply that does not fit is repaired once. With tools this applies to the last
 * reply, and not to one that calls tools.
 */
function withReply(node: Node, { models }: Definitions, agents: { readonly [id: string]: AgentDef }): Node {
  const given = models.withFallback(node, agents);
  if (given.op !== 'do' || given.effect.kind !== 'model') return given;
  if (given.schema === undefined && given.fit === undefined) return given;
  const repaired = { ...given, fit: given.fit ?? ONE_REPAIR };
  const tools = Object.hasOwn(agents, given.effect.agent) ? (agents[given.effect.agent]?.tools ?? []) : [];
  return tools.length === 0
    ? repaired
    : { ...repaired, unless: 'type(it.toolCalls) == list && size(it.toolCalls) > 0' };
}

/** Numbers the ids that share a hint. Two tildes in front are left to authored ids. */
function createIds(): Builder['fresh'] {
  const taken = new Map<string, number>();
  return (hint) => {
    const count = (taken.get(hint) ?? 0) + 1;
    taken.set(hint, count);
    const base = hint.startsWith('~') ? `~:${hint}` : `~${hint}`;
    return count === 1 ? base : `${base}#${count}`;
  };
}

type UsedDefinitions = Pick<FlowBody, 'agents' | 'tools' | 'models' | 'policies' | 'boundaries' | 'pii' | 'people'> &
  Review;

interface CollectedEffects extends Effects {
  /** Models that only the protections of a stage name. */
  standIns(models: readonly string[]): void;
  readonly used: { readonly agents: { readonly [id: string]: AgentDef } };
  definitionsUsed(): UsedDefinitions;
}

/** The boundary of the document, and that of the agent. */
function boundariesOf(definitions: Definitions, agent: string): readonly (Boundary | undefined)[] {
  const { boundary, agentBoundaries, approvalTimeout: seconds } = definitions;
  const written = [boundary, Object.hasOwn(agentBoundaries, agent) ? agentBoundaries[agent] : undefined];
  const isSet = written.some((each) => each?.approval_timeout !== undefined);
  return isSet || seconds === undefined ? written : [...written, { approval_timeout: seconds }];
}

/** The effects that nodes ask for, and the definitions that the flow needs for them. */
function createEffects(definitions: Definitions): CollectedEffects {
  const agents: { [id: string]: AgentDef } = { ...definitions.agents };
  const tools: { [name: string]: ToolDef } = { ...definitions.tools };
  const boundaries: { [agent: string]: BoundaryDef } = {};
  const standIns = new Set(fallbacksOf(definitions.protections));
  const toolDef = (name: string): ToolDef | undefined => {
    const def = toolNamed(name, { ...definitions, tools });
    if (def !== undefined) tools[name] = def;
    return def;
  };
  const hasPolicies = (): boolean => Object.keys(definitions.policies).length > 0;
  return {
    definitions,
    used: { agents },
    standIns(models) {
      for (const model of models) standIns.add(model);
    },
    agent(def) {
      agents[def.id] = def;
    },
    agentDef: (id) => (Object.hasOwn(agents, id) ? agents[id] : undefined),
    model: (agent, prompt) => ({
      kind: 'model',
      agent,
      input: { prompt },
      reserve: reserveOfModel(agents[agent], definitions),
    }),
    tool: (name, args) => ({
      kind: 'tool',
      tool: name,
      input: { args: object(Object.entries(args)) },
      reserve: reserveOfTool(toolDef(name), definitions.toolCosts[name]),
    }),
    toolDef,
    hasPolicies,
    approvalTimeoutMs: (agent) => approvalTimeoutMs(...boundariesOf(definitions, agent)),
    boundary(agent, names, mode) {
      const granted = grantsOf(names, toolDef, definitions);
      const versionOf = (content: Parameters<Definitions['versionOf']>[0]) => definitions.versionOf(content);
      const boundary = boundaryOf(boundariesOf(definitions, agent), granted, mode, versionOf);
      boundaries[agent] = boundary;
      return boundary;
    },
    definitionsUsed: () => ({
      agents,
      tools,
      models: definitions.models.usedBy(Object.values(agents), [...standIns]),
      ...(hasPolicies() ? { policies: definitions.policies } : {}),
      ...(Object.keys(boundaries).length === 0 ? {} : { boundaries }),
      ...present({ pii: definitions.pii, people: definitions.people?.def }),
      ...definitions.review,
    }),
  };
}
