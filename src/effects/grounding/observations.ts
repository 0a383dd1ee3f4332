/**
 * The observations of a check. A call that changes something has failed if its result says so, although the tool raised no
 * error: `{ "ok": false }`, `{ "error": "mailbox full" }`, `{ "status": "failed" }`, `{ "sent": false }` or "Error: …".
 */
import { isRecord, listOf, type Json } from '../../expr/json.ts';
import { structured } from '../policy/sources.ts';
import type { Observation } from './detector.ts';
import type { ToolWords } from './tool-words.ts';
import { isParticiple, isSame, stem } from './words.ts';

export function observationsIn(listed: Json | undefined, tools: readonly ToolWords[]): readonly Observation[] {
  const changing = new Map(tools.flatMap((tool) => (tool.changes ? [[tool.name, tool] as const] : [])));
  return (listOf(listed) as readonly Observation[]).map((each) => {
    const tool = changing.get(each.tool);
    const result = each.result ?? null;
    const isFailed = each.ok && tool !== undefined && reportsFailure(structured(result), tool);
    return isFailed ? { ...each, ok: false, error: result } : each;
  });
}

function reportsFailure(result: Json, tool: ToolWords): boolean {
  if (typeof result === 'string') return FAILED_TEXT.test(result);
  if (result === false) return true;
  if (Array.isArray(result)) return result.length > 0 && result.every((each) => reportsFailure(each, tool));
  if (!isRecord(result)) return false;
  return Object.entries(result).some(([name, value]) => isFailure(name, value, tool));
}

const FAILED_TEXT = /^\W*(?:error|failed|failure|exception|traceback)\b/i;
const FAILED_STATUS = /^(?:error|errored|fail|failed|failure|rejected|denied|declined|refused)$/i;
const HTTP_FAILED = 400;

function isFailure(name: string, value: Json, tool: ToolWords): boolean {
  if (/^(?:ok|success|successful|succeeded)$/i.test(name)) return value === false;
  if (/^is_?error$/i.test(name)) return value === true;
  if (/^(?:result|data|response|body)$/i.test(name)) return value !== false && reportsFailure(value, tool);
  if (/^errors?$/i.test(name)) return !isEmpty(value);
  if (/^(?:http_?)?(?:status|state|outcome|status_?code)$/i.test(name))
    return typeof value === 'number' ? value >= HTTP_FAILED : FAILED_STATUS.test(String(value));
  return value === false && isParticiple(name) && tool.verbs.some((own) => isSame(own, stem(name)));
}

function isEmpty(value: Json): boolean {
  if (value === null || value === false || value === '' || value === 0) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
