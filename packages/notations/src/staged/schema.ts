/** The schema of `staged`: five stages, the topology of the work between plan and validation. Editors use it too. */
import type * as z from 'zod';
import {
  agentName,
  approvers,
  bool,
  budgets,
  int,
  jsonSchema,
  list,
  name,
  number,
  once,
  oneOf,
  protections,
  record,
  text,
  toolName,
  verifierField,
} from '@sluice-internal/compile/document';
import { TIERS } from '@sluice-internal/kernel/ir';

export const TOPOLOGIES = ['supervisor', 'hierarchical', 'handoff', 'debate', 'sop', 'blackboard', 'swarm'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

/** The key of the work in each topology. */
export const WORK_KEYS = {
  supervisor: 'workers',
  hierarchical: 'teams',
  handoff: 'peers',
  debate: 'debate',
  sop: 'sop',
  blackboard: 'board',
  swarm: 'swarm',
} as const satisfies { readonly [topology in Topology]: string };
export type WorkKey = (typeof WORK_KEYS)[Topology];

const ROUNDS_MAX = 20;
const rule = (names: string) =>
  record(() => ({
    when: name().describe(`An expression over ${names}.`),
    reason: text({ min: 1 }).describe('The reason that people and agents read.'),
  }));

/** A condition on the result: an expression, a function, or citations. Exactly one of the first three. */
const invariant = record(() => ({
  when: name()
    .optional()
    .describe('An expression over `aggregate`, `plan`, `summaries`, `receipts`, `partial` and `input`.'),
  tool: toolName()
    .optional()
    .describe(
      'A tool that reads, for example a function of a module. It gets `aggregate`, `plan`, `summaries` and `input`.',
    ),
  cites: int({ min: 1 })
    .optional()
    .describe('The result cites at least this many documents that tools of the run read.'),
  reason: text({ min: 1 }).optional().describe('The reason that people and agents read. `when` needs one.'),
}));

/** The keys that every stage takes. */
const stageKeys = once(() => ({
  input: jsonSchema().optional().describe('The JSON Schema of the value that enters the stage.'),
  output: jsonSchema().optional().describe('The JSON Schema of the value that leaves the stage.'),
  budget: budgets
    .omit({ steps: true, wall_clock_seconds: true })
    .optional()
    .describe('The most that the stage may use in one run.'),
  timeout: number({ above: 0 })
    .optional()
    .describe('Seconds that one run of the stage may take, with its retries. Default: no limit.'),
  requires: list(name())
    .optional()
    .describe('Earlier stages, or fields of the input, whose value must be there and not empty.'),
  guards: list(rule('`output` that is true if the output is unsafe'))
    .optional()
    .describe('Conditions under which the output of the stage is unsafe.'),
  safe_fallback: text({ min: 1 })
    .optional()
    .describe('The output that replaces an unsafe one in the interactive tier.'),
  verifier: verifierField().describe(
    'The model that judges every reply of the agents of the stage and sees their calls. Default: none.',
  ),
  protections: protections.optional().describe('Protections of this stage that differ from the document.'),
  approvers: approvers.optional().describe('The people who may answer if the stage escalates.'),
}));
const agents = () => list(agentName(), { min: 1, max: 100 });

const plan = record(() => ({
  agent: agentName().describe('The agent that replies with `{ "tasks": [ { "id", "brief" } ] }`.'),
  critic: agentName()
    .optional()
    .describe('The agent that must accept the plan before work begins. It replies with `{ "ok", "problem" }`.'),
  ...stageKeys(),
}));
const workers = record(() => ({
  agent: agentName().optional().describe('The agent that works on every task.'),
  agents: agents().optional().describe('Several workers. A task may name its `worker`.'),
  max: int({ min: 1, max: 1000 }).optional().describe('How many workers run at once. Default: 4.'),
  ...stageKeys(),
}));
const aggregate = record(() => ({
  agent: agentName()
    .optional()
    .describe('The agent that combines the summaries. Without it, the result is their list.'),
  ...stageKeys(),
}));
const validate = record(() => ({
  review: bool().optional().describe('True if a person decides about every result, also a valid one.'),
  agent: agentName().optional().describe('The critic. It replies with `{ "ok", "confidence", "problem" }`.'),
  confidence: number({ min: 0, max: 1 }).optional().describe('Below this confidence a person decides.'),
  invariants: list(invariant).optional().describe('Conditions that the result must satisfy.'),
  ...stageKeys(),
}));
const finalize = record(() => ({
  agent: agentName().optional().describe('The agent that writes the output. Without it, the aggregate is the output.'),
  ...stageKeys(),
}));

const debate = record(() => ({
  agents: list(agentName(), { min: 2, max: 100 }).describe('The agents that argue. Each sees the round before.'),
  rounds: int({ min: 1, max: ROUNDS_MAX }).optional().describe('Rounds of the debate. Default: 2.'),
  judge: agentName().optional().describe('The agent that decides after the last round.'),
  ...stageKeys(),
}));
const peers = record(() => ({
  agents: agents().describe('Agents that hand the task to each other.'),
  start: agentName().optional().describe('The first agent. Default: the first of the list.'),
  ...stageKeys(),
}));
const sop = list(
  record(() => ({
    id: name().describe('The name of the step in `path`.'),
    agent: agentName().describe('The agent that does the step.'),
    ...stageKeys(),
  })).describe('One step of the procedure.'),
  {
    min: 1,
    max: 100,
  },
);
const board = record(() => ({
  agents: agents().describe('Agents that read and write the board in turn.'),
  rounds: int({ min: 1, max: ROUNDS_MAX }).optional().describe('Rounds in which every agent has one turn. Default: 4.'),
  ...stageKeys(),
}));
const swarm = record(() => ({
  agent: agentName().describe(
    'The agent of every member. It replies with `{ "spawn": [ { "id", "brief" } ] }` or a summary.',
  ),
  depth: int({ min: 0, max: 8 }).optional().describe('Levels of members below the first. Default: 2.'),
  max: int({ min: 1, max: 1000 }).optional().describe('The most members in one run. Default: 10.'),
  ...stageKeys(),
}));

const fields = once(() => ({
  id: name().optional().describe('The name of the flow in reports. Default: `staged`.'),
  description: text().optional().describe('A note for readers.'),
  tier: oneOf(TIERS).optional().describe('The column of the failure table. Default: `batch`.'),
  topology: oneOf(TOPOLOGIES)
    .optional()
    .describe('How the agents work together. Default: by the key of the work; `workers` is `supervisor`.'),
  plan: plan.optional().describe('Stage 1: an agent splits the input into tasks. `workers` and `teams` need it.'),
  workers: workers.optional().describe('Stage 2, supervisor: workers do the tasks at the same time.'),
  debate: debate.optional().describe('Stage 2, debate: agents argue in rounds.'),
  peers: peers.optional().describe('Stage 2, handoff: agents hand the task to each other.'),
  sop: sop.optional().describe('Stage 2, sop: the steps of a procedure, in order.'),
  board: board.optional().describe('Stage 2, blackboard: agents write to a shared board.'),
  swarm: swarm.optional().describe('Stage 2, swarm: members start further members.'),
  aggregate: aggregate.optional().describe('Stage 3: combines the summaries. Default: a list of `{ id, summary }`.'),
  validate: validate.optional().describe('Stage 4: judges the result.'),
  finalize: finalize.optional().describe('Stage 5: writes the output. Default: the aggregate.'),
  replans: int({ min: 0, max: 10 }).optional().describe('The most new plans after failures of one stage. Default: 2.'),
  oracle: list(rule('`output`, `aggregate`, `plan`, `summaries`, `receipts`, `partial` and `input` that must be true'))
    .optional()
    .describe('Conditions of success. They are checked last, on the output.'),
}));

const team = record(() => ({
  id: name().describe('The name of the team. A task names it as `worker`.'),
  get staged(): z.ZodType<RawStaged> {
    return stagedSchema.describe('The stages of the team.');
  },
}));

export const stagedSchema: z.ZodType<RawStaged> = record(() => ({
  ...fields(),
  teams: list(team, { min: 1, max: 100 })
    .optional()
    .describe('Stage 2, hierarchical: teams, each with five stages of its own.'),
})).describe('Five stages: plan, work, aggregate, validate, finalize.');

type Fields = z.output<ReturnType<typeof record<ReturnType<typeof fields>>>>;
interface RawTeam {
  readonly id: string;
  readonly staged: RawStaged;
}
export type RawStaged = Fields & { readonly teams?: readonly RawTeam[] | undefined };
export type RawStage = {
  readonly [key in keyof ReturnType<typeof stageKeys>]?: z.output<ReturnType<typeof stageKeys>[key]>;
};
/** The section as an author writes it, without teams. */
export type StagedInput = z.input<ReturnType<typeof record<ReturnType<typeof fields>>>>;
export type RawInvariant = z.output<typeof invariant>;
