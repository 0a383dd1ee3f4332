/** The plans of the strategies in which a model beside the team decides: who is next, or the whole course. */
import { mayDecide, planDenied } from '../../../document/boundary.ts';
import { lowerAdversarial } from '../strategies/adversarial.ts';
import { chooserDef, reserve } from '../strategies/chooser.ts';
import { demandTermination } from '../demand.ts';
import { SELECTOR, lowerLlm } from '../strategies/llm.ts';
import { MANAGER, lowerMagentic } from '../strategies/magentic.ts';
import { MAGENTIC_TOOLS, MANAGER_INSTRUCTIONS } from '../strategies/magentic-tools.ts';
import type { Reading, Team } from '../model.ts';
import { END, START, agentShape, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { shapes } from './line.ts';
import { lacking } from './phases.ts';
import { readAdversarial } from '../read/phases.ts';

export function planLlm(reading: Reading, team: Team): Plan | null {
  const { Model, Prompt } = team.raw.Selection;
  if (Model === undefined) return lacking(reading, 'llm', 'Model');
  reserve(reading, team, SELECTOR);
  demandTermination(reading, team, team.names);
  return {
    turnsMax: null,
    agents: [chooserDef(team, SELECTOR, Model, '')],
    lower: (l) => lowerLlm(l, Prompt),
    nodes: [START, agentShape(SELECTOR, SELECTOR, SELECTOR, null, 'decision'), ...shapes(team)],
    edges: [
      edgeShape(START.id, SELECTOR, null),
      ...team.names.flatMap((agent) => [edgeShape(SELECTOR, agent, agent), edgeShape(agent, SELECTOR, null, true)]),
    ],
  };
}

export function planMagentic(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.Magentic;
  if (raw === undefined) return lacking(reading, 'magentic', 'Magentic');
  reserve(reading, team, MANAGER);
  if (!mayDecide(team.definitions, MANAGER, 'plan')) {
    const { message, help } = planDenied(MANAGER);
    reading.report.error('not-granted', reading.at('Selection', 'Magentic'), message, { help });
    return null;
  }
  return {
    turnsMax: (1 + raw.MaxResetCount) * raw.MaxRoundCount,
    agents: [
      chooserDef(team, MANAGER, raw.Model, raw.Instructions ?? MANAGER_INSTRUCTIONS, Object.keys(MAGENTIC_TOOLS)),
    ],
    tools: MAGENTIC_TOOLS,
    lower: (l) => lowerMagentic(l, raw),
    nodes: [START, agentShape(MANAGER, MANAGER, MANAGER, null, 'decision'), ...shapes(team), END],
    edges: [
      edgeShape(START.id, MANAGER, null),
      ...team.names.flatMap((agent) => [edgeShape(MANAGER, agent, agent), edgeShape(agent, MANAGER, null, true)]),
      edgeShape(MANAGER, END.id, 'task complete'),
    ],
    cycles: [{ nodes: [MANAGER, ...team.names], bound: `MaxRoundCount: ${raw.MaxRoundCount}` }],
  };
}

export function planAdversarial(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.Adversarial;
  if (raw === undefined) return lacking(reading, 'adversarial', 'Adversarial');
  readAdversarial(raw, ['Selection', 'Adversarial'], reading);
  const stages = raw.Stages.map(({ Generator, Critic, Label }, index) => ({
    generate: `generate-${index}`,
    criticise: `criticise-${index}`,
    Generator,
    Critic,
    Label: Label ?? null,
  }));
  return {
    turnsMax: raw.Rounds,
    lower: (l) => lowerAdversarial(l, raw),
    nodes: [
      START,
      ...stages.flatMap(({ generate, criticise, Generator, Critic, Label }) => [
        agentShape(generate, Generator, Generator, Label),
        agentShape(criticise, Critic, Critic, Label, 'decision'),
      ]),
      END,
    ],
    edges: [
      edgeShape(START.id, stages[0]?.generate ?? END.id, null),
      ...stages.flatMap(({ generate, criticise }, index) => [
        edgeShape(generate, criticise, null),
        edgeShape(criticise, generate, 'revise', true),
        edgeShape(criticise, stages[index + 1]?.generate ?? END.id, raw.PassKeyword),
      ]),
    ],
    cycles: stages.map(({ generate, criticise }) => ({ nodes: [generate, criticise], bound: `Rounds: ${raw.Rounds}` })),
  };
}
