/** What a slot is made from: the input, calls, people, or nothing but the document. */
import { childrenOf, parseExpr } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Expr, Write } from '@sluice-internal/kernel/ir';
import type { PacketSource } from '../ports/packet.ts';
import type { Observed } from './evidence.ts';

type Source = Pick<PacketSource, 'from' | 'trusted'>;

const DOCUMENT: Source = { from: 'document', trusted: true };

export class Origins {
  readonly #nodes: CompiledFlow['nodes'];
  readonly #observed: readonly Observed[];

  constructor({ nodes }: CompiledFlow, observed: readonly Observed[]) {
    this.#nodes = nodes;
    this.#observed = observed;
  }

  /** The source of a value that reads these slots. One that is not trusted is named first. */
  of(slots: Iterable<string>, items: ReadonlyMap<string, ReadonlySet<string>> = new Map()): Source {
    const found = this.observed([...slots].flatMap((slot) => [...(items.get(slot) ?? [slot])]));
    const [first] = found;
    if (first === undefined) return DOCUMENT;
    const doubtful = found.find(({ trusted }) => trusted !== true);
    return { from: (doubtful ?? first).from, trusted: doubtful === undefined };
  }

  /** The latest observation of each node that these slots come from. */
  observed(slots: Iterable<string>): readonly Observed[] {
    const seen = new Set<string>();
    const ids = new Set<string>();
    const open = [...slots];
    for (let slot = open.pop(); slot !== undefined; slot = open.pop()) {
      if (seen.has(slot)) continue;
      seen.add(slot);
      if (slot === 'input') ids.add('');
      for (const { id, reads } of writersIn(this.#nodes).get(slot) ?? []) {
        ids.add(id);
        open.push(...reads);
      }
    }
    const own = this.#observed.filter(({ id, kind }) => kind !== 'check' && ids.has(id));
    return [...new Map(own.map((each) => [each.id, each])).values()];
  }
}

type Writers = ReadonlyMap<string, readonly { readonly id: string; readonly reads: ReadonlySet<string> }[]>;
/** A graph never changes. */
const known = new WeakMap<CompiledFlow['nodes'], Writers>();

function writersIn(nodes: CompiledFlow['nodes']): Writers {
  const found = known.get(nodes) ?? readWriters(nodes);
  known.set(nodes, found);
  return found;
}

function readWriters(nodes: CompiledFlow['nodes']): Writers {
  const writers = new Map<string, { readonly id: string; readonly reads: ReadonlySet<string> }[]>();
  for (const [id, node] of Object.entries(nodes))
    for (const write of 'writes' in node ? node.writes : []) {
      const reads = node.op === 'do' ? new Set<string>() : rootsOf(write);
      const own = writers.get(write.slot) ?? [];
      own.push({ id, reads });
      writers.set(write.slot, own);
    }
  return writers;
}

function rootsOf({ value }: Write): ReadonlySet<string> {
  const sources: readonly Expr[] = typeof value === 'string' ? [value] : Object.values(value);
  return new Set(sources.flatMap((source) => rootsIn(source)));
}

/** The variables of an expression. Those of macros are among them, which no slot has the name of. */
function rootsIn(source: Expr): readonly string[] {
  const roots: string[] = [];
  const open = [parseExpr(source)];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.op === 'id') roots.push(node.args);
    open.push(...childrenOf(node));
  }
  return roots;
}
