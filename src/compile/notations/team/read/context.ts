/** Where an agent's context may come from; a source that does not exist is told before anything runs. */
import { CONTEXT_SOURCES } from '../../../../catalog/validators.ts';
import type { Path } from '../../../source/located.ts';
import { nearest } from '../../../diagnose/nearest.ts';
import type { Reading } from '../model.ts';
import type { RawSource } from '../schema/agents.ts';

const OWN = 'own_history';
/** Sources that need an argument after the colon. */
const NEEDS: ReadonlySet<string> = new Set(['brief_field', 'file']);
/** Sources whose argument is a number. */
const NUMBERED: ReadonlySet<string> = new Set(['changes_recent', OWN]);

export function checkSources(
  sources: readonly RawSource[],
  path: Path,
  forAgent: boolean,
  { report, at }: Reading,
): void {
  for (const [index, { Source }] of sources.entries()) {
    const [kind = '', ...rest] = Source.split(':');
    const argument = rest.join(':');
    const place = at(...path, index, 'Source');
    const known: readonly string[] = forAgent ? [...CONTEXT_SOURCES, OWN] : CONTEXT_SOURCES;
    if (kind === OWN && !forAgent)
      report.warning(
        'unused-field',
        place,
        '`own_history` is left out here: it exists only in the `Context` of an agent',
        { help: 'Leave it out.' },
      );
    else if (!known.includes(kind)) {
      const near = nearest(kind, known);
      report.error('bad-value', place, `unknown source \`${Source}\``, {
        help:
          near === undefined
            ? `There are ${known.map((each) => `\`${each}\``).join(', ')}.`
            : `Did you mean \`${near}\`?`,
      });
    } else if (NEEDS.has(kind) && argument === '')
      report.error('bad-value', place, `\`${kind}\` needs an argument, as in \`${kind}:…\``);
    else if (NUMBERED.has(kind) && argument !== '' && !/^[1-9]\d*$/.test(argument))
      report.error('bad-value', place, `\`${kind}\` takes a number, as in \`${kind}:5\`, but has \`${argument}\``);
  }
}
