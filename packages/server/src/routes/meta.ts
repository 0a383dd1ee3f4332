/** The server itself: who is calling, sessions, tokens, health, metrics, and its own description. */
import { z } from '@hono/zod-openapi';
import { present } from '@sluice-internal/kernel/expr';
import { VERSION } from '@sluice-internal/platform';
import { ACCESS, type Who } from '../auth/who.ts';
import { cookieOf, sessionCookie } from '../http/cookie.ts';
import { healthOf, metricsText, summaryOf } from '../http/health.ts';
import { Refusal } from '../http/problem.ts';
import { Json, addRoute, json, type App } from '../http/routing.ts';
import { demandStream, stopOf } from '../http/streams.ts';
import { sseResponse } from '../http/sse.ts';
import type { Services } from '../http/services.ts';

export function metaRoutes(app: App, services: Services): void {
  callerRoutes(app, services);
  tokenRoutes(app, services);
  healthRoutes(app, services);
}

const Me = z
  .object({
    name: z.string(),
    person: z.string().nullable(),
    tenant: z.string().nullable(),
    access: z.array(z.enum(ACCESS)),
    content: z.boolean(),
    expiresAt: z.string().nullable(),
    limits: Json,
    version: z.string(),
  })
  .openapi('Me');

function callerRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      method: 'get',
      path: '/v1/me',
      summary: 'Who is calling, and the limits.',
      access: 'viewer',
      answers: { 200: Me },
    },
    ({ who }) => json(meOf(services, who)),
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/session',
        summary: 'Exchanges a code, or a token, for the cookie of a page.',
        access: 'open',
      },
      body: z.object({ code: z.string().max(100).optional(), token: z.string().max(10_000).optional() }).strict(),
      ...{ answers: { 200: Me }, errors: ['unauthenticated'] },
    },
    async ({ body, context }) => {
      const who = await callerOf(services, body);
      if (who === null)
        throw new Refusal('unauthenticated', 'this code or token is not valid any more', {
          help: 'Start the page again.',
        });
      const name = /^token:(.*)$/.exec(who.proof?.subject ?? '')?.[1];
      const { secret, maxAge } = services.sessions.begin(
        who,
        name === undefined ? undefined : () => services.tokens.holds(name),
      );
      const isSecure = new URL(context.req.url).protocol === 'https:';
      return json(meOf(services, who), 200, {
        'set-cookie': sessionCookie(services.cookie, secret, { maxAge, isSecure }),
      });
    },
  );
  addRoute(
    app,
    services,
    {
      method: 'delete',
      path: '/v1/session',
      summary: 'Ends the session of a page.',
      access: 'viewer',
      answers: { 204: null },
    },
    ({ context }) => {
      const secret = cookieOf(context.req.raw, services.cookie);
      if (secret !== null) services.sessions.end(secret);
      return new Response(null, {
        status: 204,
        headers: { 'set-cookie': sessionCookie(services.cookie, '', { maxAge: 0, isSecure: false }) },
      });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/stream',
        summary: 'The changes of runs, questions and flows: one connection for all.',
      },
      ...{ access: 'viewer', query: z.object({ topics: z.string().max(2000) }) },
      ...{ answers: { 200: null }, errors: ['too-many-streams', 'run-not-found'] },
    },
    async ({ query, who, context }) => {
      const view = await services.view(who);
      const topics = query.topics.split(',');
      const end = demandStream(services, who);
      const stop = stopOf(services, who, context.req.raw.signal);
      const after = context.req.header('last-event-id');
      const source = await services.changes
        .read({ view, who, topics, signal: stop.signal, ...present({ after }) })
        .catch((error: unknown) => {
          stop.dispose();
          end();
          throw error;
        });
      return sseResponse(source, {
        signal: stop.signal,
        onEnd: () => {
          stop.dispose();
          end();
        },
      });
    },
  );
}

async function callerOf(
  { sessions, tokens, oidc }: Services,
  { code, token }: { code?: string | undefined; token?: string | undefined },
): Promise<Who | null> {
  if (code !== undefined) return sessions.redeem(code);
  if (token === undefined) throw new Refusal('bad-request', 'the body has neither `code` nor `token`');
  return token.startsWith('slk_') ? tokens.who(token) : (oidc?.who(token) ?? null);
}

function meOf({ limits }: Services, { name, person, tenant, access, content, expiresAt }: Who): z.output<typeof Me> {
  const until = expiresAt === null ? null : new Date(expiresAt).toISOString();
  return { name, person, tenant, access: [...access], content, expiresAt: until, limits, version: VERSION };
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

function tokenRoutes(app: App, { tokens, ...rest }: Services): void {
  const services = { tokens, ...rest };
  addRoute(
    app,
    services,
    {
      method: 'get',
      path: '/v1/tokens',
      summary: 'The tokens, without their secrets.',
      access: 'admin',
      answers: { 200: Json },
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
      ...{ answers: { 201: Json }, errors: ['bad-token', 'token-exists'] },
    },
    async ({ body, who }) => {
      // An admin of a tenant makes tokens of that tenant.
      const tenant = who.tenant ?? body.tenant;
      if (body.tenant !== undefined && body.tenant !== tenant)
        throw new Refusal('wrong-tenant', 'a token can only be for your own tenant', { help: 'Leave `tenant` out.' });
      const { hash: _, ...made } = await tokens.add({ ...body, tenant }, who.name);
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

function shownToken<Token extends { createdAt: number; expiresAt: number | null; usedAt: number | null }>(
  token: Token,
): object {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { ...token, createdAt: iso(token.createdAt), expiresAt: iso(token.expiresAt), usedAt: iso(token.usedAt) };
}

function healthRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    { method: 'get', path: '/healthz', summary: 'The server runs.', access: 'open', answers: { 200: Json } },
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
      answers: { 200: Json, 503: Json },
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
      ...{ query: z.object({ since: z.string().default('24h') }), answers: { 200: Json } },
    },
    async ({ query, who }) => json(await summaryOf(await services.view(who), query.since)),
  );
  addRoute(
    app,
    services,
    {
      method: 'get',
      path: '/metrics',
      summary: 'Figures for Prometheus.',
      access: services.isLocal ? 'open' : 'viewer',
      answers: { 200: null },
    },
    async () => new Response(await metricsText(services), { headers: { 'content-type': 'text/plain; version=0.0.4' } }),
  );
}
