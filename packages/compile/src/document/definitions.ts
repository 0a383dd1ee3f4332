/**
 * The shared sections as the engine needs them: every agent, tool and model with its defaults. The compiled flow thus holds
 * everything that a run may do.
 */
import { callAmounts, onlyReads } from '@sluice-internal/kernel/ir';
import type { AgentDef, Amounts, PiiPolicy, ToolDef } from '@sluice-internal/kernel/ir';
import { builtinTool, isBuiltinTool, lockedTool, usableSchema } from '@sluice-internal/kernel/catalog';
import type { McpLock, McpTool } from '@sluice-internal/kernel/catalog';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { modelTable, type ModelOptions, type ModelTable } from './model-table.ts';
import type { People, ToolApprovers } from './people.ts';
import { reviewOf, type Review } from './notify.ts';
import { piiOf } from './pii.ts';
import { protectionsOf, type Protections } from './protections.ts';
import { memoryOfAgent, type MemoryDef } from './memory.ts';
import { serverPrefix } from './names.ts';
import { durationMs } from './shape/fields.ts';
import type { Agent } from './schema/agents.ts';
import type { Boundary, Budgets } from './schema/bounds.ts';
import { replyShare } from './inner-budgets.ts';
import { replySettings, settingsOf } from './reply-settings.ts';
import type { Sections } from './schema/schema.ts';
import { IMPLEMENTATIONS, type McpServers, type Tool } from './schema/tools.ts';

const TOOL_TIMEOUT_MS = 30_000;
export interface Definitions {
  readonly agents: { readonly [id: string]: AgentDef };
  readonly tools: { readonly [name: string]: ToolDef };
  readonly models: ModelTable;
  /** Dollars per call, by tool. */
  readonly toolCosts: { readonly [tool: string]: number };
  /** Expressions over `result` that a tool's result must satisfy, by tool. */
  readonly toolChecks: { readonly [tool: string]: string };
  /** The tool that looks up whether a call without an answer took effect. */
  readonly toolLookups: { readonly [tool: string]: string };
  /** Tools that ask a person before every call. */
  readonly toolApprovals: ReadonlySet<string>;
  /** Tools whose effect alone is no reason to ask a person. */
  readonly toolsUnasked: ReadonlySet<string>;
  /** The people who may approve calls, by tool. */
  readonly toolApprovers: ToolApprovers;
  /** MCP servers by name: a tool of theirs need not be declared. */
  readonly servers: McpServers;
  /** The tools of those servers, if they are known. */
  readonly mcpLock: McpLock | undefined;
  readonly budgets: Budgets | undefined;
  /** The key of a budget that the document has under another name than in `budgets`. */
  readonly budgetKeys?: { readonly [field in keyof Budgets]?: string };
  /** The boundary of all agents, and the stricter boundaries of single agents. */
  readonly boundary: Boundary | undefined;
  readonly agentBoundaries: { readonly [agent: string]: Boundary };
  /** Seconds after which a question expires, if no boundary sets them. */
  readonly approvalTimeout?: number;
  /** Budgets of single agents. */
  readonly agentBudgets: { readonly [agent: string]: Budgets };
  /** The long-term memory of single agents. */
  readonly memory: { readonly [agent: string]: MemoryDef };
  /** Cedar policies by id. */
  readonly policies: { readonly [id: string]: string };
  /** A version of a boundary, derived from its content. */
  versionOf(content: Json): string;
  readonly deadlineMs: number | null;
  /** Reads a file beside the document and returns null if the file is missing. Undefined if this host cannot read files. */
  readonly readText?: (file: string) => string | null;
  readonly protections: Protections;
  /** The definitions of another document that is compiled with the same options. */
  forSections(sections: Sections): Definitions;
  readonly pii: PiiPolicy | undefined;
  readonly people: People | undefined;
  readonly review: Review;
}

export interface DefinitionOptions extends ModelOptions {
  readonly hash?: (text: string) => string;
  readonly policies?: { readonly [id: string]: string };
  readonly mcpLock?: McpLock | undefined;
  readonly readText?: (file: string) => string | null;
  /** The protections that apply if the document declares none. */
  readonly protections?: Protections | undefined;
  readonly people?: People | undefined;
  /** The tightest budgets of the parts of the flow. */
  readonly innerBudgets?: Budgets | undefined;
}

export function definitionsOf(sections: Sections, options: DefinitionOptions = {}): Definitions {
  const { models = {}, tools, mcp } = sections;
  const { budgets } = sections;
  const protections = protectionsOf(sections.protections, options.protections);
  const seconds = budgets?.wall_clock_seconds;
  const table = modelTable(models, options);
  const agents = Object.create(null) as { [id: string]: AgentDef };
  for (const agent of sections.agents ?? []) {
    const limits = tighter(budgets, replyShare(tighter(options.innerBudgets, agent.budget)));
    const def = agentDef(agent, { sections, table, limits }, options.mcpLock);
    agents[def.id] ??= def;
  }
  return {
    agents,
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [
        name,
        toolDef(name, tool, { servers: mcp, mcpLock: options.mcpLock }),
      ]),
    ),
    models: table,
    toolCosts: perTool(tools, ({ cost }) => cost),
    toolChecks: perTool(tools, ({ verify }) => (verify === undefined || isTool(verify, sections) ? undefined : verify)),
    toolLookups: perTool(tools, ({ verify }) =>
      verify !== undefined && isTool(verify, sections) ? verify : undefined,
    ),
    toolApprovals: new Set(
      Object.keys(perTool(tools, ({ approval, approvers }) => approvers ?? (approval === 'always' || undefined))),
    ),
    toolsUnasked: new Set(Object.keys(perTool(tools, ({ approval }) => approval === 'never' || undefined))),
    toolApprovers: perTool(tools, ({ approvers }) => approvers),
    servers: mcp,
    mcpLock: options.mcpLock,
    budgets,
    boundary: sections.boundary,
    agentBoundaries: perAgent(sections, ({ boundary }) => boundary),
    agentBudgets: perAgent(sections, ({ budget }) => budget),
    memory: perAgent(sections, (agent) => memoryOfAgent(agent, sections.boundary)),
    policies: options.policies ?? {},
    versionOf: (content) =>
      options.hash === undefined ? 'unversioned' : `b-${options.hash(JSON.stringify(content)).slice(0, 12)}`,
    deadlineMs: seconds === undefined ? null : Math.ceil(seconds * 1000),
    ...present({ readText: options.readText }),
    protections,
    forSections: (other) => definitionsOf(other, { ...options, protections }),
    pii: piiOf(sections.pii),
    people: options.people,
    review: reviewOf(sections),
  };
}

/** True if `verify` names a tool. Otherwise it is an expression. */
export function isTool(name: string, { tools, mcp }: Pick<Sections, 'tools' | 'mcp'>): boolean {
  return Object.hasOwn(tools, name) || isBuiltinTool(name) || ownerOf(name, mcp) !== undefined;
}

/** The stricter of two limits. */
export function tighter(one: Budgets | undefined, other: Budgets | undefined): Budgets | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const both: { [field: string]: unknown } = { ...one };
  for (const [field, limit] of Object.entries(other)) {
    const own = both[field];
    both[field] = typeof own === 'number' && typeof limit === 'number' ? Math.min(own, limit) : (own ?? limit);
  }
  return both;
}

function perAgent<Value>({ agents = [] }: Sections, of: (agent: Agent) => Value | undefined): Named<Value> {
  return valuesOf(
    agents.map((agent) => [agent.id ?? agent.name ?? '', agent] as const),
    of,
  );
}

function perTool<Value>(tools: Sections['tools'], of: (tool: Tool) => Value | undefined): Named<Value> {
  return valuesOf(Object.entries(tools), of);
}

type Named<Value> = { readonly [name: string]: Value };

/** The first value of each name. The object has no prototype, because a tool may be called `constructor`. */
function valuesOf<Item, Value>(
  items: readonly (readonly [name: string, Item])[],
  of: (item: Item) => Value | undefined,
): Named<Value> {
  const found = Object.create(null) as { [name: string]: Value };
  for (const [name, item] of items) {
    const value = of(item);
    if (value !== undefined) found[name] ??= value;
  }
  return found;
}

interface ServerTools {
  readonly servers: McpServers;
  readonly mcpLock: McpLock | undefined;
}

/** A tool that only an MCP server declares. Its description and schema come from the lock. */
export function serverTool(name: string, { servers, mcpLock }: ServerTools): ToolDef | undefined {
  const found = ownerOf(name, servers);
  if (found === undefined) return undefined;
  const { owner, tool } = found;
  const trusted = servers[owner]?.trusted === true;
  const { effect, idempotent } = hinted(trusted ? lockedTool(mcpLock, owner, tool) : undefined);
  return {
    ...toolDef(name, { effect, idempotent, mcp: `${owner}/${tool}` }, { servers, mcpLock }),
    timeoutMs: milliseconds(servers[owner]?.timeout),
  };
}

/** A tool of the document, of an MCP server, or built in. */
export function toolNamed(
  name: string,
  known: Pick<Definitions, 'tools' | 'servers' | 'mcpLock'>,
): ToolDef | undefined {
  return Object.hasOwn(known.tools, name) ? known.tools[name] : (serverTool(name, known) ?? builtinTool(name));
}

/** The server of a tool named `server.tool`, or of a tool that a server lists without this prefix. */
export function ownerOf(
  name: string,
  servers: McpServers,
): { readonly owner: string; readonly tool: string } | undefined {
  const prefix = serverPrefix(name, Object.keys(servers));
  if (prefix !== undefined) return { owner: prefix, tool: name.slice(prefix.length + 1) };
  const owner = Object.keys(servers).find((each) => servers[each]?.tools?.includes(name));
  return owner === undefined ? undefined : { owner, tool: name };
}

/** `prefix.*` grants every declared tool and every known server tool of that prefix. */
export function grantedTools(
  names: readonly string[],
  { tools, mcp }: Pick<Sections, 'tools' | 'mcp'>,
  mcpLock: McpLock | undefined,
): readonly string[] {
  const all = names.flatMap((name) => {
    if (!name.endsWith('.*')) return [name];
    const prefix = name.slice(0, -1);
    const server = name.slice(0, -2);
    const allowed = mcp[server]?.tools;
    const known = mcpLock?.servers[server]?.map((tool) => tool.name) ?? allowed ?? [];
    const listed = known.filter((tool) => allowed === undefined || allowed.includes(tool));
    return [
      ...Object.keys(tools).filter((tool) => tool.startsWith(prefix)),
      ...listed.map((tool) => `${prefix}${tool}`),
    ];
  });
  return [...new Set(all)];
}

/** The effect that a trusted server gives. Without a hint, a call counts as a write. */
function hinted(tool: McpTool | undefined): { readonly effect: ToolDef['effect']; readonly idempotent: boolean } {
  const { readOnlyHint, destructiveHint, idempotentHint } = tool?.annotations ?? {};
  const isRead = readOnlyHint === true;
  const effect = isRead ? 'read' : destructiveHint === true ? 'infrastructure' : 'write';
  return { effect, idempotent: isRead || idempotentHint === true };
}

/** An agent that nothing declares, as a bare document names it. */
export function undeclaredAgent(name: string): AgentDef {
  return {
    id: name,
    name,
    model: null,
    instructions: '',
    tools: [],
    output: null,
    maxOutputTokens: null,
    temperature: null,
  };
}

/** `limits` are the tightest budgets that calls of the agent reserve. */
type AgentContext = { readonly sections: Sections; readonly table: ModelTable; readonly limits: Budgets | undefined };

function agentDef(agent: Agent, { sections, table, limits }: AgentContext, mcpLock: McpLock | undefined): AgentDef {
  const id = agent.id ?? agent.name ?? '';
  return {
    id,
    name: agent.name ?? id,
    model: agent.model ?? null,
    instructions: agent.instructions,
    tools: grantedTools(agent.tools, sections, mcpLock),
    output: clean(agent.output),
    ...replySettings(
      {
        maxOutputTokens: agent.max_output_tokens,
        temperature: agent.temperature,
        reasoningEffort: agent.reasoning_effort,
      },
      limits,
      table.find(agent.model ?? null),
    ),
    ...settingsOf({
      reasoningEffort: agent.reasoning_effort,
      topP: agent.top_p,
      seed: agent.seed,
      stop: agent.stop,
      parallelToolCalls: agent.parallel_tool_calls,
      toolChoice: agent.tool_choice,
    }),
    ...present({ toolWidth: agent.tool_width }),
  };
}

function toolDef(permission: string, declared: Partial<Tool>, known: ServerTools): ToolDef {
  const builtin = builtinUnder(permission, declared);
  const tool = overBuiltin(builtin, declared);
  const { server, locked } = mcpOf(tool, known);
  return {
    description: tool.description ?? locked?.description ?? '',
    input: tool.input === undefined ? usableSchema(locked?.input ?? true) : clean(tool.input),
    output: tool.output === undefined ? true : clean(tool.output),
    effect: effectOfTool(permission, declared),
    implementation: implementationOf(tool, { server, locked, builtin }),
    ...timesOf(declared.timeout, builtin === undefined ? server?.timeout : builtin.timeoutMs / 1000),
    permission: tool.permission ?? permission,
    idempotent: tool.idempotent ?? onlyReads(tool.effect),
    compensate: tool.compensate ?? null,
    ...optionalFields(tool),
  };
}

/** The built-in tool that a declaration without an implementation changes. */
function builtinUnder(name: string, declared: Partial<Tool>): ToolDef | undefined {
  return IMPLEMENTATIONS.some((each) => declared[each] !== undefined) ? undefined : builtinTool(name);
}

export function effectOfTool(name: string, declared: Partial<Tool>): ToolDef['effect'] {
  return declared.effect ?? builtinUnder(name, declared)?.effect ?? 'write';
}

/**
 * A declaration under the name of a built-in tool changes the fields that it names. The rest stays as built in. Where it names the
 * effect, a function of the program may stand there: its kind is not that of the built-in tool, so it is traced as its class says.
 */
function overBuiltin(builtin: ToolDef | undefined, declared: Partial<Tool>): Partial<Tool> {
  if (builtin === undefined) return declared;
  const { description, input, effect, idempotent, category, resource, trust } = builtin;
  const kind = declared.effect === undefined ? { idempotent, category, trust } : {};
  const asDeclared = { description, input, effect, resource, ...kind };
  return { ...(present(asDeclared) as Partial<Tool>), ...present(declared) };
}

/** The MCP server of a tool, and the tool as the lock has it. */
function mcpOf({ mcp = '' }: Partial<Tool>, { servers, mcpLock }: ServerTools) {
  const [name = '', ...rest] = mcp.split('/');
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  return { server, locked: lockedTool(mcpLock, name, rest.join('/')) };
}

type Times = Pick<ToolDef, 'timeoutMs' | 'queueMs' | 'wholeMs' | 'heartbeatMs'>;

function timesOf(given: Tool['timeout'], otherwise: number | undefined): Times {
  const { attempt, queue, whole, heartbeat } = typeof given === 'object' ? given : { attempt: given };
  const ms = (seconds: number | undefined) => (seconds === undefined ? undefined : Math.ceil(seconds * 1000));
  return {
    timeoutMs: milliseconds(attempt ?? otherwise),
    ...present({ queueMs: ms(queue), wholeMs: ms(whole), heartbeatMs: ms(heartbeat) }),
  };
}

function optionalFields(tool: Partial<Tool>): Partial<ToolDef> {
  const { trust, trusted_fields: trustedFields, confidential, category, resource, tenure, rate_limit: rate } = tool;
  const { amount, recipients, payee, repeatable } = tool;
  return {
    ...(tenure === undefined ? {} : { tenureMs: tenure === 'run' ? 0 : durationMs(tenure) }),
    ...present({
      trust: trust === 'untrusted' ? undefined : trust,
      trustedFields,
      category,
      confidential: confidential === true ? confidential : undefined,
      resource,
      amount,
      recipients,
      payee,
      repeatable,
      rate: rate && { calls: rate.calls, perMs: Math.ceil(rate.per_seconds * 1000) },
    }),
  };
}

interface Origin {
  readonly server: McpServers[string] | undefined;
  readonly locked: McpTool | undefined;
  readonly builtin: ToolDef | undefined;
}

function implementationOf(tool: Partial<Tool>, { server, locked, builtin }: Origin): ToolDef['implementation'] {
  const how = IMPLEMENTATIONS.find((each) => tool[each] !== undefined);
  return how === undefined ? (builtin?.implementation ?? null) : clean({ [how]: tool[how], server, locked });
}

function milliseconds(seconds: number | undefined): number {
  return seconds === undefined ? TOOL_TIMEOUT_MS : Math.ceil(seconds * 1000);
}

/** Without the fields that were left out. */
function clean(value: unknown): Json {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json);
}

export function reserveOfModel(agent: AgentDef | undefined, definitions: Definitions): Amounts {
  const outputTokens = agent?.maxOutputTokens ?? null;
  if (outputTokens === null) return callAmounts('model');
  const price = definitions.models.find(agent?.model ?? null)?.price;
  const costMicros = price === undefined ? 0 : Math.ceil(outputTokens * price.output);
  return { ...callAmounts('model'), outputTokens, ...(costMicros > 0 ? { costMicros } : {}) };
}

/** True if a call changes nothing beyond the sandbox. */
export function staysInside({ effect, category }: Pick<ToolDef, 'effect' | 'category'>): boolean {
  return onlyReads(effect) || (effect === 'write' && category === 'sandbox');
}

export function reserveOfTool(tool: ToolDef | undefined, costUsd: number | undefined): Amounts {
  const how = tool?.implementation ?? null;
  // Rounded up to a whole millionth, without the noise of multiplying decimals.
  const costMicros = Math.ceil(Number(((costUsd ?? 0) * 1_000_000).toFixed(3)));
  // The implementation shows if a tool is networked or paid. For a tool without one, the author can declare it.
  const networked = how !== null && typeof how === 'object' && ('http' in how || 'mcp' in how);
  const outside = networked || tool?.category === 'live_api' || costMicros > 0;
  return {
    ...callAmounts('tool'),
    ...(outside ? { externalCalls: 1 } : {}),
    ...(tool !== undefined && staysInside(tool) ? {} : { sideEffects: 1 }),
    ...(costMicros > 0 ? { costMicros } : {}),
  };
}
