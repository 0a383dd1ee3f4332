/** The sentence for a value that is there but wrong: what it must be, what it is, and what was probably meant. */
import type * as z from 'zod';
import type { DiagnosticCode } from '../../diagnose/codes.ts';
import type { Located } from '../../source/located.ts';
import { didYouMean } from '../../diagnose/nearest.ts';

interface Words {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string | undefined;
}

export function expectation(issue: z.core.$ZodIssue, node: Located, subject: string): Words {
  const given = describe(node);
  switch (issue.code) {
    case 'invalid_type':
      return {
        code: 'wrong-type',
        message: `${subject} must be ${phrase(issue)}, but is ${given}`,
        help: typeHelp(issue, node),
      };
    case 'invalid_value':
      return notOneOf(issue.values, node, subject);
    case 'invalid_union':
      if ('options' in issue && Array.isArray(issue.options)) return notOneOf(issue.options, node, subject);
      return { code: 'wrong-type', message: `${subject} must be ${unionPhrase(issue)}, but is ${given}` };
    case 'too_small':
    case 'too_big':
      return outOfBounds(issue, node, subject);
    default:
      return {
        code: 'bad-value',
        message: issue.message.startsWith('~')
          ? `${subject} must be ${issue.message.slice(1)}, but is ${given}`
          : `${subject} is not valid: it is ${given}`,
      };
  }
}

/** Keys that authors write in the wrong place or know from other systems, each with what to write instead. */
const PLACES: { readonly [key: string]: string } = {
  memory: 'Memory belongs to an agent: write `agents: [{ id: …, memory: true }]`.',
  Condition:
    'Routes by a field of the reply are `Selection: { Type: structured, StructuredRoutes: [{ Agent: …, Condition: … }] }`. A keyword route is guarded by `Validators` and `Contracts`.',
  PreferStructuredOutput:
    'Leave it out. Routes by a field of the reply are `Selection: { Type: structured, StructuredRoutes: [{ Agent: …, Condition: … }] }`.',
  MaxStructuredParseRetries:
    'Leave it out. An agent of `structured` routes whose reply is not JSON gets a correction, and the run stops after three bad turns in a row.',
};

/** The help for an unknown key: its place, the name that was meant, or the names that are known. */
export function unknownKeyHelp(key: string, near: string | undefined, known: readonly string[]): string | undefined {
  const place = [key, key.toLowerCase()].find((word) => Object.hasOwn(PLACES, word));
  if (place !== undefined) return PLACES[place];
  if (near !== undefined) return `Did you mean \`${near}\`?`;
  return known.length === 0 ? undefined : `Known keys: ${listed(known)}.`;
}

/** The names in backticks, the first twelve of them. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 12).map((each) => `\`${each}\``);
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '');
}

export function describe(node: Located): string {
  if (node.kind === 'list') return node.items.length === 0 ? 'an empty list' : `a list of ${node.items.length}`;
  if (node.kind === 'map') return node.entries.size === 0 ? 'an empty map' : 'a map';
  if (node.value === null) return 'empty';
  if (typeof node.value !== 'string') return String(node.value);
  return node.value === '' ? 'an empty text' : `the text ${JSON.stringify(shortened(node.value))}`;
}

function phrase(issue: { readonly message: string; readonly expected?: string }): string {
  if (issue.message.startsWith('~')) return issue.message.slice(1);
  return TYPE_PHRASES[issue.expected ?? ''] ?? 'of another type';
}

/** The words for types, by the name of the schema or of JSON Schema. */
export const TYPE_PHRASES: { readonly [expected: string]: string } = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'empty',
};

function unionPhrase(issue: z.core.$ZodIssueInvalidUnion): string {
  const phrases = issue.errors.map((branch) => {
    const first = branch[0];
    return first === undefined ? 'of another type' : phrase(first);
  });
  return [...new Set(phrases)].join(' or ');
}

function typeHelp(issue: z.core.$ZodIssueInvalidType, node: Located): string | undefined {
  if (node.kind !== 'scalar') return undefined;
  if (node.value === null) return 'Give it a value, or leave the key out.';
  if (issue.expected === 'string') return `Put it in quotes: "${String(node.value)}".`;
  if (issue.expected === 'array' && typeof node.value === 'string')
    return `Put it in brackets: [${shortened(node.value)}].`;
  const number = typeof node.value === 'string' && node.value.trim() !== '' ? Number(node.value) : Number.NaN;
  return (issue.expected === 'number' || issue.expected === 'int') && Number.isFinite(number)
    ? `Leave out the quotes: ${number}.`
    : undefined;
}

function notOneOf(values: readonly unknown[], node: Located, subject: string): Words {
  const words = values.filter((value) => value !== undefined).map(String);
  const given = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
  const sameType = node.kind === 'scalar' && values.some((value) => typeof value === typeof node.value);
  return {
    code: sameType ? 'bad-value' : 'wrong-type',
    message: `${subject} must be ${words.length === 1 ? '' : 'one of '}${listed(words)}, but is ${describe(node)}`,
    help: given === undefined ? undefined : didYouMean(given, words, undefined),
  };
}

function outOfBounds(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, node: Located, subject: string): Words {
  if (issue.message.startsWith('~'))
    return { code: 'bad-value', message: `${subject} must be ${issue.message.slice(1)}, but is ${describe(node)}` };
  const small = issue.code === 'too_small';
  const bound = Number(small ? issue.minimum : issue.maximum);
  const size =
    node.kind === 'list'
      ? node.items.length
      : node.kind === 'scalar' && typeof node.value === 'string'
        ? node.value.length
        : undefined;
  if (small && bound === 1) return { code: 'bad-value', message: `${subject} must not be empty` };
  const unit = node.kind === 'list' ? 'items' : 'characters';
  const limit = small ? 'at least' : 'at most';
  if (size === undefined)
    return { code: 'bad-value', message: `${subject} must be ${limit} ${bound}, but is ${describe(node)}` };
  return { code: 'bad-value', message: `${subject} must have ${limit} ${bound} ${unit}, but has ${size}` };
}

function shortened(value: string): string {
  return value.length > 40 ? `${value.slice(0, 39)}…` : value;
}
