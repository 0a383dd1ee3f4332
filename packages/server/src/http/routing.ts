/**
 * A route is data: method, path, what it takes and gives, and which access it needs. This file checks a request against it, in one order
 * for all routes, and describes it in the OpenAPI document. So a route cannot forget a check, and the document cannot differ from it.
 */
import { z } from '@hono/zod-openapi';
import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { demandAccess, demandJson, demandRate, readBytes, readJson } from './door.ts';
import { statusOf } from './problem.ts';
import type { Access, Who } from '../auth/who.ts';
import type { Services } from './services.ts';

export interface Variables {
  readonly request: string;
  readonly who: Who | null;
}
export type App = OpenAPIHono<{ Variables: Variables }>;

/** Any JSON. One component, so that the document stays small. Without the check, the document would say that it can be left out. */
export const Json = z
  .any()
  .refine((value) => value !== undefined, 'is missing')
  .openapi('Json', { description: 'Any JSON value.' });

/** A named schema or null. `nullable()` of a named schema is described as one that null does not fit. */
export function orNull<S extends z.ZodType>(schema: S) {
  return z.union([schema, z.null()]);
}

const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    code: z.string(),
    help: z.string().optional(),
    request: z.string(),
  })
  .openapi('Problem');

type Schema = z.ZodType;
type Given<S extends Schema | undefined> = S extends Schema ? z.output<S> : undefined;
type Shape = z.ZodObject;

export interface Spec<P extends Shape | undefined, Q extends Shape | undefined, B extends Schema | undefined> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  readonly summary: string;
  /** What the caller needs. `open`: no caller at all. */
  readonly access: Access | 'open';
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** The body is data as it is, of at most so many bytes. */
  readonly binary?: number;
  /** What it answers, by status: JSON by its schema, text by its media type, or null for nothing. */
  readonly answers: { readonly [status: number]: Schema | string | null };
  /** More than the summary and the access, such as another form of the answer. */
  readonly about?: string;
  /** Headers that mean something here. The handler reads them. */
  readonly headers?: Shape;
  /** The errors of its own, beside those that every route has. */
  readonly errors?: readonly string[];
}

export interface Asked<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The body of a route with `binary`. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Throws if the route is open. */
  readonly who: Who;
  readonly services: Services;
  readonly context: Context<{ Variables: Variables }>;
  /** The network address of the other end; '' if it is not known. */
  readonly address: string;
}

export function addRoute<
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Schema | undefined = undefined,
>(
  app: App,
  services: Services,
  spec: Spec<P, Q, B>,
  handle: (asked: Asked<Given<P>, Given<Q>, Given<B>>) => Promise<Response> | Response,
): void {
  const { method, path, access, params, query, body, binary } = spec;
  app.openAPIRegistry.registerPath(described(spec));
  app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1'), async (context) => {
    const who = context.get('who');
    const address = remoteAddress(context);
    // Those who may not call are counted too, by their address.
    if (who !== null) demandRate(services.rates, who.key);
    else if (access !== 'open') demandRate(services.rates, `address ${address}`);
    demandAccess(who, access === 'open' ? null : access, access === 'open');
    const request = context.req.raw;
    const asked = {
      params: params?.parse(context.req.param()),
      query: query?.strict().parse(queryOf(context.req.url)),
      body: body === undefined ? undefined : body.parse(await bodyOf(request, services)),
      bytes: binary === undefined ? NO_BYTES : await readBytes(request, binary),
      who: who as Who,
      services,
      context,
      address,
    };
    const answer = await handle(asked as Asked<Given<P>, Given<Q>, Given<B>>);
    // The answer to HEAD has no body. A stream that nobody reads would never end.
    if (request.method === 'HEAD') await answer.body?.cancel();
    return answer;
  });
}

/** The address of the other end, if the server of Node gives it. */
export function remoteAddress({ env }: Pick<Context, 'env'>): string {
  const { incoming } = (env ?? {}) as { readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } } };
  return incoming?.socket?.remoteAddress ?? '';
}

const NO_BYTES = new Uint8Array();

async function bodyOf(request: Request, { limits }: Services): Promise<unknown> {
  demandJson(request);
  return readJson(request, limits);
}

/** A name that is given twice is refused by its schema, because it is a list then. */
function queryOf(url: string): { readonly [name: string]: string | readonly string[] } {
  const { searchParams } = new URL(url);
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const all = searchParams.getAll(name);
      return [name, all.length === 1 ? (all[0] ?? '') : all];
    }),
  );
}

const EVERYWHERE = ['bad-request', 'unauthenticated', 'access-denied', 'wrong-host', 'too-many-requests'];
const OPEN = ['bad-request', 'wrong-host'];

function described(spec: Spec<Shape | undefined, Shape | undefined, Schema | undefined>): RouteConfig {
  const { method, path, summary, about, access, params, query, headers, body, binary, answers, errors = [] } = spec;
  const codes = [
    ...(access === 'open' ? OPEN : EVERYWHERE),
    ...(body === undefined && binary === undefined ? [] : WITH_BODY),
    ...errors,
  ];
  const problems = Map.groupBy([...new Set(codes)], statusOf);
  return {
    ...{ method, path, summary, tags: [path.split('/')[2] ?? 'server'] },
    security: access === 'open' ? [] : [{ bearer: [] }, { session: [] }],
    description: [access === 'open' ? 'Needs no token.' : `Needs the access \`${access}\`.`, about ?? []]
      .flat()
      .join(' '),
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body: { required: true, content: { 'application/json': { schema: body } } } }),
      ...(binary === undefined ? {} : { body: { required: true, content: BINARY } }),
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [
          status,
          {
            description: MEANING[status] ?? 'The answer.',
            ...(schema === null ? {} : { content: contentOf(schema) }),
          },
        ]),
      ),
      ...Object.fromEntries(
        [...problems].map(([status, of]) => [
          status,
          {
            description: of.map((code) => `\`${code}\``).join(', '),
            content: { 'application/problem+json': { schema: Problem } },
          },
        ]),
      ),
    },
  };
}

const BINARY = { 'application/octet-stream': { schema: z.string().openapi({ format: 'binary' }) } };
const MEANING: { readonly [status: string]: string } = { 201: 'Made.', 202: 'Taken.', 204: 'Done.' };

function contentOf(answer: Schema | string): { readonly [media: string]: { readonly schema: Schema } } {
  return typeof answer === 'string' ? { [answer]: { schema: z.string() } } : { 'application/json': { schema: answer } };
}

const WITH_BODY = ['body-too-large', 'unsupported-media-type'];

/** JSON that no cache keeps. */
export function json(value: unknown, status = 200, headers: { readonly [name: string]: string } = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  });
}

export const Page = {
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('The number of items.'),
  cursor: z.string().optional().describe('The `next` of the page before.'),
};

export function pageOf<Item extends Schema>(item: Item, name: string) {
  return z.object({ items: z.array(item), next: z.string().nullable() }).openapi(name);
}
