/** The app: what every request passes, in this order, and the routes. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { VERSION } from '@sluice-internal/platform';
import { randomUUID } from 'node:crypto';
import { cookieOf } from './http/cookie.ts';
import { demandHost, demandSite, type DoorOptions } from './http/door.ts';
import { Refusal, problemResponse } from './http/problem.ts';
import { flowRoutes } from './routes/flows.ts';
import { metaRoutes } from './routes/meta.ts';
import { questionRoutes } from './routes/questions.ts';
import { runRoutes } from './routes/runs.ts';
import type { App, Variables } from './http/routing.ts';
import { openApiPage } from './http/openapi-page.ts';
import type { Services } from './http/services.ts';
import type { Who } from './auth/who.ts';

export interface AppOptions {
  readonly services: Services;
  readonly door: DoorOptions;
  /** Who calls, if not by a token, a session or OIDC: a surface around the server knows it. */
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

const HEADERS: { readonly [name: string]: string } = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'sluice-version': VERSION,
};

export function createApp({ services, door, identify, onRequest }: AppOptions): App {
  const app = new OpenAPIHono<{ Variables: Variables }>({
    defaultHook: (result) => {
      if (!result.success) throw result.error;
    },
  });
  const failures = new WeakMap<Request, unknown>();
  app.use(async (context, next) => {
    const started = performance.now();
    const request = randomUUID();
    context.set('request', request);
    context.set('who', null);
    await next();
    const { req, res } = context;
    for (const [name, value] of Object.entries(HEADERS)) res.headers.set(name, value);
    services.counters.requests.set(res.status, (services.counters.requests.get(res.status) ?? 0) + 1);
    const line = {
      request,
      method: req.method,
      path: req.path,
      status: res.status,
      ms: Math.round(performance.now() - started),
    };
    const error = failures.get(req.raw);
    onRequest?.({
      ...line,
      caller: context.get('who')?.name ?? null,
      ...(res.status < 500 || error === undefined ? {} : { error }),
    });
  });
  app.use(async (context, next) => {
    demandHost(context.req.raw, door);
    demandSite(context.req.raw, door);
    context.set('who', await (identify ?? callerIn(services))(context.req.raw));
    await next();
  });
  app.onError((error, context) => {
    failures.set(context.req.raw, error);
    return problemResponse(error, context.get('request'));
  });
  app.notFound((context) =>
    problemResponse(
      new Refusal('route-not-found', 'there is no such address', { help: 'See /openapi.json.' }),
      context.get('request'),
    ),
  );
  flowRoutes(app, services);
  runRoutes(app, services);
  questionRoutes(app, services);
  metaRoutes(app, services);
  describe(app);
  return app;
}

function describe(app: App): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'sluice_PORT',
  });
  const document = () =>
    app.getOpenAPI31Document({
      openapi: '3.1.0',
      info: { title: 'Sluice', version: VERSION, description: 'Runs teams of AI agents inside bounds.' },
    });
  app.get('/openapi.json', (context) => context.json(document()));
  app.get('/openapi', (context) => context.html(openApiPage(document())));
}

/** The caller of a token, a JWT or the cookie of a page. A token that is not valid is not the same as none. */
function callerIn({ tokens, sessions, oidc, cookie }: Services): (request: Request) => Promise<Who | null> {
  return async (request) => {
    const given = request.headers.get('authorization');
    if (given !== null) {
      const [, secret = ''] = /^Bearer (\S+)$/i.exec(given) ?? [];
      const who = secret.startsWith('slk_') ? await tokens.who(secret) : ((await oidc?.who(secret)) ?? null);
      if (who !== null) return who;
      throw new Refusal('unauthenticated', 'this token is not valid', {
        help: 'It is wrong, expired or revoked. Make another one with `sluice tokens add`.',
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      });
    }
    const session = cookieOf(request, cookie);
    return session === null ? null : sessions.who(session);
  };
}
