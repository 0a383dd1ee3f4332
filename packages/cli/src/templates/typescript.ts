/** The template `typescript`: a flow as values, with a test. It is compiled first, so that it also runs on Node 22. */
export const TYPESCRIPT_FILES: { readonly [path: string]: string } = {
  'package.json': `{
  "name": "my-flow",
  "private": true,
  "type": "module",
  "scripts": {
    "build": "tsc",
    "test": "tsc && node --test dist/refunds.test.js",
    "start": "tsc && node dist/main.js"
  },
  "dependencies": {
    "@ai-sdk/openai": "^4.0.0",
    "sluice": "*",
    "zod": "^4.2.0"
  },
  "devDependencies": {
    "@types/node": "^22.0.0",
    "typescript": "^5.9.0 || ^6.0.0 || ^7.0.0"
  }
}
`,
  'tsconfig.json': `{
  "compilerOptions": {
    "target": "es2022",
    "lib": ["es2022", "esnext.disposable"],
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "skipLibCheck": true,
    "rootDir": "src",
    "outDir": "dist"
  },
  "include": ["src"]
}
`,
  'src/refunds.ts': `import { agent, flow, text, tool } from 'sluice';
import * as z from 'zod';

/** Replace the bodies of \`run\` by calls of your payment provider. */
const reverse = tool('payments.reverse', { effect: 'financial', run: () => ({ reversed: true }) });
const refund = tool('payments.refund', {
  effect: 'financial',
  input: z.object({ order: z.string(), amount: z.number() }),
  compensate: reverse,
  run: ({ order, amount }, { idempotencyKey }) => ({ receipt: \`re_\${order}_\${amount}_\${idempotencyKey.slice(0, 8)}\` }),
});

const triage = agent('triage', {
  model: 'openai/gpt-5-mini',
  instructions: 'Sort the message. For a refund give the order and the amount.',
  output: z.object({ kind: z.enum(['refund', 'other']), order: z.string(), amount: z.number() }),
});

export const refunds = flow('refunds', {
  input: z.object({ message: z.string() }),
  budgets: { modelCalls: 5, costUsd: 0.1 },
})
  .step(triage, ({ input }) => input.message)
  .when(
    ({ triage }) => triage.kind.eq('refund'),
    (f) =>
      f
        .approve('gate', ({ triage }) => text\`Refund \${triage.amount} for order \${triage.order}?\`)
        .step(refund, ({ triage }) => ({ order: triage.order, amount: triage.amount })),
  );
`,
  'src/main.ts': `import { createEngine } from 'sluice';
import { refunds } from './refunds.js';

const engine = createEngine({ flows: [refunds] });
const run = await engine.run(refunds, { message: process.argv[2] ?? 'The kettle A-1042 leaks. I want my $49.50 back.' });
for await (const event of run.events()) {
  console.log(event.type, event.node ?? '');
  if (event.type === 'question.asked') {
    console.log(event.message, '- answering: approve');
    await run.answer('gate', 'approve', { by: 'me' });
  }
}
console.log((await run.result()).output);
await engine.close();
`,
  'src/refunds.test.ts': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEngine, openMemory } from 'sluice';
import { refunds } from './refunds.js';

/** The model is scripted, so the test needs no key and always runs the same way. */
const started = async () => {
  const script = { agents: { triage: ['{"kind": "refund", "order": "A-1", "amount": 20}'] } };
  const engine = createEngine({ journal: openMemory(), script });
  return { engine, run: await engine.run(refunds, { message: 'money back' }) };
};

test('a refund is paid after a person approves', async () => {
  const { engine, run } = await started();
  await run.answer('gate', 'approve', { by: 'anna' });
  const { receipts, code } = await run.result();
  assert.equal(code, 'SUCCESS');
  assert.deepEqual(receipts.map(({ tool }) => tool), ['payments.refund']);
  await engine.close();
});

test('nothing is paid after a person rejects', async () => {
  const { engine, run } = await started();
  await run.answer('gate', 'reject', { by: 'anna' });
  const { output, receipts } = await run.result();
  assert.equal(output, 'reject');
  assert.deepEqual(receipts, []);
  await engine.close();
});
`,
  'README.md': `# Refunds that a person approves

    npm install
    npm test                       # offline
    OPENAI_API_KEY=… npm start     # with a model

The flow is in \`src/refunds.ts\`. Check it, draw it: \`npx sluice check dist/refunds.js\`, \`npx sluice graph dist/refunds.js\`.
`,
  '.gitignore': `.sluice/
node_modules/
dist/
`,
};
