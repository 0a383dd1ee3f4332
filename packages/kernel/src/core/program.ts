/**
 * A compiled flow made ready to run: expressions parsed once, schemas compiled once. The runtime supplies the pure functions
 * that need a platform: SHA-256 and JSON Schema.
 */
import { compileExpr, literalOf, pathOf } from '../expr/evaluate.ts';
import type { Notes } from '../expr/value.ts';
import { sortedKeys } from '../expr/sorted-keys.ts';
import type { CompiledFlow, Expr, Input, Node, NodeId, Write } from '../ir/nodes.ts';
import type { Json } from '../expr/json.ts';
import type { Recorded, RunState, Slots, Thread, WriteRecord } from '../ir/events.ts';
import { readPath } from './slots.ts';

export interface Pure {
  /** SHA-256 of a text, as short printable text. */
  hash(text: string): string;
  /** Null if the value satisfies the schema, otherwise the reason as a sentence. */
  validate(schema: Json, value: Json): string | null;
  /** The highest number of input tokens that a text can have. */
  countTokens(text: string): number;
}
type Evaluate = (slots: Slots, it: Json, notes?: Notes) => Json;
export interface Program {
  readonly flow: CompiledFlow;
  readonly pure: Pure;
  /** A cache of `declared.ts`: the parts of each node that depend on the graph alone. */
  readonly derived: Map<Node, unknown>;
  /** `notes` receives what a guard could not read as it stands. */
  evaluate(source: Expr, slots: Slots, it?: Json, notes?: Notes): Json;
  /** As `evaluate`, but an expression that is only a path is recorded as a reference, so the journal does not repeat the value. */
  record(source: Recordable, slots: Slots, it?: Json, notes?: Notes): Recorded;
  /** The result of `record` if it does not depend on the slots: a reference or a literal. Null otherwise. */
  fixed(source: Recordable): Recorded | null;
}
/** A thread at a node. */
export interface Visit<At extends Node = Node> {
  readonly program: Program;
  readonly state: RunState;
  readonly thread: Thread;
  readonly node: At;
}
type Recordable = Expr | { readonly [field: string]: Expr };

export function createProgram(flow: CompiledFlow, pure: Pure): Program {
  const cache = new Map<Expr, { run: Evaluate; fixed: Recorded | null }>();
  const compiled = (source: Expr) => {
    let entry = cache.get(source);
    if (entry === undefined) cache.set(source, (entry = compileOne(source)));
    return entry;
  };
  const one = (source: Expr, slots: Slots, it: Json, notes?: Notes): Recorded => {
    const { fixed, run } = compiled(source);
    return fixed ?? { value: run(slots, it, notes) };
  };
  const fixed = (source: Recordable): Recorded | null => {
    if (typeof source === 'string') return compiled(source).fixed;
    const object: { [field: string]: Recorded } = {};
    for (const field in source) {
      const part = compiled(source[field] as Expr).fixed;
      if (part === null) return null;
      object[field] = part;
    }
    return { object };
  };
  return {
    flow,
    pure,
    derived: new Map(),
    fixed,
    evaluate: (source, slots, it = null, notes) => compiled(source).run(slots, it, notes),
    record: (source, slots, it = null, notes) => {
      if (typeof source === 'string') return one(source, slots, it, notes);
      const object: { [field: string]: Recorded } = {};
      for (const field in source) object[field] = one(source[field] as Expr, slots, it, notes);
      return { object };
    },
  };
}

function compileOne(source: Expr): { run: Evaluate; fixed: Recorded | null } {
  const path = pathOf(source);
  if (path !== null) return { run: direct(path), fixed: { ref: path } };
  const literal = literalOf(source);
  if (literal !== undefined) return { run: () => literal, fixed: { value: literal } };
  return { run: general(source), fixed: null };
}

export function nodeAt(program: Program, id: NodeId): Node {
  const node = program.flow.nodes[id];
  if (node === undefined) throw new Error(`invariant: node \`${id}\` is not in flow ${program.flow.hash}`);
  return node;
}

/** Fields are in the order in which the journal stores them, so that a call after a restart has the same text. */
export function evaluateInput(program: Program, input: Input, slots: Slots): { [field: string]: Json } {
  const values: { [field: string]: Json } = {};
  for (const field of fieldsOf(input)) values[field] = program.evaluate(input[field] as Expr, slots);
  return values;
}

function fieldsOf(input: Input): readonly string[] {
  let known = fields.get(input);
  if (known === undefined) fields.set(input, (known = sortedKeys(input)));
  return known;
}
const fields = new WeakMap<Input, readonly string[]>();

/** The writes with the values that must be computed now; the others stay references. */
export function recordWrites(
  program: Program,
  writes: readonly Write[],
  slots: Slots,
  it: Json,
  notes?: Notes,
): WriteRecord[] {
  return writes.map(({ slot, path, mode, value }) => ({
    slot,
    path,
    mode,
    from: program.record(value, slots, it, notes),
  }));
}

function direct(path: readonly string[]): Evaluate {
  const rest = path.slice(1);
  return path[0] === 'it' ? (_, it) => readPath(it, rest) : (slots) => readPath(slots, path);
}

function general(source: Expr): Evaluate {
  const program = compileExpr(source);
  return /\bit\b/.test(source)
    ? (slots, it, notes) => program({ ...slots, it }, notes)
    : (slots, _, notes) => program(slots, notes);
}
