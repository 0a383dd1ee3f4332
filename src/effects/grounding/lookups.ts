/**
 * Claims to have looked something up, or to know how things stand with what only a tool can see. Each holds where a tool whose
 * name speaks of that thing has answered; without any source at all, none holds.
 */
import { isSupposed, sentencesOf } from './clauses.ts';
import { quoted } from './material.ts';
import type { Finding, Material } from './material.ts';
import { fitting, isNamed, speaksOf } from './tools.ts';
import type { ToolWords } from './tools.ts';
import { valuesIn } from './values.ts';
import { LOOKED, SOURCED } from './words.ts';
import { stemsIn } from './word-stem.ts';

export function judgeLookups(text: string, m: Material): readonly Finding[] {
  const seeing = m.tools.filter(({ neutral }) => !neutral);
  if (seeing.length === 0) return [];
  const seen = new Set(m.observations.filter(({ ok }) => ok).map(({ tool }) => tool));
  const blind = !seeing.some(({ name }) => seen.has(name));
  return sentencesOf(text).flatMap(({ text: sentence }) => {
    const unseen = blind && isSaid(sentence, SOURCED.exec(sentence)) ? [] : lackingFor(sentence, m, seeing, seen);
    return unseen === null ? [] : [findingOf(sentence, unseen)];
  });
}

/** It is there, and what comes before does not make it a question, a condition or an intention. */
function isSaid(sentence: string, match: RegExpExecArray | null): match is RegExpExecArray {
  return match !== null && !isSupposed(sentence, match.index);
}

function findingOf(sentence: string, tools: readonly string[]): Finding {
  const who = tools.length === 0 ? 'nothing was observed' : `none of ${tools.join(', ')} has answered`;
  return {
    kind: 'lookup',
    reason: `says that something was looked up, and no observation shows it: ${quoted(sentence)} (${who})`,
  };
}

/** The tools of which one should have answered; null where one has, or none is meant. */
function lackingFor(
  sentence: string,
  m: Material,
  seeing: readonly ToolWords[],
  seen: ReadonlySet<string>,
): readonly string[] | null {
  for (const { pattern, found } of KNOWING) {
    const match = pattern.exec(sentence);
    if (!isSaid(sentence, match)) continue;
    const words = stemsIn(match.groups?.['what'] ?? '');
    const reading = fitting(
      null,
      words,
      seeing.filter(({ changes }) => !changes),
    ).tools.filter((tool) => isNamed(tool, words));
    if (reading.length === 0) continue;
    const meant = words.filter((word) => reading.some((tool) => isNamed(tool, [word])));
    const telling = seeing
      .filter((tool) => (found ? speaksOf(tool, meant) : isNamed(tool, meant)))
      .map(({ name }) => name);
    if (telling.some((name) => seen.has(name)) || isGiven(sentence, m)) continue;
    return telling;
  }
  return null;
}

/** Everything in the sentence that can be looked up again is known already, so somebody has told it. */
function isGiven(sentence: string, { known }: Material): boolean {
  const values = valuesIn(sentence).filter(({ kind }) => kind !== 'number');
  return values.length > 0 && values.every((each) => known.has(each));
}

const BEFORE = `(?:\\b(?:I|we)(?:\\s+have|['’]ve)?(?:\\s+\\w+ly|\\s+now|\\s+also|\\s+just)*\\s+|^\\W*(?!see\\b|read\\b))`;
const KNOWING: readonly { readonly pattern: RegExp; readonly found: boolean }[] = [
  {
    found: true,
    pattern: new RegExp(`${BEFORE}(?:${LOOKED})\\b(?<what>.*)`, 'i'),
  },
  { found: false, pattern: /\b(?:according to|based on|as per)\b(?<what>[^,.;]*)/i },
  {
    found: false,
    pattern:
      /\byour\s+(?<what>(?:\p{L}+\s+){1,3}?)(?:[A-Z\d_]{4,}\s+|ID\s+|with\s+\S+\s+\S+\s+\S+\s+)?(?:is|are|was|were|has|have|includes?|does|do|did|shows?)\b/iu,
  },
];
