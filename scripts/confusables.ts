/**
 * Writes the table of characters that look alike, from `confusables.txt` of the Unicode security data (UTS 39).
 *
 *   node scripts/confusables.ts confusables.txt
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tool.ts';

const WIDTH = 140;

/** Rows that the normal form NFKC makes superfluous are left out: it is applied first. */
export function confusablesTable(text: string): string {
  const rows = [...text.matchAll(/^\s*([0-9A-F]+)\s*;\s*([0-9A-F ]+?)\s*;\s*MA/gm)]
    .map(([, from = '', to = '']) => [parseInt(from, 16), to.split(' ').map((code) => parseInt(code, 16))] as const)
    .filter(([from]) => String.fromCodePoint(from).normalize('NFKC') === String.fromCodePoint(from))
    .sort(([one], [other]) => one - other);
  let last = 0;
  const words = rows.map(([from, to]) => {
    const step = from - last;
    last = from;
    return `${step.toString(36)}:${to.map((code) => code.toString(36)).join('+')}`;
  });
  const lines = [''];
  for (const word of words) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length + 1 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  const version = /^# Version: (\S+)/m.exec(text)?.[1] ?? '';
  return `/**
 * Characters that look like others (UTS 39, Unicode ${version}). \`node scripts/confusables.ts FILE\` writes this table. Each entry is the
 * distance from the character before, and what it looks like, in base 36.
 * © Unicode, Inc. Unicode and the Unicode Logo are registered trademarks of Unicode, Inc. Licence: https://www.unicode.org/license.txt
 */
export const CONFUSABLES = \`
${lines.join('\n')}
\`;
`;
}

const file = process.argv[2];
if (import.meta.main && file !== undefined)
  writeFileSync(join(root, 'packages/kernel/src/ir/confusables.ts'), confusablesTable(readFileSync(file, 'utf8')));
