/** What stands where the name of an agent or the end of an edge is missing, so that everything around it is still looked at. */
import type { Json } from '../../../expr/json.ts';
import type { Path } from '../../source/located.ts';

export const STAND_IN = '\u0000';

const AGENTS: readonly unknown[] = ['Agent', 'Synthesizer', 'Splitter', 'Mapper', 'Reducer', 'Generator', 'Critic'];

export function standIn(path: Path): Json | undefined {
  if (path[0] !== 'Selection') return undefined;
  if (path.at(-1) === 'Participants') return [STAND_IN];
  if (path.at(-3) === 'Edges' && (path.at(-1) === 'From' || path.at(-1) === 'To')) return STAND_IN;
  return AGENTS.includes(path.at(-1)) ? STAND_IN : undefined;
}
