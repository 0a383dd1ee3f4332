/** The plans of scatter-gather and map-reduce: their course is fixed, so the number of turns needs no cap. */
import { success } from '../lowering.ts';
import { lowerMapReduce } from '../strategies/mapreduce.ts';
import type { Reading, Team } from '../model.ts';
import { END, START, agentShape, edgeShape } from './plan.ts';
import type { Plan } from './plan.ts';
import { readMapReduce, readScatterGather } from '../read/phases.ts';
import { lowerScatterGather } from '../strategies/scattergather.ts';

export function planScatterGather(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.ScatterGather;
  if (raw === undefined) return lacking(reading, 'scattergather', 'ScatterGather');
  readScatterGather(raw, ['Selection', 'ScatterGather'], reading);
  const members = raw.Participants.map((agent, index) => agentShape(`participant-${index}`, agent, agent));
  const lead = agentShape('synthesizer', raw.Synthesizer, raw.Synthesizer, null, 'join');
  return {
    turnsMax: 1,
    lower: (l) => lowerScatterGather(l, raw, { hint: 'scattergather', origin: 'scattergather', next: success(l) }),
    nodes: [START, ...members, lead, END],
    edges: [
      ...members.flatMap(({ id }) => [
        edgeShape(START.id, id, null, false, 'branch'),
        edgeShape(id, lead.id, null, false, 'join'),
      ]),
      edgeShape(lead.id, END.id, null),
    ],
  };
}

export function planMapReduce(reading: Reading, team: Team): Plan | null {
  const raw = team.raw.Selection.MapReduce;
  if (raw === undefined) return lacking(reading, 'mapreduce', 'MapReduce');
  readMapReduce(raw, ['Selection', 'MapReduce'], reading);
  const bound = `MaxSplitterRetries: ${raw.MaxSplitterRetries}`;
  return {
    turnsMax: 1,
    lower: (l) => lowerMapReduce(l, raw, { hint: 'mapreduce', origin: 'mapreduce', next: success(l) }),
    nodes: [
      START,
      agentShape('split', 'split', raw.Splitter),
      agentShape('map', 'map', raw.Mapper),
      agentShape('reduce', 'reduce', raw.Reducer, null, 'join'),
      END,
    ],
    edges: [
      edgeShape(START.id, 'split', null),
      edgeShape('split', 'split', 'no list', true),
      edgeShape('split', 'map', `each of ${raw.ItemsJsonPath}`, false, 'branch'),
      edgeShape('map', 'reduce', null, false, 'join'),
      edgeShape('reduce', END.id, null),
    ],
    cycles: [{ nodes: ['split'], bound }],
  };
}

/** A section that the strategy needs and the document lacks; one that is faulty has been told already. */
export function lacking({ body, report }: Reading, strategy: string, key: string): null {
  if (body.sound) report.error('missing-field', body.at('Selection'), `the strategy \`${strategy}\` needs \`${key}\``);
  return null;
}
