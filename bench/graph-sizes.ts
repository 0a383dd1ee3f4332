/**
 * Prints how large the graphs of all examples are, and what one tool call of an agent costs: events, commits and bytes of the
 * journal. `npm run bench:graphs`
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { compile, createEngine, openMemory } from '@sluice-internal/library';

const examples = fileURLToPath(new URL('../examples/', import.meta.url));

function sizes(): void {
  let [nodes, bytes] = [0, 0];
  for (const name of readdirSync(examples).toSorted()) {
    if (!/\.(flow|workflow|team|staged|loop)\.yaml$/.test(name)) continue;
    const { flow } = compile(readFileSync(join(examples, name), 'utf8'));
    if (flow === undefined) continue;
    const size = { nodes: Object.keys(flow.nodes).length, bytes: JSON.stringify(flow).length };
    nodes += size.nodes;
    bytes += size.bytes;
    console.log(`${name.padEnd(44)} ${String(size.nodes).padStart(5)} nodes ${String(size.bytes).padStart(8)} bytes`);
  }
  console.log(`${'all'.padEnd(44)} ${String(nodes).padStart(5)} nodes ${String(bytes).padStart(8)} bytes`);
}

const TOOLS = {
  look: { effect: 'read', input: { type: 'object', properties: { q: { type: 'string' } } } },
  save: { effect: 'write', input: { type: 'object', properties: { q: { type: 'string' } } } },
  note: { effect: 'write', input: { type: 'object', properties: { q: { type: 'string' } } } },
};

function agentOf(tools: readonly string[]): object {
  return {
    tools: Object.fromEntries(Object.entries(TOOLS).filter(([name]) => tools.includes(name))),
    ...(tools.length === 0 ? {} : { boundary: { tools: { allow: tools } } }),
    agents: [{ id: 'bot', instructions: 'Work.', tools }],
    flow: { id: 'f', entry: 'work', nodes: [{ id: 'work', type: 'agent', agent: 'bot' }] },
  };
}

interface Cost {
  readonly events: number;
  readonly commits: number;
  readonly bytes: number;
}

/** A run with so many replies of one tool, each with so many calls. */
async function costOf(tool: 'look' | 'save', replies: number, calls = 1): Promise<Cost> {
  const store = openMemory();
  const tools = ['please', 'input', 'message'].slice(0, calls).map((q) => ({ name: tool, args: { q } }));
  const reply = { text: '', tools };
  const script = {
    agents: { bot: [...Array.from({ length: replies }, () => reply), 'done'] },
    tools: { [tool]: Array.from({ length: replies * calls }, (_, index) => ({ result: `row ${index}` })) },
  };
  const engine = createEngine({ journal: store, script: script as never });
  const { flow } = compile(agentOf([tool]));
  const run = await engine.start(flow as CompiledFlow, { input: 'please', seed: 1 });
  await engine.settled(run);
  const appends = (await store.journal.load(run, { snapshot: false }))?.appends ?? [];
  await engine.close();
  return {
    events: appends.reduce((sum, { count }) => sum + count, 0),
    commits: appends.length,
    bytes: appends.reduce((sum, { body }) => sum + body.length, 0),
  };
}

sizes();
for (const tools of [[], ['save'], ['save', 'note'], ['save', 'note', 'look']]) {
  const { flow } = compile(agentOf(tools));
  console.log(`an agent with ${tools.length} tools: ${Object.keys((flow as CompiledFlow).nodes).length} nodes`);
}
for (const [tool, calls] of [
  ['look', 1],
  ['save', 1],
  ['look', 3],
] as const) {
  const [few, many] = [await costOf(tool, 2, calls), await costOf(tool, 12, calls)];
  const each = (of: keyof Cost): number => Math.round((many[of] - few[of]) / 10);
  console.log(
    `a reply with ${calls} calls of \`${tool}\`: ${each('events')} events, ${each('commits')} commits, ${each('bytes')} bytes`,
  );
}
