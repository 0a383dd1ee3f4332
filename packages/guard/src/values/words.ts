/**
 * Stems of English words: `cancelled`, `cancel` and `cancellation` share one; `bags` and `baggage` are akin. Rough, but enough
 * to match a sentence with a few tools. Also the word lists for verbs that no tool of a flow has.
 */

export function stem(word: string): string {
  const lower = word.toLowerCase().replace(/['’]s$/, '');
  const regular = Object.hasOwn(PAST, lower) ? PAST[lower] : undefined;
  if (regular !== undefined) return regular;
  const suffix = SUFFIXES.find((each) => lower.length - each.length >= STEM_MIN && lower.endsWith(each));
  return single(suffix === undefined ? lower : lower.slice(0, -suffix.length));
}

/** The word can be a past participle. */
export function isParticiple(word: string): boolean {
  return /(?:[^e]ed|eed)$/i.test(word) || Object.hasOwn(PAST, word.toLowerCase());
}

/** A pattern for the past forms of a stem, such as `canceled` and `cancelled`. */
export function pastOf(verb: string): string {
  const irregular = Object.keys(PAST).filter((form) => PAST[form] === verb);
  return [...irregular, `${verb}${verb.at(-1) ?? ''}?e?d`, `${verb}ied`].join('|');
}

/** Two stems are equal, or one is the start of the other. */
export function isSameStem(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (!long.startsWith(short)) return false;
  return short.length >= PREFIX_MIN || (short.length === STEM_MIN && long[STEM_MIN] === short[STEM_MIN - 1]);
}

/** A tool's verb and the verb of a claim name the same action: `send` and `emailed`. */
export function isSame(own: string, claimed: string): boolean {
  if (isSameStem(own, claimed)) return true;
  const others = Object.hasOwn(SYNONYMS, claimed) ? SYNONYMS[claimed] : undefined;
  return others !== undefined && others.some((each) => isSameStem(own, each));
}

/** The stems of the words that carry meaning; an identifier counts as its parts. */
export function stemsIn(text: string): readonly string[] {
  const words = text.replace(/([a-z\d])([A-Z])/g, '$1 $2').split(/[^\p{L}\d'’]+/u);
  return [
    ...new Set(words.filter((word) => word.length >= STEM_MIN && !/^\d+$/.test(word) && !isCommon(word)).map(stem)),
  ];
}

/** A word that occurs in any text. */
export function isCommon(word: string): boolean {
  return COMMON.has(word.toLowerCase());
}

const STEM_MIN = 3;
const PREFIX_MIN = 5;
const SUFFIXES = 'ations ation itions ition ments ment ings ing ied ies ed es s e y'.split(' ');

/** Past forms that do not end in -ed, each with the stem of its verb. */
const PAST: { readonly [form: string]: string } = Object.fromEntries(
  `sent send, made mak, paid pay, done do, written writ, wrote writ, built build, bought buy, sold sell,
  found find, given giv, taken tak, shown show, seen see, gave giv, took tak, held hold, spent spend,
  repaid repay, rebuilt rebuild, rewritten rewrit, rewrote rewrit, withdrawn withdraw, withdrew withdraw,
  frozen freez, froze freez, run run, ran run, shut shut, put put, set set, cut cut, got get`
    .split(/,\s+/)
    .map((pair) => pair.split(' ')),
);

/** A pattern for any past participle. */
export const PARTICIPLE = `\\p{L}*ed|${Object.keys(PAST).join('|')}`;

/** Undoes the doubled consonant of `cancelled` and `shipped`. */
function single(text: string): string {
  return text.length > STEM_MIN && text.at(-1) === text.at(-2) && !/[aeiou]/.test(text.at(-1) ?? '')
    ? text.slice(0, -1)
    : text;
}

const COMMON: ReadonlySet<string> = new Set(
  `a an the and or but nor of in on at to for with from by as into onto over under about after before between during while
  because since per via out off than then so if is are was were be been being am do does did has have had having will would
  can could may might shall should must not no yes any all each every some such this that these those it its i me my we us our
  you your he him his she her they them their there here when where which who whom whose what how why also more most other
  only own same very just now already back further like including include includes used use using based given new whole
  entire total number numbers item items object objects array string value values details information following please
  successfully able need needs answer result`.split(/\s+/),
);

/** Verbs of change. */
export const MAKING: ReadonlySet<string> = stems(
  `sent emailed booked cancelled refunded paid purchased transferred deleted removed deployed restarted rolled installed
  updated modified changed upgraded downgraded added submitted executed merged pushed created issued charged processed
  completed saved written moved switched swapped rebooked rescheduled corrected replaced reset enabled disabled activated
  deactivated recorded registered filed`,
);

/** Verbs of a particular change: where no tool of the agent has such a verb or works on that thing, nothing can support it. */
export const PARTICULAR: ReadonlySet<string> = stems(
  'created deleted removed refunded deployed restarted merged pushed published transferred emailed installed purchased bought notified closed cancelled',
);

/** Verbs of tools that can do anything. */
export const GENERIC: ReadonlySet<string> = stems(
  'update change modify set edit write run execute exec call request post put patch apply process perform manage handle save store shell sql',
);

/** Verbs of tools that run or check something. The tool can succeed although that thing fails. */
export const RUNNING: ReadonlySet<string> = stems(
  'run execute exec start trigger test build evaluate validate check verify',
);

/** Verbs whose noun names the action: `the refund was issued`. */
export const LIGHT: ReadonlySet<string> = new Set([
  ...MAKING,
  ...stems(
    'made placed finalized handled initiated arranged applied granted given triggered performed confirmed recorded credited',
  ),
]);

/** Verbs for what customers do too. */
export const PAYING: ReadonlySet<string> = stems('paid purchased bought charged billed');

/** Verbs of looking and talking. */
export const LOOKING: ReadonlySet<string> = stems(
  `found retrieved checked searched looked verified reviewed noted received identified listed located seen mentioned provided
  confirmed read examined queried fetched required included used discussed described selected`,
);

/** Verbs of thinking, talking and writing: an agent can do these without a tool. */
export const IDLE: ReadonlySet<string> = stems(
  `understood noticed assumed considered calculated computed compared counted converted rounded sorted filtered grouped ranked
  estimated summarized summarised explained offered suggested recommended proposed planned prepared drafted outlined written
  wrote composed translated answered asked told replied responded apologized apologised tried attempted chosen picked skipped
  left kept stopped waited wanted needed hoped meant thought learned determined concluded inferred realized realised recognized
  followed based focused started got gotten taken took made given gave run ran put set held spent analyzed analysed investigated
  inspected assessed evaluated tested consulted gathered collected compiled obtained accessed pulled scanned tracked traced
  missed overlooked encountered reached called used reported shared highlighted outlined specified pointed referred cited quoted
  named added ignored excluded limited`,
);

export const LOOKED =
  'see|found|reviewed|checked|double-checked|retrieved|searched|looked|located|verified|read|examined|queried|fetched';

/** Adverbs between the parts of a verb. */
export const ADVERBS = '(?:\\s+(?:all|both|also|now|just|already|successfully|fully|since|officially|automatically))*';
/** A further verb: `was upgraded and then cancelled`. */
export const JOINED = /(?:\band|,\s*then)(?:\s+then|\s+also|\s+successfully)*\s+(?<verb>\p{L}+)/giu;

const SOURCES = 'search\\w*|quer(?:y|ies)|lookup|retriev\\w+|database|investigation|reports|data|verification|source';
const SHOWN = 'indicates?|shows?|returned|reveal(?:s|ed)?|confirm(?:s|ed)?|quoted|obtained';
/** A mention of a source. */
export const SOURCED = new RegExp(
  `\\b(?:after|based on|according to|using|via|from)\\b[^.\\n]{0,80}\\b(?:${SOURCES})\\b|\\b(?:search|tool|query|source|article|evidence|results?)\\b[^.\\n]{0,40}\\b(?:${SHOWN})\\b`,
  'i',
);

/** By the stem of a claim's verb: the verbs of tools that do it. */
const SYNONYMS: { readonly [claimed: string]: readonly string[] } = Object.fromEntries(
  [
    ['emailed notified informed', 'send mail message notify'],
    ['messaged', 'send mail post'],
    ['published released', 'release deploy post publish'],
    ['upgraded downgraded switched adjusted amended edited changed modified rescheduled', 'update change modify edit'],
    ['removed erased', 'delete remove'],
    ['purchased bought ordered', 'buy purchase order book checkout reserve pay create place'],
    ['reimbursed credited reversed', 'refund'],
    ['wired remitted', 'transfer pay send'],
    ['transferred moved relocated', 'transfer move'],
    ['submitted filed lodged', 'submit file lodge request'],
    ['recorded registered logged', 'record register log save'],
  ].flatMap(([claimed = '', own = '']) => {
    const verbs = own.split(' ').map(stem);
    return claimed.split(' ').map((word) => [stem(word), verbs] as const);
  }),
);

function stems(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/).map(stem));
}
