/**
 * Claims to have looked something up, or to know the state of a thing that only a tool can read. Each needs an answer of a
 * tool whose name names that thing. Without any observation, no such claim is supported.
 */
import { isHypothetical, sentencesOf } from '../clauses.ts';
import { quoted, type Detector, type Evidence, type Finding } from '../detector.ts';
import { valuesIn } from '../../text/read-values.ts';
import { fitting, isNamed, speaksOf, type ToolWords } from '../tool-words.ts';
import { LOOKED, SOURCED, stemsIn } from '../words.ts';

export const lookups: Detector = ({ text, claims }, evidence) => {
  const reading = evidence.tools.filter(({ neutral }) => !neutral);
  if (!claims || reading.length === 0) return { findings: [] };
  const answered = new Set(evidence.observations.filter(({ ok }) => ok).map(({ tool }) => tool));
  const blind = !reading.some(({ name }) => answered.has(name));
  const findings = sentencesOf(text).flatMap(({ text: sentence }) => {
    const unsourced = blind && isAsserted(sentence, SOURCED.exec(sentence));
    const missing = unsourced ? [] : missingAnswers(sentence, evidence, reading, answered);
    return missing === null ? [] : [findingOf(sentence, missing)];
  });
  return { findings };
};

/** Matched, and not part of a question, a condition or an intention. */
function isAsserted(sentence: string, match: RegExpExecArray | null): match is RegExpExecArray {
  return match !== null && !isHypothetical(sentence, match.index);
}

function findingOf(sentence: string, tools: readonly string[]): Finding {
  const missing = tools.length === 0 ? 'there is no observation' : `none of ${tools.join(', ')} has answered`;
  return {
    kind: 'lookup',
    text: sentence,
    reason: `says that something was looked up, but no observation shows it: ${quoted(sentence)} (${missing})`,
  };
}

/** The tools of which one should have answered; null where one has, or where the sentence names no tool's thing. */
function missingAnswers(
  sentence: string,
  evidence: Evidence,
  reading: readonly ToolWords[],
  answered: ReadonlySet<string>,
): readonly string[] | null {
  for (const { pattern, found } of KNOWING) {
    const match = pattern.exec(sentence);
    if (!isAsserted(sentence, match)) continue;
    const words = stemsIn(match.groups?.['what'] ?? '');
    const unchanging = reading.filter(({ changes }) => !changes);
    const named = fitting(null, words, unchanging).tools.filter((tool) => isNamed(tool, words));
    if (named.length === 0) continue;
    const shared = words.filter((word) => named.some((tool) => isNamed(tool, [word])));
    const sources = reading
      .filter((tool) => (found ? speaksOf(tool, shared) : isNamed(tool, shared)))
      .map(({ name }) => name);
    if (sources.some((name) => answered.has(name)) || isGiven(sentence, evidence)) continue;
    return sources;
  }
  return null;
}

/** All values of the sentence are known, so a person or the author gave them. */
function isGiven(sentence: string, { known }: Evidence): boolean {
  const stated = valuesIn(sentence).filter(({ kind }) => kind !== 'number');
  return stated.length > 0 && stated.every((each) => known.has(each));
}

const BEFORE = `(?:\\b(?:I|we)(?:\\s+have|['’]ve)?(?:\\s+\\w+ly|\\s+now|\\s+also|\\s+just)*\\s+|^\\W*(?!see\\b|read\\b))`;
/** `found`: the speaker claims to have looked. If false, the sentence states a fact. */
const KNOWING: readonly { readonly pattern: RegExp; readonly found: boolean }[] = [
  { found: true, pattern: new RegExp(`${BEFORE}(?:${LOOKED})\\b(?<what>.*)`, 'i') },
  { found: false, pattern: /\b(?:according to|based on|as per)\b(?<what>[^,.;]*)/i },
  {
    found: false,
    pattern:
      /\byour\s+(?<what>(?:(?!(?:you|I|we|they|it|since|once|when|if|as|because|until|after|before|that|which)\b)\p{L}+\s+){1,3}?)(?:[A-Z\d_]{4,}\s+|ID\s+|with\s+\S+\s+\S+\s+\S+\s+)?(?:is|are|was|were|has|have|includes?|does|do|did|shows?)\b/iu,
  },
];
