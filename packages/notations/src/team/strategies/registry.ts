/** Every strategy of the team notation, in the order in which messages and editors list them. */
import { adversarial } from './adversarial.ts';
import { graph } from './graph/graph.ts';
import { keyword } from './keyword.ts';
import { llm } from './llm.ts';
import { magentic } from './magentic.ts';
import { mapReduce } from './mapreduce.ts';
import { roundRobin, sequential } from './roundrobin.ts';
import { scatterGather } from './scattergather.ts';
import { stateMachine } from './statemachine.ts';
import type { Strategy } from './strategy.ts';
import { structured } from './structured.ts';

export const STRATEGIES = [
  sequential,
  roundRobin,
  keyword,
  structured,
  stateMachine,
  graph,
  scatterGather,
  mapReduce,
  llm,
  magentic,
  adversarial,
] as const satisfies readonly Strategy[];
