/** What the page of a flow reads and writes. */
import { queryOptions } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ask, queries } from '../data/server.ts';
import type { FlowRow, PlacedPicture } from '../data/types.ts';

export interface Bounds {
  readonly [measure: string]: { readonly least: number; readonly most: number | null } | undefined;
}

export interface FlowDetails extends FlowRow {
  /** The JSON Schema of the input; null if the flow declares none. */
  readonly input: unknown;
  readonly certificate: Bounds | null;
}

export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly endLine?: number;
  readonly endColumn?: number;
  readonly help?: string;
}

export interface Checked {
  readonly ok: boolean;
  readonly diagnostics: readonly Diagnostic[];
  readonly bounds?: Bounds;
  readonly graph?: PlacedPicture;
}

const pathOf = (flow: string): string => `/flows/${encodeURIComponent(flow)}`;

export const flowQuery = (flow: string) =>
  queryOptions({ queryKey: ['flow', flow], queryFn: () => ask<FlowDetails>(pathOf(flow)) });

export const sourceQuery = (flow: string) =>
  queryOptions({ queryKey: ['flow', flow, 'source'], queryFn: () => ask<string>(`${pathOf(flow)}/source`) });

export const checkQuery = (file: string, text: string) =>
  queryOptions({
    queryKey: ['check', file, text],
    queryFn: () => ask<Checked>('/check', { method: 'POST', body: { file, text } }),
    placeholderData: (before: Checked | undefined) => before,
    staleTime: Infinity,
    gcTime: 10_000,
  });

export const schemaQuery = queryOptions({
  queryKey: ['schema'],
  queryFn: () => ask<unknown>('/schema'),
  staleTime: Infinity,
});

export const scriptsQuery = queryOptions({
  queryKey: ['scripts'],
  queryFn: () => ask<{ readonly items: readonly string[] }>('/scripts'),
});

const REST_MS = 300;

/** The text, once nobody has typed for a moment. */
export function useTyped(text: string): string {
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(text), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return typed;
}

interface Written {
  readonly hash: string | null;
}

/** Replaces the version that was read; another one is refused. A document with mistakes has no hash, and its text names it. */
export async function save(
  flow: string,
  text: string,
  base: { readonly source: string; readonly hash: string | null },
): Promise<Written> {
  const match = base.hash ?? (await etagOf(base.source));
  const written = await ask<Written>(`${pathOf(flow)}/source`, {
    method: 'PUT',
    body: { text },
    headers: { 'if-match': match },
  });
  await queries.invalidateQueries({ queryKey: ['flow'] });
  await queries.invalidateQueries({ queryKey: ['flows'] });
  return written;
}

async function etagOf(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  const base = btoa(String.fromCharCode(...digest));
  return base.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
