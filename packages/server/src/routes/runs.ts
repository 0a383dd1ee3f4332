/** Runs: lists, reports, events, and what an operator does with a run. */
import { z } from '@hono/zod-openapi';
import { present } from '@sluice-internal/kernel/expr';
import { RUN_STATES } from '@sluice-internal/kernel/ir';
import type { RunEvent } from '@sluice-internal/library';
import { auditOf, callAt, differences, exportOf, replayOf } from '../http/inspect.ts';
import { redactedEvent, redactedReport } from '../http/content.ts';
import { runStream } from '../http/streams.ts';
import { Json, Page, addRoute, json, pageOf, type App } from '../http/routing.ts';
import {
  Audited,
  CallDetails,
  Differences,
  Erased,
  EventPage,
  Replayed,
  Report,
  RunAt,
  RunFile,
  RunRow,
} from '../http/schemas.ts';
import type { Services } from '../http/services.ts';
import { rowOf } from '../http/rows.ts';
import { untilSettled } from '../http/start.ts';

const RunId = z.object({ run: z.string().max(200) });
const Taken = z.object({ run: z.string() }).openapi('Taken');
const Time = z.string().describe('A time such as 2026-12-01T09:00:00Z, or an age such as 24h or 7d.');

const List = z.object({
  ...Page,
  status: z
    .string()
    .optional()
    .describe(`One or several of ${RUN_STATES.join(', ')}, with commas.`),
  flow: z.string().optional(),
  code: z.string().optional(),
  user: z.string().optional(),
  thread: z.string().optional(),
  parent: z.string().optional(),
  since: Time.optional(),
  until: Time.optional(),
  q: z.string().optional().describe('The beginning of an id.'),
});

const AGE = /^(\d+)\s*([smhd])$/;
const UNIT_MS: { readonly [unit: string]: number } = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function instantOf(given: string | undefined, field: string): number | undefined {
  if (given === undefined) return undefined;
  const [, count, unit] = AGE.exec(given.trim()) ?? [];
  const at = count === undefined ? Date.parse(given) : Date.now() - Number(count) * (UNIT_MS[unit ?? 's'] ?? 0);
  return Number.isNaN(at) ? wrong(field, 'is no time') : at;
}

function statesOf(given: string | undefined): readonly (typeof RUN_STATES)[number][] | undefined {
  return given
    ?.split(',')
    .map((each) => RUN_STATES.find((state) => state === each.trim()) ?? wrong('status', `\`${each}\` is no state`));
}

function wrong(field: string, message: string): never {
  throw new z.ZodError([{ code: 'custom', path: [field], message, input: undefined }]);
}

export function runRoutes(app: App, services: Services): void {
  readingRoutes(app, services);
  eventRoutes(app, services);
  inspectingRoutes(app, services);
  actingRoutes(app, services);
}

function readingRoutes(app: App, services: Services): void {
  listRoutes(app, services);
  reportRoutes(app, services);
}

function listRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/runs', summary: 'The runs, the latest first.', access: 'viewer', query: List },
      ...{ answers: { 200: pageOf(RunRow, 'RunPage') }, errors: ['bad-cursor'] },
    },
    async ({ query, who }) => {
      const { status, since, until, q: prefix, ...rest } = query;
      const view = await services.view(who);
      const filter = {
        ...rest,
        prefix,
        status: statesOf(status),
        since: instantOf(since, 'since'),
        until: instantOf(until, 'until'),
      };
      const { items, next } = await view.list({ ...present(filter), limit: query.limit });
      return json({ items: items.map((each) => rowOf(each, who.content)), next });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/runs/{run}/children',
        summary: 'Runs that were forked from a run.',
        access: 'viewer',
      },
      ...{
        params: RunId,
        query: z.object(Page),
        answers: { 200: pageOf(RunRow, 'ChildPage') },
        errors: ['run-not-found'],
      },
    },
    async ({ params: { run }, query, who }) => {
      const view = await services.view(who);
      await view.read(run);
      const { items, next } = await view.list({
        parent: run,
        limit: query.limit,
        ...present({ cursor: query.cursor }),
      });
      return json({ items: items.map((each) => rowOf(each, who.content)), next });
    },
  );
}

function reportRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/runs/{run}', summary: 'The report on a run.', access: 'viewer', params: RunId },
      query: z.object({
        wait: z.coerce.number().min(0).max(60).default(0).describe('Seconds to wait until it has ended or asks.'),
      }),
      ...{ answers: { 200: Report }, errors: ['run-not-found', 'chain-broken'] },
    },
    async ({ params: { run }, query: { wait }, who, context }) => {
      const view = await services.view(who);
      if (wait > 0) await untilSettled(view.wait(run), wait, [services.stopping, context.req.raw.signal]);
      const report = await view.get(run);
      return json(who.content ? report : redactedReport(report));
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/runs/{run}/state',
        summary: 'A run as it was after one of its events.',
        access: 'viewer',
      },
      ...{ params: RunId, query: z.object({ at: z.coerce.number().int().min(1).optional() }) },
      ...{ answers: { 200: RunAt }, errors: ['run-not-found', 'event-not-found'] },
    },
    async ({ params: { run }, query, who }) => {
      const state = await (await services.view(who)).state(run, present({ at: query.at }));
      return json(who.content ? state : { ...state, slots: {}, branches: {} });
    },
  );
}

const Events = z.object({
  after: z.string().optional().describe('The id of an event.'),
  limit: z.coerce.number().int().min(1).max(1000).default(500),
  types: z.string().optional().describe('Types of events, with commas.'),
  text: z.enum(['true', 'false']).optional().describe('Of a stream: also text of replies while it is generated.'),
});

function eventRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/runs/{run}/events',
        summary: 'The events of a run: a page, or a stream.',
        access: 'viewer',
      },
      ...{
        params: RunId,
        query: Events,
        answers: { 200: EventPage },
        headers: z.object({ 'last-event-id': z.string().optional().describe('As `after`.') }),
        about: 'With `Accept: text/event-stream` it is a stream, which goes on until the run ends.',
        errors: ['run-not-found', 'bad-start', 'too-many-streams'],
      },
    },
    async ({ params: { run }, query, who, context }) => {
      const view = await services.view(who);
      const handle = await view.open(run);
      const types = query.types === undefined ? null : new Set(query.types.split(','));
      const isWanted = ({ type }: RunEvent): boolean => types === null || types.has(type);
      const shown = (event: RunEvent): RunEvent => (who.content ? event : redactedEvent(event));
      const after = context.req.header('last-event-id') ?? query.after;
      if (context.req.header('accept')?.includes('text/event-stream') === true) {
        const signal = context.req.raw.signal;
        return runStream(services, {
          who,
          handle,
          signal,
          after,
          isWanted,
          shown,
          text: query.text === 'true' && who.content,
        });
      }
      const items: RunEvent[] = [];
      for await (const event of handle.events({ ...present({ after }), live: false })) {
        if (!isWanted(event)) continue;
        if (items.length > query.limit) break;
        items.push(shown(event));
      }
      const page = items.slice(0, query.limit);
      return json({ items: page, next: items.length > query.limit ? (page.at(-1)?.id ?? null) : null });
    },
  );
}

function inspectingRoutes(app: App, services: Services): void {
  callRoutes(app, services);
  auditRoutes(app, services);
  eraseRoute(app, services);
}

function callRoutes(app: App, services: Services): void {
  const view = services.view.bind(services);
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/runs/{run}/calls/{key}',
        summary: 'A call: its prompt or arguments, its attempts.',
      },
      ...{ access: 'viewer', params: RunId.extend({ key: z.string() }), answers: { 200: CallDetails } },
      errors: ['run-not-found', 'call-not-found'],
    },
    async ({ params: { run, key }, who }) =>
      json(await callAt(services, await (await view(who)).read(run), key, who.content)),
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/runs/{run}/diff/{other}', summary: 'How two runs differ.', access: 'viewer' },
      ...{ params: RunId.extend({ other: z.string() }), answers: { 200: Differences }, errors: ['run-not-found'] },
    },
    async ({ params: { run, other }, who }) => {
      const own = await view(who);
      return json(differences(await own.read(run), await own.read(other), who.content));
    },
  );
}

function auditRoutes(app: App, services: Services): void {
  const view = services.view.bind(services);
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/runs/{run}/replay',
        summary: 'Decides every step again from the journal.',
        access: 'viewer',
      },
      ...{
        params: RunId,
        body: z.object({}).strict(),
        answers: { 200: Replayed },
        errors: ['run-not-found', 'chain-broken'],
      },
    },
    async ({ params: { run }, who }) => {
      await (await view(who)).read(run);
      return json(await replayOf(services, run));
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/runs/{run}/audit',
        summary: 'The chain of hashes of a run, checked.',
        access: 'viewer',
      },
      ...{ params: RunId, answers: { 200: Audited }, errors: ['run-not-found'] },
    },
    async ({ params: { run }, who }) => json(await auditOf(services, await view(who), run)),
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/runs/{run}/export',
        summary: 'A run as a file that needs no database.',
        access: 'admin',
      },
      ...{ params: RunId, answers: { 200: RunFile }, errors: ['run-not-found'] },
    },
    async ({ params: { run }, who }) => {
      const headers = {
        'content-disposition': `attachment; filename="${run.replaceAll(/[^\w.-]/g, '_')}.sluice-run.json"`,
      };
      return json(await exportOf(services, await view(who), run), 200, headers);
    },
  );
}

function eraseRoute(app: App, services: Services): void {
  const { erase } = services;
  if (erase === null) return;
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/runs/{run}/erase', access: 'admin', params: RunId },
      summary: 'Deletes the personal data, the attachments and the memory of a run.',
      about: 'The journal keeps the tokens in their place, and still verifies.',
      ...{ body: z.object({}).strict(), answers: { 200: Erased }, errors: ['run-not-found'] },
    },
    async ({ params: { run }, who }) => {
      await (await services.view(who)).get(run);
      return json({ run, ...(await erase(run, who.person ?? who.name)) });
    },
  );
}

const Why = z.object({ why: z.string().max(2000).optional() }).strict();
const Fork = z
  .object({
    at: z.int().min(1),
    set: z.record(z.string(), Json).optional(),
    answers: z.record(z.string(), Json).optional(),
    agents: z.record(z.string(), Json).optional(),
  })
  .strict()
  .openapi('Fork');

const Guidance = z.object({ text: z.string().min(1), agent: z.string().optional() }).strict();

const acting = { access: 'operator', params: RunId } as const;
const errors = ['run-not-found', 'run-ended', 'scripted-run', 'lease-lost'];

function actingRoutes(app: App, services: Services): void {
  goingRoutes(app, services);
  sendingRoutes(app, services);
  branchingRoutes(app, services);
}

function goingRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/runs/{run}/cancel', summary: 'Stops a run, and undoes what it did.', ...acting },
      ...{ body: Why, answers: { 202: Taken }, errors },
    },
    async ({ params: { run }, body, who }) => {
      await (await services.viewOf(who, run)).cancel(run, who.person ?? who.name, body.why);
      return json({ run }, 202);
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/runs/{run}/resume',
        summary: 'Goes on with a run, also with more budget.',
        ...acting,
      },
      body: z.object({ budget: z.record(z.string(), z.number().positive()).optional() }).strict(),
      ...{
        answers: { 202: Taken },
        errors: [...errors, 'resume-undone', 'resume-not-stopped', 'bad-budget', 'quota-exceeded'],
      },
    },
    async ({ params: { run }, body, who }) => {
      const view = await services.viewOf(who, run);
      const { budget } = body;
      await view.resume(run, budget === undefined ? undefined : { budget, by: who.person ?? who.name });
      return json({ run }, 202);
    },
  );
}

function sendingRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/runs/{run}/signals/{name}', summary: 'Sends a signal that a run waits for.' },
      ...{
        access: 'operator',
        params: RunId.extend({ name: z.string() }),
        body: z.object({ data: Json.optional() }).strict(),
      },
      ...{ answers: { 202: Taken }, errors: [...errors, 'signal-not-awaited'] },
    },
    async ({ params: { run, name }, body, who }) => {
      const by = who.person ?? who.name;
      await (await services.viewOf(who, run)).signal(run, name, { data: body.data ?? null, by });
      return json({ run }, 202);
    },
  );
}

function branchingRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/runs/{run}/retry',
        summary: 'Starts a run that goes on at the call that failed.',
      },
      ...{ ...acting, answers: { 201: Taken } },
      errors: ['run-not-found', 'bad-retry', 'bad-fork', 'scripted-run'],
    },
    async ({ params: { run }, who }) => {
      const view = await services.viewOf(who, run);
      const { id } = await view.retry(run);
      return json({ run: id }, 201, { location: `/v1/runs/${encodeURIComponent(id)}` });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/runs/{run}/guidance',
        summary: 'Says something to the agents of a run, or to one of them.',
      },
      ...{ ...acting, body: Guidance, answers: { 202: Taken }, errors: [...errors, 'bad-guidance'] },
    },
    async ({ params: { run }, body: { text, agent }, who }) => {
      await (await services.viewOf(who, run)).guide(run, { text, agent, by: who.person ?? who.name });
      return json({ run }, 202);
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'post',
        path: '/v1/runs/{run}/fork',
        summary: 'Starts a run that shares the first events of another.',
      },
      ...{ ...acting, body: Fork, answers: { 201: Taken } },
      errors: ['run-not-found', 'bad-fork', 'unknown-slot', 'scripted-run'],
    },
    async ({ params: { run }, body, who }) => {
      const view = await services.viewOf(who, run);
      const { id } = await view.fork(run, { ...body, by: who.person ?? who.name });
      return json({ run: id }, 201, { location: `/v1/runs/${encodeURIComponent(id)}` });
    },
  );
}
