/** The few word lists that the rules about claims cannot do without: verbs that no tool of a flow has for its own. */
import { stem } from './word-stem.ts';

/** To change something. */
export const MAKING: ReadonlySet<string> = stems(
  `sent emailed booked cancelled refunded paid purchased transferred deleted removed deployed restarted rolled installed
  updated modified changed upgraded downgraded added submitted executed merged pushed created issued charged processed
  completed saved written`,
);

/** To find something out, or to talk about it. */
export const LOOKING: ReadonlySet<string> = stems(
  `found retrieved checked searched looked verified reviewed noted received identified listed located seen mentioned provided
  confirmed read examined queried fetched required included used discussed described selected`,
);

export const LOOKED =
  'see|found|reviewed|checked|double-checked|retrieved|searched|looked|located|verified|read|examined|queried|fetched';

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
