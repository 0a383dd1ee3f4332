/**
 * The hash chain (L11). An append is one link: its hash covers the previous hash, its position, its time and its bytes. For
 * readers of single events every event has a hash; the last event of an append carries the stored one.
 */
import { canonical } from '@sluice-internal/kernel/expr';
import type { Program } from '@sluice-internal/kernel/core';
import type { CompiledFlow, Event, RunId } from '@sluice-internal/kernel/ir';
import { genesisText, linkText } from '@sluice-internal/wire';
import { hash } from 'node:crypto';
import { decodeEvents } from './codec.ts';
import type { UnpackValue } from './codec-events.ts';
import type { ChainedEvent } from '../ports/types.ts';
import type { OperatorAct, StoredAppend, Tombstone } from '../ports/ports.ts';

/** The hash before the first append. It binds the chain to the run id and to the bytes of its graph. */
export function genesis(run: RunId, graphPrint: string): string {
  return hash('sha256', genesisText(run, graphPrint), 'base64url');
}

export function link(previous: string, after: number, at: number, body: string): string {
  return hash('sha256', linkText(previous, after, at, body), 'base64url');
}

export function chained(program: Program, previous: string, append: StoredAppend, unpack: UnpackValue): ChainedEvent[] {
  return linkEvents(previous, decodeEvents(program, append, unpack), append.hash);
}

export function linkEvents(previous: string, events: readonly Event[], last: string): ChainedEvent[] {
  let prev = previous;
  return events.map((event, index) => {
    const own = index === events.length - 1 ? last : hash('sha256', `${prev}\n${JSON.stringify(event)}`, 'base64url');
    const linked = { ...event, prev, hash: own };
    prev = own;
    return linked;
  });
}

interface GraphText {
  readonly text: string;
  /** SHA-256 of the text. The chain of a run starts from it. */
  readonly print: string;
}

export function graphText(flow: CompiledFlow): GraphText {
  let known = texts.get(flow);
  if (known === undefined) {
    // Canonical: a document and a program may give the same graph with its keys in another order.
    const text = canonical(flow);
    known = { text, print: printOf(text) };
    texts.set(flow, known);
  }
  return known;
}

export function printOf(text: string): string {
  return hash('sha256', text, 'base64url');
}

const texts = new WeakMap<CompiledFlow, GraphText>();

/** Acts of operators form a chain of their own, so that none can be changed or deleted unnoticed. */
export function linkAct(previous: string, { at, by, what, key, why }: Omit<OperatorAct, 'link'>): string {
  return hash('sha256', JSON.stringify([previous, at, by, what, key, why]), 'base64url');
}

/** Of a shared value, so that a change from outside is found. */
export function hashShared(store: string, key: string, value: string): string {
  return hash('sha256', JSON.stringify([store, key, value]), 'base64url');
}

/** Tombstones of removed runs form a chain of their own, so that none can be changed or deleted unnoticed. */
export function linkTombstone(previous: string, tombstone: Omit<Tombstone, 'link'>): string {
  const { run, events, hash: head, at, tenant, file } = tombstone;
  const more = tenant === null && file === null ? [] : [JSON.stringify([tenant, file])];
  return hash('sha256', [previous, run, events, head, at, ...more].join('\n'), 'base64url');
}
