/**
 * The two checks of long-term memory, for all notations: `memory.read` gives a run the entries of an agent,
 * `memory.write` takes an answer through the write gate. A slot holds the entries that were read as `{ entries, withheld }`,
 * or null.
 */
import type { CheckEffect, Expr, Input, ToolDef } from '@sluice-internal/kernel/ir';
import type { MemoryDef } from '../../document/memory.ts';
import { literal, quote } from '@sluice-internal/kernel/expr';
import { withInputFields } from '../../expressions/reads.ts';
import { rewriteNames } from '../../expressions/rewrite.ts';
import { receiptsIn } from '../agent-turn/turn.ts';

/** The input of `memory.read`. */
export function readInput(agent: string, memory: MemoryDef, query: Expr): Input {
  return { ...ownerOf(agent, memory), query, limit: literal(memory.recall) };
}

/** The entries that an agent has read, as messages that are marked as data. */
export function memoryMessages(recalled: Expr): Expr {
  const message = '{"role": "user", "content": text(e.goal, ": ", e.answer), "source": text("memory of run ", e.run)}';
  return `(${recalled} == null ? [] : ${recalled}.entries.map(e, ${message}))`;
}

/** All entries that the agent has read. */
export function allEntries(recalled: Expr): Expr {
  return `(${recalled} == null ? [] : ${recalled}.entries.map(e, [e.goal, e.answer]))`;
}

/** The entries that the agent has read and that are not trusted. */
export function untrustedEntries(recalled: Expr): Expr {
  return `(${recalled} == null ? [] : ${recalled}.entries.filter(e, e.trust != "trusted").map(e, [e.goal, e.answer]))`;
}

/** Quarantined entries: the agent did not read them, and their values are not trusted. */
export function withheldEntries(recalled: Expr): Expr {
  return `(${recalled} == null || ${recalled}.withheld == null ? [] : ${recalled}.withheld.map(e, [e.goal, e.answer]))`;
}

export interface Remembered {
  readonly agent: string;
  readonly memory: MemoryDef;
  /** The agent that accepted the answer, if it is not the gate. */
  readonly validator?: string | null;
  /** Of the conditions: the expressions behind `answer`, `goal` and `observations`. */
  readonly names?: { readonly [name: string]: Expr };
  readonly tools: { readonly [name: string]: Pick<ToolDef, 'effect'> };
  /** Goal, answer and evidence of the entry. */
  readonly entry: {
    readonly goal: Expr;
    readonly answer: Expr;
    readonly citations: Expr;
    readonly observations: Expr;
    /** Texts by people. */
    readonly userAnswers: Expr;
    /** Entries that the run has read: untrusted ones, and all. */
    readonly recalled: Expr;
    readonly known: Expr;
    /** The reason why the run is only a partial success, or null. */
    readonly doubt: Expr;
  };
  readonly more?: Input;
}

export function writeEffect({
  agent,
  memory,
  validator = null,
  names = {},
  tools,
  entry,
  more,
}: Remembered): CheckEffect {
  const { lifetimeMs, quarantine } = memory;
  const conditions = memory.validate.map(
    ({ when, reason }) => `rule(${quote(when)}, ${conditionOf(when, names, tools)}\n) ? "" : ${quote(reason)}`,
  );
  return {
    kind: 'check',
    check: 'memory.write',
    input: {
      ...ownerOf(agent, memory),
      ...entry,
      user: 'input',
      invalid: `[${conditions.join(', ')}].filter(r, r != "")`,
      rules: literal({ lifetimeMs, quarantine, ...(validator === null ? {} : { validator }) }),
      ...more,
    },
    reserve: { memoryWrites: 1 },
  };
}

/** The owner of the memory, as the checks read it. */
function ownerOf(agent: string, { share }: MemoryDef): Input {
  return {
    owner: quote(agent),
    ...(share === null ? {} : { share: quote(share.name), users: quote(share.users) }),
  };
}

function conditionOf(when: Expr, names: { readonly [name: string]: Expr }, tools: Remembered['tools']): Expr {
  return rewriteNames(withInputFields(when), ([root = '']) => {
    if (root === 'receipts') return receiptsIn(tools, names['observations']);
    return Object.hasOwn(names, root) ? (names[root] ?? null) : null;
  });
}
