/** `magentic`: a manager model makes a plan, then chooses and instructs one agent each round and judges the progress. */
import { mayDecide, planDenied } from '@sluice-internal/compile/document';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import { agentShape, agentShapes, guarded } from '../../drawing.ts';
import { chooserDef, reserve } from '../chooser.ts';
import { lacking, strategy } from '../strategy.ts';
import { MANAGER, lowerMagentic } from './lower.ts';
import { MAGENTIC_TOOLS, MANAGER_INSTRUCTIONS, magenticSchema } from './tools.ts';

export const magentic = strategy({
  type: 'magentic',
  fields: () => ({ Magentic: magenticSchema.optional().describe('Of `magentic`: the manager and its limits.') }),
  endsItself: true,
  read({ Magentic: raw }, reading, team) {
    if (raw === undefined) return lacking(reading, 'magentic', 'Magentic');
    reserve(reading, team, MANAGER);
    if (mayDecide(team.definitions, MANAGER, 'plan')) return raw;
    const { message, help } = planDenied(MANAGER);
    reading.report.error('not-granted', reading.at('Selection', 'Magentic'), message, { help });
    return null;
  },
  turnsMax: (raw) => (1 + raw.MaxResetCount) * raw.MaxRoundCount,
  asks: (raw, team) => ({
    agents: [
      chooserDef(team, MANAGER, raw.Model, raw.Instructions ?? MANAGER_INSTRUCTIONS, Object.keys(MAGENTIC_TOOLS)),
    ],
    tools: MAGENTIC_TOOLS,
  }),
  lower: lowerMagentic,
  draw: (raw, team) => ({
    nodes: [
      START,
      ...(raw.EnablePlanReview ? [agentShape('~plan', 'plan', MANAGER)] : []),
      agentShape(MANAGER, MANAGER, MANAGER),
      ...agentShapes(team),
      END,
    ],
    edges: [
      ...(raw.EnablePlanReview
        ? [edgeShape(START.id, '~plan'), guarded(edgeShape('~plan', MANAGER), [], true)]
        : [edgeShape(START.id, MANAGER)]),
      ...team.names.flatMap((agent) => [edgeShape(MANAGER, agent, agent), edgeShape(agent, MANAGER, null, true)]),
      edgeShape(MANAGER, END.id, 'task complete'),
    ],
    cycles: [{ nodes: [MANAGER, ...team.names], bound: `MaxRoundCount: ${raw.MaxRoundCount}` }],
  }),
});
