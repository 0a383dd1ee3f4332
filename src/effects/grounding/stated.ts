/** Values that stand nowhere: an identifier, a date, an amount that nobody gave and nothing showed was made up. */
import { isSmall, wordsIn } from './known.ts';
import type { Finding, Material } from './material.ts';
import { valuesIn } from './values.ts';
import { isCommon } from './word-stem.ts';

/**
 * `names`: identifiers, dates, times and amounts of money. `all`: other numbers as well, and no answer half of whose words
 * stand nowhere; for questions with short answers that only a source can give.
 */
export type Strictness = 'off' | 'names' | 'all';

export function judgeValues(text: string, answer: string, strictness: Strictness, m: Material): readonly Finding[] {
  if (strictness === 'off' || m.tools.length === 0) return [];
  const stated = valuesIn(text).filter((each) =>
    each.kind === 'number' ? strictness === 'all' && !isSmall(each) : true,
  );
  const unknown = [...new Set(stated.filter((each) => !m.known.has(each)).map((each) => each.text))];
  const reason = `states ${unknown.slice(0, SHOWN).join(', ')}, which stands in no observation and nobody has given`;
  const findings: Finding[] = unknown.length === 0 ? [] : [{ kind: 'value', reason }];
  if (strictness !== 'all') return findings;
  const words = [...new Set(wordsIn(answer))].filter((word) => !isCommon(word) && !/^\d$/.test(word));
  const strange = words.filter(
    (word) => !m.known.hasWord(word) && !m.known.has({ kind: 'number', key: word, text: word }),
  );
  if (strange.length > 0 && strange.length * 2 >= words.length)
    findings.push({
      kind: 'value',
      reason: `says ${strange.slice(0, SHOWN).join(' ')}, which stands in no observation and nobody has given`,
    });
  return findings;
}

const SHOWN = 5;
