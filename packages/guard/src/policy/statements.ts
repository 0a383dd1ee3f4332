/**
 * Statements of query languages that write: SQL, and the common forms of MongoDB, Redis and Cypher. A database tool that only
 * reads refuses them. Comments and quoted texts are not read; where dialects disagree about them, both readings count.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { even, structured } from '../text/sources.ts';

/** The writing part of the arguments; null if every statement only reads. */
export function writingStatement(args: Json): string | null {
  for (const text of textsIn(args)) {
    const found = writingKey(structured(text)) ?? writingText(text);
    if (found !== null) return found.trim().slice(0, SHOWN_MAX);
  }
  return isRecord(args)
    ? (Object.values(args)
        .map(writingKey)
        .find((found) => found !== null) ?? null)
    : null;
}

const SHOWN_MAX = 80;

const VERBS =
  'insert|update|delete|drop|alter|truncate|create|grant|revoke|merge|replace|upsert|call|exec(?:ute)?|copy|load|import|attach|detach|reindex|rename|refresh|cluster|lock|set|reset|pragma|comment|del|unlink|hset|lpush|rpush';
const PATTERNS: readonly RegExp[] = [
  new RegExp(`(?:^|;|\\(|\\bas\\b)\\s*(?:${VERBS})\\s+[^\\s=,)]`, 'i'),
  /(?:^|;)\s*(?:vacuum|do\s*(?:\$|'')|flush(?:all|db)\b|pragma\s+[\w.]+\s*=)/i,
  // The plan of a statement is measured by running it.
  /\bexplain\b[^;]*\banaly[sz]e\b[^;]*\b(?:insert|update|delete|merge|create|replace)\b/i,
  /\binto\s+(?:outfile|dumpfile|(?:(?:global|local)\s+)?temp(?:orary)?\b|unlogged\b|table\b|[\w."`[@#]+)/i,
  /\b(?:nextval|setval|lo_(?:unlink|import|export|put|from_bytea)|pg_(?:terminate|cancel|reload|rotate|advisory|switch)\w*|dblink\w*|xp_\w+|sp_\w+|load_extension)\s*\(/i,
  /\.\s*(?:delete(?:one|many)?|remove|insert(?:one|many)?|update(?:one|many)?|replaceone|drop(?:database|index(?:es)?)?|bulkwrite|findoneand\w+|findandmodify|save|renamecollection|create(?:index(?:es)?|collection))\s*\(/i,
  /\bdetach\s+delete\b|\)\s*(?:delete|create|merge|remove|set)\s+\w/i,
];

function writingText(text: string): string | null {
  // A comment of MySQL that is run. The ends of lines stay, because a comment ends there.
  const whole = text.replace(/\/\*!\d*([\s\S]*?)\*\//g, ' $1 ');
  const plain = whole.split(/\r?\n/).map(even).join('\n');
  for (const quoting of QUOTINGS) {
    const code = plain.replace(quoting, (found) => (/^['"$]/.test(found) ? "''" : ' '));
    for (const pattern of PATTERNS) {
      const [found] = pattern.exec(code) ?? [];
      if (found !== undefined) return found;
    }
  }
  return null;
}

const REST = `"(?:[^"]|"")*"|\\$(\\w*)\\$[\\s\\S]*?\\$\\1\\$|--[^\\n]*|/\\*[\\s\\S]*?\\*/`;
/** Texts and comments, each up to its end. A backslash before a quotation mark keeps a text open in some dialects only. */
const QUOTINGS: readonly RegExp[] = [
  new RegExp(`'(?:[^']|'')*'|${REST}`, 'g'),
  new RegExp(`'(?:[^'\\\\]|''|\\\\[\\s\\S])*'|${REST}`, 'g'),
];

const COMMANDS =
  /^(?:delete|insert|update|drop(?:database|indexes)?|findandmodify|create(?:indexes)?|renamecollection)$/i;
const STAGES = /^\$(?:out|merge)$/i;

/** A command as an object: `{ "delete": "users" }`. Deeper names may be those of fields. */
function writingKey(value: Json): string | null {
  if (Array.isArray(value)) return value.map(writingKey).find((found) => found !== null) ?? null;
  if (!isRecord(value)) return null;
  return Object.keys(value).find((key) => COMMANDS.test(key)) ?? writingStage(value);
}

/** A stage of a pipeline, at any depth: `{ "aggregate": "users", "pipeline": [{ "$out": "copy" }] }`. */
function writingStage(value: Json): string | null {
  if (value === null || typeof value !== 'object') return null;
  const own = Object.keys(value).find((key) => STAGES.test(key));
  if (own !== undefined) return own;
  return (
    Object.values(value)
      .map(writingStage)
      .find((found) => found !== null) ?? null
  );
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value === null || typeof value !== 'object') return [];
  return (Array.isArray(value) ? value : Object.values(value)).flatMap(textsIn);
}
