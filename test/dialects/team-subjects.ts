/** The teams that properties are shown on, and agents that say anything at all: mostly keywords, since those lead a session astray. */
import fc from 'fast-check';
import { compileTeam } from './team-drive.ts';
import type { Driven, World } from './team-drive.ts';

const SEED = 20261115;
const RUNS = 60;
export const WORDS = ['TO A', 'TO B', 'TO C', 'BACK', 'MORE', 'APPROVED', 'END'];

const line = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 2, arbitrary: fc.constantFrom(...WORDS).map((word) => `**${word.toLowerCase()}**`) },
  { weight: 2, arbitrary: fc.constantFrom(...WORDS).map((word) => `${word}: because`) },
  { weight: 2, arbitrary: fc.constantFrom(...WORDS).map((word) => `I might say ${word} soon`) },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 1 }) },
);
const message = fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n'));
/** What each agent says, call by call; the last is said again and again. */
const script = fc.array(message, { minLength: 1, maxLength: 12 });

/** Holds whatever the agents say. A failure names the seed and the script that it takes. */
export function always(check: (said: readonly string[]) => void): void {
  fc.assert(fc.property(script, check), { seed: SEED, numRuns: RUNS });
}

/** All agents read from one script, so that any of them comes to say anything. */
export function saying(said: readonly string[]): World['say'] {
  let at = 0;
  return () => said[Math.min(at++, said.length - 1)] ?? '';
}

export const agents = ['A', 'B', 'C'].map((Name) => ({ Name, Instructions: `You are ${Name}.` }));
export const ends = { Type: 'maxiterations', MaxIterations: 12 };

export const KEYWORD = compileTeam({
  Agents: agents,
  Selection: {
    Type: 'keyword',
    Routes: [
      { Keyword: 'TO A', Agent: 'A' },
      { Keyword: 'TO B', Agent: 'B' },
      { Keyword: 'TO C', Agent: 'C', SourceAgents: ['B'], Validator: 'RequireWriteFile' },
    ],
  },
  Termination: ends,
});
export const STATES: {
  readonly [state: string]: {
    readonly Agent: string;
    readonly Transitions: readonly { To: string; Signal: string; Contract?: string }[];
  };
} = {
  One: { Agent: 'A', Transitions: [{ To: 'Two', Signal: 'TO B' }] },
  Two: {
    Agent: 'B',
    Transitions: [
      { To: 'One', Signal: 'BACK' },
      { To: 'Three', Signal: 'TO C', Contract: 'Proof' },
    ],
  },
  Three: {
    Agent: 'C',
    Transitions: [
      { To: 'One', Signal: 'TO A' },
      { To: 'Two', Signal: 'MORE' },
    ],
  },
};
export const machine = (more: object = {}): object => ({
  Agents: [...agents, { Name: 'V' }],
  Contracts: [{ Name: 'Proof', Requires: [{ FileExists: { Path: 'p' } }] }],
  Selection: { Type: 'statemachine', StateMachine: { Initial: 'One', States: STATES } },
  Termination: ends,
  ...more,
});
export const MACHINE = compileTeam(machine());
export const EDGES = [
  { From: 'a', To: 'b', Keyword: 'TO B' },
  { From: 'b', To: 'c', Keyword: 'TO C', Validators: ['RequireWriteFile'] },
  { From: 'b', To: 'a', Keyword: 'BACK' },
  { From: 'c', To: 'b', Keyword: 'MORE' },
  { From: 'c', To: 'a', Keyword: 'TO A' },
  { From: 'c', To: 'end', Keyword: 'APPROVED' },
];
export const GRAPH = compileTeam({
  Agents: agents,
  Selection: {
    Type: 'graph',
    Graph: {
      Nodes: [
        { Id: 'a', Agent: 'A' },
        { Id: 'b', Agent: 'B' },
        { Id: 'c', Agent: 'C' },
        { Id: 'end', Agent: 'C', Terminal: true },
      ],
      Edges: EDGES,
    },
  },
  Termination: ends,
});
export const STRUCTURED = compileTeam({
  Agents: agents,
  Selection: {
    Type: 'structured',
    StructuredRoutes: [
      { Agent: 'B', Condition: { Field: 'to', Is: 'b' }, SourceAgents: ['A'] },
      { Agent: 'C', Condition: { Field: 'to', Is: 'c' }, SourceAgents: ['B'] },
      { Agent: 'A', Condition: { Field: 'to', Exists: true }, SourceAgents: ['C'] },
    ],
  },
  Termination: ends,
});
export const ADVERSARIAL = compileTeam({
  Agents: [...agents, { Name: 'D', Instructions: 'You are D.' }],
  Selection: {
    Type: 'adversarial',
    Adversarial: {
      Rounds: 3,
      Stages: [
        { Generator: 'A', Critic: 'B' },
        { Generator: 'C', Critic: 'D' },
      ],
    },
  },
});
export const SCATTER = compileTeam({
  Agents: agents,
  Selection: { Type: 'scattergather', ScatterGather: { Participants: ['A', 'B'], Synthesizer: 'C' } },
});
export const MAP = compileTeam({
  Agents: agents,
  Selection: { Type: 'mapreduce', MapReduce: { Splitter: 'A', Mapper: 'B', Reducer: 'C' } },
});

/** The lines that mean a word by themselves, as the rules describe them, written another way than the product does. */
export function marks(text: string, words: readonly string[], strict: boolean): Set<string> {
  const found = new Set<string>();
  for (const raw of text.split(/\r\n|\n|\r/)) {
    const bare = raw
      .trim()
      .replace(/^[*_ ]+|[*_ ]+$/g, '')
      .toLowerCase();
    const hits = words.filter((word) => {
      const rest = bare.startsWith(word.toLowerCase()) ? bare.slice(word.length) : null;
      return (
        rest === '' || (!strict && rest !== null && /^[*_]*[\s\p{P}]/u.test(rest) && !/^[*_]+[\p{L}\p{N}]/u.test(rest))
      );
    });
    const longest = hits.sort((a, b) => b.length - a.length)[0];
    if (longest !== undefined) found.add(longest);
  }
  return found;
}

/** Where a message of this place may lead, whatever else is in it: nowhere but along its own edges. */
export function steps({ path }: Driven): readonly (readonly [string, string])[] {
  return path.slice(1).map((to, index) => [path[index] as string, to]);
}
