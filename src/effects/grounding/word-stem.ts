/**
 * Words made comparable: `cancelled`, `cancel` and `cancellation` have one stem, `bags` and `baggage` are akin. A rough cut
 * for English, good enough to tell which of a handful of tools a sentence is about.
 */

export function stem(word: string): string {
  const lower = word.toLowerCase().replace(/['’]s$/, '');
  const regular = Object.hasOwn(PAST, lower) ? PAST[lower] : undefined;
  if (regular !== undefined) return regular;
  const suffix = SUFFIXES.find((each) => lower.length - each.length >= STEM_MIN && lower.endsWith(each));
  return single(suffix === undefined ? lower : lower.slice(0, -suffix.length));
}

/** Whether a word can be the past participle of a verb. */
export function isParticiple(word: string): boolean {
  return /(?:[^e]ed|eed)$/i.test(word) || Object.hasOwn(PAST, word.toLowerCase());
}

/** The past forms that a stem may have, for a search in a text: `canceled` and `cancelled` are one. */
export function pastOf(verb: string): string {
  const irregular = Object.keys(PAST).filter((form) => PAST[form] === verb);
  return [...irregular, `${verb}${verb.at(-1) ?? ''}?e?d`, `${verb}ied`].join('|');
}

/** Whether two stems are of one word, or the one is the other cut short. */
export function akin(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (!long.startsWith(short)) return false;
  return short.length >= PREFIX_MIN || (short.length === STEM_MIN && long[STEM_MIN] === short[STEM_MIN - 1]);
}

/** The stems of the words of a text that carry meaning; of identifiers in it, those of their parts. */
export function stemsIn(text: string): readonly string[] {
  const words = text.replace(/([a-z\d])([A-Z])/g, '$1 $2').split(/[^\p{L}\d'’]+/u);
  return [
    ...new Set(words.filter((word) => word.length >= STEM_MIN && !/^\d+$/.test(word) && !isCommon(word)).map(stem)),
  ];
}

/** Words that stand in any text. */
export function isCommon(word: string): boolean {
  return COMMON.has(word.toLowerCase());
}

const STEM_MIN = 3;
const PREFIX_MIN = 5;
const SUFFIXES = [
  'ations',
  'ation',
  'itions',
  'ition',
  'ments',
  'ment',
  'ings',
  'ing',
  'ied',
  'ies',
  'ed',
  'es',
  's',
  'e',
  'y',
];

/** Past forms that do not end in -ed. */
const PAST: { readonly [form: string]: string } = {
  sent: 'send',
  made: 'mak',
  paid: 'pay',
  done: 'do',
  written: 'writ',
  wrote: 'writ',
  built: 'build',
  bought: 'buy',
  sold: 'sell',
  found: 'find',
  given: 'giv',
  taken: 'tak',
  shown: 'show',
  seen: 'see',
  gave: 'giv',
  took: 'tak',
  held: 'hold',
  spent: 'spend',
  repaid: 'repay',
  rebuilt: 'rebuild',
  rewritten: 'rewrit',
  rewrote: 'rewrit',
  withdrawn: 'withdraw',
  withdrew: 'withdraw',
  frozen: 'freez',
  froze: 'freez',
  run: 'run',
  ran: 'run',
  shut: 'shut',
  put: 'put',
  set: 'set',
  cut: 'cut',
  got: 'get',
};

/** For a search: whatever can be a past participle. */
export const PARTICIPLE = `\\p{L}*ed|${Object.keys(PAST).join('|')}`;

/** Letters are doubled before an ending: `cancelled`, `shipped`. */
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
