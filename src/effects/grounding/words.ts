/** The few word lists that the rules about claims cannot do without: verbs that no tool of a flow has for its own. */
import { stem } from './word-stem.ts';

/** To change something. */
export const MAKING: ReadonlySet<string> = stems(
  `sent emailed booked cancelled refunded paid purchased transferred deleted removed deployed restarted rolled installed
  updated modified changed upgraded downgraded added submitted executed merged pushed created issued charged processed
  completed saved written`,
);

/** To do what a noun says: `the refund was issued`. */
export const LIGHT: ReadonlySet<string> = new Set([
  ...MAKING,
  ...stems('made placed initiated arranged applied granted given triggered performed confirmed recorded credited'),
]);

/** What whoever asks has often done as well. */
export const PAYING: ReadonlySet<string> = stems('paid purchased bought');

/** To find something out, or to talk about it. */
export const LOOKING: ReadonlySet<string> = stems(
  `found retrieved checked searched looked verified reviewed noted received identified listed located seen mentioned provided
  confirmed read examined queried fetched required included used discussed described selected`,
);

export const LOOKED =
  'see|found|reviewed|checked|double-checked|retrieved|searched|looked|located|verified|read|examined|queried|fetched';

/** What may stand between the parts of a verb. */
export const ADVERBS = '(?:\\s+(?:all|both|also|now|just|already|successfully|fully|since|officially|automatically))*';
/** More of the same: `was upgraded and then cancelled`. */
export const JOINED = /(?:\band|,\s*then)(?:\s+then|\s+also|\s+successfully)*\s+(?<verb>\p{L}+)/giu;

const SOURCES = 'search\\w*|quer(?:y|ies)|lookup|retriev\\w+|database|investigation|reports|data|verification|source';
const SHOWN = 'indicates?|shows?|returned|reveal(?:s|ed)?|confirm(?:s|ed)?|quoted|obtained';
/** That there was a source at all. */
export const SOURCED = new RegExp(
  `\\b(?:after|based on|according to|using|via|from)\\b[^.\\n]{0,80}\\b(?:${SOURCES})\\b|\\b(?:search|tool|query|source|article|evidence|results?)\\b[^.\\n]{0,40}\\b(?:${SHOWN})\\b`,
  'i',
);

function stems(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/).map(stem));
}
