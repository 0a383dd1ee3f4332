/** The plan of a document, by its strategy. A strategy is one entry here and one file beside this one. */
import type { Reading, Team } from '../model.ts';
import type { Plan } from './plan.ts';
import { planGraph } from './graph.ts';
import { planKeyword } from './keyword.ts';
import { planRoundRobin, planSequential } from './line.ts';
import { planAdversarial, planLlm, planMagentic } from './models.ts';
import { planMapReduce, planScatterGather } from './phases.ts';
import { planStateMachine } from './statemachine.ts';
import { planStructured } from './structured.ts';
import type { Strategy } from '../schema/schema.ts';

type Planner = (reading: Reading, team: Team) => Plan | null;

const PLANS: { readonly [strategy in Strategy]: Planner } = {
  sequential: planSequential,
  roundrobin: planRoundRobin,
  keyword: planKeyword,
  structured: planStructured,
  statemachine: planStateMachine,
  graph: planGraph,
  scattergather: planScatterGather,
  mapreduce: planMapReduce,
  llm: planLlm,
  magentic: planMagentic,
  adversarial: planAdversarial,
};

/** Null where so much is missing that there is nothing to plan; the report says what. */
export function planOf(reading: Reading, team: Team): Plan | null {
  return PLANS[team.raw.Selection.Type](reading, team);
}
