/** The server itself: the stream of all changes, tokens, health and metrics. */
import { z } from '@hono/zod-openapi';
import { present } from '@sluice-internal/kernel/expr';
import type { ListedToken } from '../auth/tokens.ts';
import { ACCESS } from '../auth/who.ts';
import { closeBreaker } from '../http/breakers.ts';
import { changesOf } from '../http/changes.ts';
import { SINCE, healthOf, metricsText, summaryOf } from '../http/health.ts';
import { Refusal } from '../http/problem.ts';
import { addRoute, json, type App } from '../http/routing.ts';
import { MadeToken, Ok, Ready, Summary, TokenPage } from '../http/schemas.ts';
import { streamFor } from '../http/streams.ts';
import type { Services } from '../http/services.ts';

export function metaRoutes(app: App, services: Services): void {
  streamRoutes(app, services);
  breakerRoutes(app, services);
  healthRoutes(app, services);
}

function streamRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/stream',
        summary: 'The changes of runs, questions and flows: one connection for all.',
      },
      access: 'viewer',
      query: z.object({ topics: z.string().max(2000).describe('runs, questions, flows and run:ID, with commas.') }),
      headers: z.object({ 'last-event-id': z.string().optional() }),
      ...{ answers: { 200: 'text/event-stream' }, errors: ['too-many-streams', 'run-not-found'] },
    },
    async ({ query, who, context }) => {
      const { store, folder } = services;
      const view = await services.view(who);
      const after = context.req.header('last-event-id');
      return streamFor(services, who, context.req.raw.signal, (signal) =>
        changesOf({
          ...{ store, view, who, topics: query.topics.split(','), signal },
          ...present({ after }),
          onFlows: (told) => folder.onChange(told),
        }),
      );
    },
  );
}

const NewToken = z
  .object({
    name: z.string(),
    access: z.array(z.enum(ACCESS)).min(1),
    person: z.string().min(1).max(200).optional(),
    tenant: z.string().min(1).max(200).optional(),
    days: z.number().positive().max(3650).optional(),
    content: z.boolean().optional(),
  })
  .strict()
  .openapi('NewToken');

export function tokenRoutes(app: App, { tokens, ...rest }: Services): void {
  const services = { tokens, ...rest };
  addRoute(
    app,
    services,
    {
      method: 'get',
      path: '/v1/tokens',
      summary: 'The tokens, without their secrets.',
      access: 'admin',
      answers: { 200: TokenPage },
    },
    async ({ who }) => {
      const own = (await tokens.list()).filter(({ tenant }) => who.tenant === null || tenant === who.tenant);
      return json({ items: own.map(shownToken), next: null });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/tokens',
        summary: 'Makes a token. It is shown once.',
        access: 'admin',
        body: NewToken,
      },
      ...{ answers: { 201: MadeToken }, errors: ['bad-token', 'token-exists'] },
    },
    async ({ body, who }) => {
      // An admin of a tenant makes tokens of that tenant.
      const tenant = who.tenant ?? body.tenant;
      if (body.tenant !== undefined && body.tenant !== tenant)
        throw new Refusal('wrong-tenant', 'a token can only be for your own tenant', { help: 'Leave `tenant` out.' });
      const { hash: _hash, ...made } = await tokens.add({ ...body, tenant }, who.name);
      return json(shownToken({ ...made, usedAt: null }), 201);
    },
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'delete', path: '/v1/tokens/{name}', summary: 'Revokes a token.', access: 'admin' },
      ...{ params: z.object({ name: z.string() }), answers: { 204: null }, errors: ['token-not-found'] },
    },
    async ({ params: { name }, who }) => {
      const found = (await tokens.list()).find((each) => each.name === name);
      if (found !== undefined && who.tenant !== null && found.tenant !== who.tenant)
        throw new Refusal('token-not-found', `there is no token \`${name}\``);
      await tokens.revoke(name, who.name);
      return new Response(null, { status: 204 });
    },
  );
}

function shownToken(token: ListedToken & { readonly token?: string }): object {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { ...token, createdAt: iso(token.createdAt), expiresAt: iso(token.expiresAt), usedAt: iso(token.usedAt) };
}

function breakerRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/breakers/{name}/close',
        summary: 'Closes a circuit breaker.',
        access: 'operator',
      },
      params: z.object({ name: z.string().max(500) }),
      body: z.object({ why: z.string().max(2000).default('') }).strict(),
      ...{ answers: { 204: null }, errors: ['breaker-not-found'] },
    },
    async ({ params: { name }, body: { why }, who }) => {
      await closeBreaker(services, who, name, why);
      return new Response(null, { status: 204 });
    },
  );
}

function healthRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    { method: 'get', path: '/healthz', summary: 'The server runs.', access: 'open', answers: { 200: Ok } },
    () => json({ ok: true }),
  );
  addRoute(
    app,
    services,
    {
      method: 'get',
      path: '/readyz',
      summary: 'The server takes requests.',
      access: 'open',
      answers: { 200: Ready, 503: Ready },
    },
    async () => {
      const { ready, why } = await healthOf(services);
      return json({ ready, ...present({ why }) }, ready ? 200 : 503);
    },
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/metrics/summary', summary: 'Sums over the runs since a time.', access: 'viewer' },
      ...{
        query: z.object({ since: z.string().regex(SINCE, 'is an age such as 24h or 7d').default('24h') }),
        answers: { 200: Summary },
      },
    },
    async ({ query, who }) => json(await summaryOf(services, await services.view(who), query.since)),
  );
  addRoute(
    app,
    services,
    {
      method: 'get',
      path: '/metrics',
      summary: 'Figures for Prometheus.',
      access: services.isLocal ? 'open' : 'viewer',
      answers: { 200: 'text/plain' },
    },
    async () => new Response(await metricsText(services), { headers: { 'content-type': 'text/plain; version=0.0.4' } }),
  );
}
