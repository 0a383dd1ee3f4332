/** The team notation: reads the agents and the strategy of a document, and lowers them to the graph. */
import { createBuilder, createKit } from '@sluice-internal/compile/lower';
import type { Share } from '@sluice-internal/compile/graph';
import type { Notation, Excess } from '@sluice-internal/compile/rules';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { plain, type Located } from '@sluice-internal/compile/source';
import { drawTeam } from './drawing.ts';
import { exhausted, TURNS_DEFAULT, type Corrections, type Lowering } from './lowering.ts';
import type { Reading, Team } from './model.ts';
import { readTeam } from './read.ts';
import { teamSchema } from './schema/schema.ts';
import { OUTPUT, REJECTED, begin } from './slots.ts';
import { addEndVerdict } from './verdict.ts';
import type { Plan } from './strategies/strategy.ts';

export const teamNotation: Notation = {
  name: 'orchestration',
  key: 'Orchestration',
  bareKeys: ['Agents', 'Selection'],
  schema: teamSchema,
  limits: ['depth', 'spawn'],
  bare: () => teamSchema.shape,
  boundedByTurns: true,
  lower(document, definitions, report) {
    const read = readTeam(document, definitions, report);
    if (read === null) return { lowered: null, picture: null };
    const { team, reading, plan } = read;
    const { servers } = team.definitions;
    if (plan === null) return { lowered: null, picture: null, servers, known: team.definitions };
    const picture = drawTeam(team, plan.drawing);
    const sound = reading.body.sound && document.sections.sound && !report.failed();
    const excess = teamExcess(document.body);
    return { lowered: sound ? lower(team, reading, plan) : null, picture, servers, known: team.definitions, excess };
  },
};

function lower(team: Team, reading: Reading, plan: Plan) {
  const { definitions, tools, members } = team;
  const agents = Object.fromEntries(
    [...[...members.values()].map(({ def }) => def), ...plan.asked.agents].map((def) => [def.id, def]),
  );
  const builder = createBuilder(
    'orchestration',
    { ...definitions, tools: { ...definitions.tools, ...tools, ...plan.asked.tools }, agents },
    { returns: OUTPUT },
  );
  const turnsMax = plan.turnsMax ?? team.termination.cap ?? TURNS_DEFAULT;
  const kit = createKit(builder);
  const open: Lowering = {
    builder,
    kit,
    team,
    gates: plan.gates,
    meter: null,
    turnsMax,
    prefix: '',
    corrections: [],
    turns: [],
    shares: [],
    at: reading.at,
  };
  const label =
    team.termination.cap === null ? `agent turns (${turnsMax} where MaxIterations says nothing)` : 'MaxIterations';
  const l =
    plan.turnsMax === null
      ? { ...open, meter: builder.meter('turns', { unit: 'visits', max: turnsMax, over: exhausted(open), label }) }
      : open;
  const entry = l.kit.set({ hint: 'session', origin: team.id }, begin(), plan.lower(l));
  if (team.verifier !== null) addEndVerdict(l, team.verifier);
  const built = builder.build({
    id: team.id,
    entry,
    fail: builder.failedEnd(OUTPUT),
    view: { judgement: { rejected: REJECTED } },
  });
  return { ...built, shares: [...(built.shares ?? []), ...l.shares, ...sharesOf(l.corrections)] };
}

/** An agent that is corrected `limit - 1` times in a row had one more turn: that share of its turns can end in a correction. */
function sharesOf(corrections: readonly Corrections[]): readonly Share[] {
  return [...Map.groupBy(corrections, ({ again }) => again)].map(([again, list]) => {
    const limit = Math.max(...list.map((each) => each.limit));
    return { counted: list.flatMap(({ nodes }) => nodes), of: [again], max: (limit - 1) / limit, atStart: 0 };
  });
}

/** Finds a selection that a lower tier of autonomy can replace. */
function teamExcess(body: Located): readonly Excess[] {
  const authored = plain(body) as { readonly [field: string]: Json };
  const agents = Array.isArray(authored['Agents']) ? authored['Agents'] : [];
  const selection = isRecord(authored['Selection']) ? authored['Selection'] : {};
  if (selection['Type'] === 'llm' && agents.length === 1)
    return [{ uses: 4, needs: 2, why: 'a model chooses the next agent, but there is only one' }];
  const graph = isRecord(selection['Graph']) ? selection['Graph'] : {};
  const edges = Array.isArray(graph['Edges']) ? graph['Edges'].filter(isRecord) : [];
  const froms = edges.map((edge) => edge['From']);
  const fixed = edges.every((edge) => Object.keys(edge).every((key) => key === 'From' || key === 'To'));
  const whole = edges.length > 0 && graph['SubGraphs'] === undefined;
  if (selection['Type'] === 'graph' && whole && fixed && new Set(froms).size === froms.length)
    return [{ uses: 4, needs: 2, why: 'every node of this graph has one edge, which is always taken' }];
  return [];
}
