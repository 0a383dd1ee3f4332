/** The slots that the expressions of a flow read. A name that cannot be part of an expression gets another slot name. */
import { OBSERVATIONS, REPLY, TALK } from '@sluice-internal/compile/lower';
import { isIdentifier } from '@sluice-internal/compile/expressions';

/** Slots of our own; no authored node can have such a name as its slot. */
export const SLOT = {
  /** The output of the agent that ran last. Bare names are its fields. */
  agent: '_agent',
  /** The answer of a person that the next agent is told: `{ choice, text }`. */
  said: '_said',
  /** The value that the path returns if it ends now. */
  out: '_out',
  /** True if a part of the work was lost. */
  partial: '_partial',
  /** True if the cap on visits stopped a thread. */
  capped: '_capped',
  /** The outcomes of the branches that were joined last. */
  join: '_join',
  /** A person's answer about a tool call. */
  allowed: '_allowed',
  /** In a sub-flow: the sources that vouch for arguments, if not all of its input does. */
  user: '_user',
  /** Calls of tool nodes whose outcome is not known: `{ tool, args }`. */
  unknown: '_unknown',
} as const;

const CONTEXT = ['event', 'approvals', 'error'] as const;
/** Names that every expression can read. */
export const CONTEXT_NAMES: ReadonlySet<string> = new Set(CONTEXT);
const TAKEN: ReadonlySet<string> = new Set([
  'input',
  'it',
  ...CONTEXT,
  TALK,
  REPLY,
  OBSERVATIONS,
  'turn',
  'call',
  'call_index',
]);

export interface Slots {
  of(id: string): string;
  /** Nodes whose ids are not names of the expression language. */
  readonly odd: readonly string[];
  /** The name of a node in the text that `readable` gives. */
  named(id: string): string;
  /** The expression's text with every node that cannot be named in it replaced by its slot; no offset moves. */
  readable(source: string): string;
}

/** `prefix` keeps the slots of a sub-flow apart from those of the flows that call it. */
export function slotsOf(ids: Iterable<string>, prefix = ''): Slots {
  const all = [...ids];
  const used = new Set(all);
  const slots = new Map<string, string>();
  const odd: string[] = [];
  for (const id of all) {
    if (isIdentifier(id) && !id.startsWith('_') && !TAKEN.has(id)) {
      slots.set(id, id);
      continue;
    }
    let slot = sameLength(id);
    while (used.has(slot)) slot += '_';
    used.add(slot);
    slots.set(id, slot);
    odd.push(id);
  }
  const longestFirst = odd.toSorted((a, b) => b.length - a.length).map(escaped);
  const named = new RegExp(`(?<![\\w.]|[A-Za-z_]\\w*-)(?:${longestFirst.join('|')})(?=\\s*[.[])|${STRING}`, 'g');
  return {
    odd,
    of: (id) => `${prefix}${slots.get(id) ?? id}`,
    named: (id) => slots.get(id) ?? id,
    readable: (source) => (odd.length === 0 ? source : source.replaceAll(named, (text) => slots.get(text) ?? text)),
  };
}

/** A text in quotes, which stays as it is. */
const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;

/** The slot of the items of a map, and of their number with `_index` after it. */
export function itemSlot(as: string): string {
  return TAKEN.has(as) || TAKEN.has(`${as}_index`) ? `_item_${as}` : as;
}

function sameLength(id: string): string {
  const letters = id.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^[^A-Za-z]/, 'n');
  return isIdentifier(letters) && !TAKEN.has(letters) ? letters : `${letters}_`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
