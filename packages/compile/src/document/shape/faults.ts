/**
 * Turns the issues of a schema into faults: one sentence, a place, a code and a help line. A misspelt key and the missing
 * key that it was meant to be are one fault. A union is judged by the variant that fits best.
 */
import type * as z from 'zod';
import { isDiagnosticCode, type DiagnosticCode } from '../../source/codes.ts';
import { NOTE, expectation, listed, notesIn, unknownKeyHelp } from './fault-words.ts';
import { childOf, textOf, type Path } from '../../source/located.ts';
import { nearest } from '../../source/nearest.ts';
import type { Salvage } from './salvage.ts';

export interface Fault {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string | undefined;
  readonly path: Path;
  readonly on: 'key' | 'value';
  /** True where an earlier fault already explains this one. */
  readonly follows: boolean;
  /** For an unknown key: the known key that it resembles. */
  readonly near?: string | undefined;
  /** For an unknown key: the missing key that it was meant to be. */
  readonly meant?: string | undefined;
  /** True if the fault disappears once a misspelt key is corrected. */
  readonly mended: boolean;
}

export interface FaultContext {
  readonly what: string;
  readonly alsoKnown: readonly string[];
}

type Issue = z.core.$ZodIssue;

/** The error map of every parse. It replaces the library's text with the known keys of the map. */
export function noteKnownKeys(issue: z.core.$ZodRawIssue): string {
  const definition: unknown = issue.inst?._zod.def;
  const shape = typeof definition === 'object' && definition !== null && 'shape' in definition ? definition.shape : {};
  return NOTE + Object.keys(shape as object).join(NOTE);
}

export function faultsOf(issues: readonly Issue[], salvage: Salvage, context: FaultContext): readonly Fault[] {
  const all = issues.flatMap((issue) => faultsOfIssue(issue, [], salvage, context));
  // A value of the wrong type is not also too short, and an empty one is not also of the wrong form.
  const mistyped = new Set(all.filter((fault) => fault.code === 'wrong-type').map((fault) => pathKey(fault.path)));
  const refused = new Set<string>();
  const faults = all.filter((fault) => {
    if (fault.code === 'wrong-type') return true;
    const key = pathKey(fault.path);
    if (mistyped.has(key) || refused.has(key)) return false;
    if (fault.code === 'bad-value') refused.add(key);
    return true;
  });
  const missing = new Set(faults.filter((fault) => fault.code === 'missing-field').map((fault) => pathKey(fault.path)));
  const meant = new Set<string>();
  return faults
    .map((fault) => {
      const key = fault.meant === undefined ? '' : pathKey([...fault.path.slice(0, -1), fault.meant]);
      // Two misspelt keys cannot both stand for the same key.
      if (!missing.has(key) || meant.has(key)) return { ...fault, meant: undefined };
      meant.add(key);
      return { ...fault, mended: true };
    })
    .map((fault) =>
      fault.code === 'missing-field' && meant.has(pathKey(fault.path))
        ? { ...fault, follows: true, mended: true }
        : fault,
    );
}

function faultsOfIssue(issue: Issue, prefix: Path, salvage: Salvage, context: FaultContext): readonly Fault[] {
  const path = [...prefix, ...issue.path.map((segment) => (typeof segment === 'number' ? segment : String(segment)))];
  const { node, missing } = salvage.find(path);
  const base = { path, on: 'value', follows: salvage.follows(path), mended: false } as const;
  if (issue.code === 'unrecognized_keys') return unknownKeys(issue, path, salvage, context);
  const own = ownFault(issue.message);
  if (own !== null && (issue.code === 'custom' || missing === 0)) {
    const onKey = issue.code === 'custom' && issue.params?.['on'] === 'key';
    return [{ ...base, ...own, on: onKey ? 'key' : 'value' }];
  }
  if (missing > 0) return missingField(issue, path, salvage, context);
  if (issue.code === 'invalid_union') {
    const branch = meantBranch(issue.errors);
    if (branch !== null) return branch.flatMap((inner) => faultsOfIssue(inner, path, salvage, context));
  }
  if (issue.code === 'invalid_key')
    return [{ ...base, code: 'bad-value', message: badKey(issue, path), help: 'Rename the key.', on: 'key' }];
  return [{ ...base, ...expectation(issue, node, subject(path, context.what)) }];
}

function missingField(issue: Issue, path: Path, salvage: Salvage, context: FaultContext): readonly Fault[] {
  const { node, missing } = salvage.find(path);
  const field = String(path[path.length - missing]);
  const where = holder(path.slice(0, path.length - missing), salvage, context.what);
  const fault: Fault = {
    code: 'missing-field',
    message: `${where} needs \`${field}\`, which is missing`,
    help: missingHelp(issue, field),
    path,
    on: 'key',
    follows: salvage.follows(path),
    mended: false,
  };
  // Without its discriminator no variant of a union was tried, so a misspelt one has not been reported yet.
  if (issue.code !== 'invalid_union' || node.kind !== 'map' || fault.follows) return [fault];
  const misspelling = nearest(field, node.entries.keys());
  if (misspelling === undefined) return [fault];
  return [unknownKey(misspelling, NOTE + field, path.slice(0, -1), salvage, context), fault];
}

function badKey(issue: z.core.$ZodIssueInvalidKey, path: Path): string {
  const reason = issue.issues[0]?.message ?? '';
  const rule = reason.startsWith('~') ? `must be ${reason.slice(1)}` : 'is not allowed here';
  return `the key \`${String(path.at(-1))}\` ${rule}`;
}

/** A map in which no key is known, nor resembles a known one, is one mistake. */
function unknownKeys(
  issue: z.core.$ZodIssueUnrecognizedKeys,
  path: Path,
  salvage: Salvage,
  context: FaultContext,
): readonly Fault[] {
  const faults = issue.keys.map((key) => unknownKey(key, issue.message, path, salvage, context));
  const { node } = salvage.find(path);
  const strange =
    node.kind === 'map' && node.entries.size === faults.length && faults.every(({ near }) => near === undefined);
  if (!strange || faults.length < 2) return faults;
  const message = `unknown keys ${listed(issue.keys)} in ${holder(path, salvage, context.what)}`;
  return faults.map((fault, index) => (index === 0 ? { ...fault, message } : { ...fault, follows: true }));
}

function unknownKey(key: string, note: string, path: Path, salvage: Salvage, context: FaultContext): Fault {
  const known = notesIn(note);
  const candidates = path.length === 0 ? [...known, ...context.alsoKnown] : known;
  const near = nearest(key, candidates);
  return {
    code: 'unknown-key',
    message: `unknown key \`${key}\` in ${holder(path, salvage, context.what)}`,
    help: unknownKeyHelp(key, near, candidates),
    path: [...path, key],
    on: 'key',
    follows: false,
    mended: false,
    near,
    meant: near,
  };
}

/** A message that a schema wrote with `fault`. */
function ownFault(message: string): Pick<Fault, 'code' | 'message' | 'help'> | null {
  const written = /^\[([a-z-]+)\] ([^\n]*)(?:\n([\s\S]*))?$/.exec(message);
  if (written === null || written[1] === undefined || !isDiagnosticCode(written[1])) return null;
  return { code: written[1], message: written[2] ?? '', help: written[3] };
}

/** The variant whose type fits. Among several, the one with the fewest issues. */
function meantBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const fitting = branches.filter(
    (issues) => !issues.some((issue) => issue.code === 'invalid_type' && issue.path.length === 0),
  );
  // A variant with an issue about the whole value fits worse than one with an issue about a part.
  const within = fitting.filter((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  );
  return (within.length > 0 ? within : fitting).toSorted((a, b) => a.length - b.length)[0] ?? null;
}

function missingHelp(issue: Issue, field: string): string {
  if (issue.code === 'invalid_value') return `Give one of ${listed(issue.values.map(String))}.`;
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return `Give one of ${listed(issue.options.map(String))}.`;
  return issue.message.startsWith('~') ? `Add \`${field}\`. It is ${issue.message.slice(1)}.` : `Add \`${field}: …\`.`;
}

function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** The name of a value, as the subject of "must be …". */
function subject(path: Path, what: string): string {
  const last = path.at(-1);
  if (last === undefined) return what;
  return typeof last === 'string' ? `\`${last}\`` : item(path, what);
}

/** The name of the map that holds a key. An id is clearer than an index. */
function holder(path: Path, salvage: Salvage, what: string): string {
  if (typeof path.at(-1) !== 'number') return subject(path, what);
  const { node } = salvage.find(path);
  const id = ['id', 'name', 'Name']
    .map((key) => textOf(childOf(node, key)))
    .find((text) => text !== undefined && text !== '');
  return id === undefined ? subject(path, what) : `\`${id}\``;
}

function item(path: Path, what: string): string {
  const list = path.slice(0, -1);
  return `item ${Number(path.at(-1)) + 1} of ${subject(list, what)}`;
}
