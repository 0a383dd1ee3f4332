/**
 * Schema issues as faults that a person can act on: what is wrong in one sentence, where, under which code, and the way out.
 * A misspelt key that is also missed is one fault; a union is judged by the variant that was meant.
 */
import type * as z from 'zod';
import { isDiagnosticCode, type DiagnosticCode } from '../../diagnose/codes.ts';
import { expectation, listed, told } from './fault-words.ts';
import { childOf, textOf, type Located, type Path, type Segment } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import type { Salvage } from './salvage.ts';

export interface Fault {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string | undefined;
  readonly path: Path;
  readonly on: 'key' | 'value';
  /** True where an earlier fault already explains it. */
  readonly follows: boolean;
  /** For an unknown key: the missing one that it was meant to be. */
  readonly meant?: string | undefined;
  /** True where reading a misspelt key as the one that was meant makes it good. */
  readonly mended: boolean;
}

export interface FaultContext {
  readonly what: string;
  readonly alsoKnown: readonly string[];
}

type Issue = z.core.$ZodIssue;

const KNOWN = '\u0000';

/** The error map of every parse: it leaves a mark instead of the library's words, with the known keys where those matter. */
export function noteKnownKeys(issue: z.core.$ZodRawIssue): string {
  if (issue.code !== 'unrecognized_keys') return KNOWN;
  const definition: unknown = issue.inst?._zod.def;
  const shape = typeof definition === 'object' && definition !== null && 'shape' in definition ? definition.shape : {};
  return KNOWN + Object.keys(shape as object).join(KNOWN);
}

export function faultsOf(issues: readonly Issue[], salvage: Salvage, context: FaultContext): readonly Fault[] {
  const all = issues.flatMap((issue) => faultsOfIssue(issue, [], salvage, context));
  // What is of the wrong type is not also too short.
  const mistyped = new Set(all.filter((fault) => fault.code === 'wrong-type').map((fault) => pathKey(fault.path)));
  const faults = all.filter((fault) => fault.code === 'wrong-type' || !mistyped.has(pathKey(fault.path)));
  const missing = new Set(faults.filter((fault) => fault.code === 'missing-field').map((fault) => pathKey(fault.path)));
  const meant = new Set<string>();
  return faults
    .map((fault) => {
      const key = fault.meant === undefined ? '' : pathKey([...fault.path.slice(0, -1), fault.meant]);
      // Two slips cannot both have meant the same key.
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
  const path = [...prefix, ...issue.path.map(segmentOf)];
  const base = { path, on: 'value', follows: salvage.follows(path), mended: false } as const;
  if (issue.code === 'unrecognized_keys')
    return asOne(
      issue.keys.map((key) => unknownKey(key, issue.message, path, salvage, context)),
      salvage.find(path).node,
      holder(path, salvage, context.what),
    );
  const own = ownFault(issue.message);
  if (own !== null && (issue.code === 'custom' || salvage.find(path).missing === 0)) {
    return [{ ...base, ...own, on: issue.code === 'custom' && issue.params?.['on'] === 'key' ? 'key' : 'value' }];
  }
  const { node, missing } = salvage.find(path);
  if (missing > 0) {
    const field = String(path[path.length - missing]);
    const message = `${holder(path.slice(0, path.length - missing), salvage, context.what)} needs \`${field}\`, which is missing`;
    const fault = { ...base, code: 'missing-field', message, help: missingHelp(issue, field), on: 'key' } as const;
    // Without its discriminator no variant was tried, so that nobody has looked for a misspelt one yet.
    const slip =
      issue.code === 'invalid_union' && node.kind === 'map' && !base.follows
        ? nearest(field, node.entries.keys())
        : undefined;
    return slip === undefined ? [fault] : [unknownKey(slip, KNOWN + field, path.slice(0, -1), salvage, context), fault];
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branch = meantBranch(issue.errors);
    if (branch !== null) return branch.flatMap((inner) => faultsOfIssue(inner, path, salvage, context));
  }
  if (issue.code === 'invalid_key') {
    const reason = issue.issues[0]?.message ?? '';
    const message = `the key \`${String(path.at(-1))}\` ${reason.startsWith('~') ? `must be ${reason.slice(1)}` : 'is not allowed here'}`;
    return [{ ...base, code: 'bad-value', message, on: 'key' }];
  }
  return [{ ...base, ...expectation(issue, node, subject(path, context.what)) }];
}

function unknownKey(key: string, note: string, path: Path, salvage: Salvage, context: FaultContext): Fault {
  const known = note.startsWith(KNOWN)
    ? note
        .slice(1)
        .split(KNOWN)
        .filter((name) => name !== '')
    : [];
  const candidates = path.length === 0 ? [...known, ...context.alsoKnown] : known;
  const near = nearest(key, candidates);
  return {
    code: 'unknown-key',
    message: `unknown key \`${key}\` in ${holder(path, salvage, context.what)}`,
    help:
      near === undefined
        ? candidates.length === 0
          ? undefined
          : `Known keys: ${listed(candidates)}.`
        : `Did you mean \`${near}\`?`,
    path: [...path, key],
    on: 'key',
    follows: false,
    mended: false,
    meant: near,
  };
}

/** A map of which no key is known, nor like one that is, is something else altogether: that is one mistake. */
function asOne(faults: readonly Fault[], map: Located, where: string): readonly Fault[] {
  const strange =
    map.kind === 'map' && map.entries.size === faults.length && faults.every(({ meant }) => meant === undefined);
  if (!strange || faults.length < 2) return faults;
  const message = `unknown keys ${listed(faults.map(({ path }) => String(path.at(-1))))} in ${where}`;
  return faults.map((fault, index) => (index === 0 ? { ...fault, message } : { ...fault, follows: true }));
}

/** A message that a schema wrote itself, by `fault`. */
function ownFault(message: string): Pick<Fault, 'code' | 'message' | 'help'> | null {
  const written = /^\[([a-z-]+)\] ([^\n]*)(?:\n([\s\S]*))?$/.exec(message);
  if (written === null || written[1] === undefined || !isDiagnosticCode(written[1])) return null;
  return { code: written[1], message: written[2] ?? '', help: written[3] };
}

/** The variant whose kind of value fits; among several, the one with the fewest complaints. */
function meantBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const fitting = branches.filter(
    (issues) => !issues.some((issue) => issue.code === 'invalid_type' && issue.path.length === 0),
  );
  // One that complains about the whole was not meant where another complains about a part.
  const within = fitting.filter((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  );
  return (within.length > 0 ? within : fitting).toSorted((a, b) => a.length - b.length)[0] ?? null;
}

function missingHelp(issue: Issue, field: string): string | undefined {
  if (issue.code === 'invalid_value') return `Give one of ${told(issue.values)}.`;
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return `Give one of ${told(issue.options)}.`;
  return issue.message.startsWith('~') ? `\`${field}\` is ${issue.message.slice(1)}.` : undefined;
}

function segmentOf(segment: PropertyKey): Segment {
  return typeof segment === 'number' ? segment : String(segment);
}

function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** The value itself, as the subject of "must be …". */
function subject(path: Path, what: string): string {
  const last = path.at(-1);
  if (last === undefined) return what;
  return typeof last === 'string' ? `\`${last}\`` : item(path, what);
}

/** What holds a key that is missing or unknown: an id says more than a number in a list. */
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
