/** The artifacts that checks read: where they are, and what stands in them. A file that cannot be read says why. */
import { ARTIFACTS } from '../../catalog/validators.ts';
import type { Json } from '../../expr/json.ts';
import type { Evidence } from './evidence.ts';

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
  try {
    const value = JSON.parse(text) as Json;
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return { ok: true, value };
    return { ok: false, why: `\`${path}\` is not a JSON object` };
  } catch {
    return { ok: false, why: `\`${path}\` is not valid JSON` };
  }
}

export function readBrief(evidence: Evidence): Promise<Read<Fields>> {
  return readObject(evidence, setting(evidence, 'BriefPath', ARTIFACTS.brief));
}

/** A field of the check's own configuration, or of the `Validation` section that it was handed. */
export function setting(evidence: Evidence, field: string, otherwise = ''): string {
  const value = evidence.config[field] ?? (evidence.config['Validation'] as Fields | null | undefined)?.[field];
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

export function settingList(evidence: Evidence, field: string): readonly string[] | null {
  const value = evidence.config[field] ?? (evidence.config['Validation'] as Fields | null | undefined)?.[field];
  return Array.isArray(value) && value.length > 0 ? value.map(String) : null;
}

/** A field by its path, such as `plan.files`; undefined when it is not there. */
export function fieldAt(fields: Fields, path: string): Json | undefined {
  let at: Json | undefined = fields;
  for (const name of path.split('.')) {
    if (at === null || at === undefined || typeof at !== 'object' || Array.isArray(at) || !Object.hasOwn(at, name))
      return undefined;
    at = at[name];
  }
  return at;
}

/** The paths that a list names, as text or as objects with a `path`. */
export function pathsIn(list: Json | undefined): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    const path =
      typeof item === 'string'
        ? item
        : item !== null && typeof item === 'object' && !Array.isArray(item)
          ? item['path']
          : undefined;
    return typeof path === 'string' && path.trim() !== '' ? [path.trim()] : [];
  });
}

export function listIn(fields: Fields, field: string): readonly Json[] {
  const value = fields[field];
  return Array.isArray(value) ? value : [];
}

export function textIn(value: Json | undefined, field: string): string {
  const text = value !== null && typeof value === 'object' && !Array.isArray(value) ? value[field] : undefined;
  return typeof text === 'string' ? text.trim() : '';
}

/** Whether there is anything in it at all. */
export function isFilled(value: Json | undefined): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null;
}

export function resultsIn(report: Fields): Result[] {
  return listIn(report, 'results').map((entry) => {
    const code = entry !== null && typeof entry === 'object' && !Array.isArray(entry) ? entry['exit_code'] : undefined;
    return {
      criterion: textIn(entry, 'criterion'),
      status: textIn(entry, 'status').toUpperCase(),
      command: textIn(entry, 'command'),
      exitCode: typeof code === 'number' ? code : null,
    };
  });
}
