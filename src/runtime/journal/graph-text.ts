/** A graph as it is stored: written out and fingerprinted once, however many runs it starts. */
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { CompiledFlow } from '../../ir/nodes.ts';

export interface GraphText {
  readonly text: string;
  /** SHA-256 of exactly this text: what the chain of a run starts from. */
  readonly print: string;
}

export function graphText(flow: CompiledFlow): GraphText {
  let known = texts.get(flow);
  if (known === undefined) {
    // Canonical, because the same graph may come from a document or from a program, with its keys in another order.
    const text = canonicalize(flow) as string;
    known = { text, print: printOf(text) };
    texts.set(flow, known);
  }
  return known;
}

export function printOf(text: string): string {
  return hash('sha256', text, 'base64url');
}

const texts = new WeakMap<CompiledFlow, GraphText>();
