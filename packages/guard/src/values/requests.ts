/**
 * Actions that a task asks for: verbs in the imperative, after `please`, `could you` or `I want you to`, and their forms in other
 * languages. Conditions, denials and nouns (`the order`, `refund status`) ask for nothing.
 */
import { thingIn } from './agentless.ts';
import { requestedVerb } from './foreign-claims.ts';
import { LOOKING, MAKING, isParticiple, stem, stemsIn } from './words.ts';

export interface Request {
  /** The stem of the verb, in English. */
  readonly verb: string;
  /** The verb as written; in English if the text is in another language. */
  readonly word: string;
  /** The stems of the thing that is acted upon. */
  readonly thing: readonly string[];
  readonly sentence: string;
}

export interface Requests {
  readonly actions: readonly Request[];
  /** The task is a question, or asks to look something up. */
  readonly reads: boolean;
  /** The task is to write a text and to change nothing. The reply is that text. */
  readonly writes: boolean;
}

export function requestsIn(text: string): Requests {
  const sentences = text.split(/\n+|(?<=[.!?。！？])\s*/).filter((part) => part.trim() !== '');
  const actions = sentences.flatMap(actionsIn);
  const verbs = sentences.flatMap(verbsIn);
  return {
    actions,
    reads: sentences.some(isQuestion) || verbs.some(({ word }) => isLooking(word)),
    writes: verbs.some(isWriting) && !actions.some(({ verb }) => isChange(verb) && !WRITING.has(verb)),
  };
}

/** `Translate`, `write a letter`, but not `write add.py`. */
function isWriting({ word, after }: Verb): boolean {
  const thing = stemsIn(thingIn(after));
  const isText = thing.length === 0 || thing.some((each) => TEXTUAL.has(each) || LETTERS.has(each));
  return TEXT_VERBS.has(word.toLowerCase()) || (WRITING.has(stem(word)) && isText && !/^\s+to\b/i.test(after));
}

/** The sentence is about the text itself: it announces the text, or says that it was sent. */
export function speaksOfWriting(sentence: string): boolean {
  const words = (sentence.match(/\p{L}+/gu) ?? []).map((word) => word.toLowerCase());
  return words.some((word) => TEXT_VERBS.has(word) || [WRITING, LETTERS, TEXTUAL].some((set) => set.has(stem(word))));
}

const WRITING: ReadonlySet<string> = new Set(['write', 'create', 'make', 'prepare'].map(stem));
const LETTERS: ReadonlySet<string> = new Set(
  stemsIn(`mail email letter message post tweet article blog advert slogan speech apology headline template question quiz
  faq entry policy section readme documentation comment sql query regex`),
);
const TEXT_VERBS: ReadonlySet<string> = new Set(
  `draft compose translate rewrite rephrase paraphrase reword proofread shorten brainstorm
  übersetze übersetzen übersetz schreibe schreib schreiben formuliere formulieren entwirf entwerfen verfasse verfassen
  traduis traduisez traduire écris écrivez écrire rédige rédigez rédiger reformule reformulez traduce traducir traduzca escribe
  escribir redacta redactar traduci tradurre scrivi scrivere riscrivi traduza traduzir escreva escrever vertaal vertalen schrijf
  schrijven przetłumacz napisz переведи переведите напиши напишите`.split(/\s+/),
);

/** The verb asks to look at something or to say something. */
function isLooking(word: string): boolean {
  return LOOKING.has(stem(word)) || LOOK.has(word.toLowerCase());
}

const LOOK: ReadonlySet<string> = new Set(
  `tell show list check find look search see read get give explain describe summarize summarise compare review analyze analyse
  count calculate compute translate answer say report identify examine investigate verify determine estimate recommend suggest
  prüfe prüfen zeige zeig nenne liste suche suchen finde sag sage erkläre vergleiche fasse überprüfe
  vérifie vérifiez montre montrez cherche cherchez trouve trouvez dis dites donne donnez explique résume résumez comparez
  muestra busca encuentra dime revisa comprueba explica resume compara lista verifica
  mostra cerca trova dimmi controlla elenca spiega riassumi confronta verifique procure diga explique resuma
  toon zoek vind vertel controleer geef leg sprawdź pokaż znajdź powiedz wyjaśnij`.split(/\s+/),
);

function isQuestion(sentence: string): boolean {
  return /[?？]\s*$/.test(sentence) && !POLITE.test(sentence);
}

const POLITE =
  /^\W*(?:(?:hi|hello|hey|please)\b[\s,]*)*(?:could|can|would|will) you\b|\b(?:können sie|kannst du|könnten sie|könntest du|würden sie|pouvez-vous|peux-tu|pourriez-vous|pourrais-tu|puedes|podrías|puede usted|podría|puoi|può|potresti|potrebbe|pode|poderia|kun je|kunt u|zou je|czy możesz|możesz|mógłbyś)\b/iu;
const CONDITIONAL =
  /\b(?:if|unless|whether|once|when|in case|otherwise|how|but|before|(?:me|us) first|falls|wenn|sofern|ob|lorsque|cuando|quando|indien|als|jeśli|jeżeli|если)\b|(?:^|\s)(?:si|se|s['’]il)\s|如果|もし/iu;
const NEGATED =
  /\b(?:not|never|without|nothing|nicht|kein\w*|ohne|pas|sans|sin|senza|sem|niet|geen|zonder|nie|bez|не)\b|n['’]t\b|(?:^|\s)(?:no|non|não)\s/iu;

function actionsIn(sentence: string): readonly Request[] {
  if (CONDITIONAL.test(sentence) || NEGATED.test(sentence) || isQuestion(sentence)) return [];
  const own = verbsIn(sentence).flatMap(({ word, after }) => {
    const thing = stemsIn(thingIn(after));
    return isAction(word, after, thing) ? [{ verb: stem(word), word, thing, sentence }] : [];
  });
  const foreign = requestedVerb(sentence);
  return foreign === null ? own : [...own, { verb: stem(foreign), word: foreign, thing: [], sentence }];
}

interface Verb {
  readonly word: string;
  readonly after: string;
}

const POSITION =
  /(?:^\P{L}*(?:(?:please|now|also|just|then|first|next|finally)\b[\s,]+)*|[,;:]\s+|\b(?:and|then|please|now|also|just|first|next|finally|you|must|should|let['’]s|ahead and|(?:want|wants|like|need|needs|have|try|you|him|her|them|asks?|asked|is) to)\s+)(?<verb>\p{L}+)/giu;

/** Words in the place of an imperative. They overlap: `please` itself stands at the start. */
function verbsIn(sentence: string): readonly Verb[] {
  const found: Verb[] = [];
  POSITION.lastIndex = 0;
  for (let match = POSITION.exec(sentence); match !== null; match = POSITION.exec(sentence)) {
    const word = match.groups?.['verb'] ?? '';
    const end = match.index + match[0].length;
    found.push({ word, after: sentence.slice(end) });
    POSITION.lastIndex = Math.max(match.index + 1, end - word.length);
  }
  return found;
}

const FINITE =
  /\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|shall|should|may|might|must|does|did|arrived|came)\b/i;
/** `Refund status`, `order history`: a noun. */
const COMPOUND =
  /^\s+(?:status|polic(?:y|ies)|details?|history|numbers?|amounts?|dates?|ids?|confirmation|form|requests?|rules?|process|options?|quantit(?:y|ies)|volume|data|information|info)\b/i;
/** Things that an answer consists of. */
const TEXTUAL: ReadonlySet<string> = new Set(
  stemsIn(`summary list overview report answer explanation comparison table plan draft analysis text poem story sentence
  paragraph translation recommendation proposal outline description note essay reply response haiku joke code function script`),
);
/** `Send me the price` asks for an answer. */
const TO_ME = /^\s+(?:me|us)\b/i;
const TO_OTHERS = /\bto (?!me\b|us\b)/i;
const GIVING = new Set(['send', 'giv', 'mak', 'writ', 'get']);

/** A verb in its base form with an object that an answer cannot consist of. */
function isAction(word: string, after: string, thing: readonly string[]): boolean {
  if (/[^s]s$|ing$/i.test(word) || (isParticiple(word) && !BASE.has(word.toLowerCase()))) return false;
  const clause = after.split(/[,;]/)[0] ?? '';
  if (FINITE.test(clause) || COMPOUND.test(after)) return false;
  if (GIVING.has(stem(word)) && TO_ME.test(after)) return false;
  // `Send the report to the board` is an action, `send a report` asks for an answer.
  return (BEYOND_TEXT.has(stem(word)) && TO_OTHERS.test(clause)) || !thing.some((each) => TEXTUAL.has(each));
}

const BASE: ReadonlySet<string> = new Set(['run', 'set', 'put', 'cut', 'shut', 'reset']);

/** True for a verb that changes something, such as `create` or `cancel`. Names of tools do not matter. */
export function isChange(verb: string): boolean {
  return MAKING.has(verb) || BEYOND_TEXT.has(verb);
}

/** Actions in the world. An agent without a tool that changes something cannot have performed them. */
export const BEYOND_TEXT: ReadonlySet<string> = new Set(
  'order buy book cancel refund pay send email deploy restart publish push schedule reschedule transfer notify invite migrate install'
    .split(' ')
    .map(stem),
);
