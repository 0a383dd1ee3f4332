/**
 * Claims that do not say who acted: `Refunded 49.50 for A-7.`, `Refund processed.`, `The refund was issued.`, `A-7 is
 * refunded.` Honest text contains participles too. A form counts as a report of an action only if it does not merely describe
 * a thing, and is not about the distant past, a reason, or a general rule.
 */
import { ADVERBS, JOINED, PARTICIPLE, isParticiple } from './words.ts';

export interface Agentless {
  readonly form: 'past' | 'present' | 'terse';
  readonly word: string;
  /** The thing that was acted upon, if the sentence names it. */
  readonly what: string;
  /** The position in the sentence after the claim. */
  readonly end: number;
}

/** The claims of one sentence with single spaces. In a heading, a participle alone claims nothing: `Orders cancelled:` */
export function agentlessIn(sentence: string, heading: boolean): readonly Agentless[] {
  const named = namedIn(sentence).filter(({ what }) => !heading || /^(?:the|your|both|all|these)\b/i.test(what));
  const found = [...passivesIn(sentence), ...bareIn(sentence, heading), ...named];
  return [...found, ...found.slice(0, 1).flatMap((first) => joinedTo(first, sentence))];
}

/** Further verbs of the same claim: `was upgraded and then cancelled`, `Fixed it, pushed it`. */
function joinedTo({ form, what, end: from }: Agentless, sentence: string): readonly Agentless[] {
  return [...sentence.slice(from).matchAll(form === 'terse' ? LISTED : JOINED)].flatMap((match) => {
    const word = match.groups?.['verb'] ?? '';
    const end = from + match.index + match[0].length;
    const after = following(sentence, end);
    if (!isParticiple(word) || isElsewhere(after)) return [];
    return [{ form, word, what: form === 'terse' ? thingIn(after) || what : what, end }];
  });
}

const LISTED = /(?:,|;|\band)(?: and| then| also| successfully)* (?<verb>\p{L}+)/giu;

const PASSIVE = new RegExp(`\\b(?<be>is|are|was|were)${ADVERBS}\\s+(?<verb>\\p{L}+)`, 'giu');

function passivesIn(sentence: string): readonly Agentless[] {
  return [...sentence.matchAll(PASSIVE)].flatMap((match) => {
    const { be = '', verb: word = '' } = match.groups ?? {};
    if (!isParticiple(word)) return [];
    const form = /^w/i.test(be) ? 'past' : 'present';
    const before = lastOf(
      sentence.slice(Math.max(0, match.index - REACH), match.index).replace(ASIDE, ' '),
      /[,;:–—(]| - /,
    );
    const end = match.index + match[0].length;
    const after = following(sentence, end);
    const what = subjectIn(before);
    if (what === '' || SUBORDINATE.test(before) || isElsewhere(after)) return [];
    if (form === 'present' && (!isDefinite(what, after) || GENERAL.test(`${before} ${after.split(/[,;]/)[0]}`)))
      return [];
    return FORMER.test(what) ? [] : [{ form, word, what, end }];
  });
}

/** `The order, which arrived broken, was …`, `order A-7 (49.50) was …` */
const ASIDE = /(?:,[^,]*,|\([^()]*\)) $/;

/** A clause that mentions a known fact: `since it was booked`, `the order that was cancelled`. */
const SUBORDINATE =
  /\b(?:since|because|as|given|although|though|while|where|when|whose|after|before|how|why|what|you (?:said|mentioned|told|wrote|asked|reported))\b|\b(?:which|that|who)\W*$/i;
const FORMER = /\b(?:previous|former|prior|earlier|past|old|original|last|recent)\b/i;

/** One particular thing, not a kind of thing. */
function isDefinite(what: string, after: string): boolean {
  // `The refund is sent to the card` may be a rule; `Order A-7 is refunded` is not.
  if (/\d|^(?:it|they|you|both)$/i.test(what)) return true;
  const isOne = /^(?:the|your|this|that|these|those|my|our|both|all)\b/i.test(what) || /^\p{Lu}\p{L}*$/u.test(what);
  return isOne && (ENDS.test(after) || after.startsWith(':'));
}

const ENDS = /^(?:[.,;!)]|$| and\b)/;
const GENERAL =
  /\b(?:always|usually|normally|generally|typically|often|sometimes|only|per|each|every|any|policy|rules?|within|after|tomorrow|soon|shortly|later|by default)\b/i;

/** Words that may precede a claim without being part of it. */
const LEAD =
  '(?:(?:ok|okay|done|sure|yes|great|certainly|all set|all done|no problem|as requested|as asked|good news|update|result|outcome|summary|also|then|finally|now|just|already|successfully|(?:hi|hello|dear) \\p{L}+)[,:!–—-]* )*';
const START = `(?:^[^\\p{L}\\p{N}$€£]*|[;–—] ?| - )${LEAD}`;
const BARE = new RegExp(`${START}(?<verb>\\p{L}+)(?![\\p{L}\\p{N}'’_-])`, 'giu');
const TOKEN = "[\\p{L}\\p{N}$€£_#'’./-]*[\\p{L}\\p{N}]";
const NAMED = new RegExp(
  `${START}(?<what>${TOKEN}(?: ${TOKEN}){0,5}?)(?<mark> ?[:–—])?${ADVERBS} (?<verb>${PARTICIPLE})(?=[.,;!)]|:?$| (?:for|to|on|as|with|without|via|in|from|at|by|and|successfully|now|already|today)\\b)`,
  'giu',
);

function bareIn(sentence: string, heading: boolean): readonly Agentless[] {
  return [...sentence.matchAll(BARE)].flatMap((match) => {
    const word = match.groups?.['verb'] ?? '';
    const end = match.index + match[0].length;
    const after = following(sentence, end);
    if (!isPast(word) || !isReport(word, sentence, end, heading) || isElsewhere(after)) return [];
    return [{ form: 'terse', word, what: thingIn(after), end }];
  });
}

function namedIn(sentence: string): readonly Agentless[] {
  return [...sentence.matchAll(NAMED)].flatMap((match) => {
    const { verb: word = '', what = '', mark } = match.groups ?? {};
    const end = match.index + match[0].length;
    const after = following(sentence, end);
    // `A-7: refunded` and `Status: refunded.`, but not `Payment: paid with a card`.
    if (mark !== undefined && !/\d$/.test(what) && !ENDS.test(after)) return [];
    if (
      !isParticiple(word) ||
      !isThing(what, after) ||
      isElsewhere(after) ||
      USUALLY.test(after.split(/[,;]/)[0] ?? '')
    )
      return [];
    return [{ form: 'terse', word, what: thingIn(what), end }];
  });
}

/** `Set`, `Put` and `Run` at the start of a sentence are instructions. */
function isPast(word: string): boolean {
  return isParticiple(word) && !/^(?:re)?(?:set|put|cut|shut|run|read)$/i.test(word);
}

const FINITE =
  /(?<!\b(?:and|but|it|which|they|you|I|we) )\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|shall|should|may|might|must|do|does|did|get|gets|need|needs)\b|n['’]t\b/i;
const SMALL_WORD =
  /^(?:the|your|an?|this|that|these|those|it|them|all|both|my|our|their|his|her|its|you|as|from|to|for|with|via|on|in|at|into|and|then|back|out|off|up|down|over|successfully|now|already|just|today|one|two|three)$/i;
const LABEL = /^(?! (?:the|your|these|both|all)\b)(?: \p{L}[\p{L}'’-]*){0,3} ?:/u;

/** A verb, with or without an object; not an adjective as in `Cancelled orders stay visible`. */
function isReport(word: string, sentence: string, end: number, heading: boolean): boolean {
  const after = following(sentence, end);
  const clause = after.split(/[,;–—]| - /)[0] ?? '';
  // A single lower-case word is data, not a sentence.
  if (sentence === word) return /^\p{Lu}/u.test(word);
  if (FINITE.test(clause) || LABEL.test(after) || /^ (?:no|nothing|none|neither)\b/i.test(after)) return false;
  // The part before the comma describes the part after it: `Built in 1779, the bridge is …`.
  if (/^ (?:as|from|to|with|via|on|in|at|by)\b/i.test(clause) && FINITE.test(after.slice(clause.length))) return false;
  const words = clause.replace(/[.!]$/, '').trim().split(/\s+/);
  const plain = words.findIndex((each) => SMALL_WORD.test(each) || !/^\p{L}[\p{L}'’-]*$/u.test(each));
  const run = plain < 0 ? words.length : plain;
  return run === 0 || (!heading && run <= (/[^s]s$/i.test(words[0] ?? '') ? 1 : PLAIN_MAX));
}

const PLAIN_MAX = 3;

/** A thing that was acted upon; not the actor, and not a kind of thing. */
function isThing(what: string, after: string): boolean {
  if (NO_THING.test(what) || FINITE.test(what) || FINITE.test(after.split(/[,;]/)[0] ?? '')) return false;
  const several = /^\p{L}*[^s]s$/u.test(what);
  return !several || ENDS.test(after);
}

const NO_THING =
  /^with\b|\b(?:I|we|you|he|she|they|who|which|that|not|no|never|none|nothing|any|each|every|customers?|users?|clients?|guests?|passengers?|buyers?|sellers?|vendors?|suppliers?|merchants?|airlines?|carriers?|banks?|managers?|operators?|somebody|someone|if|when|once|since|as|because|without|having|by|be|been|being)\b/i;
const USUALLY = /\b(?:within|after)\b/i;

/** By another party, in the past, on a given day, or under a condition. */
function isElsewhere(after: string): boolean {
  return (
    BY_OTHERS.test(after) ||
    ON_A_DAY.test(after) ||
    LONG_AGO.test(after) ||
    CONDITION.test(after.split(/[,;]/)[0] ?? '')
  );
}

const BY_OTHERS = /^ by (?!me\b|us\b|our\b|e?-?mail\b|post\b|phone\b|card\b|bank\b|wire\b|text\b|sms\b|\d)/i;
const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\\p{L}*';
const ON_A_DAY = new RegExp(
  `^ (?:on|in|around|since) (?:the )?(?:\\d{4}\\b|\\d{1,2}(?:st|nd|rd|th)? (?:of )?${MONTH}|${MONTH} \\d)`,
  'iu',
);
const LONG_AGO =
  /^(?: (?!(?:you|that|which|who|I|we|from|placed)\b)\S+){0,6}? (?:ago|previously|originally|earlier|initially|yesterday|before|last (?:night|week|month|year|time)|(?:with)?in the (?:last|past))\b/i;
const CONDITION = /\b(?:if|unless|once|until|when|whenever|provided|upon|pending)\b/i;

/** The text after a position, as far as it can matter. */
function following(sentence: string, end: number): string {
  return sentence.slice(end, end + REACH);
}

const REACH = 400;

/** The head of a phrase: its words up to the first preposition. */
export function thingIn(phrase: string): string {
  const [head = ''] = phrase.split(/[,;:.!](?:\s|$)|\s(?:of|for|to|on|in|with|from|at|by|as|via)\s/);
  return head.trim();
}

/** The subject in front of a verb. */
export function subjectIn(before: string): string {
  return thingIn(lastOf(before, /[,;:–—(]| - |\b(?:and|but|so)\b/));
}

/** The last part that is not empty. */
function lastOf(text: string, separator: RegExp): string {
  return text.split(separator).findLast((part) => part.trim() !== '') ?? '';
}
