/**
 * Who may write what, checked on the graph itself: what a model says lands in the scratchpad and nowhere else, and
 * observations are only ever added to. The state of a task is written from there by expressions, after it was judged.
 */
import type { FlowBody, Node } from '../../ir/nodes.ts';

export function stateFaults({ nodes, stores = {} }: Pick<FlowBody, 'nodes' | 'stores'>): readonly string[] {
  return Object.entries<Node>(nodes).flatMap(([id, node]) => {
    if (node.op !== 'do' && node.op !== 'let') return [];
    const speaks = node.op === 'do' && node.effect.kind === 'model';
    return node.writes.flatMap(({ slot, mode, value }) => {
      const store = Object.hasOwn(stores, slot) ? stores[slot] : undefined;
      if (speaks && store !== 'scratchpad') return [`\`${id}\` writes what a model says to \`${slot}\``];
      const begins = mode === 'set' && value === '[]';
      if (store === 'observations' && mode !== 'append' && !begins)
        return [`\`${id}\` changes \`${slot}\`, which is only added to`];
      return [];
    });
  });
}
