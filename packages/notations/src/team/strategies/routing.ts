/** Helpers of the strategies that route by keywords, signals or conditions. */
import type { Path } from '@sluice-internal/compile/source';
import type { Reading, Team } from '../model.ts';

/** A route that only some agents may take. */
export interface Restricted {
  readonly SourceAgents?: readonly string[] | undefined;
}

export function mayTake({ SourceAgents }: Restricted, agent: string): boolean {
  return SourceAgents === undefined || SourceAgents.includes(agent);
}

/** Keywords and signals ignore letter case and surrounding space. */
export function same(a: string, b: string): boolean {
  return normal(a) === normal(b);
}

/** The same trigger: the same keyword, or no keyword in both. */
export function sameTrigger(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined ? a === b : same(a, b);
}

/** Each keyword once, in its first spelling. */
export function distinct(words: readonly string[]): readonly string[] {
  const seen = new Map<string, string>();
  for (const word of words) if (!seen.has(normal(word))) seen.set(normal(word), word);
  return [...seen.values()];
}

function normal(word: string): string {
  return word.trim().toLowerCase();
}

/** The agent of the first turn: `DefaultAgent`, or the first agent. */
export function firstOf({ agent }: Reading, team: Team, named: string | undefined): string | null {
  if (named === undefined) return team.names[0] ?? null;
  return agent(named, ['Selection', 'DefaultAgent']) && team.members.has(named) ? named : null;
}

/** The agents that can get a turn, starting from the first. */
export function speakersFrom(first: string, nextOf: (agent: string) => Iterable<string>): ReadonlySet<string> {
  const found = new Set([first]);
  for (const agent of found) for (const next of nextOf(agent)) found.add(next);
  return found;
}

/** Warns of agents that no route leads to. `others` get turns without a route. */
export function warnOfSilent(
  { body, report }: Reading,
  team: Team,
  speaking: ReadonlySet<string>,
  others: readonly string[],
): void {
  // A route that could not be read may lead to the agent.
  if (!body.sound || report.has('unknown-agent')) return;
  for (const [index, name] of team.names.entries()) {
    if (speaking.has(name) || others.includes(name) || team.raw.Verifier?.AgentName === name) continue;
    report.warning(
      'unreachable-node',
      body.at('Agents', index, 'Name'),
      `the agent \`${name}\` never has a turn: no route leads to it`,
      { help: 'Add a route to it, or leave it out.' },
    );
  }
}

/** Warns of a keyword that begins another: a line that starts with the longer one contains both. */
export function warnOfShadows(words: readonly (readonly [string, Path])[], { report, at }: Reading): void {
  const reported = new Set<string>();
  for (const [short] of words) {
    for (const [long, path] of words) {
      const [a, b] = [normal(short), normal(long)];
      if (a === b || reported.has(`${a}\n${b}`) || !b.startsWith(a) || !/^[\s\p{P}]/u.test(b.slice(a.length))) continue;
      reported.add(`${a}\n${b}`);
      report.warning(
        'shadowed-keyword',
        at(...path),
        `\`${short}\` is the beginning of \`${long}\`, so a line can be misread`,
        { help: 'The longer keyword wins on its line. Choose keywords that do not begin alike.' },
      );
    }
  }
}
