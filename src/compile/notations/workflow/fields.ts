/** The fields of a step that have two spellings. One may be used, not both; what a mode has no use for is a warning. */
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Located, Path } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import type { Range } from '../../source/range.ts';
import { DEFAULTS, ERROR_MODES, MODES, stepShape } from './schema.ts';
import type { ErrorMode, Mode, RawStep } from './schema.ts';

export interface Given {
  readonly raw: RawStep;
  readonly name: string;
  readonly at: (...path: Path) => Range;
  readonly key: (...path: Path) => Range;
  readonly located: (...path: Path) => Located | undefined;
  readonly report: Report;
  /** Whether the field was written but could not be read: what it would have made of the others cannot be told. */
  readonly unclear: (field: 'mode' | 'error_mode') => boolean;
}

export interface ReadMode {
  readonly mode: Mode;
  /** Null where it is needed and missing. */
  readonly contains: string | null;
  readonly iterations: number;
}

export function modeOf(given: Given): ReadMode {
  const { raw } = given;
  const written = raw.mode ?? 'Sequential';
  const variant =
    typeof written === 'string' ? { key: written, loop: undefined, conditional: undefined } : variantOf(written);
  const mode = sameWord(variant.key, MODES) ?? 'Sequential';
  if (!given.unclear('mode')) warnUnused(given, mode);
  const path = typeof written === 'string' ? [] : ['mode', variant.key];
  switch (mode) {
    case 'Conditional':
      return { mode, contains: needle(given, 'condition', variant.conditional?.condition, path), iterations: 1 };
    case 'Loop': {
      const iterations = only(given, 'max_iterations', raw.max_iterations, variant.loop?.max_iterations, path);
      return {
        mode,
        contains: needle(given, 'until', variant.loop?.until, path),
        iterations: iterations ?? DEFAULTS.iterations,
      };
    }
    default:
      return { mode, contains: '', iterations: 1 };
  }
}

export function errorModeOf(given: Given): { readonly mode: ErrorMode; readonly retries: number } | null {
  const { raw } = given;
  const written = raw.error_mode ?? 'Fail';
  if (typeof written === 'string') {
    const mode = sameWord(written, ERROR_MODES) ?? 'Fail';
    if (mode === 'Retry') return { mode, retries: raw.max_retries ?? DEFAULTS.retries };
    if (raw.max_retries !== undefined && !given.unclear('error_mode'))
      unused(given, 'max_retries', 'only `error_mode: retry` repeats a step');
    return { mode, retries: 0 };
  }
  const key = written.Retry === undefined ? 'retry' : 'Retry';
  const retries = only(given, 'max_retries', raw.max_retries, written[key]?.max_retries, ['error_mode', key]);
  return retries === null ? null : { mode: 'Retry', retries: retries ?? DEFAULTS.retries };
}

export function promptOf(given: Given): string | null {
  const { raw, report, key, name } = given;
  if (raw.prompt !== undefined && raw.prompt_template !== undefined) {
    report.error('bad-value', key('prompt_template'), `step \`${name}\` has both \`prompt\` and \`prompt_template\``, {
      help: 'Keep one of them.',
    });
    return null;
  }
  return raw.prompt ?? raw.prompt_template ?? DEFAULTS.prompt;
}

/** Whether one of the fields is there after all, faulty or misspelt: that has been reported, and is enough. */
export function wasTried(holder: Located | undefined, fields: readonly string[]): boolean {
  const keys = holder?.kind === 'map' ? [...holder.entries.keys()] : [];
  return keys.some(
    (key) => fields.includes(key) || (!Object.hasOwn(stepShape, key) && nearest(key, fields) !== undefined),
  );
}

type Variant = Exclude<NonNullable<RawStep['mode']>, string>;

function variantOf(written: Variant) {
  const key = (Object.keys(written)[0] ?? 'Sequential') as keyof Variant;
  return { key, loop: written.Loop ?? written.loop, conditional: written.Conditional ?? written.conditional };
}

/** The text that a condition looks for: one that is empty would be found in everything. */
function needle(given: Given, field: 'condition' | 'until', inner: string | undefined, path: Path): string | null {
  const text = only(given, field, given.raw[field], inner, path);
  if (text === null || (text !== undefined && text !== '')) return text;
  if (text === undefined && wasTried(given.located(...path), [field])) return null;
  const { report, name, at } = given;
  const mode = field === 'until' ? 'Loop' : 'Conditional';
  const message =
    text === undefined
      ? `the ${mode} step \`${name}\` needs \`${field}\``
      : `\`${field}\` of step \`${name}\` is empty, so that every output would match`;
  report.error(
    'empty-condition',
    text === undefined ? at('mode') : at(...(inner === undefined ? [] : path), field),
    message,
    {
      help: `Give the text that the output must contain, such as \`${field}: ${field === 'until' ? 'DONE' : 'needs_review'}\`.`,
    },
  );
  return null;
}

/** The one of two spellings that is used; null where both are. */
function only<Value>(
  { report, key, name }: Given,
  field: string,
  flat: Value | undefined,
  inner: Value | undefined,
  path: Path,
): Value | undefined | null {
  if (flat === undefined || inner === undefined) return flat ?? inner;
  report.error(
    'bad-value',
    key(field),
    `step \`${name}\` gives \`${field}\` twice: here and in \`${path.join('.')}\``,
    { help: 'Keep one of them.' },
  );
  return null;
}

function warnUnused(given: Given, mode: Mode): void {
  const { raw } = given;
  if (mode !== 'Conditional' && raw.condition !== undefined)
    unused(given, 'condition', `only Conditional steps have one, and this one is ${mode}`);
  if (mode !== 'Loop' && raw.until !== undefined)
    unused(given, 'until', `only Loop steps have one, and this one is ${mode}`);
  if (mode !== 'Loop' && raw.max_iterations !== undefined)
    unused(given, 'max_iterations', `only Loop steps have one, and this one is ${mode}`);
  if (mode !== 'Collect') return;
  for (const field of [
    'agent',
    'agent_name',
    'agent_id',
    'prompt',
    'prompt_template',
    'timeout_secs',
    'error_mode',
  ] as const)
    if (raw[field] !== undefined) unused(given, field, 'Collect joins outputs and calls no agent');
}

function unused({ report, key, name }: Given, field: string, why: string): void {
  report.warning('unused-field', key(field), `\`${field}\` of step \`${name}\` has no effect: ${why}`, {
    help: 'Leave it out.',
  });
}

function sameWord<Word extends string>(written: string, words: readonly Word[]): Word | undefined {
  const fold = (word: string): string => word.replaceAll('_', '').toLowerCase();
  return words.find((word) => fold(word) === fold(written));
}
