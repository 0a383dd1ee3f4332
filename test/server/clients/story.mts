// The life of a refund with a client that a public generator has made from /openapi.json: not one name here is from this project.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

declare const process: { readonly argv: readonly string[]; exitCode: number };
const [, , baseUrl = '', token = ''] = process.argv;
const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });

function must<Value>(value: Value | undefined, problem: { readonly code: string } | undefined): Value {
  if (value === undefined) throw new Error(problem?.code ?? 'no answer');
  return value;
}

const listed = await api.GET('/v1/flows', { params: { query: { limit: 200 } } });
const flow = must(listed.data, listed.error).items.find(({ id }) => id === 'refunds');
const graph = await api.GET('/v1/flows/{flow}/graph', { params: { path: { flow: flow?.id ?? '' } } });
const width: number = must(graph.data, graph.error).width;

const started = await api.POST('/v1/flows/{flow}/runs', {
  params: { path: { flow: 'refunds' }, header: { 'idempotency-key': 'generated', prefer: 'wait=30' } },
  body: { input: { message: 'money back' }, script: 'refunds' },
});
const { run } = must(started.data, started.error);

const asked = await api.GET('/v1/questions', { params: { query: { flow: 'refunds', limit: 200 } } });
const question = must(asked.data, asked.error).items.find((each) => each.run === run);
if (question === undefined) throw new Error('nobody is asked');
const tools: readonly string[] = question.packet.effects.map(({ tool }) => tool);
const path = { id: question.id };

const stale = await api.POST('/v1/questions/{id}/answer', {
  params: { path },
  body: { choice: 'approve', payload: 'of another question' },
});
const { choice, payload } = { choice: 'approve', payload: question.payload };
const answered = await api.POST('/v1/questions/{id}/answer', { params: { path }, body: { choice, payload } });
const { missing } = must(answered.data, answered.error);

const got = await api.GET('/v1/runs/{run}', { params: { path: { run }, query: { wait: 30 } } });
const report = must(got.data, got.error);
const page = await api.GET('/v1/runs/{run}/events', { params: { path: { run }, query: { limit: 1000 } } });
const types: readonly string[] = must(page.data, page.error).items.map(({ type }) => type);
const late = await api.POST('/v1/runs/{run}/cancel', { params: { path: { run } }, body: {} });

console.log(
  JSON.stringify({
    ...{ width, tools, missing, state: report.state, code: report.code },
    ...{ receipts: report.receipts.map(({ tool, status }) => [tool, status]), last: types.at(-1) },
    refused: [stale.error?.code, stale.response.status, late.error?.code, late.response.status],
  }),
);
