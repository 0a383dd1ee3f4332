/**
 * Words that claim what only an observation can show: that something in the world was changed, or that it was looked up. A
 * claim is held against the tools that do such a thing, by their names; where no tool is named so, against any that change something.
 */

interface Deed {
  readonly verbs: string;
  /** What tools that do it have in their names. */
  readonly tools: RegExp;
}

const DEEDS: readonly Deed[] = [
  { verbs: 'sent|emailed', tools: /send|mail|notify|message|post/i },
  { verbs: 'booked', tools: /book|reserve/i },
  { verbs: 'cancell?ed', tools: /cancel/i },
  { verbs: 'refunded|paid|purchased|transferred', tools: /refund|pay|purchase|transfer|charge|order|buy/i },
  { verbs: 'deleted|removed', tools: /delete|remove|drop/i },
  { verbs: 'deployed|restarted|rolled back|installed', tools: /deploy|restart|roll|install/i },
  {
    verbs: 'updated|modified|changed|upgraded|added',
    tools: /update|modify|edit|patch|write|set|change|save|add|upgrade/i,
  },
  { verbs: 'submitted|executed|merged|pushed', tools: /submit|exec|run|merge|push/i },
  { verbs: 'created|issued|charged|processed|completed', tools: /create|issue|charge|process|complete/i },
];

export interface Claim {
  readonly pattern: string;
  /** One of these must have succeeded. */
  readonly tools: readonly string[];
}

/** `changing` are the tools that change something. */
export function actionClaims(changing: readonly string[]): readonly Claim[] {
  return DEEDS.map(({ verbs, tools }) => {
    const fitting = changing.filter((name) => tools.test(name));
    return { pattern: saying(verbs), tools: fitting.length > 0 ? fitting : changing };
  });
}

function saying(verbs: string): string {
  return `(?i)\\b(i|we)( have|'ve)?( now| just| successfully| already)* (${verbs})\\b|\\b(has|have) been( now| successfully)* (${verbs})\\b`;
}

const SOURCES = 'search\\w*|quer(y|ies)|lookup|retriev\\w+|database|investigation|reports|data|verification|source';
const SHOWN = 'indicates?|shows?|returned|reveal(s|ed)?|confirm(s|ed)?|quoted|obtained';
export const LOOKUP_CLAIM = `(?i)\\b(after|based on|according to|using|via|from)\\b[^.\\n]{0,80}\\b(${SOURCES})\\b|\\b(search|tool|query|source|article|evidence|results?)\\b[^.\\n]{0,40}\\b(${SHOWN})\\b`;
