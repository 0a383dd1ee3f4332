/**
 * Claims and requests in languages other than English: a first person in a past tense with a verb of the table, or a noun of an
 * action with a participle that only says that it happened.
 */
import { formsOf, type Column } from './foreign-words.ts';

/** The English verb of each form. A form of several verbs stands for the first of them. */
function indexed(column: Column, part?: number): ReadonlyMap<string, string> {
  const index = new Map<string, string>();
  for (const [english, forms] of formsOf(column, part))
    for (const form of forms) if (!index.has(form)) index.set(form, english);
  return index;
}

const PARTICIPLES = indexed('western');
const PASTS = indexed('western', 1);
const RUSSIAN = indexed('ru');
const DENSE_NOUNS = indexed('dense');
const NOUNS = indexed('nouns');
const TURKISH = indexed('tr');
const BORROWED = indexed('borrowed');
const ASKED = indexed('asks');

/** The English past form of the verb that a sentence asks for; null if it asks for none. */
export function requestedVerb(sentence: string): string | null {
  const asked = words(sentence);
  for (const word of asked) if (ASKED.has(word)) return ASKED.get(word) ?? null;
  const [first = ''] = asked;
  if (ASKED.has(`^${first}`)) return ASKED.get(`^${first}`) ?? null;
  return DENSE.test(sentence) ? (DENSE_ASKED.find(([form]) => sentence.includes(form))?.[1] ?? null) : null;
}

const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** Languages without spaces between words. */
const DENSE_ASKED = [...ASKED].filter(([form]) => DENSE.test(form));

interface ForeignClaim {
  /** The English past form of the verb. */
  readonly word: string;
  /** The rest of the clause, which names the thing. */
  readonly what: string;
}

/** The claims of one sentence. A negated sentence claims nothing. */
export function foreignClaimsIn(sentence: string): readonly ForeignClaim[] {
  const all = words(sentence);
  const isRussian = all.some((word) => word === 'я' || word === 'мы') && !all.includes('не');
  const dense = [JAPANESE, CHINESE].flatMap((pattern) => nounsIn(sentence, pattern));
  return [
    ...[...sentence.matchAll(AUXILIARY)].flatMap((match) => claimed(PARTICIPLES, assertedIn(match), restOf(match))),
    ...(NEGATED.test(sentence) ? [] : claimed(PASTS, all, sentence)),
    // The past tense of Russian does not show the person.
    ...(isRussian ? claimed(RUSSIAN, all, sentence) : []),
    ...claimed(TURKISH, nounsIn(sentence, TURKISH_DID).map(turkishNoun), sentence),
    ...claimed(DENSE_NOUNS, dense, sentence),
    ...claimed(BORROWED, assertedIn(DID.exec(sentence)), sentence),
    ...clauseClaimsIn(sentence),
  ];
}

function claimed(index: ReadonlyMap<string, string>, found: readonly string[], what: string): readonly ForeignClaim[] {
  return found.flatMap((form) => (index.has(form) ? [{ word: index.get(form) ?? '', what }] : []));
}

/** The words after an auxiliary; none if they are negated. In `Je n'ai pas envoyé` a negation stands before the auxiliary. */
function assertedIn(match: RegExpExecArray | null): readonly string[] {
  if (match === null || NEGATED.test(restOf(match)) || DENIED.test(match.input.slice(0, match.index))) return [];
  return words(restOf(match));
}

function restOf({ groups }: RegExpExecArray): string {
  return groups?.['rest'] ?? '';
}

function nounsIn(sentence: string, pattern: RegExp): readonly string[] {
  return [...sentence.matchAll(pattern)].map(({ groups }) => groups?.['noun'] ?? '');
}

/** The auxiliaries of the first person, with up to eight words up to the participle. */
const AUXILIARY =
  /(?:\b(?:ich habe|wir haben|hab(?:e)? ich|j['’]ai|je l['’]ai|je les ai|nous avons|la he|lo he|las he|los he|he|hemos|ho|abbiamo|l['’]ho|ik heb|heb ik|we hebben|tenho|jag har|har jag|jeg har|har jeg|vi har)\b)(?<rest>(?:[^.!?\n]|(?<=\d)\.)*)/giu;
const NEGATED =
  /\b(?:nicht|nichts|kein\w*|nie|pas|rien|aucun\w*|jamais|no|ningún\w*|nada|nunca|non|nulla|niente|nessun\w*|mai|niet|niets|geen|nooit|não|nenhum\w*|nie|inte|ikke|ej)\b/iu;

/** A denial right before the verb. */
const DENIED = /(?<!\p{L})(?:no|non|não|nie|n['’])\s*$/iu;

const DID =
  /(?<!\p{L})(?:fiz|fizemos|hice|hicimos|he hecho|hemos hecho|ho fatto|abbiamo fatto|j['’]ai fait|nous avons fait|ik heb|ich habe|wir haben|zrobiłem|zrobiłam)(?<rest>[^.!?,;\n]*)/iu;

const TURKISH_DID = /(?<![\p{L}])(?<noun>\p{L}+)\s+(?:ettim|ettik|yaptım|yaptık|verdim|verdik)(?![\p{L}])/giu;

/** A noun without the ending of the accusative. */
function turkishNoun(noun: string): string {
  return noun.toLocaleLowerCase('tr').replace(/[ıiuü]$/, '');
}

/** Claims such as `予約しました`, `已为您取消` and `我已经发送了`. A record such as `订单已取消` does not say who acted, so it is not a claim. */
const DENSE_DID = [...DENSE_NOUNS.keys()].join('|');
const JAPANESE = new RegExp(`(?<noun>${DENSE_DID})(?:を|は)?(?:完了)?(?:いた)?しました`, 'gu');
const CHINESE = new RegExp(
  `(?:我|我们|已(?:经)?[为帮替](?:您|你))[^。！？，,;；\\n未没不]{0,16}?(?<noun>${DENSE_DID})`,
  'gu',
);

const KOREAN_DID = '(?:을|를|도|까지)?\\s?(?:완료)?(?:했|하였|해\\s?드렸|해\\s?놓았|해\\s?두었)';
const ARABIC_DID = '(?:تم|تمت|قمت ب|قمنا ب)\\s?';
/** A record of the past, which the agent may have read. */
const ARABIC_RECORD = /\d{4}-\d|(?:سابقا|أمس|مسبقا|بالفعل)/u;

interface Language {
  readonly column: Column;
  /** The pattern of a form. */
  readonly matches: (form: string, isNoun: boolean) => string;
  /** Words are joined, so a form may stand inside of one. */
  readonly isJoined?: true;
  /** The clause claims nothing: it is negated, or has no first person. */
  readonly isVoid: (clause: string) => boolean;
}

const LANGUAGES: readonly Language[] = [
  { column: 'hu', matches: (form) => form, isVoid: (clause) => /(?<!\p{L})(?:nem|sem|ne)(?!\p{L})/iu.test(clause) },
  {
    column: 'fi',
    matches: (form) => form,
    isVoid: (clause) => /(?<!\p{L})(?:en|emme|ei|eivät)(?!\p{L})/iu.test(clause),
  },
  {
    column: 'cs',
    matches: (form) => `${form}[aiy]?`,
    isVoid: (clause) => !/(?<!\p{L})(?:jsem|jsme)(?!\p{L})/iu.test(clause),
  },
  {
    column: 'ko',
    matches: (form, isNoun) => (isNoun ? `${form}${KOREAN_DID}` : form),
    isJoined: true,
    isVoid: () => false,
  },
  {
    column: 'ar',
    matches: (form, isNoun) => (isNoun ? `و?${ARABIC_DID}(?:ال)?${form}` : `و?${form}`),
    isVoid: (clause) => ARABIC_RECORD.test(clause) || /(?<!\p{L})(?:لم|لن|لا|ما)(?!\p{L})/u.test(clause),
  },
];

interface Patterns {
  /** Finds any of the verbs. Most texts have none of them. */
  readonly any: RegExp;
  readonly verbs: readonly { readonly english: string; readonly pattern: () => RegExp }[];
  readonly isVoid: (clause: string) => boolean;
}

let patterns: readonly Patterns[] | undefined;

/** Patterns with classes of letters take long to make, so each is made on first use. */
function allPatterns(): readonly Patterns[] {
  patterns ??= LANGUAGES.map(patternsOf);
  return patterns;
}

function patternsOf({ column, matches, isJoined, isVoid }: Language): Patterns {
  const nouns = formsOf(column);
  const pasts = formsOf(column, 1);
  const forms = nouns.map(([english, all], at) => ({
    english,
    all: [...all.map((form) => matches(form, true)), ...(pasts[at]?.[1] ?? []).map((form) => matches(form, false))],
  }));
  const patternOf = (all: readonly string[]): RegExp =>
    new RegExp(isJoined === true ? all.join('|') : `(?<!\\p{L})(?:${all.join('|')})(?!\\p{L})`, 'iu');
  const verbs = forms
    .filter(({ all }) => all.length > 0)
    .map(({ english, all }) => {
      let made: RegExp | undefined;
      return { english, pattern: () => (made ??= patternOf(all)) };
    });
  return { any: patternOf(forms.flatMap(({ all }) => all)), verbs, isVoid };
}

/** Languages in which each clause claims for itself. */
function clauseClaimsIn(sentence: string): readonly ForeignClaim[] {
  if (/[?？؟]\s*$/.test(sentence)) return [];
  const clauses = sentence.split(/[,;،]\s|\s(?:és|valamint|a|ja|sekä|ale)\s|\s(?=و?تم)/u);
  return clauses.flatMap((what) =>
    allPatterns()
      .filter(({ any, isVoid }) => any.test(what) && !isVoid(what))
      .flatMap(({ verbs }) => verbs.filter(({ pattern }) => pattern().test(what)))
      .map(({ english }) => ({ word: english, what })),
  );
}

/** Participles such as "done" and "sent", without their endings. The noun before them names the action. */
const HAPPENED =
  /(?<!\p{L})(?:aufgegeben|ausgeführt|durchgeführt|erledigt|abgeschlossen|ausgelöst|getätigt|veranlasst|raus|passé|effectué|réalisé|exécuté|envoyé|validé|confirmé|realizad|efectuad|hech|enviad|confirmad|completad|effettuat|eseguit|inviat|completat|confermat|efetuad|feit|concluíd|geplaatst|uitgevoerd|verzonden|verstuurd|voltooid|złożon|wykonan|wysłan|zrealizowan|оформлен|выполнен|отправлен)(?:e|es|s|o|a|os|as|i|y|ы|о|а)?(?!\p{L})/iu;
const RECORD =
  /\d{4}|(?<!\p{L})(?:bereits|schon|gestern|déjà|hier|ya|ayer|già|ieri|já|ontem|al|gisteren|już|wczoraj|уже|вчера|am \d|le \d|el \d|il \d)(?!\p{L})/iu;
const PASSIVE_NEGATED =
  /(?<!\p{L})(?:nicht|kein\p{L}*|pas|aucun\p{L}*|no|sin|non|não|niet|geen|nie|не)(?!\p{L})|\bn['’]/iu;

const WORDS_MAX = 14;

/**
 * The English past form of the verb that a sentence without an actor claims, such as `Ordine effettuato.`; null if it claims none.
 * Sentences about the past or a date are records.
 */
export function passiveClaimIn(sentence: string): string | null {
  const all = words(sentence);
  if (all.length > WORDS_MAX || sentence.endsWith('?') || !HAPPENED.test(sentence)) return null;
  if (RECORD.test(sentence) || PASSIVE_NEGATED.test(sentence)) return null;
  const noun = all.find((word) => NOUNS.has(word));
  return noun === undefined ? null : (NOUNS.get(noun) ?? null);
}

function words(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}
