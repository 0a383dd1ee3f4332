/**
 * Checks the prerequisites of the tools and validators of a flow before a run spends money: bubblewrap, modules,
 * programs, MCP servers and environment variables. `../mcp/discover.ts` compares the tools of MCP servers.
 */
import { misspelt, reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Node, Pins } from '@sluice-internal/kernel/ir';
import { failureOf } from '@sluice-internal/engine/ports';
import type { SluiceError } from '@sluice-internal/engine/ports';
import { resolveOptional } from '@sluice-internal/platform';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { loadModuleTool } from './module.ts';
import { INSTALL_BUBBLEWRAP, findBubblewrap, findInSandbox, findProgram } from './sandbox.ts';
import { environmentIn } from './template.ts';
import type { McpServer, ToolOptions } from './tool.ts';

/** Something that is missing. */
export interface Missing {
  /** The tools and validators that need it. */
  readonly users: readonly string[];
  readonly message: string;
  readonly help: string;
}
type Options = Pick<ToolOptions, 'documentDir' | 'env' | 'shell'>;
type Implementation = { readonly [key: string]: Json };
const SERVER_MS = 3_000;
type Finding = Omit<Missing, 'users'>;

/** The calls of a flow that are really made. The others are scripted, or never made. */
export interface RealCalls {
  /** True if another implementation replaces the tool. */
  replaces(tool: string): boolean;
  /** True if the agent may call the tool in this run. */
  mayCall(agent: string, tool: string): boolean;
}
const ALL: RealCalls = { replaces: () => false, mayCall: () => true };

/** The missing prerequisites of the tools and validators of a flow. */
export async function missingPrerequisites(
  flow: CompiledFlow,
  options: Options = {},
  real: RealCalls = ALL,
): Promise<readonly Missing[]> {
  const found = new Map<string, { finding: Finding; users: Set<string> }>();
  const add = (user: string, findings: readonly Finding[]): void => {
    for (const finding of findings) {
      const known = found.get(finding.message) ?? { finding, users: new Set<string>() };
      known.users.add(user);
      found.set(finding.message, known);
    }
  };
  for (const tool of calledTools(flow, real)) {
    const implementation = flow.tools[tool]?.implementation ?? null;
    if (implementation === null || real.replaces(tool)) continue;
    add(tool, await findingsOf(implementation as Implementation, options));
  }
  for (const node of Object.values<Node>(flow.nodes)) add(node.label.name, await checkFindings(node, options));
  return [...found.values()].map(({ finding, users }) => ({ ...finding, users: [...users] }));
}

/** The missing prerequisites of MCP servers. Without a lock file no tool of theirs is known before they are asked. */
export async function missingServers(
  servers: { readonly [name: string]: McpServer },
  options: Options = {},
): Promise<readonly Missing[]> {
  const found = await Promise.all(
    Object.entries(servers).map(async ([name, server]) => {
      const finding = await serverProgram(server);
      const findings = [...(finding === null ? [] : [finding]), ...variables({ ...server } as Implementation, options)];
      return findings.map((each): Missing => ({ ...each, users: [name] }));
    }),
  );
  return found.flat();
}

/** The tools that nodes call, and those that undo their calls. */
export function calledTools({ nodes }: CompiledFlow, { mayCall }: RealCalls): ReadonlySet<string> {
  return new Set(
    Object.values<Node>(nodes).flatMap((node) => {
      if (node.op !== 'do' || node.effect.kind !== 'tool') return [];
      const agent = callerOf(node.effect.input['agent']);
      if (agent !== null && !mayCall(agent, node.effect.tool)) return [];
      return [node.effect.tool, ...(node.undo === undefined ? [] : [node.undo.tool])];
    }),
  );
}

/** The agent whose call it is, written as a text in an expression. Null for a call of the author's own. */
export function callerOf(expression: string | undefined): string | null {
  return expression === undefined ? null : expression.replace(/^"(.*)"$/s, '$1');
}

/** A validator that runs tests needs the sandbox. The compiler has looked for modules of validators. */
async function checkFindings(node: Node, options: Options): Promise<readonly Finding[]> {
  if (node.op !== 'do' || node.effect.kind !== 'check') return [];
  const runsTests = /RelatedTestsPass|gates:run|\bgate\W{0,4}\{/.test(JSON.stringify(node.effect));
  const finding = runsTests ? await sandbox(options) : null;
  return finding === null ? [] : [finding];
}

async function findingsOf(implementation: Implementation, options: Options): Promise<readonly Finding[]> {
  const { builtin, shell, module, server, code } = implementation;
  const checks = [
    ...(builtin === 'shell_run' || shell !== undefined ? [sandbox(options)] : []),
    ...(shell === undefined ? [] : [program((shell as { argv?: readonly string[] }).argv?.[0])]),
    ...(typeof module === 'string' ? [moduleFile(module, options)] : []),
    ...(code === undefined && builtin !== 'code_run' ? [] : [optional('quickjs-emscripten', 'a tool with code')]),
    ...(server === undefined ? [] : [optional('@modelcontextprotocol/client', 'an MCP server')]),
    ...(server === undefined ? [] : [serverProgram(server as McpServer)]),
  ];
  const found = (await Promise.all(checks)).filter((finding) => finding !== null);
  return [...found, ...variables(implementation, options)];
}

async function sandbox({ shell }: Options): Promise<Finding | null> {
  try {
    await findBubblewrap(shell?.bwrap);
    return null;
  } catch (error) {
    return { message: failureOf(error).message.replace(/; install it .*$/, ''), help: capital(INSTALL_BUBBLEWRAP) };
  }
}

async function program(name: string | undefined): Promise<Finding | null> {
  if (name === undefined || (await findInSandbox(name)) !== null) return null;
  return { message: `the program \`${name}\` is not installed`, help: `Install it: \`apt-get install ${name}\`.` };
}

async function optional(name: string, need: string): Promise<Finding | null> {
  try {
    resolveOptional(name, need);
    return null;
  } catch (error) {
    const { message, help = '' } = error as SluiceError;
    return { message, help };
  }
}

/** The module is not run: it may do something when it is loaded. */
async function moduleFile(reference: string, { documentDir = '.' }: Options): Promise<Finding | null> {
  const [path = '', name = ''] = reference.split('#');
  const file = resolve(documentDir, path);
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null)
    return { message: `the module \`${file}\` does not exist`, help: 'Create it, or correct its path.' };
  const known = exportsIn(text);
  if (known === null || words(text).has(name)) return null;
  const near = misspelt(name, known);
  const help = near === undefined ? `It exports ${known.join(', ') || 'nothing'}.` : `Did you mean \`${near}\`?`;
  return { message: `the module \`${file}\` exports no function \`${name}\``, help };
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.match(/[\w$]+/g));
}

/** The names that a module exports, by its text. Null if it may export names that its text does not have. */
function exportsIn(text: string): readonly string[] | null {
  if (/\bexport\s*\*|\bexports\b/.test(text)) return null;
  const declared = [...text.matchAll(/\bexport\s+(?:async\s+)?(?:function\s*\*?|const|let|var|class)\s+([\w$]+)/g)];
  const listed = [...text.matchAll(/\bexport\s*\{([^}]*)\}/g)].flatMap(([, list = '']) => [
    ...list.matchAll(/([\w$]+)\s*(?:,|$)/g),
  ]);
  return [...declared, ...listed].map(([, name = '']) => name);
}

/** The modules of tools that cannot be loaded. Loads them, so the pins of the run must allow that. */
export async function unloadableModules(
  flow: CompiledFlow,
  pins: Pins,
  real: RealCalls = ALL,
): Promise<readonly Missing[]> {
  const found: Missing[] = [];
  for (const tool of calledTools(flow, real)) {
    const { module } = (flow.tools[tool]?.implementation ?? {}) as Implementation;
    if (typeof module !== 'string' || real.replaces(tool)) continue;
    const problem = await loadModuleTool(module, pins.documentDir ?? '.', pins).then(() => null, reasonOf);
    if (problem !== null) found.push({ users: [tool], message: problem, help: helpFor(problem) });
  }
  return found;
}

function helpFor(problem: string): string {
  return /Unexpected token 'export'|Cannot use import statement/.test(problem)
    ? 'Node reads it as CommonJS. Set `"type": "module"` in package.json, or let the name end in `.mjs` or `.mts`.'
    : 'Mend the module.';
}

/** The program or the address of an MCP server that is missing. */
export async function serverProgram({ command, url }: McpServer): Promise<Finding | null> {
  if (url !== undefined) return serverAnswers(url);
  if (command === undefined || (await findProgram(command)) !== null) return null;
  const install = /^(npx|npm|node)$/.test(command) ? 'Install Node: https://nodejs.org' : `Install \`${command}\``;
  return { message: `the program \`${command}\` of an MCP server is not installed`, help: `${install}.` };
}

/** Any answer counts, also one that asks for a key. */
async function serverAnswers(url: string): Promise<Finding | null> {
  const options = { signal: AbortSignal.timeout(SERVER_MS), redirect: 'manual' } as const;
  return fetch(url, options).then(
    async ({ body }) => (await body?.cancel(), null),
    () => ({
      message: `the MCP server at ${url} cannot be reached`,
      help: `Start it, or correct its \`url\`: \`curl -i ${url}\` shows if it answers.`,
    }),
  );
}

function variables(implementation: Implementation, { env = process.env }: Options): readonly Finding[] {
  return [...new Set(environmentIn(JSON.stringify(implementation)))]
    .filter((name) => env[name] === undefined)
    .map((name) => ({
      message: `the environment variable \`${name}\` is not set`,
      help: `Set it: \`export ${name}=…\`.`,
    }));
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
