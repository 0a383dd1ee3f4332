/** Who is calling, and the session of a page: by a code of the terminal, by a token, or by a login at an issuer. */
import { z } from '@hono/zod-openapi';
import { VERSION } from '@sluice-internal/platform';
import type { Called } from '../auth/callers.ts';
import { ACCESS, type Who } from '../auth/who.ts';
import { cookieOf, sessionCookie } from '../http/cookie.ts';
import { addressOf, demandRate, type DoorOptions } from '../http/door.ts';
import { Refusal } from '../http/problem.ts';
import { Json, addRoute, json, orNull, type App } from '../http/routing.ts';
import type { Services } from '../http/services.ts';

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
const Session = z
  .object({
    me: orNull(Me),
    login: z
      .object({ issuer: z.string(), client: z.string(), authorization: z.string() })
      .nullable()
      .describe('Where people log in: by authorization code with PKCE.'),
  })
  .openapi('Session');
const Credentials = z
  .object({
    code: z.string().max(100).optional().describe('The code of the address that the server printed.'),
    token: z.string().max(10_000).optional(),
    login: z
      .object({
        code: z.string().max(4000),
        verifier: z.string().min(43).max(128),
        redirect: z.url().max(2000),
      })
      .strict()
      .optional()
      .describe('What the issuer sent back to the page.'),
  })
  .strict()
  .openapi('Credentials');

export function callerRoute(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/me', summary: 'Who is calling, and the limits.', access: 'viewer' },
      answers: { 200: Me },
    },
    ({ who }) => json(meOf(services, who)),
  );
}

export function sessionRoutes(app: App, services: Services, door: DoorOptions): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/session', summary: 'Who is calling, if anybody, and how to log in.' },
      ...{ access: 'open', answers: { 200: Session }, errors: ['bad-issuer'] },
    },
    async ({ context }) => {
      const who = context.get('who');
      const login = await services.oidc?.login();
      return json({ me: who === null ? null : meOf(services, who), login: login ?? null });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/session', summary: 'Begins a session of a page: its cookie.' },
      ...{ access: 'open', body: Credentials, answers: { 200: Me } },
      errors: ['unauthenticated', 'identity-unproven', 'bad-issuer', 'too-many-requests'],
    },
    async ({ body, context, address }) => {
      // Guesses cost the issuer a request too.
      demandRate(services.rates, `address ${address}`);
      const who = await callerOf(services, body, (redirect) => demandOwnPage(context.req.raw, redirect, door));
      if (who === 'stranger')
        throw new Refusal('identity-unproven', 'this token names a person that has another login');
      if (who === 'refused' || who === null)
        throw new Refusal('unauthenticated', 'this code or token is not valid any more', {
          help: 'Start the page again.',
        });
      const { secret, maxAge } = services.sessions.begin(who);
      const { isSecure } = addressOf(context.req.raw, door);
      return json(meOf(services, who), 200, {
        'set-cookie': sessionCookie(services.cookie, secret, { maxAge, isSecure }),
      });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'delete', path: '/v1/session', summary: 'Ends the session of a page.', access: 'viewer' },
      answers: { 204: null },
    },
    ({ context }) => {
      const secret = cookieOf(context.req.raw, services.cookie);
      if (secret !== null) services.sessions.end(secret);
      const { isSecure } = addressOf(context.req.raw, door);
      const gone = sessionCookie(services.cookie, '', { maxAge: 0, isSecure });
      return new Response(null, { status: 204, headers: { 'set-cookie': gone } });
    },
  );
}

async function callerOf(
  { sessions, callers, oidc }: Services,
  { code, token, login }: z.output<typeof Credentials>,
  demandPage: (redirect: string) => void,
): Promise<Called> {
  if ([code, token, login].filter((each) => each !== undefined).length !== 1)
    throw new Refusal('bad-request', 'the body needs one of `code`, `token` and `login`');
  if (code !== undefined) return sessions.redeem(code);
  if (token !== undefined) return callers.ofSecret(token);
  if (login === undefined || oidc === null)
    throw new Refusal('bad-request', 'this server has no issuer', { help: 'Start it with `--oidc`.' });
  demandPage(login.redirect);
  return oidc.redeem(login);
}

/** The code came to a page of this server. */
function demandOwnPage(request: Request, redirect: string, door: DoorOptions): void {
  const { host, isSecure } = addressOf(request, door);
  const { host: to, protocol } = new URL(redirect);
  if (to === host && protocol === (isSecure ? 'https:' : 'http:')) return;
  throw new Refusal('bad-request', '`login.redirect` is no page of this server');
}

function meOf({ limits }: Services, { name, person, tenant, access, content, expiresAt }: Who): z.output<typeof Me> {
  const until = expiresAt === null ? null : new Date(expiresAt).toISOString();
  return { name, person, tenant, access: [...access], content, expiresAt: until, limits, version: VERSION };
}
