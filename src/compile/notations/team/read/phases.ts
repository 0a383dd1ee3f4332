/** Reads the strategies of fixed course: that everybody they name is in the team, and nobody is in two roles at once. */
import type { Path } from '../../../source/located.ts';
import type { Reading } from '../model.ts';
import { isPoison } from '../../../document/shape/poison.ts';
import type { RawAdversarial, RawMapReduce, RawScatterGather } from '../schema/phases.ts';

export function readScatterGather(raw: RawScatterGather, path: Path, reading: Reading): RawScatterGather {
  for (const [index, name] of raw.Participants.entries()) reading.agent(name, [...path, 'Participants', index]);
  reading.agent(raw.Synthesizer, [...path, 'Synthesizer']);
  return raw;
}

export function readMapReduce(raw: RawMapReduce, path: Path, reading: Reading): RawMapReduce {
  for (const role of ['Splitter', 'Mapper', 'Reducer'] as const) reading.agent(raw[role], [...path, role]);
  return raw;
}

export function readAdversarial(raw: RawAdversarial, path: Path, reading: Reading): RawAdversarial {
  for (const [index, stage] of raw.Stages.entries()) {
    const place: Path = [...path, 'Stages', index];
    reading.agent(stage.Generator, [...place, 'Generator']);
    reading.agent(stage.Critic, [...place, 'Critic']);
    if (stage.Generator === stage.Critic && !isPoison(stage.Critic))
      reading.report.error(
        'same-role',
        reading.at(...place, 'Critic'),
        `\`${stage.Critic}\` would criticise its own work`,
        { help: 'Name another agent as `Critic`.' },
      );
  }
  return raw;
}
