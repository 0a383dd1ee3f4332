/** Attachments that are not stored any more: erased by an operator, or deleted otherwise. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { png } from '../../../models/test/models/png.ts';
import { PROTOCOLS } from '../../../models/test/models/protocols.ts';
import type { ProtocolMock } from '../../../models/test/models/protocols.ts';
import { serve, text } from '../../../models/test/models/serve.ts';

const [openai] = PROTOCOLS as [ProtocolMock];

const FLOW = `
agents: [ { id: looker, instructions: Describe it. } ]
flow:
  id: look
  entry: ask
  nodes:
    - { id: ask, type: agent, agent: looker, input: { message: "{{event.payload.photo}}" } }
`;

interface Prompted {
  readonly prompt?: readonly { readonly files?: readonly Json[] }[];
}

test('an erased attachment is shown as erased, and one that was deleted otherwise is missing', async () => {
  await using served = await serve(text(200, openai.body({ text: 'A car.' })));
  const cwd = folder({ 'look.flow.yaml': FLOW });
  writeFileSync(join(cwd, 'car.png'), png());
  const env = { OPENAI_API_KEY: 'sk-test-0000001', OPENAI_BASE_URL: served.url, SLUICE_MODEL: 'openai/gpt-5-mini' };
  const input = JSON.stringify({ photo: { attachment: './car.png' } });
  const runs = [];
  for (let count = 0; count < 2; count++)
    runs.push(
      (
        JSON.parse((await sluice(['run', 'look.flow.yaml', '--json', '--input', input], { cwd, env })).stdout) as {
          run: string;
        }
      ).run,
    );
  const [erased = '', deleted = ''] = runs;
  const filesOf = async (id: string): Promise<unknown> => {
    const events = JSON.parse((await sluice(['trace', id, '--json', '--prompts'], { cwd })).stdout) as Prompted[];
    return events.flatMap(({ prompt = [] }) => prompt.flatMap(({ files = [] }) => files));
  };
  expect(await filesOf(erased)).toMatchObject([{ state: 'stored', name: 'car.png', mediaType: 'image/png' }]);
  expect((await sluice(['trace', erased, '--prompts'], { cwd })).stdout).toMatch(
    /file car\.png \(image\/png, \d+ bytes/,
  );
  await sluice(['erase', erased], { cwd });
  expect(await filesOf(erased)).toMatchObject([{ state: 'erased' }]);
  expect((await sluice(['audit', 'verify'], { cwd })).status).toBe(0);
  const db = new DatabaseSync(join(cwd, '.sluice/sluice.db.attachments'));
  db.exec('DELETE FROM uses; DELETE FROM contents');
  db.close();
  expect(await filesOf(deleted)).toMatchObject([{ state: 'missing' }]);
  const audited = await sluice(['audit', 'verify'], { cwd });
  expect([audited.status, audited.stderr]).toEqual([1, expect.stringContaining('no operator erased it')]);
  expect((await sluice(['audit', 'verify', erased], { cwd })).status).toBe(0);
  const asked = served.asked.length;
  const forked = await sluice(['fork', deleted, '--at', '1', '--model', 'openai/gpt-5-mini', '--json'], {
    cwd,
    env,
  });
  expect(JSON.parse(forked.stdout)).toMatchObject({ state: 'failed', error: { type: 'AttachmentError' } });
  expect(served.asked).toHaveLength(asked);
});
