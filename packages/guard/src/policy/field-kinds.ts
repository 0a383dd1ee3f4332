/**
 * The kinds of fields, by the name of the field or the word before a number in a text. In some effect classes the fields for
 * the person, the thing, the amount and the time need a value with a source that vouches for it.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';

/** Null if the kind does not follow from the name of a field, or from the place of a number in a text. */
export type FieldKind = 'amount' | 'count' | 'party' | 'item' | 'place' | 'payee' | 'identity' | null;

/** The kinds whose values a field of each kind takes. A payee can be a phone number, and an `id` any identifier. */
const TAKES: { readonly [kind in Exclude<FieldKind, null>]: readonly FieldKind[] } = {
  amount: ['amount'],
  count: ['count'],
  party: ['party', 'payee', 'identity'],
  item: ['item', 'identity'],
  place: ['place', 'payee', 'identity'],
  payee: ['payee', 'party', 'place', 'identity'],
  identity: ['identity', 'party', 'item', 'place', 'payee'],
};

export function takes(field: FieldKind, source: FieldKind): boolean {
  return field === null || source === null || TAKES[field].includes(source);
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const KIND_WORDS: readonly (readonly [FieldKind, ReadonlySet<string>])[] = [
  [
    'amount',
    words('amount total subtotal price sum cost costs fee balance budget limit payment salary usd eur gbp cents value'),
  ],
  ['count', words('quantity qty count copies units times repetitions')],
  [
    'party',
    words(
      'account acct iban card wallet customer client user member vendor supplier konto kunde compte cuenta cliente conto conta rekening klant',
    ),
  ],
  [
    'item',
    words(
      'invoice bill order ticket booking reservation case contract transaction rechnung bestellung auftrag facture commande factura pedido fattura ordine fatura factuur',
    ),
  ],
  ['place', words('phone room host server channel')],
  ['payee', words('to cc bcc recipient recipients payee beneficiary receiver destination')],
  ['identity', words('id no nr number ref reference')],
];

function kindOfWord(word: string | undefined): FieldKind {
  return KIND_WORDS.find(([, known]) => word !== undefined && known.has(word))?.[0] ?? null;
}

/** The last word decides. Before a general one, such as `number`, the word before it does. */
export function kindOfField(name: string): FieldKind {
  return kindOfWords(wordsOf(name));
}

export function kindOfWords(parts: readonly string[]): FieldKind {
  const kind = kindOfWord(parts.at(-1));
  if (kind !== 'identity') return kind;
  const before = kindOfWord(parts.at(-2));
  return before === null || before === 'amount' || before === 'count' ? kind : before;
}

/** The words of the name of a field: `replyTo`, `reply_to` and `reply-to` have the same. */
function wordsOf(name: string): readonly string[] {
  return name
    .split(/[^\p{L}\p{N}]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** Words of fields for the receiver, the thing, the amount and the time. */
const DECIDING = words(
  [
    'to cc bcc from sender recipient recipients receiver receivers beneficiary beneficiaries payee payees payer destination',
    'channel channels mail email emails address addresses attendee attendees participant participants invitee invitees',
    'guest guests member members assignee contact contacts vendor supplier merchant customer client account accounts iban',
    'bic swift routing card wallet user users username handle phone mobile number host server service url uri webhook',
    'endpoint id ids thread file files path attachment attachments audience visibility permission permissions role amount amounts unit denomination multiplier factor scale total price sum fee payment date',
    'day due start end when until deadline at expires expiry schedule scheduled recurrence frequency interval repeat',
    'forward share shared target targets dest whom who person people group groups team teams list chat conversation subscriber',
    'subscribers owner peer employee tenant organization domain repo repository branch bucket folder device bank voucher product sku',
    'empfänger empfaenger betrag destinataire destinataires montant destinatario destinatarios importe destinatari destinatário',
    'destinatários importo valor ontvanger bedrag odbiorca kwota mottagare mottaker получатель кому сумма 宛先 金額 收件人 金额 수신자',
  ].join(' '),
);
/** Last words of fields for the model's own words, and for the form of a message. */
const FREE = words(
  'subject body text message content note notes memo description reason comment comments title summary purpose caption html type kind format language lang locale priority importance tone style timezone zone time',
);

/** The fields of a path that decide. The fields inside such a field decide too, such as `recipient.name`. */
export function isDeciding(path: string): boolean {
  const fields = path.split('.').filter((field) => !/^\d+$/.test(field));
  return (
    !isFree(path) &&
    fields.some(
      (field) => /id$/i.test(field) || wordsOf(field).some((word) => DECIDING.has(word) || kindOfWord(word) !== null),
    )
  );
}

/** The field is for the model's own words. */
export function isFree(path: string): boolean {
  const field = path.split('.').findLast((each) => !/^\d+$/.test(each)) ?? '';
  return FREE.has(wordsOf(field).at(-1) ?? '');
}

/** Flows record and report errors. A plain write may hold one in any field that does not decide, a message only in its free text. */
export function mayHoldError(effect: unknown, path: string): boolean {
  return effect === 'write' ? !isDeciding(path) : effect === 'communication' && isFree(path);
}

const FLAG_ON = /^(?:true|yes|on|y)$/i;
const FLAG_OFF = /^(?:false|no|off|n)$/i;

/** The flag that a value stands for, or null. A text counts only in fields that are neither free text nor decisive. */
export function flagOf(path: string, value: Json): boolean | null {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' || isFree(path) || isDeciding(path)) return null;
  return FLAG_ON.test(value.trim()) ? true : FLAG_OFF.test(value.trim()) ? false : null;
}

/** Flags that protect: turning one off has an effect. */
const PROTECTION =
  /^(?:dry|test|sandbox|simulate|simulation|preview|draft|encrypt|encrypted|encryption|private|confidential|secure|safe|confirm|confirmation|verify|verification|validate|check|review|approval|require|required|requires|signed|protected|mask|masked|redact|redacted)$/;
/** Words that do not describe the effect of a flag. */
const AUXILIARY = words('is has as be with the set mark make enable enabled use send do should include add allow');

/**
 * The state in which a flag has no effect: the default of the schema, or off. A protection without a default has no such
 * state.
 */
export function restingFlag(path: string, schema: Json): boolean | null {
  const preset = defaultAt(schema, path.split('.'));
  if (typeof preset === 'boolean') return preset;
  return wordsOf(path).some((word) => PROTECTION.test(word)) ? null : false;
}

/** The words that a source must have for a flag to be vouched for. */
export function flagWords(path: string): readonly string[] {
  const all = wordsOf(path.split('.').at(-1) ?? '').filter((word) => !/^\d+$/.test(word));
  const telling = all.filter((word) => !AUXILIARY.has(word));
  return telling.length === 0 ? all : telling;
}

function defaultAt(schema: Json, [field, ...rest]: readonly string[]): Json {
  if (!isRecord(schema)) return null;
  if (field === undefined) return schema['default'] ?? null;
  const { properties = null, items = null } = schema;
  if (/^\d+$/.test(field)) return defaultAt(items, rest);
  if (!isRecord(properties)) return null;
  return defaultAt(properties[field] ?? null, rest);
}
