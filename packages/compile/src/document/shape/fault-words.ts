/** The sentence about a wrong value: the expected value, the given value, and a help line. */
import type * as z from 'zod';
import type { DiagnosticCode } from '../../source/codes.ts';
import type { Located } from '../../source/located.ts';
import { didYouMean } from '../../source/nearest.ts';

interface Words {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string | undefined;
}

/** Separates the notes for the help line in a message of a schema. */
export const NOTE = '\u0000';

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
      return {
        code: 'wrong-type',
        message: `${subject} must be ${unionPhrase(issue)}, but is ${given}`,
        help: emptyHelp(node) ?? 'Write it in one of these forms.',
      };
    case 'too_small':
    case 'too_big':
      return outOfBounds(issue, node, subject);
    default:
      return {
        code: 'bad-value',
        message: issue.message.startsWith('~')
          ? `${subject} must be ${issue.message.slice(1)}, but is ${given}`
          : `${subject} is not valid: it is ${given}`,
        help: 'Write the value in this form.',
      };
  }
}

/** Keys that authors write in the wrong place or know from other systems, each with what to write instead. */
const PLACES: { readonly [key: string]: string } = {
  claims:
    'Leave it out, because no rule reads sentences. For an action that must have happened, write `criteria: [{ when: "receipts.exists(r, r.tool == …)", reason: … }]`.',
  validate: 'Conditions on an answer are `criteria: [{ when: …, reason: … }]`.',
  conflict:
    'It is a criterion: `criteria: [{ when: …, reason: …, code: SOURCE_CONFLICT }]`, whose `when` is true if nothing conflicts.',
  confidence: 'The least confidence is `verifier: { confidence: … }`, or `verifier.confidence`.',
  reflection: 'How often an answer goes back is `budgets: { reflections: … }`, or `budgets.reflections`.',
  memory: 'Memory belongs to an agent: write `agents: [{ id: …, memory: true }]`.',
  Condition:
    'Routes by a field of the reply are `Selection: { Type: structured, StructuredRoutes: [{ Agent: …, Condition: … }] }`. A keyword route is guarded by `Validators` and `Contracts`.',
  PreferStructuredOutput:
    'Leave it out. Routes by a field of the reply are `Selection: { Type: structured, StructuredRoutes: [{ Agent: …, Condition: … }] }`.',
  MaxStructuredParseRetries:
    'Leave it out. An agent of `structured` routes whose reply is not JSON gets a correction, and the run stops after three bad turns in a row.',
};

/** Keys that went, each with a key that stands beside it and with what to write instead. */
const MOVED: readonly (readonly [key: string, beside: string, help: string])[] = [
  [
    'people',
    'expansions',
    'Whether people are asked is part of the boundary: write `boundary: { escalation: { people: false } }`, or `boundary.escalation.people`.',
  ],
  [
    'profile',
    'criteria',
    'The profile is that of the boundary: write `boundary: { profile: … }`, or `boundary.profile`.',
  ],
  ['AgentName', 'instructions', 'An agent that audits a state machine is `Verifier: { AgentName: … }`.'],
  ...['agent', 'model', 'instructions'].map(
    (key) => [key, 'FindingsKeyword', 'A model that judges the end of the session is `verifier: { … }`.'] as const,
  ),
  ['budget', 'approve_effects', 'Limits stand in `budgets` of the document, or in `budget` of an agent.'],
  [
    'rates',
    'criteria',
    'Leave it out: `rates` and `scalarCostUsd` are gone. `usage` of a report has the counts, and `costUsd`.',
  ],
];

/** Keys of an agent that authors write at the node or step that calls it. */
const KEYS_OF_AGENTS = new Set(['instructions', 'model', 'output', 'temperature', 'tools']);

/** The help for an unknown key: its place, the name that was meant, or the names that are known. */
export function unknownKeyHelp(key: string, near: string | undefined, known: readonly string[]): string | undefined {
  const moved = MOVED.find(([gone, beside]) => gone === key && known.includes(beside));
  if (moved !== undefined) return moved[2];
  const place = [key, key.toLowerCase()].find((word) => Object.hasOwn(PLACES, word));
  if (place !== undefined) return PLACES[place];
  if (near !== undefined) return `Did you mean \`${near}\`?`;
  if (KEYS_OF_AGENTS.has(key)) return `It is a key of an agent: write \`agents: [{ id: …, ${key}: … }]\`.`;
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
  if (issue.message.startsWith('~')) return issue.message.slice(1).replace(/\0.*$/, '');
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
  const { expected } = issue;
  const empty = emptyHelp(node);
  if (empty !== undefined) return empty;
  if (expected === 'object' || expected === 'record') return mapHelp(issue.message);
  if (expected === 'array') return listHelp(issue.message, node);
  if (node.kind !== 'scalar') return 'Write one value, not a list or a map.';
  if (expected === 'string') return `Put it in quotes: "${String(node.value)}".`;
  const number = typeof node.value === 'string' && node.value.trim() !== '' ? Number(node.value) : Number.NaN;
  if (expected === 'number' || expected === 'int') {
    if (typeof node.value === 'number') return 'Write a whole number.';
    return Number.isFinite(number) ? `Leave out the quotes: ${number}.` : 'Write only a number, without a unit.';
  }
  return expected === 'boolean' ? 'Write `true` or `false`, without quotes.' : undefined;
}

/** The notes after the words of a schema: the known keys of a map, or that the value is a good item of the list. */
export function notesIn(message: string): readonly string[] {
  return message
    .split(NOTE)
    .slice(1)
    .filter((note) => note !== '');
}

function emptyHelp(node: Located): string | undefined {
  return node.kind === 'scalar' && node.value === null ? 'Give it a value, or leave the key out.' : undefined;
}

function mapHelp(message: string): string {
  const keys = notesIn(message);
  return keys.length === 0
    ? 'Write keys and values: `{ key: value }`.'
    : `Write a map. Its keys can be ${listed(keys)}.${keys.includes('FindingsKeyword') ? ' A model that judges the end of the session is `verifier`.' : ''}`;
}

function listHelp(message: string, node: Located): string {
  if (node.kind === 'map') return 'Start each item with `- `, or write the list in brackets: `[{ … }]`.';
  const isItem = notesIn(message).length > 0 && node.kind === 'scalar';
  return isItem ? `Put it in brackets: [${shortened(String(node.value))}].` : 'Write a list in brackets: `[{ … }]`.';
}

function notOneOf(values: readonly unknown[], node: Located, subject: string): Words {
  const words = values.filter((value) => value !== undefined).map(String);
  const given = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
  const sameType = node.kind === 'scalar' && values.some((value) => typeof value === typeof node.value);
  return {
    code: sameType ? 'bad-value' : 'wrong-type',
    message: `${subject} must be ${words.length === 1 ? '' : 'one of '}${listed(distinct(words))}, but is ${describe(node)}`,
    help: didYouMean(given ?? '', words, 'Write one of these words.'),
  };
}

function outOfBounds(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, node: Located, subject: string): Words {
  if (issue.message.startsWith('~'))
    return {
      code: 'bad-value',
      message: `${subject} must be ${issue.message.slice(1)}, but is ${describe(node)}`,
      help: RANGE_HELP,
    };
  const small = issue.code === 'too_small';
  const bound = Number(small ? issue.minimum : issue.maximum);
  const size =
    node.kind === 'list'
      ? node.items.length
      : node.kind === 'scalar' && typeof node.value === 'string'
        ? node.value.length
        : undefined;
  if (small && bound === 1)
    return {
      code: 'bad-value',
      message: `${subject} must not be empty`,
      help: size === undefined || node.kind === 'list' ? 'Add at least one item.' : 'Write some text.',
    };
  const unit = node.kind === 'list' ? 'items' : 'characters';
  const limit = small ? 'at least' : 'at most';
  if (size === undefined)
    return {
      code: 'bad-value',
      message: `${subject} must be ${limit} ${bound}, but is ${describe(node)}`,
      help: RANGE_HELP,
    };
  const help = small ? `Add ${unit}.` : `Remove ${unit}.`;
  return { code: 'bad-value', message: `${subject} must have ${limit} ${bound} ${unit}, but has ${size}`, help };
}

/** Leaves out words that differ from an earlier one only in case or separators. */
function distinct(words: readonly string[]): readonly string[] {
  return [
    ...new Map(words.toReversed().map((word) => [word.toLowerCase().replaceAll(/[_-]/g, ''), word])).values(),
  ].toReversed();
}

const RANGE_HELP = 'Write a number within these limits.';

function shortened(value: string): string {
  return value.length > 40 ? `${value.slice(0, 39)}…` : value;
}
