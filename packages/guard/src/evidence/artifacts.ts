/** Reads the artifacts of a session: the brief, the test report, and the settings that say where they are. */
import { createHash } from 'node:crypto';
import { isRecord, jsonOr } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { ARTIFACTS } from '@sluice-internal/kernel/catalog';
import type { Evidence } from './evidence.ts';
import { normalPath, pathsChangedBy } from './records.ts';

export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };
export type Fields = { readonly [field: string]: Json };
export interface Result {
  readonly criterion: string;
  readonly status: string;
  readonly command: string;
  readonly exitCode: number | null;
}

export async function readObject(evidence: Evidence, path: string): Promise<Read<Fields>> {
  const text = await evidence.readText(path);
  if (text === null) return { ok: false, why: `\`${path}\` does not exist` };
  const value = jsonOr(text.replace(/^\uFEFF/, ''), undefined);
  if (isRecord(value)) return { ok: true, value };
  return { ok: false, why: `\`${path}\` is not ${value === undefined ? 'valid JSON' : 'a JSON object'}` };
}

export function briefPath(evidence: Evidence): string {
  return setting(evidence, 'BriefPath', ARTIFACTS.brief);
}

/** The brief belongs to the agent that first wrote it. A brief that was changed by another agent cannot be used. */
export async function readBrief(evidence: Evidence): Promise<Read<Fields>> {
  const path = briefPath(evidence);
  const brief = await readObject(evidence, path);
  if (!brief.ok) return brief;
  const why = await foreignChange(evidence, path);
  return why === null ? brief : { ok: false, why };
}

/** A JSON object at a path, such as the brief. */
export function readSourceObject(evidence: Evidence, path: string): Promise<Read<Fields>> {
  return normalPath(path) === normalPath(briefPath(evidence)) ? readBrief(evidence) : readObject(evidence, path);
}

/** Null if only the owner changed the file. */
async function foreignChange(evidence: Evidence, path: string): Promise<string | null> {
  const writes = evidence.observations.filter((each) => pathsChangedBy(each).includes(normalPath(path)));
  const owner = writes[0]?.agent;
  if (owner === undefined) return null;
  const own = writes.findLastIndex(({ agent }) => agent === owner);
  const foreign = writes.slice(own + 1).at(-1);
  const ask = `only ${owner}, who wrote it, may change it. Ask ${owner} to write it again`;
  if (foreign !== undefined) return `\`${path}\` was changed by ${foreign.agent}, but ${ask}`;
  const recorded = textIn(writes[own]?.result, 'sha256');
  const text = recorded === '' ? null : await evidence.readText(path);
  if (text === null || createHash('sha256').update(text).digest('hex') === recorded) return null;
  return `\`${path}\` is not as ${owner} wrote it, but ${ask}`;
}

/** A field of the check's configuration, or of its `Validation` section. */
export function setting(evidence: Evidence, field: string, otherwise = ''): string {
  const value = evidence.config[field] ?? (evidence.config['Validation'] as Fields | null | undefined)?.[field];
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

export function settingList(evidence: Evidence, field: string): readonly string[] | null {
  const value = evidence.config[field] ?? (evidence.config['Validation'] as Fields | null | undefined)?.[field];
  return Array.isArray(value) && value.length > 0 ? value.map(String) : null;
}

/** A field by its path, such as `plan.files`; undefined if it is missing. */
export function fieldAt(fields: Fields, path: string): Json | undefined {
  let at: Json | undefined = fields;
  for (const name of path.split('.')) {
    if (!isRecord(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** The paths in a list of texts or of objects with a `path`. */
export function pathsIn(list: Json | undefined): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    const path = typeof item === 'string' ? item : isRecord(item) ? item['path'] : undefined;
    return typeof path === 'string' && path.trim() !== '' ? [path.trim()] : [];
  });
}

export const BRIEF_FIELDS = ['goal', 'files_to_change', 'acceptance_criteria'] as const;
const CRITERION_FIELDS = ['criterion', 'description', 'text', 'name', 'title', 'id', 'test_command'];

/** The text of a criterion: of an object the first field that has one. */
export function criterionOf(entry: Json): string {
  if (typeof entry === 'string') return entry.trim();
  return CRITERION_FIELDS.map((field) => textIn(entry, field)).find((text) => text !== '') ?? '';
}

/** What is wrong with the form of a brief, with the entry; null if nothing is. */
export function briefFault(brief: Fields): string | null {
  const { goal } = brief;
  if (typeof goal !== 'string' || goal.trim() === '') return `\`goal\` must be a text, and is ${shown(goal)}`;
  const files = listFault(brief['files_to_change']);
  if (files !== null) return `\`files_to_change\` ${files}`;
  const criteria = brief['acceptance_criteria'];
  if (!Array.isArray(criteria)) return `\`acceptance_criteria\` must be a list, and is ${shown(criteria)}`;
  const at = criteria.findIndex((entry) => criterionOf(entry) === '');
  if (at !== -1)
    return `\`acceptance_criteria[${at}]\` must be a text or an object with \`criterion\`, and is ${shown(criteria[at])}`;
  return criteria.length === 0 ? '`acceptance_criteria` is empty' : null;
}

/** What is wrong with a list of files: it must name at least one, as a text or as an object with a `path`. */
export function listFault(list: Json | undefined): string | null {
  if (!Array.isArray(list)) return `must be a list of files, and is ${shown(list)}`;
  if (list.length === 0) return 'is empty: it must name at least one file';
  const at = list.findIndex((item) => pathsIn([item]).length === 0);
  return at === -1 ? null : `has no file at entry ${at + 1}: ${shown(list[at])}. Each entry is a path`;
}

const SHOWN_MAX = 80;

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value);
  return `\`${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}\``;
}

export function listIn(fields: Fields, field: string): readonly Json[] {
  const value = fields[field];
  return Array.isArray(value) ? value : [];
}

export function textIn(value: Json | undefined, field: string): string {
  const text = isRecord(value) ? value[field] : undefined;
  return typeof text === 'string' ? text.trim() : '';
}

/** True for a text or list that is not empty, and for any other value but null. */
export function isFilled(value: Json | undefined): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null;
}

/** `passed` and `failed` are the same words in another form; what ran decides. */
function statusOf(written: string): string {
  const status = written.toUpperCase();
  return status === 'PASSED' ? 'PASS' : status === 'FAILED' ? 'FAIL' : status;
}

export function resultsIn(report: Fields): Result[] {
  return listIn(report, 'results').map((entry) => {
    const code = isRecord(entry) ? entry['exit_code'] : undefined;
    return {
      criterion: textIn(entry, 'criterion'),
      status: statusOf(textIn(entry, 'status')),
      command: textIn(entry, 'command'),
      exitCode: typeof code === 'number' ? code : null,
    };
  });
}
