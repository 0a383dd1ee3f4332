/** What must not be read anywhere is looked for everywhere: in the bytes of the database, in every event, in the report. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import { createEngine } from '../../packages/library/src/create-engine.ts';
import { PROTOCOLS } from '../../packages/models/test/models/protocols.ts';
import type { ProtocolMock } from '../../packages/models/test/models/protocols.ts';
import { serve, text } from '../../packages/models/test/models/serve.ts';

const [openai] = PROTOCOLS as [ProtocolMock];
const MODEL_KEY = 'sk-of-the-model-0001';
const TOOL_KEY = 'token/of the tool+0002';
const SHORT = 'eu';

test('L10: a secret that is sent is in nothing that is kept, although the other side repeats it', async () => {
  const long = `${MODEL_KEY} `.repeat(400);
  await using provider = await serve(text(200, openai.body({ text: `You called with ${MODEL_KEY}. ${long}` })));
  await using service = await serve((response, { path, headers }) => {
    const said = JSON.stringify({ path, authorization: headers.authorization, region: headers['x-region'] });
    response.writeHead(path.startsWith('/bad') ? 500 : 200, { 'content-type': 'application/json' }).end(said);
  });
  const { report, kept } = await run(provider.url, service.url);
  expect(service.asked.map(({ headers }) => headers.authorization)).toEqual([
    `Bearer ${TOOL_KEY}`,
    `Bearer ${TOOL_KEY}`,
  ]);
  expect(report).toMatchObject({
    state: 'completed',
    output: { path: '/good?key=[redacted]', authorization: 'Bearer [redacted]', region: SHORT },
  });
  expect(kept).toContain('Bearer [redacted]');
  expect(kept).toContain('You called with [redacted].');
  for (const secret of [MODEL_KEY, TOOL_KEY, encodeURIComponent(TOOL_KEY)]) expect(kept).not.toContain(secret);
});

async function run(provider: string, service: string): Promise<{ report: unknown; kept: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const { flow } = compile(`
models: { m: { provider: openai, model: m, base_url: "${provider}" } }
agents: [{ id: writer, model: m }]
tools:
  service.bad: { effect: read, http: { url: "${service}/bad?key={{env.TOKEN}}", headers: { authorization: "Bearer {{env.TOKEN}}" } } }
  service.good:
    effect: read
    http:
      url: "${service}/good?key={{env.TOKEN}}"
      headers: { authorization: "Bearer {{env.TOKEN}}", x-region: "{{env.REGION}}" }
flow:
  id: secrets
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: writer, routes: [{ to: bad }] }
    - { id: bad, type: tool, tool: service.bad, on_error: [{ default: true, to: good }], routes: [{ to: good }] }
    - { id: good, type: tool, tool: service.good }`);
  if (flow === undefined) throw new Error('it does not compile');
  const engine = createEngine({
    journal: join(dir, 'journal.db'),
    snapshotEvery: 1,
    models: { env: { OPENAI_API_KEY: MODEL_KEY } },
    toolOptions: { env: { TOKEN: TOOL_KEY, REGION: SHORT }, workDir: dir },
  });
  try {
    const id = await engine.start(flow, { input: { message: 'hello' } });
    const report = await engine.settled(id);
    let kept = JSON.stringify(report);
    for await (const event of engine.events(id, { live: false })) kept += JSON.stringify(event);
    for (const file of readdirSync(dir)) kept += readFileSync(join(dir, file), 'latin1');
    return { report, kept };
  } finally {
    await engine.close();
  }
}
