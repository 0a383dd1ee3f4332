/** The server of this page, and the documents that pages ask it for. */
import { connect, SluiceError } from '@sluice-internal/client';
import { QueryClient, queryOptions } from '@tanstack/react-query';
import type { FlowRow, ListedRun, OpenQuestion, Page, PlacedPicture, RunReport, RunState, Session } from './types.ts';

export const server = connect(location.origin);

/** Called when the server no longer knows the caller. */
let onStranger = (): void => undefined;
export function whenUnknown(then: () => void): void {
  onStranger = then;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 2 && !(error instanceof SluiceError && error.status >= 400),
      retryDelay: 400,
      refetchOnWindowFocus: false,
      networkMode: 'always',
      staleTime: 2000,
    },
    mutations: { networkMode: 'always' },
  },
});

/** Calls a route. A caller whom the server no longer knows logs in again, and the page stays. */
export async function ask<Answer>(...[path, call]: Parameters<typeof server.request>): Promise<Answer> {
  try {
    return await server.request<Answer>(path, call);
  } catch (error) {
    if (path !== '/session') noteStranger(error);
    throw error;
  }
}

/** After a restart the server knows nobody: the caller logs in again. */
export function noteStranger(error: unknown): void {
  if (error instanceof SluiceError && error.status === 401) onStranger();
}

export function post<Answer>(path: string, body: unknown = {}): Promise<Answer> {
  return ask(path, { method: 'POST', body });
}

export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`;

export interface RunFilter {
  readonly status?: string | undefined;
  readonly flow?: string | undefined;
  readonly code?: string | undefined;
  readonly user?: string | undefined;
  readonly since?: string | undefined;
  readonly parent?: string | undefined;
  readonly q?: string | undefined;
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => ask<Session>('/session'),
  staleTime: Infinity,
});

export const flowsQuery = queryOptions({
  queryKey: ['flows'],
  queryFn: () => ask<Page<FlowRow>>('/flows', { query: { limit: 200 } }),
});

export const runsPage = (filter: RunFilter, cursor?: string, limit = 50): Promise<Page<ListedRun>> =>
  ask('/runs', { query: { ...filter, cursor, limit } });

export const reportQuery = (run: string) =>
  queryOptions({ queryKey: ['report', run], queryFn: () => ask<RunReport>(runPath(run)) });

/** The picture of a version never changes. */
export const pictureQuery = (flow: string, hash: string | undefined) =>
  queryOptions({
    queryKey: ['picture', flow, hash ?? null],
    queryFn: () => ask<PlacedPicture>(`/flows/${encodeURIComponent(flow)}/graph`, { query: { hash } }),
    ...(hash === undefined ? {} : { staleTime: Infinity }),
  });

export const stateQuery = (run: string, at: number | undefined) =>
  queryOptions({
    queryKey: ['state', run, at ?? null],
    queryFn: () => ask<RunState>(`${runPath(run)}/state`, { query: { at } }),
    ...(at === undefined ? {} : { staleTime: Infinity }),
  });

export const callQuery = <Call>(run: string, key: string) =>
  queryOptions({
    queryKey: ['call', run, key],
    queryFn: () => ask<Call>(`${runPath(run)}/calls/${encodeURIComponent(key)}`),
  });

export const questionQuery = (id: string) =>
  queryOptions({
    queryKey: ['question', id],
    queryFn: () => ask<OpenQuestion>(`/questions/${encodeURIComponent(id)}`),
  });

/** All open questions. Which of them are mine is in each. */
export const questionsQuery = queryOptions({
  queryKey: ['questions'],
  queryFn: () => ask<Page<OpenQuestion>>('/questions', { query: { limit: 200 } }),
});
