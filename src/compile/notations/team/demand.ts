/** A session that goes round must be able to end: by what one of its speakers says, or by the number of turns. */
import type { Path } from '../../source/located.ts';
import type { Reading, Team } from './model.ts';
import { rulesFor } from './termination.ts';

export function demandTermination(reading: Reading, team: Team, speakers: Iterable<string>): void {
  const { report, body } = reading;
  if (reading.report.has('unknown-agent') || canEnd(team, speakers)) return;
  report.error(
    'no-termination',
    body.at('Selection'),
    `nothing ends a \`${team.raw.Selection.Type}\` session: no agent that speaks can match a termination, and there is no \`MaxIterations\``,
    {
      help: 'Add `Termination` with `MaxIterations`.',
    },
  );
}

/** As above, for one place that is only left by the end of the session. */
export function demandEnding(reading: Reading, team: Team, agent: string, path: Path, what: string): void {
  const { report, at } = reading;
  if (reading.report.has('unknown-agent') || canEnd(team, [agent])) return;
  report.error(
    'no-termination',
    at(...path),
    `${what} can never end: no \`Termination\` looks at what \`${agent}\` says, and there is no \`MaxIterations\``,
    {
      help: 'Add a `Termination` that this agent can match, or `MaxIterations`.',
    },
  );
}

export function canEnd(team: Team, speakers: Iterable<string>): boolean {
  return (
    !team.termination.sound ||
    team.termination.cap !== null ||
    [...speakers].some((agent) => rulesFor(team, agent).length > 0)
  );
}
