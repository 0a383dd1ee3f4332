/** A staged flow with every default filled in. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Tier } from '@sluice-internal/kernel/ir';
import { protectionsOf } from '@sluice-internal/compile/document';
import type { ApproversValue, Budgets, Definitions, Protections } from '@sluice-internal/compile/document';
import { verifierOf } from '@sluice-internal/compile/lower';
import type { Verifier } from '@sluice-internal/compile/lower';
import { REPLANS_MAX } from '@sluice-internal/kernel/catalog';
import { TOPOLOGIES, WORK_KEYS } from './schema.ts';
import type { RawInvariant, RawStage, RawStaged, Topology } from './schema.ts';

export interface Rule {
  readonly when: string;
  readonly reason: string;
}

/** Conditions on the result, by the way in which they are checked. */
export interface Invariants {
  readonly rules: readonly Rule[];
  readonly cites: readonly { readonly least: number; readonly reason: string | null }[];
  readonly tools: readonly { readonly tool: string; readonly reason: string | null }[];
}

export interface Stage {
  /** The name in reports: `plan`, the key of the work, `aggregate`, `validate`, `finalize`, or `sop/<id>` for a step. */
  readonly id: string;
  /** Null: the engine itself performs the stage. */
  readonly agent: string | null;
  readonly input: Json;
  readonly output: Json;
  readonly budget: Budgets | undefined;
  readonly timeoutMs: number | null;
  readonly approvers?: ApproversValue;
  readonly requires: readonly string[];
  readonly guards: readonly Rule[];
  readonly safeFallback: string | null;
  readonly protections: Protections;
  /** Judges every reply of the agents of the stage. */
  readonly verifier: Verifier | null;
}

export interface Team {
  readonly id: string;
  readonly staged: Staged;
}

/** `detail`: the text in the picture. */
export type Work = { readonly detail: string } & (
  | { readonly is: 'workers'; readonly agents: readonly string[]; readonly widthMax: number }
  | { readonly is: 'teams'; readonly teams: readonly Team[] }
  | { readonly is: 'peers'; readonly agents: readonly string[]; readonly start: string }
  | {
      readonly is: 'debate';
      readonly agents: readonly string[];
      readonly rounds: number;
      readonly judge: string | null;
    }
  | { readonly is: 'sop'; readonly steps: readonly Stage[] }
  | { readonly is: 'board'; readonly agents: readonly string[]; readonly rounds: number }
  | { readonly is: 'swarm'; readonly agent: string; readonly depth: number; readonly max: number }
);

export interface Staged {
  readonly id: string;
  readonly description: string | null;
  readonly tier: Tier;
  readonly topology: Topology;
  readonly plan: Stage & {
    /** The agent that must accept the plan. */
    readonly critic: string | null;
  };
  readonly work: Work;
  readonly working: Stage;
  readonly aggregate: Stage;
  readonly validate: Stage & {
    readonly confidence: number | null;
    readonly invariants: Invariants;
    readonly review: boolean;
  };
  readonly finalize: Stage;
  readonly replans: number;
  readonly oracle: readonly Rule[];
  readonly definitions: Definitions;
}

const WIDTH_DEFAULT = 4;
const DEBATE_ROUNDS = 2;
const BOARD_ROUNDS = 4;
const SWARM_DEPTH = 2;
const SWARM_MAX = 10;

export function resolveDefaults(raw: RawStaged, topology: Topology, definitions: Definitions, tier: Tier): Staged {
  const { protections } = definitions;
  const stage = (id: string, given: (RawStage & { readonly agent?: string | undefined }) | undefined): Stage => ({
    ...keysOf(given ?? {}, protections),
    id,
    agent: given?.agent ?? null,
  });
  const { work, keys } = WORK[topology]({ raw, definitions, tier });
  return {
    id: raw.id ?? 'staged',
    description: raw.description ?? null,
    tier,
    topology,
    plan: { ...stage('plan', raw.plan), critic: raw.plan?.critic ?? null },
    work,
    working: { ...keysOf(keys, protections), id: work.is, agent: null },
    aggregate: stage('aggregate', raw.aggregate),
    validate: {
      ...stage('validate', raw.validate),
      confidence: raw.validate?.confidence ?? null,
      invariants: invariantsOf(raw.validate?.invariants ?? []),
      review: raw.validate?.review ?? false,
    },
    finalize: stage('finalize', raw.finalize),
    replans: raw.replans ?? REPLANS_MAX,
    oracle: raw.oracle ?? [],
    definitions,
  };
}

/** Every invariant has exactly one of the three keys; others were reported before. */
function invariantsOf(raw: readonly RawInvariant[]): Invariants {
  return {
    rules: raw.flatMap(({ when, reason = '' }) => (when === undefined ? [] : [{ when, reason }])),
    cites: raw.flatMap(({ cites, reason = null }) => (cites === undefined ? [] : [{ least: cites, reason }])),
    tools: raw.flatMap(({ tool, reason = null }) => (tool === undefined ? [] : [{ tool, reason }])),
  };
}

function keysOf(raw: RawStage, protections: Protections): Omit<Stage, 'id' | 'agent'> {
  return {
    input: raw.input ?? null,
    output: raw.output ?? null,
    budget: raw.budget,
    timeoutMs: raw.timeout === undefined ? null : Math.ceil(raw.timeout * 1000),
    requires: raw.requires ?? [],
    guards: raw.guards ?? [],
    safeFallback: raw.safe_fallback ?? null,
    ...(raw.approvers === undefined ? {} : { approvers: raw.approvers }),
    protections: protectionsOf(raw.protections, protections),
    verifier: verifierOf(raw.verifier, null),
  };
}

/** Of a topology: its work, and the stage keys of the work. Procedures and teams have those on their steps. */
type Resolved = { readonly work: Work; readonly keys: RawStage };
type Given = { readonly raw: RawStaged } & Pick<Staged, 'definitions' | 'tier'>;

/** A section that lacks its key was reported before. */
const WORK: { readonly [topology in Topology]: (given: Given) => Resolved } = {
  supervisor: ({ raw: { workers = {} } }) => {
    const { agent, agents = agent === undefined ? [] : [agent], max = WIDTH_DEFAULT } = workers;
    return { work: { is: 'workers', agents, widthMax: max, detail: `each task, ${max} at once` }, keys: workers };
  },
  hierarchical: ({ raw: { teams = [] }, definitions, tier }) => {
    const resolved = teams.map(({ id, staged }) => ({
      id,
      staged: resolveDefaults(staged, topologyOf(staged), definitions, tier),
    }));
    return { work: { is: 'teams', teams: resolved, detail: 'each task to its team' }, keys: {} };
  },
  handoff: ({ raw: { peers = { agents: [] } } }) => {
    const { agents, start = agents[0] ?? '' } = peers;
    return { work: { is: 'peers', agents, start, detail: `from ${start}` }, keys: peers };
  },
  debate: ({ raw: { debate = { agents: [] } } }) => {
    const { agents, rounds = DEBATE_ROUNDS, judge = null } = debate;
    return { work: { is: 'debate', agents, rounds, judge, detail: `${rounds} rounds` }, keys: debate };
  },
  sop: ({ raw: { sop = [] }, definitions: { protections } }) => {
    const steps = sop.map((step) => ({ ...keysOf(step, protections), id: `sop/${step.id}`, agent: step.agent }));
    return { work: { is: 'sop', steps, detail: 'in this order' }, keys: {} };
  },
  blackboard: ({ raw: { board = { agents: [] } } }) => {
    const { agents, rounds = BOARD_ROUNDS } = board;
    return { work: { is: 'board', agents, rounds, detail: `${rounds} rounds, versioned writes` }, keys: board };
  },
  swarm: ({ raw: { swarm = { agent: '' } } }) => {
    const { agent, depth = SWARM_DEPTH, max = SWARM_MAX } = swarm;
    return { work: { is: 'swarm', agent, depth, max, detail: `depth ${depth}, ${max} members` }, keys: swarm };
  },
};

/** The topology that a section names, or the one whose key it has. */
export function topologyOf(raw: RawStaged): Topology {
  const [usual, ...others] = TOPOLOGIES;
  return raw.topology ?? others.find((each) => raw[WORK_KEYS[each]] !== undefined) ?? usual;
}

/** True for a debate with a judge, whose decision is its result. */
export function hasJudge(work: Work): boolean {
  return work.is === 'debate' && work.judge !== null;
}

/** The number of tasks that a plan may have: the limit of the work, and that of the plan if it has its own. */
export function spawnMax({ plan, working, work, definitions }: Staged): number | null {
  const own = plan.protections !== definitions.protections && plan.protections.declared.has('spawn');
  const limits = [
    working.protections.spawn,
    own ? plan.protections.spawn : null,
    work.is === 'swarm' ? work.max : null,
  ].filter((limit) => limit !== null);
  return limits.length === 0 ? null : Math.min(...limits);
}
