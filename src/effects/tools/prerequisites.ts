/**
 * Looks for what the tools of a flow need on this machine before anything is spent: bubblewrap, modules, programs and
 * environment variables. MCP servers are asked for their tools separately (see `../mcp/discover.ts`).
 */
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Json } from '../../expr/json.ts';
import type { CompiledFlow, Node } from '../../ir/nodes.ts';
import { failureOf } from '../../runtime/failures.ts';
import { INSTALL_BUBBLEWRAP, findBubblewrap, findProgram } from './sandbox.ts';
import { environmentIn } from './template.ts';
import type { McpServer, ToolOptions } from './tool.ts';

/** Something that is missing. */
export interface Missing {
  /** The tools that need it. */
  readonly tools: readonly string[];
  readonly message: string;
  readonly help: string;
}
type Options = Pick<ToolOptions, 'documentDir' | 'env' | 'shell'>;
type Implementation = { readonly [key: string]: Json };
type Finding = Omit<Missing, 'tools'>;

/** The missing prerequisites of the tools of a flow. Tools that `replaced` names have another implementation. */
export async function missingPrerequisites(
  flow: CompiledFlow,
  options: Options = {},
  replaced: (tool: string) => boolean = () => false,
): Promise<readonly Missing[]> {
  const found = new Map<string, { finding: Finding; tools: string[] }>();
  for (const tool of calledTools(flow)) {
    const implementation = flow.tools[tool]?.implementation ?? null;
    if (implementation === null || replaced(tool)) continue;
    for (const finding of await findingsOf(implementation as Implementation, options)) {
      const known = found.get(finding.message) ?? { finding, tools: [] };
      known.tools.push(tool);
      found.set(finding.message, known);
    }
  }
  return [...found.values()].map(({ finding, tools }) => ({ ...finding, tools }));
}

/** The tools that nodes call, and those that undo their calls. */
function calledTools({ nodes }: CompiledFlow): ReadonlySet<string> {
  return new Set(
    Object.values<Node>(nodes).flatMap((node) =>
      node.op === 'do' && node.effect.kind === 'tool'
        ? [node.effect.tool, ...(node.undo === undefined ? [] : [node.undo.tool])]
        : [],
    ),
  );
}

async function findingsOf(implementation: Implementation, options: Options): Promise<readonly Finding[]> {
  const { builtin, shell, module, server } = implementation;
  const checks = [
    ...(builtin === 'shell_run' || shell !== undefined ? [sandbox(options)] : []),
    ...(typeof module === 'string' ? [moduleFile(module, options)] : []),
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

async function moduleFile(reference: string, { documentDir = '.' }: Options): Promise<Finding | null> {
  const file = resolve(documentDir, reference.split('#')[0] ?? '');
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  return isThere ? null : { message: `the module \`${file}\` does not exist`, help: 'Create it, or mend its path.' };
}

async function serverProgram({ command }: McpServer): Promise<Finding | null> {
  if (command === undefined || (await findProgram(command)) !== null) return null;
  return { message: `the program \`${command}\` of an MCP server is not installed`, help: `Install \`${command}\`.` };
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
