/**
 * Reads stored graphs. The runs of a flow share the text of its graph, so the last few graphs stay in memory. The key is the
 * whole text: a graph that was changed from outside is read again.
 */
import { parseJson } from '@sluice-internal/kernel/expr';
import { createProgram } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { pure } from '../ports/pure.ts';
import { printOf } from './chain.ts';

const KEPT_MAX = 16;

/** Throws a `SyntaxError` if the text is not JSON. */
export const storedProgram: (graph: string) => Program = kept((graph) =>
  createProgram(parseJson(graph) as unknown as CompiledFlow, pure),
);

/** SHA-256 of the text. The chain of a run starts from it. */
export const storedPrint: (graph: string) => string = kept(printOf);

function kept<T>(read: (graph: string) => T): (graph: string) => T {
  const known = new Map<string, T>();
  return (graph) => {
    const value = known.get(graph) ?? read(graph);
    // The most recently used entry is the last one.
    known.delete(graph);
    known.set(graph, value);
    const [oldest] = known.keys();
    if (known.size > KEPT_MAX && oldest !== undefined) known.delete(oldest);
    return value;
  };
}
