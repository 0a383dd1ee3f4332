/**
 * Clauses of a text that claim an action: perfect or passive (`has been cancelled`, `I sent`, `is now booked`, `your booking
 * is confirmed`), with or without an actor. Questions, offers, denials and conditions are left out.
 */
import { agentlessIn, subjectIn, thingIn, type Agentless } from './agentless.ts';
import { foreignClaimsIn, passiveClaimIn } from './foreign-claims.ts';
import { requestsIn } from './requests.ts';
import { ADVERBS, JOINED, isParticiple, stem } from './words.ts';

export interface Clause {
  readonly text: string;
  /** The verb: its stem, and the word as written. */
  readonly verb: string;
  readonly word: string;
  /** `noun`: a noun names the action. `state`: the present state. `self`: the speaker acted. Others: no actor is named. */
  readonly form: 'perfect' | 'self' | 'state' | 'noun' | Agentless['form'];
  /** The thing that was acted upon, if the clause names it. */
  readonly what: string;
  /** The clause and the lines that explain it. */
  readonly scope: string;
}

export function clausesOf(text: string): readonly Clause[] {
  const parts = sentencesOf(text);
  const heads = parts.map((_, at) => headsOf(parts, at));
  return parts.flatMap((part, at) =>
    (heads[at] ?? []).map((head) => ({ ...head, text: part.text, scope: scopeOf(parts, heads, at) })),
  );
}

export interface Part {
  readonly text: string;
  /** An item of a list. */
  readonly item: boolean;
}

/** Sentences and lines, without the marks of a markup. */
export function sentencesOf(text: string): readonly Part[] {
  return text.split(/\n+/).flatMap((line) => {
    const [mark = ''] = /^\s*(?:[-*•–]|\d+[.)])\s+/.exec(line) ?? [];
    const plain = line
      .slice(mark.length)
      .replace(/^\[x\]/i, TICK)
      .replace(/[*`#>|]+/g, ' ')
      .replace(/\be-(?=mail)/gi, 'e');
    const parts = plain.split(/(?<=[.!?])(?<!\b(?:am|vom|bis|zum|den|ab) \d{1,2}\.)\s+/i).map((part) => part.trim());
    if (/^\[ ?\]/.test(plain)) return [];
    return parts.flatMap(piecesOf).map((part) => ({ text: part, item: mark !== '' }));
  });
}

/** The patterns take long for a sentence of many pages, such as one without punctuation. It is read in pieces, at spaces if there are any. */
function piecesOf(sentence: string): readonly string[] {
  return sentence.match(/\S[^]{0,1998}\S(?=\s|$)|\S[^]{0,1999}/gu) ?? [];
}

const TICK = '☑';
/** A ticked item claims that it was done: `[x] Send the mail`. */
const TICKED = /^[✅✔☑✓]\ufe0f?\s*(?<task>.+)/u;

/** A question, offer, condition, wish or plan: in the whole sentence, or in its part up to a position. */
export function isHypothetical(part: string, until = part.length): boolean {
  const before = part.slice(0, until);
  return (
    part.endsWith('?') || SUPPOSED_FIRST.test(before) || /^\W*after\b[^,]*$/i.test(before) || SUPPOSED.test(before)
  );
}

const SUPPOSED_FIRST =
  /^\W*(?:if|once|when|unless|until|should|would|could|can|may|please|let me|do|did|does|to|before|as soon as)\b/i;
const SUPPOSED =
  /\b(?:if|unless|once|until|would|could|should|might|will|can be|must|to be|need|want|wish|whether|like to|going to|before I)\b|['’]ll\b/i;
const NEGATED = /\b(?:not|no(?! (?:problem|worries))|never|cannot|unable|none|without|neither|nor|nothing)\b|n['’]t\b/i;

/** Before this run: `We sent the samples last week`. */
const LONG_AGO =
  /^(?: (?!(?:you|that|which|who|I|we|from|placed)\b)\S+){0,6}? (?:yesterday|last (?:night|week|month|year)|(?:days?|weeks?|months?|years?) ago)\b/i;

/** The claim and the sentences after it, up to the next claim, denial or offer. A list belongs to the line before it. */
function scopeOf(parts: readonly Part[], heads: readonly (readonly Head[])[], at: number): string {
  const announced = parts[at]?.text.endsWith(':') === true;
  const ends = (part: Part, index: number): boolean =>
    index > at &&
    !(announced && part.item) &&
    ((heads[index]?.length ?? 0) > 0 || isHypothetical(part.text) || NEGATED.test(part.text));
  const end = parts.findIndex(ends);
  return parts
    .slice(at, end < 0 ? parts.length : end)
    .map(({ text }) => text)
    .join('\n');
}

type Head = Pick<Clause, 'verb' | 'word' | 'form' | 'what'>;

function headsOf(parts: readonly Part[], at: number): readonly Head[] {
  const part = plainVerbs((parts[at]?.text ?? '').replace(/\s+/g, ' '));
  const found = new Map<string, Head>();
  const add: AddHead = (word, form, until, what) => {
    const verb = stem(word) === SEND && POST.test(part) ? EMAIL : stem(word);
    // A condition or a denial in the words before `…, I have` is about something else.
    const before = form === 'self' ? (/[^,;:–—]*$/u.exec(part.slice(0, until))?.[0] ?? '') : part.slice(0, until);
    const isVoid =
      part.endsWith('?') || isHypothetical(before) || NEGATED.test(before) || LONG_AGO.test(part.slice(until));
    if (!found.has(verb) && !isVoid) found.set(verb, { verb, word: word.toLowerCase(), form, what });
  };
  addForms(part, add);
  if (found.size > 0) addJoined(part, add);
  for (const { word, what } of foreignClaimsIn(part)) add(word, 'self', 0, what);
  const passive = passiveClaimIn(part);
  if (passive !== null) add(passive, 'past', 0, 'it');
  addFinished(part, add);
  const task = TICKED.exec(part)?.groups?.['task'] ?? '';
  for (const { word, thing } of requestsIn(task).actions) add(word, 'terse', 0, thing.join(' '));
  if (isProposal(parts, at)) return [...found.values()];
  for (const { word, form, end, what } of agentlessIn(part, isHeading(parts, at))) add(word, form, end, what);
  return [...found.values()];
}

function addForms(part: string, add: AddHead): void {
  for (const [form, pattern] of FORMS)
    for (const match of part.matchAll(pattern)) {
      const word = match.groups?.['verb'] ?? '';
      const end = match.index + match[0].length;
      if (isParticiple(word))
        add(word, form, end, form === 'self' ? thingIn(part.slice(end)) : subjectIn(part.slice(0, match.index)));
    }
  for (const match of part.matchAll(ABLE))
    add(match.groups?.['verb'] ?? '', 'self', match.index, thingIn(part.slice(match.index + match[0].length)));
}

/** Words for mail. Only a tool that sends can have sent one. */
const POST =
  /(?<!\p{L})(?:(?:an?|the|per|by|via|par|por|via|per|een|ein\p{L}*|den?) (?:e-?mail|sms|courriel|mail)|correo electrónico|értesítést|sähköposti\p{L}*|viesti\p{L}*)(?!\p{L})|이메일|메일을|بريد/iu;
const SEND = stem('sent');
const EMAIL = stem('emailed');

/** Phrases that stand for one verb: `I went ahead and cancelled it`, `I have taken care of the cancellation`. */
function plainVerbs(sentence: string): string {
  // "Went out" means "was sent" only for mail. Payments and orders go out without a tool that sends.
  const sent = POST.test(sentence) ? sentence.replace(/\b(?:went|has gone|have gone) out\b/gi, 'was sent') : sentence;
  return sent
    .replace(/\b(?:went|gone) ahead and\b|\bnot (?:only|just|merely)\b|\bno doubt\b/gi, '')
    .replace(
      /\bwithout (?:(?:any|a|further|more) )*(?:delay|hesitation|fail|ado|problems?|issues?|errors?|doubt)\b/gi,
      '',
    )
    .replace(
      /\b(?:proceeded|gone ahead|went ahead|dealt|followed through) with\b|\b(?:taken|took) care of\b/gi,
      'completed',
    )
    .replace(/ {2,}/g, ' ');
}

/** `I was able to cancel it`, `we managed to cancel it` */
const ABLE =
  /\b(?:I|we)(?:['’]ve| have)?(?: also| just)? (?:was able to|were able to|been able to|managed to) (?<verb>\p{L}+)/giu;

type AddHead = (word: string, form: Clause['form'], until: number, what: string) => void;

/** Verbs that `and` joins to a claim: `I have cancelled the order and refunded the price`. */
function addJoined(part: string, add: AddHead): void {
  for (const match of part.matchAll(JOINED)) {
    const word = match.groups?.['verb'] ?? '';
    const after = part.slice(match.index + match[0].length);
    if (isParticiple(word)) add(word, 'perfect', match.index, thingIn(after));
  }
}

/** Nouns of an action that is finished: `the cancellation is complete`. */
function addFinished(part: string, add: AddHead): void {
  const finished = FINISHED.exec(part);
  if (finished === null) return;
  for (const word of part.slice(0, finished.index).match(/\p{L}{4,}/gu) ?? [])
    if (!isParticiple(word)) add(word, 'noun', finished.index + finished[0].length, '');
}

/** A line that introduces the next lines. */
function isHeading(parts: readonly Part[], at: number): boolean {
  return parts[at]?.item === false && at < parts.length - 1 && !/[.!;,]$/.test(parts[at].text);
}

/** An item of a list that is offered, asked for or denied, by the line before the list or the question after it. */
function isProposal(parts: readonly Part[], at: number): boolean {
  if (parts[at]?.item !== true) return false;
  const announced = parts.slice(0, at).findLast(({ item }) => !item)?.text ?? '';
  if (isHypothetical(announced) || NEGATED.test(announced)) return true;
  return parts.slice(at).some(({ text, item }) => !item && isHypothetical(text) && CONFIRM.test(text));
}

const CONFIRM = /\b(?:confirm|proceed|go ahead|approve|agree)\b/i;

const FORMS: readonly (readonly [Clause['form'], RegExp])[] = [
  ['perfect', new RegExp(`\\b(?:has|have|had|['’]s)${ADVERBS}\\s+been${ADVERBS}\\s+(?<verb>\\p{L}+)`, 'giu')],
  ['self', new RegExp(`\\b(?:I|we)(?:\\s+have|['’]ve)?${ADVERBS}\\s+(?<verb>\\p{L}+)`, 'giu')],
  ['perfect', /\bsuccessfully\s+(?<verb>\p{L}+)/giu],
  ['perfect', /(?<![\p{L}\p{N}_])(?<verb>\p{L}+)\s+successfully\b/giu],
  ['perfect', new RegExp(`\\b(?:got|gotten)${ADVERBS}\\s+(?<verb>\\p{L}+)`, 'giu')],
  ['state', /\b(?:is|are)\s+now\s+(?<verb>\p{L}+)/giu],
  ['perfect', /\b(?:is|are)\s+(?<verb>\p{L}+)\s+now\b/giu],
];
const FINISHED =
  /\b(?:is|are|was|were|been|got)(?:\s+now|\s+all|\s+both|\s+successfully)*\s+(?:complete|completed|successful|confirmed|done|final|finished|finalized|a success|in place|in effect|on (?:its|the) way|being processed)\b|\b(?:went|gone) through\b|(?<=^\W*(?:[\p{L}\p{N}-]+ ){1,3})(?:complete|successful|done)(?=[.,;!]|$)/iu;
