/** Reads the agents of a team: model, tools, and their view of the shared history. */
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { PLUGINS, builtinTool } from '@sluice-internal/kernel/catalog';
import {
  ANSWER_NAMES,
  grantedTools as toolsNamed,
  mayDecide,
  memoryOf,
  serverTool,
} from '@sluice-internal/compile/document';
import type { Definitions, MemoryDef } from '@sluice-internal/compile/document';
import { reportConditions } from '@sluice-internal/compile/expressions';
import { suggestionOf } from '@sluice-internal/compile/source';
import type { Path } from '@sluice-internal/compile/source';
import { sourceOf } from './context.ts';
import type { Member, Reading } from './model.ts';
import { calledModel, checkModels, declareModels } from './models.ts';
import type { RawAgent } from './schema/agents.ts';
import type { RawTeam } from './schema/sections.ts';
import { withProfiles } from './api-profiles.ts';
import { limitTools, pluginNamed } from './security.ts';

export const HANDOFF = 'handoff';
const OWN_TURNS = 6;
const OWN_CHARS = 8000;

export interface Members {
  readonly members: ReadonlyMap<string, Member>;
  readonly tools: { readonly [name: string]: ToolDef };
}

export function readMembers(reading: Reading, definitions: Definitions): Members {
  const members = new Map<string, Member>();
  const tools: { [name: string]: ToolDef } = {};
  const prompt = systemPrompt(reading, definitions);
  declareModels(reading.body.value.Models, definitions);
  checkModels(reading);
  for (const [index, agent] of reading.body.value.Agents.entries()) {
    const { granted, pluginOf } = grantedTools(agent, index, reading, definitions);
    const limited = limitTools(granted, agent, index, pluginOf, reading);
    for (const [name, def] of limited) tools[name] = def;
    if (!members.has(agent.Name)) members.set(agent.Name, memberOf(agent, limited, prompt, reading, definitions));
    reportUnsupported(agent, index, reading);
  }
  return { members, tools };
}

/** The memory of members that remember answers between runs. A remote agent gets no data of others. */
export function memoryOfMembers({ body, report }: Reading, { boundary }: Definitions): Definitions['memory'] {
  const found: { [agent: string]: MemoryDef } = {};
  for (const [index, { Name, EnableMemory, Memory, RemoteAgent }] of body.value.Agents.entries()) {
    const { Recall, Expires, Quarantine, Validate = [], Share } = Memory ?? {};
    const validate = Validate.map(({ When, Reason }) => ({ when: When, reason: Reason }));
    const condition = (at: number) => body.located('Agents', index, 'Memory', 'Validate', at, 'When');
    reportConditions(validate, condition, ANSWER_NAMES, report);
    if (RemoteAgent !== undefined || EnableMemory === false || (Memory === undefined && EnableMemory === undefined))
      continue;
    const share = typeof Share === 'object' ? { name: Share.Name, users: Share.Users ?? 'own' } : Share;
    const given = { recall: Recall, expires: Expires, quarantine: Quarantine, validate, share };
    found[Name] ??= memoryOf(given, boundary?.profile) as MemoryDef;
  }
  return found;
}

/** `SystemPromptPath` takes precedence over `SystemPrompt`. */
function systemPrompt({ body, report }: Reading, { readText }: Definitions): string {
  const { SystemPrompt = '', SystemPromptPath: file } = body.value;
  if (file === undefined) return SystemPrompt;
  const text = readText?.(file) ?? null;
  if (text === null)
    report.error('bad-value', body.at('SystemPromptPath'), `the system prompt \`${file}\` cannot be read`, {
      help: 'Paths start at the folder of the document. Or write the text under `SystemPrompt`.',
    });
  return text ?? SystemPrompt;
}

/** A remote agent is called as a model, by the A2A protocol. */
function remoteModel({ Name, RemoteAgent }: RawAgent, { models }: Definitions): string {
  const alias = `a2a:${Name}`;
  const { Url = '', TimeoutSeconds: timeout } = RemoteAgent ?? {};
  models.declare(alias, { provider: 'a2a', model: Name, base_url: Url, ...(timeout === undefined ? {} : { timeout }) });
  return alias;
}

function memberOf(
  agent: RawAgent,
  granted: ReadonlyMap<string, ToolDef>,
  prompt: string,
  { body, names }: Reading,
  definitions: Definitions,
): Member {
  const tools = [...granted.keys()];
  const sources = sourcesOf(agent);
  const isRemote = agent.RemoteAgent !== undefined;
  const called = isRemote
    ? calledModel(remoteModel(agent, definitions), undefined, definitions)
    : calledModel(agent.Model, body.value.Models, definitions);
  return {
    name: agent.Name,
    description: agent.Description ?? '',
    tools,
    mayHandOff: tools.includes(HANDOFF) && mayDecide(definitions, agent.Name, 'escalate'),
    writes: [...granted.values()].some(({ effect }) => !onlyReads(effect)),
    callsMax: agent.MaxToolCallsPerTurn,
    view: viewOf(agent, [...names.all], body.value),
    isRemote,
    isFresh: agent.Isolation === 'Fresh',
    sources: sources?.filter(({ Source }) => !Source.startsWith('own_history')).map(sourceOf) ?? null,
    def: {
      id: agent.Name,
      name: agent.Name,
      ...called,
      instructions: [prompt, agent.Instructions].filter((text) => text !== '').join('\n\n'),
      tools,
      output: null,
      ...(agent.ToolWidth === undefined ? {} : { toolWidth: agent.ToolWidth }),
      ...(agent.FunctionChoice === 'required' ? { settings: { ...called.settings, toolChoice: 'required' } } : {}),
    },
  };
}

/** An agent with `Isolation: Fresh` gets its own sources and not the history, even if it names none. */
function sourcesOf({ Context, Isolation }: RawAgent): RawAgent['Context'] {
  return Context ?? (Isolation === 'Fresh' ? [] : undefined);
}

function viewOf(agent: RawAgent, names: readonly string[], { Agents, Security }: RawTeam): Json {
  const sources = sourcesOf(agent);
  const view = sources === undefined ? windowView(agent, names) : ownView(sources);
  const remote = Agents.filter(({ RemoteAgent }) => RemoteAgent !== undefined).map(({ Name }) => Name);
  const fileChars = Security?.ReadFileSizeLimit;
  const common = {
    ...(remote.length === 0 ? {} : { untrusted: remote }),
    ...(fileChars === undefined ? {} : { fileChars }),
  };
  return Object.keys(common).length === 0 ? view : { ...(view as { [key: string]: Json } | null), ...common };
}

/** The view of an agent that names the sources of its context. */
function ownView(sources: NonNullable<RawAgent['Context']>): Json {
  const own = sources.find(({ Source }) => Source.startsWith('own_history'));
  const turns = Number(own?.Source.split(':')[1] ?? OWN_TURNS);
  return { own: true, textOnly: true, ownTurns: own === undefined ? 0 : turns, ownChars: own?.MaxChars ?? OWN_CHARS };
}

function windowView(agent: RawAgent, names: readonly string[]): Json {
  const { ContextWindow: window = {} } = agent;
  const { IncludeAgents: included, ExcludeAgents: excluded = [] } = window;
  const left = included === undefined ? [] : names.filter((name) => name !== agent.Name && !included.includes(name));
  const exclude = [...new Set([...excluded, ...left])];
  const { ToolResultCharOverrides: charsBy = {} } = window;
  const view = {
    textOnly: window.TextOnly === true ? true : undefined,
    exclude: exclude.length > 0 ? exclude : undefined,
    turnAge: window.MaxTurnAge,
    tail: window.MaxTailMessages ?? window.MaxMessages,
    toolChars: window.MaxToolResultChars,
    toolCharsBy: Object.keys(charsBy).length > 0 ? charsBy : undefined,
    replayChars: window.MaxReplayChars,
  };
  const given = Object.entries(view).filter(([, value]) => value !== undefined && value !== 0);
  return given.length === 0 ? null : (Object.fromEntries(given) as Json);
}

/** The tools that the plugins of an agent grant. `Plugins` may also name a tool of the document. */
function grantedTools(agent: RawAgent, index: number, { body, report, sections }: Reading, definitions: Definitions) {
  const granted = new Map<string, ToolDef>();
  const plugins = new Map<string, string>();
  const grant = (name: string, def: ToolDef, plugin: string): void => {
    granted.set(name, def);
    plugins.set(name, plugin);
  };
  const named = agent.FunctionChoice === 'none' || agent.RemoteAgent !== undefined ? [] : agent.Plugins;
  for (const [at, written] of named.entries()) {
    const plugin = pluginNamed(written);
    const builtin = Object.hasOwn(PLUGINS, plugin) ? PLUGINS[plugin] : undefined;
    const declared = Object.hasOwn(definitions.tools, written) ? definitions.tools[written] : undefined;
    if (declared !== undefined) grant(written, declared, written);
    // Results of built-in tools are not checked: a script may replace them.
    else if (builtin !== undefined)
      for (const name of builtin)
        grant(name, withProfiles(name, { ...(builtinTool(name) as ToolDef), output: true }, body.value), plugin);
    else if (grantServer(written, definitions, grant)) continue;
    else if (Object.hasOwn(definitions.servers, written))
      report.warning(
        'unlocked-server',
        body.at('Agents', index, 'Plugins', at),
        `\`${written}\` grants the tools of the MCP server \`${written}\`, which are not known yet`,
        { help: 'Run `sluice mcp lock FILE`. `sluice run` asks the server if there is no lock.' },
      );
    else if (!sections.tools.poisoned && !body.poisoned('McpServers') && !body.damaged('McpServers')) {
      const known = [PLUGINS, definitions.tools, definitions.servers].flatMap((each) => Object.keys(each));
      const message = `unknown plugin \`${written}\` on agent \`${agent.Name}\``;
      const help = suggestionOf(written, known);
      report.error('unknown-tool', body.at('Agents', index, 'Plugins', at), message, { help });
    }
  }
  return { granted, pluginOf: (tool: string) => plugins.get(tool) ?? tool };
}

/** A plugin can be an MCP server with all its known tools, or one of its tools, as `files.read`. */
function grantServer(
  written: string,
  definitions: Definitions,
  grant: (name: string, def: ToolDef, plugin: string) => void,
): boolean {
  const { servers, mcpLock } = definitions;
  const isServer = Object.hasOwn(servers, written);
  const names = isServer ? toolsNamed([`${written}.*`], { tools: {}, mcp: servers }, mcpLock) : [written];
  for (const name of names) {
    const def = serverTool(name, { servers, mcpLock });
    if (def === undefined) return false;
    grant(name, def, written);
  }
  return names.length > 0;
}

/** Keys without effect, each with the way to get the same. */
const WITHOUT_EFFECT: { readonly [key in keyof RawAgent]?: string } = {
  MaxInTurnContextTokens: 'Limit the context with `ContextWindow`.',
  MaxInTurnToolPairs: 'Limit the context with `ContextWindow.MaxToolResultChars`.',
  SubAgentModel: 'The agent explores with its own model. Add an agent and a route for another one.',
  SubAgentPlugins: 'List the tools under `Plugins`.',
  SubAgentMaxToolCalls: 'Set `MaxToolCallsPerTurn`.',
};
/** Keys that belong to the remote agent itself. */
const LOCAL_ONLY = ['Model', 'Plugins', 'Capabilities', 'FunctionChoice', 'EnableMemory', 'Memory'] as const;

function reportUnsupported(agent: RawAgent, index: number, { body, report, unenforced }: Reading): void {
  const warn = (what: string, help: string, ...path: Path): void =>
    unenforced(body.key('Agents', index, ...path), `\`${what}\` of agent \`${agent.Name}\` has no effect`, help);
  for (const [key, help] of Object.entries(WITHOUT_EFFECT))
    if (agent[key as keyof RawAgent] !== undefined) warn(key, help, key);
  if (agent.ContextWindow?.ContextCapFraction !== undefined)
    warn('ContextCapFraction', 'Limit messages with `MaxTailMessages`.', 'ContextWindow', 'ContextCapFraction');
  if (agent.RemoteAgent === undefined) return;
  const { Url: url } = agent.RemoteAgent;
  if (!/^https?:\/\/[^\s/?#]+/i.test(url))
    report.error('bad-value', body.at('Agents', index, 'RemoteAgent', 'Url'), `\`${url}\` is not an HTTP address`, {
      help: 'Write the address of the agent, such as `https://reviewer.example.com`.',
    });
  const help = `\`${agent.Name}\` is a remote agent, which brings its own model, tools and memory. Leave it out.`;
  for (const key of LOCAL_ONLY) if (body.located('Agents', index, key) !== undefined) warn(key, help, key);
}
