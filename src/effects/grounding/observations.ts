/**
 * The observations of a check. A call that changes something has failed if its result says so, although the tool raised no
 * error: `{ "ok": false }`, `{ "error": "mailbox full" }`, `{ "status": "failed" }`, `{ "sent": false }` or "Error: …".
 */
import { isRecord, listOf, type Json } from '../../expr/json.ts';
import { flat, structured } from '../policy/sources.ts';
import type { Observation } from './detector.ts';
import { tellsFailure } from './failures.ts';
import type { ToolWords } from './tool-words.ts';
import { RUNNING, isParticiple, isSame, stem } from './words.ts';

/** What was called, with which arguments. */
interface Called {
  readonly tool: ToolWords;
  readonly args: string;
}

/** `said` is the reply that is checked. */
export function observationsIn(
  listed: Json | undefined,
  tools: readonly ToolWords[],
  said: Json,
): readonly Observation[] {
  const changing = new Map(tools.flatMap((tool) => (tool.changes ? [[tool.name, tool] as const] : [])));
  return (listOf(listed) as readonly Observation[]).map((each) => {
    const tool = changing.get(each.tool);
    const result = each.result ?? null;
    if (!each.ok || tool === undefined) return each;
    // A job that failed has run. An answer may say both.
    if (tool.verbs.some((verb) => RUNNING.has(verb)) && tellsFailure(flat(structured(said)))) return each;
    const isFailed = reportsFailure(structured(result), { tool, args: flat(each.args).toLowerCase() });
    return isFailed ? { ...each, ok: false, error: result } : each;
  });
}

function reportsFailure(result: Json, called: Called): boolean {
  if (typeof result === 'string') return FAILED_TEXT.test(result);
  if (result === false) return true;
  if (Array.isArray(result)) return result.length > 0 && result.every((each) => reportsFailure(each, called));
  if (!isRecord(result)) return false;
  const entries = Object.entries(result);
  // The status of the thing is not that of the call if the call has one of its own. Work that was done in part was done.
  const isSure = entries.some(([name, value]) => VERDICT.test(name) && value === true);
  const isPartial = entries.some(([name, value]) => isParticiple(name) && !UNDONE.test(name) && isAmount(value));
  const counted = entries.filter(([name]) => !(isSure && INNER.test(name)) && !(isPartial && /^errors$/i.test(name)));
  const isPending = entries.some(([name, value]) => PENDING.test(name) && value === true);
  return counted.some(([name, value]) => isFailure(name, value, called, isPending));
}

/** Not `Failed: 0`. */
const FAILED_TEXT = /^\W*(?:error|failed|failure|exception|traceback)\b(?!(?: count| rate)?\W{1,3}0\b)/i;
const FAILED_STATUS = /^(?:error|errored|fail|failed|failure|rejected|denied|declined|refused)$/i;
const HTTP_FAILED = 400;
const VERDICT = /^(?:ok|success|successful|succeeded)$/i;
const STATUS = /^(?:http_?)?(?:status|state|outcome|status_?code)$/i;
const INNER = /^(?:status|state|outcome|result|data|response|body)$/i;
const UNDONE =
  /^(?:attempted|tried|requested|received|failed|errored|rejected|denied|declined|refused|skipped|blocked)$/i;
const PENDING = /^(?:queued|scheduled|accepted|pending|submitted)$/i;

function isFailure(name: string, value: Json, called: Called, isPending: boolean): boolean {
  if (VERDICT.test(name)) return value === false;
  if (/^is_?error$/i.test(name)) return value === true;
  if (/^(?:result|data|response|body)$/i.test(name)) return value !== false && reportsFailure(value, called);
  if (/^errors?$/i.test(name)) return !isEmpty(value);
  if (STATUS.test(name)) {
    if (typeof value === 'number') return value >= HTTP_FAILED;
    // `update(status: "rejected")` was asked to give it this status.
    return FAILED_STATUS.test(String(value)) && !called.args.split('\n').includes(String(value).toLowerCase());
  }
  return (
    value === false && !isPending && isParticiple(name) && called.tool.verbs.some((own) => isSame(own, stem(name)))
  );
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
