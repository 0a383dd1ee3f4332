/** Poison for the name of an agent or the end of an edge that is missing, so that the map around it is still checked. */
import type { Json } from '../../../expr/json.ts';
import { POISON } from '../../document/shape/poison.ts';
import type { Path } from '../../source/located.ts';

const AGENTS: readonly unknown[] = ['Agent', 'Synthesizer', 'Splitter', 'Mapper', 'Reducer', 'Generator', 'Critic'];

export function poison(path: Path): Json | undefined {
  if (path[0] !== 'Selection') return undefined;
  if (path.at(-1) === 'Participants') return [POISON];
  if (path.at(-3) === 'Edges' && (path.at(-1) === 'From' || path.at(-1) === 'To')) return POISON;
  return AGENTS.includes(path.at(-1)) ? POISON : undefined;
}
