/**
 * Checks on the graph which node writes which slot: a model's reply goes to the scratchpad only, and observations are only
 * appended to. The state of a task is written from the scratchpad by expressions, after the reply was judged.
 */
import type { FlowBody, Node } from '../../ir/nodes.ts';

export function stateFaults({ nodes, view }: Pick<FlowBody, 'nodes' | 'view'>): readonly string[] {
  const stores = view?.stores ?? {};
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
