/**
 * Situations in which a person is asked, as the person sees them. Each file was judged with nothing but the packet in view: can one
 * decide? `situations/README.md` has the judgements.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import picocolors from 'picocolors';
import { expect, test } from 'vitest';
import type { Screen } from '@sluice-internal/library/documents';
import { boxOf } from '../../packages/cli/src/session/ask-person.ts';
import { caseOf } from './cases.ts';
import { play } from './play.ts';

const FOLDER = join(import.meta.dirname, 'situations');
const JUDGED = readFileSync(join(FOLDER, 'README.md'), 'utf8');
const SITUATIONS = [...JUDGED.matchAll(/^\| `([\w-]+)` \| `([\w-]+\/\w+)` \|/gm)].map(
  ([, file = '', id = '']) => [file, id] as const,
);
const SCREEN = { colors: picocolors.createColors(false), columns: () => 100 } as Screen;
const LINES_MAX = 25;

test('there are at least 20 situations, over all notations', () => {
  expect(SITUATIONS.length).toBeGreaterThanOrEqual(20);
  expect(new Set(SITUATIONS.map(([, id]) => id.split('/')[1]))).toEqual(
    new Set(['loop', 'flow', 'steps', 'staged', 'team']),
  );
});

test.each(SITUATIONS)('%s', async (file, id) => {
  const { report } = await play(caseOf('packets.yaml', id));
  const [question] = report.waiting;
  if (question === undefined) throw new Error(`${id} asks nothing`);
  const lines = boxOf(question, [...question.choices, 'decide later'], SCREEN);
  expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(join(FOLDER, `${file}.txt`));
});
