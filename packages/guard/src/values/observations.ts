/**
 * The observations of a check. A call that changes something has failed if its result says so, although the tool raised no
 * error: `{ "ok": false }`, `{ "error": "mailbox full" }`, `{ "status": "failed" }`, `{ "sent": false }` or "Error: …".
 */
import { isRecord, listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { flat, structured } from '../text/sources.ts';
import type { Observation } from './detector.ts';
import { mentionsFailure } from './detectors/failures.ts';
import type { ToolWords } from './tool-words.ts';
import { RUNNING, isParticiple, isSame, pastOf, stem } from './words.ts';

/** A call: the tool and its arguments. */
interface Called {
  readonly tool: ToolWords;
  readonly args: readonly string[];
}

/** `reply` is the reply that is checked. */
export function observationsIn(
  listed: Json | undefined,
  tools: readonly ToolWords[],
  reply: Json,
): readonly Observation[] {
  const changing = new Map(tools.flatMap((tool) => (tool.changes ? [[tool.name, tool] as const] : [])));
  return (listOf(listed) as readonly Observation[]).map((each) => {
    const tool = changing.get(each.tool);
    const result = each.result ?? null;
    if (!each.ok || tool === undefined) return each;
    // A job that failed has run, and an answer may say both. The rows of a query are data.
    const isRun = tool.verbs.some((verb) => RUNNING.has(verb));
    if (isRun && (Array.isArray(structured(result)) || mentionsFailure(reply))) return each;
    const isFailed = reportsFailure(structured(result), { tool, args: flat(each.args).toLowerCase().split('\n') });
    return isFailed ? { ...each, ok: false, error: result } : each;
  });
}

function reportsFailure(result: Json, called: Called): boolean {
  if (typeof result === 'string') return isFailedText(result, called.tool);
  if (result === false) return true;
  if (Array.isArray(result)) return result.length > 0 && result.every((each) => reportsFailure(each, called));
  if (!isRecord(result)) return false;
  const entries = Object.entries(result);
  // If the call has a status, the status of the thing is another one. Partly done work counts as done.
  const isSure = entries.some(([name, value]) => value === true && (VERDICT.test(name) || isOwn(name, called.tool)));
  const isPartial = entries.some(([name, value]) => isParticiple(name) && !UNDONE.test(name) && isAmount(value));
  const isPending = entries.some(([name, value]) => PENDING.test(name) && value === true);
  const isOther = (name: string): boolean =>
    (isSure && INNER.test(name)) || (isPartial && /^errors$/i.test(name)) || (isPending && isParticiple(name));
  return entries.some(([name, value]) => !isOther(name) && isFailure(name, value, called));
}

/** `Error: mailbox full` and `Failed to send`, but not `Failed: 0` and `Error report sent to Ann`. */
function isFailedText(text: string, { verbs }: ToolWords): boolean {
  if (!FAILED_TEXT.test(text)) return false;
  const own = new RegExp(`(?<!\\p{L}|\\b(?:not|never|be|been) )(?:${verbs.map(pastOf).join('|')})(?!\\p{L})`, 'iu');
  return /^\W*\p{L}+:/u.test(text) || verbs.length === 0 || !own.test(text);
}

const FAILED_TEXT = /^\W*(?:error|failed|failure|exception|traceback)\b(?!(?: count| rate)?\W{1,3}0\b)/i;
const FAILED_STATUS = /^(?:error|errored|fail|failed|failure|rejected|denied|declined|refused)$/i;
const HTTP_FAILED = 400;
const VERDICT = /^(?:ok|success|successful|succeeded)$/i;
const STATUS = /^(?:http_?)?(?:status|state|outcome|status_?code)$/i;
const INNER = /^(?:status|state|outcome|result|data|response|body)$/i;
const UNDONE =
  /^(?:attempted|tried|requested|received|failed|errored|rejected|denied|declined|refused|skipped|blocked)$/i;
const PENDING = /^(?:queued|scheduled|accepted|pending|submitted)$/i;

function isFailure(name: string, value: Json, called: Called): boolean {
  if (VERDICT.test(name)) return value === false;
  if (/^is_?error$/i.test(name)) return value === true;
  if (/^(?:result|data|response|body)$/i.test(name)) return value !== false && reportsFailure(value, called);
  if (/^errors?$/i.test(name)) return !isEmpty(value);
  if (isAsked(value, called)) return false;
  if (STATUS.test(name)) return typeof value === 'number' ? value >= HTTP_FAILED : FAILED_STATUS.test(String(value));
  return value === false && isOwn(name, called.tool);
}

/** The name says that the tool has done its work: `sent`. */
function isOwn(name: string, { verbs }: ToolWords): boolean {
  return isParticiple(name) && verbs.some((own) => isSame(own, stem(name)));
}

/** The call was to give the thing this status: `update(status: "rejected")`, `reject(…)`. A refusal is also `{ "approved": false }`. */
function isAsked(value: Json, { tool, args }: Called): boolean {
  if (value === false) return args.some((each) => FAILED_STATUS.test(each));
  const status = String(value).toLowerCase();
  return args.includes(status) || tool.verbs.some((own) => own === stem(status));
}

/** A number of things, or a list of them. */
function isAmount(value: Json): boolean {
  return Array.isArray(value) ? value.length > 0 : typeof value === 'number' && value > 0;
}

/** No error: also `"none"` and `{ "code": 0 }`. */
function isEmpty(value: Json): boolean {
  if (typeof value === 'string') return /^(?:none|null|no errors?|ok|n\/a|-)?$/i.test(value.trim());
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isEmpty);
  return value === null || value === false || value === 0;
}
