/**
 * Proves that every value that the new version reads after the position of a run exists: in the run, or written on every path
 * to the node that reads it. A read of the old version needs no proof.
 */
import { canonical, parseExpr } from '@sluice-internal/kernel/expr';
import { readsOf } from '@sluice-internal/compile/expressions';
import { graphOf } from '@sluice-internal/compile/graph';
import { authorOf, hasPath, readPath } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { CompiledFlow, DoNode, Expr, Node, NodeId, RunState, Slots, Write } from '@sluice-internal/kernel/ir';

type Path = readonly string[];
/** Names that the engine provides where they can be read. */
const ALWAYS: ReadonlySet<string> = new Set(['it', 'error', 'tripped']);

export function valueMisfits(before: CompiledFlow, after: Program, state: RunState): readonly Misfit[] {
  const misfits = new Map<string, Misfit>();
  for (const { at, slots } of state.threads.values()) {
    if (!Object.hasOwn(after.flow.nodes, at)) continue;
    for (const misfit of [...missingFrom(before, after.flow, at, slots), ...unfitResults(before, after, slots)])
      misfits.set(`${misfit.part} ${misfit.problem}`, misfit);
  }
  return [...misfits.values()];
}

function missingFrom(before: CompiledFlow, after: CompiledFlow, at: NodeId, slots: Slots): readonly Misfit[] {
  const written = writtenBefore(after, at);
  const produced = new Set(
    Object.values<Node>(after.nodes).flatMap((node) => writesOf(node).map(([slot = '']) => slot)),
  );
  const misfits: Misfit[] = [];
  for (const [id, known] of written) {
    const node = after.nodes[id] as Node;
    const old = Object.hasOwn(before.nodes, id) ? before.nodes[id] : undefined;
    const unchanged = new Set(old === undefined ? [] : readsIn(old).map(keyOf));
    // The run has read the input of the node that it stands at.
    const reads = id === at && node.op === 'do' ? [] : readsIn(node);
    for (const path of reads) {
      const [root = ''] = path;
      if (ALWAYS.has(root) || unchanged.has(keyOf(path)) || (!produced.has(root) && !Object.hasOwn(slots, root)))
        continue;
      if (hasPath(slots, path) || [...known].some((key) => covers(key, path))) continue;
      misfits.push({
        part: `value \`${path.join('.')}\``,
        problem: `\`${authorOf(node)}\` reads it, and the run does not have it`,
      });
    }
  }
  return misfits;
}

/** Values that every path from the position to a node writes. */
function writtenBefore(flow: CompiledFlow, at: NodeId): ReadonlyMap<NodeId, ReadonlySet<string>> {
  const graph = graphOf(flow);
  const known = new Map<NodeId, ReadonlySet<string>>([[at, new Set()]]);
  const queue = [at];
  for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
    const node = graph.node(id);
    const own = known.get(id) as ReadonlySet<string>;
    const after = new Set([...own, ...writesOf(node).map(keyOf)]);
    for (const { to, kind } of graph.edges(id)) {
      // Only the regular way out of a node has its writes.
      const arriving = kind === 'next' || kind === 'branch' ? after : own;
      const earlier = known.get(to);
      const common = earlier === undefined ? arriving : new Set([...earlier].filter((key) => arriving.has(key)));
      if (earlier !== undefined && common.size === earlier.size) continue;
      known.set(to, common);
      queue.push(to);
    }
  }
  return known;
}

function writesOf(node: Node): readonly Path[] {
  if (node.op === 'let' || node.op === 'do') return node.writes.map(({ slot, path = [] }) => [slot, ...path]);
  if (node.op !== 'fork') return [];
  const item = 'heads' in node.over ? [] : [[node.over.as], [`${node.over.as}_index`]];
  return [[node.into], ...node.gather.map(({ slot }) => [slot]), ...item];
}

/** A written value covers what lies below it, and the object that contains it. */
function covers(key: string, path: Path): boolean {
  const read = keyOf(path);
  return read === key || read.startsWith(`${key}.`) || key.startsWith(`${read}.`);
}

function keyOf(path: Path): string {
  return path.join('.');
}

function readsIn(node: Node): readonly Path[] {
  return expressionsOf(node).flatMap((text) => {
    try {
      return readsOf(parseExpr(text)).map(({ path }) => path);
    } catch {
      return [];
    }
  });
}

function expressionsOf(node: Node): readonly Expr[] {
  switch (node.op) {
    case 'let':
      return node.writes.flatMap(valuesOf);
    case 'pick':
      return node.cases.map(({ when }) => when);
    case 'do':
      return [...Object.values(node.effect.input), ...node.writes.flatMap(valuesOf), ...optional(node)];
    case 'fork':
      return 'heads' in node.over ? node.over.heads.flatMap(({ when }) => when ?? []) : [node.over.each];
    case 'end':
      return [node.output];
  }
}

function optional({ accept, unless, failed }: DoNode): readonly Expr[] {
  return [accept, unless, ...failed.map(({ when }) => when)].filter((each) => each !== undefined);
}

function valuesOf({ value }: Write): readonly Expr[] {
  return typeof value === 'string' ? [value] : Object.values(value);
}

/** Results of the run that the schema of the new version does not allow. */
function unfitResults(before: CompiledFlow, after: Program, slots: Slots): readonly Misfit[] {
  return Object.entries<Node>(after.flow.nodes).flatMap(([id, node]) => {
    const old = Object.hasOwn(before.nodes, id) ? before.nodes[id] : undefined;
    if (node.op !== 'do' || node.schema === undefined || old?.op !== 'do') return [];
    if (canonical(old.schema) === canonical(node.schema)) return [];
    const { schema } = node;
    return node.writes
      .filter(({ mode, value }) => mode === 'object' && value === 'it.text')
      .map(({ slot, path = [] }) => [slot, ...path])
      .filter((path) => hasPath(slots, path))
      .flatMap((path) => {
        const problem = after.pure.validate(schema, readPath(slots, path));
        if (problem === null) return [];
        return [{ part: `value \`${keyOf(path)}\``, problem: `it does not fit the new \`output\`: ${problem}` }];
      });
  });
}

export interface Misfit {
  /** As in "node `gate`" or "value `triage.output`". */
  readonly part: string;
  readonly problem: string;
}
