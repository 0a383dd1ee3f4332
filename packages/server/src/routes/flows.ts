/** Flows: the documents of the served folders, their pictures, and the start of a run. */
import { z } from '@hono/zod-openapi';
import { documentSchema } from '@sluice-internal/compile/document';
import { placePicture } from '@sluice-internal/compile/picture';
import { NOTATIONS } from '@sluice-internal/notations/driver';
import { toJsonSchema } from '@sluice-internal/library/define';
import { checkReport, compileAs, modelDiagnostics, prerequisiteDiagnostics } from '@sluice-internal/library/documents';
import { present } from '@sluice-internal/kernel/expr';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Served } from '../http/folder.ts';
import { Refusal } from '../http/problem.ts';
import { Json, Page, addRoute, json, pageOf, type App } from '../http/routing.ts';
import { Checked, FlowDetails, FlowRow, Picture, Report } from '../http/schemas.ts';
import type { Services } from '../http/services.ts';
import { startRun } from '../http/start.ts';

const FlowId = z.object({ flow: z.string() });
const Hash = z.object({ hash: z.string().optional() });

const StartBody = z
  .object({
    input: Json.optional(),
    user: z.string().min(1).max(200).optional(),
    deadline: z.iso.datetime({ offset: true }).optional(),
    seed: z.int().min(0).optional(),
    script: z.string().max(200).optional(),
    thread: z.string().min(1).max(200).optional(),
  })
  .strict()
  .openapi('Start');

export function flowRoutes(app: App, services: Services): void {
  documentRoutes(app, services);
  sourceRoute(app, services);
  pictureRoutes(app, services);
  checkRoute(app, services);
  schemaRoute(app, services);
  scriptsRoute(app, services);
  startRoute(app, services);
}

function documentRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/flows', summary: 'The flows of the served folders.', access: 'viewer' },
      query: z.object({ limit: Page.limit, cursor: Page.cursor }),
      answers: { 200: pageOf(FlowRow, 'FlowPage') },
      errors: ['bad-cursor'],
    },
    ({ query: { limit, cursor = '' } }) => {
      const after = services.folder.list.filter(({ id }) => id > cursor);
      const items = after.slice(0, limit);
      return json({ items: items.map(rowOf), next: after.length > limit ? (items.at(-1)?.id ?? null) : null });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/flows/{flow}', summary: 'A flow with its certificate.', access: 'viewer' },
      ...{ params: FlowId, answers: { 200: FlowDetails }, errors: ['flow-not-found'] },
    },
    ({ params }) => json(detailsOf(demandFlow(services, params.flow))),
  );
}

function pictureRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/flows/{flow}/source', summary: 'The text of a flow.', access: 'viewer' },
      ...{ params: FlowId, query: Hash, answers: { 200: 'text/plain' }, errors: ['flow-not-found'] },
    },
    ({ params, query }) => {
      const { compiled } = demandFlow(services, params.flow, query.hash);
      const text = compiled.text ?? JSON.stringify(compiled.document, null, 2);
      const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', etag: etagOf(text) };
      return new Response(text, { headers });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/flows/{flow}/graph',
        summary: 'The picture of a flow, with places.',
        access: 'viewer',
      },
      ...{ params: FlowId, query: Hash, answers: { 200: Picture }, errors: ['flow-not-found'] },
    },
    ({ params, query }) => {
      const { graph } = demandFlow(services, params.flow, query.hash).compiled.result;
      if (graph === undefined)
        throw new Refusal('flow-not-found', `\`${params.flow}\` has no picture: it has mistakes`);
      // The picture of a version never changes.
      const cache = query.hash === undefined ? 'no-store' : 'private, max-age=31536000, immutable';
      return json(placePicture(graph), 200, { 'cache-control': cache });
    },
  );
}

const Source = z
  .union([
    z.string(),
    z
      .object({ text: z.string() })
      .strict()
      .transform(({ text }) => text),
  ])
  .openapi('Source');
const Written = z.object({ hash: z.string().nullable(), etag: z.string() }).openapi('Written');

function sourceRoute(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'put', path: '/v1/flows/{flow}/source', summary: 'Replaces the text of a flow, in `sluice dev`.' },
      ...{ access: 'admin', params: FlowId, body: Source, answers: { 200: Written } },
      errors: ['flow-not-found', 'flow-changed', 'stale-source'],
    },
    async ({ params, body: text, context }) => {
      const served = demandFlow(services, params.flow);
      if (services.write === undefined)
        throw new Refusal('access-denied', 'this server does not change documents', { help: '`sluice dev` does.' });
      demandVersion(served, context.req.header('if-match'));
      await services.write(served, text);
      const { compiled } = services.folder.list.find(({ path }) => path === served.path) ?? served;
      return json({ hash: compiled.result.flow?.hash ?? null, etag: etagOf(text) });
    },
  );
}

/** The version that is replaced: the hash of the flow, or the `ETag` of its text. A document with mistakes has only the second. */
function demandVersion({ id, compiled: { result, text } }: Served, given: string | undefined): void {
  const known = [result.flow?.hash, text === null || text === undefined ? undefined : etagOf(text)];
  const named = given?.replace(/^W\//, '').replaceAll('"', '');
  if (named !== undefined && known.some((each) => each?.replaceAll('"', '') === named)) return;
  throw new Refusal('stale-source', `\`${id}\` has another version than the one that was changed`, {
    help: 'Name in `If-Match` the hash of the version that is replaced.',
    details: { hash: result.flow?.hash ?? null },
  });
}

function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url')}"`;
}

function checkRoute(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/check', summary: 'Compiles a text: its mistakes, its certificate, its picture.' },
      ...{ access: 'operator', body: CheckBody, answers: { 200: Checked } },
    },
    async ({ body: { file, text } }) => json(await checked(services, file, text)),
  );
}

function schemaRoute(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/schema', summary: 'The JSON Schema of documents.', access: 'viewer' },
      answers: { 200: Json },
    },
    () => json(documentSchema(NOTATIONS), 200, { 'cache-control': 'private, max-age=3600' }),
  );
}

function scriptsRoute(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/scripts', summary: 'The names of the scripts in the served folders.' },
      ...{ access: 'operator', answers: { 200: Json } },
    },
    () => json({ items: services.isLocal ? services.folder.scripts : [], next: null }),
  );
}

function startRoute(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/flows/{flow}/runs', summary: 'Starts a run.', access: 'operator' },
      ...{ params: FlowId, body: StartBody },
      headers: z.object({
        'idempotency-key': z.string().max(255).optional().describe('A second start with this key is the same run.'),
        prefer: z.string().optional().describe('`wait=30` waits until the run ends or asks, at most 60 seconds.'),
      }),
      answers: { 200: Started, 201: Started },
      errors: [
        ...['flow-not-found', 'run-exists', 'run-removed', 'thread-busy', 'user-not-allowed', 'bad-input'],
        ...['compile-failed', 'missing-package', 'no-credentials', 'no-model', 'no-implementation', 'quota-exceeded'],
      ],
    },
    async ({ params, body, who, context }) => {
      const served = demandFlow(services, params.flow);
      const { req } = context;
      const started = await startRun(services, who, served, {
        ...body,
        key: req.header('idempotency-key'),
        wait: waitOf(req.header('prefer')),
      });
      return json(started.body, started.isNew ? 201 : 200, { location: `/v1/runs/${encodeURIComponent(started.run)}` });
    },
  );
}

const CheckBody = z
  .object({ file: z.string().max(500).default('document.yaml'), text: z.string() })
  .strict()
  .openapi('Check');
const Started = z.object({ run: z.string(), url: z.string(), report: Report.optional() }).openapi('Started');

/** The version with this hash, or the latest. Runs know the hash of their version. */
function demandFlow({ folder }: Services, id: string, hash?: string): Served {
  const served = folder.get(id, hash);
  if (served !== undefined) return served;
  const which = hash === undefined ? `there is no flow \`${id}\`` : `this server has no version ${hash} of \`${id}\``;
  throw new Refusal('flow-not-found', which, { help: 'List them with GET /v1/flows.' });
}

function rowOf({ id, file, compiled, versions }: Served): object {
  const { flow, notation, ok } = compiled.result;
  const known = versions.filter((version) => version.startsWith('sha256:'));
  return { id, file, hash: flow?.hash ?? null, notation, ok, versions: known };
}

function detailsOf(served: Served): object {
  const { result, definition } = served.compiled;
  const { bounds = null, diagnostics } = result;
  const input =
    definition?.input === undefined ? null : toJsonSchema(definition.input, `the input of \`${served.id}\``);
  const shown = diagnostics.map((each) => ({ ...each, file: served.file }));
  return { ...rowOf(served), input, certificate: bounds, diagnostics: shown };
}

/** The text may be half written. The file gives it a place: other files are found beside it. */
async function checked({ folder }: Services, given: string, text: string): Promise<object> {
  const known = folder.list.find(({ file, id }) => file === given || id === given);
  const file = known?.path ?? join(folder.root, 'document.yaml');
  // Whoever sends a text may read flows, and not this machine.
  const result = compileAs(file, text, folder.model, undefined, folder.folders);
  const compiled = { file, text, result };
  const missing = [...(await prerequisiteDiagnostics(compiled, 'warning')), ...modelDiagnostics(compiled)];
  // The place of the file on this machine is nobody's business.
  const diagnostics = [...result.diagnostics, ...missing].map((each) => ({ ...each, file: given }));
  const report = checkReport(result, diagnostics);
  return { ...report, ...present({ graph: result.graph === undefined ? undefined : placePicture(result.graph) }) };
}

/** The seconds of `Prefer: wait=30`. */
function waitOf(prefer: string | undefined): number {
  return Math.min(60, Number(/(?:^|[,;\s])wait=(\d{1,4})/.exec(prefer ?? '')?.[1] ?? 0));
}
