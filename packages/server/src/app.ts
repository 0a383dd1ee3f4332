/** The app: what every request passes, in this order, and the routes. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { VERSION } from '@sluice-internal/platform';
import type { Context } from 'hono';
import { randomUUID } from 'node:crypto';
import { cookieOf } from './http/cookie.ts';
import { allowedOrigin, demandHost, demandRate, demandSite, demandVersion, isPageVisit } from './http/door.ts';
import type { DoorOptions } from './http/door.ts';
import { Refusal, problemResponse } from './http/problem.ts';
import { attachmentRoutes } from './routes/attachments.ts';
import { flowRoutes } from './routes/flows.ts';
import { metaRoutes, tokenRoutes } from './routes/meta.ts';
import { questionRoutes } from './routes/questions.ts';
import { runRoutes } from './routes/runs.ts';
import { callerRoute, sessionRoutes } from './routes/session.ts';
import { remoteAddress, type App, type Variables } from './http/routing.ts';
import { openApiPage } from './http/openapi-page.ts';
import type { Services } from './http/services.ts';
import type { Studio } from './http/studio.ts';
import type { Who } from './auth/who.ts';

export interface AppOptions {
  readonly services: Services;
  readonly door: DoorOptions;
  /** The built pages; null without them. */
  readonly studio?: Studio | null;
  /** Who calls, if not by a token, a session or OIDC: a program around the app knows it. */
  readonly identify?: ((request: Request) => Promise<Who | null>) | undefined;
  /** Called after each request, for the log. */
  readonly onRequest?: ((line: RequestLine) => void) | undefined;
}

/** One line of the log. It has no query, no body and no header: they may hold secrets. */
export interface RequestLine {
  readonly request: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly caller: string | null;
  readonly error?: unknown;
}

type AppContext = Context<{ Variables: Variables }>;

const HEADERS: { readonly [name: string]: string } = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'sluice-version': VERSION,
};
/** What a page of another origin may send and read. It has no cookie here, so it needs a token. */
const CORS = {
  'access-control-allow-methods': 'GET, POST, PUT, DELETE',
  'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id, prefer, sluice-version',
  'access-control-expose-headers': 'location, retry-after, sluice-version',
  'access-control-max-age': '600',
};

export function createApp({ services, door, studio = null, identify, onRequest }: AppOptions): App {
  const app = new OpenAPIHono<{ Variables: Variables }>({
    defaultHook: (result) => {
      if (!result.success) throw result.error;
    },
  });
  const failures = new WeakMap<Request, unknown>();
  app.use(async (context, next) => {
    const started = performance.now();
    context.set('request', randomUUID());
    context.set('who', null);
    await next();
    finish(context, door);
    const { req, res } = context;
    const { requests } = services.counters;
    requests.set(res.status, (requests.get(res.status) ?? 0) + 1);
    const error = failures.get(req.raw);
    onRequest?.({
      ...{ request: context.get('request'), method: req.method, path: req.path, status: res.status },
      ms: Math.round(performance.now() - started),
      caller: context.get('who')?.name ?? null,
      ...(res.status < 500 || error === undefined ? {} : { error }),
    });
  });
  app.use(async (context, next) => {
    const request = context.req.raw;
    demandHost(request, door);
    if (!(studio !== null && isPageVisit(request))) demandSite(request, door);
    if (request.method === 'OPTIONS' && allowedOrigin(request, door) !== null)
      return new Response(null, { status: 204, headers: CORS });
    demandVersion(request, VERSION);
    context.set('who', await (identify ?? callerIn(services))(request).catch(refuseAt(services, context)));
    await next();
    return undefined;
  });
  app.onError((error, context) => {
    failures.set(context.req.raw, error);
    if (isDiskFull(error)) services.health.fullAt = Date.now();
    return problemResponse(error, context.get('request'));
  });
  app.notFound(
    (context) =>
      studio?.(context.req.raw) ??
      problemResponse(
        new Refusal('route-not-found', 'there is no such address', { help: 'See /openapi.json.' }),
        context.get('request'),
      ),
  );
  addRoutes(app, services, identify === undefined ? door : null);
  describe(app);
  return app;
}

/** `door`: null for a program that knows its callers, which has its own sessions and tokens. */
function addRoutes(app: App, services: Services, door: DoorOptions | null): void {
  callerRoute(app, services);
  if (door !== null) {
    sessionRoutes(app, services, door);
    tokenRoutes(app, services);
  }
  flowRoutes(app, services);
  runRoutes(app, services);
  attachmentRoutes(app, services);
  questionRoutes(app, services);
  metaRoutes(app, services);
}

function finish({ req, res }: AppContext, door: DoorOptions): void {
  for (const [name, value] of Object.entries(HEADERS)) res.headers.set(name, value);
  const origin = allowedOrigin(req.raw, door);
  if (door.origins.size > 0) res.headers.append('vary', 'origin');
  if (origin === null) return;
  res.headers.set('access-control-allow-origin', origin);
  res.headers.set('access-control-expose-headers', CORS['access-control-expose-headers']);
  res.headers.set('cross-origin-resource-policy', 'cross-origin');
}

/** Guesses of one address are counted together. */
function refuseAt({ rates }: Services, context: AppContext): (error: unknown) => never {
  return (error) => {
    demandRate(rates, `address ${remoteAddress(context)}`);
    throw error;
  };
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'disk-full';
}

function describe(app: App): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'sluice_PORT',
  });
  let document: ReturnType<App['getOpenAPI31Document']> | null = null;
  const described = () =>
    (document ??= app.getOpenAPI31Document({
      openapi: '3.1.0',
      info: { title: 'Sluice', version: VERSION, description: 'Runs teams of AI agents inside bounds.' },
    }));
  app.get('/openapi.json', (context) => context.json(described()));
  app.get('/openapi', (context) => context.html(openApiPage(described())));
}

/** The caller of a token, a JWT or the cookie of a page. A token that is not valid is not the same as none. */
function callerIn({ callers, cookie }: Services): (request: Request) => Promise<Who | null> {
  return async (request) => {
    const who = await callers.of(request.headers.get('authorization'), cookieOf(request, cookie));
    return who === null ? null : demandKnown(who);
  };
}

function demandKnown(who: Who | 'refused' | 'stranger'): Who {
  if (who === 'refused')
    throw new Refusal('unauthenticated', 'this token is not valid', {
      help: 'It is wrong, expired or revoked. Make another one with `sluice tokens add`.',
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
  if (who === 'stranger')
    throw new Refusal('identity-unproven', 'this token names a person that has another login', {
      help: 'Write `login: token:NAME` for that person under `people`.',
    });
  return who;
}
