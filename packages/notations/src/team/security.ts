/**
 * The limits of `Security`, `Capabilities` and `TrustScore`, as data: a tool that an agent may not use is not granted, and
 * the arguments of the others are limited by their schemas. A limit that cannot be enforced is an error.
 */
import { PLUGINS } from '@sluice-internal/kernel/catalog';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { didYouMean, quoted, suggestionOf } from '@sluice-internal/compile/source';
import type { Reading } from './model.ts';
import type { RawAgent } from './schema/agents.ts';
import type { RawSecurity } from './schema/sections.ts';

type Limits = RawSecurity & { readonly hasProfiles: boolean };
type Granted = ReadonlyMap<string, ToolDef>;

/** An agent with a lower `TrustScore` gets no tool that writes or uses the network. */
const TRUST_MIN = 0.6;
const SHELL = 'shell_run';
const READS = ['read_file'];
/** They look into every file, so they are not granted if some files may not be read. */
const SEARCHES = ['search_content', 'search_files'];
const WRITES = ['write_file', 'patch_file', 'delete_file'];
const GIT_WRITES = ['git_add', 'git_commit'];
const LISTS = ['list_directory'];
const REQUESTS = ['http.get', 'http.request'];
const TAGS = ['read', 'write', 'delete', 'execute', 'network', 'run'];
/** The Http plugin also has a capability for each verb. */
const VERBS = ['get', 'post', 'put', 'patch', 'delete'];
const REQUEST = 'http.request';

/** The tools that remain of the granted ones, with limited arguments. `pluginOf` names the plugin of a tool. */
export function limitTools(
  granted: Granted,
  agent: RawAgent,
  index: number,
  pluginOf: (tool: string) => string,
  reading: Reading,
): Granted {
  const security = reading.body.value.Security;
  const capable = limitByCapabilities(granted, agent, index, pluginOf, reading);
  const trusted = [...capable].filter(
    ([name, def]) => agent.TrustScore >= TRUST_MIN || (onlyReads(def.effect) && !usesNetwork(name, def)),
  );
  if (security === undefined) return new Map(trusted);
  const files = security.FileSystemPermissions;
  const hidesFiles = (files?.Read.length ?? 0) + (files?.Deny.length ?? 0) > 0;
  const visible = trusted.filter(([name]) => !hidesFiles || !SEARCHES.includes(name));
  const kept = visible.filter(([name, def]) => security.AllowShellExecution || !runsCommands(name, def));
  if (kept.length < visible.length)
    reading.unused(
      ['Agents', index, 'Plugins'],
      `\`AllowShellExecution: false\` takes the tools that run commands from agent \`${agent.Name}\``,
      'Remove them from its `Plugins`, or allow it.',
    );
  const hasProfiles = Object.keys(reading.body.value.ApiProfiles ?? {}).length > 0;
  refuseOpenShell(kept, agent, index, security, reading);
  return new Map(kept.map(([name, def]) => [name, limited(name, def, { ...security, hasProfiles })]));
}

/** Reports limits of `Security` that hold in another way than written. */
export function checkSecurity({ body, unused, unenforced }: Reading): void {
  const security = body.value.Security;
  if (security?.FileSystemSandboxPath !== undefined)
    unused(
      ['Security', 'FileSystemSandboxPath'],
      'agents stay in the work directory of the run, not in `FileSystemSandboxPath`',
      `Run with \`--work-dir ${security.FileSystemSandboxPath}\` to work in that folder.`,
    );
  if (security?.AllowPrivateHosts === true)
    unenforced(
      body.key('Security', 'AllowPrivateHosts'),
      '`AllowPrivateHosts` opens nothing here: private addresses stay closed to agents',
      'Declare an HTTP tool with the address under `tools:` beside `Orchestration`.',
    );
}

/** Commands and local MCP servers reach files that `Security` protects, so an agent cannot have both. */
function refuseOpenShell(
  granted: readonly (readonly [string, ToolDef])[],
  agent: RawAgent,
  index: number,
  security: RawSecurity,
  { report, body }: Reading,
): void {
  const { FileSystemPermissions: files, ChangeEnvelope: envelope } = security;
  const key = files !== undefined ? 'FileSystemPermissions' : envelope !== undefined ? 'ChangeEnvelope' : null;
  if (key === null) return;
  const opens = (def: ToolDef): boolean => isLocalServer(def) && (files !== undefined || !onlyReads(def.effect));
  const servers = granted.filter(([, def]) => opens(def)).map(([name]) => name);
  if (servers.length > 0)
    report.error(
      'not-supported',
      body.key('Agents', index, 'Plugins'),
      `\`${key}\` cannot be enforced for ${quoted(servers)} of agent \`${agent.Name}\`: the MCP server runs on this machine and opens files itself`,
      { help: `Use the plugin \`FileSystem\` instead of the server, or remove \`${key}\`.` },
    );
  if (!granted.some(([name, def]) => runsCommands(name, def))) return;
  report.error(
    'not-supported',
    body.key('Agents', index, 'Plugins'),
    `\`${key}\` cannot be enforced for agent \`${agent.Name}\`, which can run commands`,
    {
      help: `Remove \`Shell\` and \`Git\` from its \`Plugins\`, set \`AllowShellExecution: false\`, or remove \`${key}\`.`,
    },
  );
}

function limitByCapabilities(
  granted: Granted,
  { Name, Capabilities, Plugins }: RawAgent,
  index: number,
  pluginOf: (tool: string) => string,
  { body, report }: Reading,
): Granted {
  if (Capabilities === undefined) return granted;
  const names = [...granted.keys()];
  const plugins = Plugins.map(pluginNamed);
  const limits = new Map<string, readonly string[]>();
  for (const [written, tags] of Object.entries(Capabilities)) {
    // A tool of the document may have the name of a plugin in another letter case.
    const plugin = names.some((name) => pluginOf(name) === written) ? written : pluginNamed(written);
    if (limits.has(plugin))
      report.error(
        'duplicate-key',
        body.key('Agents', index, 'Capabilities', written),
        `\`Capabilities\` of agent \`${Name}\` names the plugin \`${plugin}\` twice: letter case does not count`,
        { help: 'Keep one of them.' },
      );
    limits.set(plugin, tags);
    const own = names.filter((name) => pluginOf(name) === plugin);
    if (own.length === 0 && !plugins.includes(plugin) && !body.poisoned('Agents', index, 'Plugins'))
      report.error(
        'unknown-tool',
        body.key('Agents', index, 'Capabilities', written),
        `\`Capabilities\` of agent \`${Name}\` names \`${written}\`, which is not one of its \`Plugins\``,
        { help: didYouMean(written, plugins, 'Add it to `Plugins`, or leave it out.') },
      );
    if (own.length === 0) continue;
    for (const [at, tag] of tags.entries()) {
      const known = [...TAGS, ...own, ...(own.includes(REQUEST) ? VERBS : [])];
      if (known.includes(tag)) continue;
      report.error(
        'bad-value',
        body.at('Agents', index, 'Capabilities', written, at),
        `\`${tag}\` is not a capability of \`${written}\``,
        { help: suggestionOf(tag, known) },
      );
    }
  }
  return new Map(
    [...granted].flatMap(([name, def]) => {
      const tags = limits.get(pluginOf(name));
      if (tags === undefined || tags.includes(name) || tagsOf(name, def).some((tag) => tags.includes(tag)))
        return [[name, def] as const];
      const verbs = name === REQUEST ? VERBS.filter((verb) => tags.includes(verb)) : [];
      return verbs.length === 0 ? [] : [[name, withVerbs(def, verbs)] as const];
    }),
  );
}

/** The plugin that a name stands for, in any letter case; any other name as it is. */
export function pluginNamed(written: string): string {
  return Object.keys(PLUGINS).find((each) => each.toLowerCase() === written.toLowerCase()) ?? written;
}

function withVerbs(def: ToolDef, verbs: readonly string[]): ToolDef {
  const method = { enum: verbs.map((verb) => verb.toUpperCase()) };
  return { ...def, input: { allOf: [def.input, { properties: { method } }] } };
}

/** The capabilities of which a tool needs one. */
function tagsOf(name: string, { effect }: ToolDef): readonly string[] {
  if (name.startsWith('git_')) return [GIT_WRITES.includes(name) ? 'write' : 'read', 'execute', 'run'];
  if (name === SHELL || name === 'code_run') return ['execute', 'run'];
  if (name === 'http.get') return ['read', 'get', 'network'];
  if (name === REQUEST) return ['network'];
  if (name === 'delete_file') return ['delete'];
  return [onlyReads(effect) ? 'read' : 'write'];
}

function runsCommands(name: string, def: ToolDef): boolean {
  return name === SHELL || name.startsWith('git_') || isDone('shell', def);
}

function usesNetwork(name: string, def: ToolDef): boolean {
  return REQUESTS.includes(name) || def.effect === 'egress' || isDone('http', def);
}

/** True for a tool of an MCP server that runs on this machine, so that it can open the files of the run. */
function isLocalServer({ implementation }: ToolDef): boolean {
  const { server } = (implementation ?? {}) as { readonly server?: { readonly url?: string } };
  return server !== undefined && (server.url === undefined || LOCAL.test(server.url));
}

const LOCAL = /^https?:\/\/(?:[^/?#@]*@)?(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?:[:/?#]|$)/i;

/** True if the document implements its tool in this way. */
function isDone(how: 'http' | 'shell', { implementation }: ToolDef): boolean {
  return implementation !== null && typeof implementation === 'object' && how in implementation;
}

/** A tool whose schema refuses what `Security` forbids. */
function limited(name: string, tool: ToolDef, security: Limits): ToolDef {
  const def = withHosts(name, tool, security);
  const rules = rulesOf(name, security);
  if (rules.length === 0) return def;
  const allOf = rules.map(({ field, rule, unless }) => {
    const limit = { properties: { [field]: rule } };
    return unless === undefined ? limit : { anyOf: [{ required: [unless] }, limit] };
  });
  return { ...def, input: { allOf: [def.input, ...allOf] } };
}

/** A request whose redirects stay on the allowed hosts too. */
function withHosts(name: string, def: ToolDef, { HttpAllowedHosts: hosts = [] }: RawSecurity): ToolDef {
  if (!REQUESTS.includes(name) || hosts.length === 0) return def;
  const implementation = def.implementation as { readonly [key: string]: Json };
  const plain = { ...(name === REQUEST ? {} : { method: 'GET' }), profiles: {} };
  const bare = hosts.map((host) => host.toLowerCase().replace(/:\d+$/, ''));
  const http = { ...plain, ...(implementation['http'] as { readonly [key: string]: Json } | undefined), hosts: bare };
  return { ...def, implementation: { ...implementation, http } };
}

interface Rule {
  readonly field: string;
  readonly rule: Json;
  /** The argument that takes the place of the rule. */
  readonly unless?: string;
}

function rulesOf(name: string, security: Limits): readonly Rule[] {
  const { ShellPolicy: shell, HttpAllowedHosts: hosts = [] } = security;
  if (name === SHELL && shell !== undefined) return shellRules(shell);
  if (REQUESTS.includes(name) && hosts.length > 0) {
    const pattern = `^https?://(${hosts.map(hostPattern).join('|')})(:\\d+)?([/?#]|$)`;
    // The address of a profile is checked with the document, and a request with a profile stays below it.
    const unless = security.hasProfiles ? { unless: 'profile' } : {};
    return [{ ...rule('url', { pattern }, `must be on one of ${quoted(hosts)}`), ...unless }];
  }
  return WRITES.includes(name) || READS.includes(name) || LISTS.includes(name) ? pathRules(name, security) : [];
}

function shellRules({ Allow, Deny }: NonNullable<RawSecurity['ShellPolicy']>): readonly Rule[] {
  const allowed = { anyOf: Allow.map((part) => ({ pattern: anyCase(part) })) };
  return [
    ...Deny.map((part) => rule('command', { not: { pattern: anyCase(part) } }, `must not contain \`${part}\``)),
    ...(Allow.length === 0 ? [] : [rule('command', allowed, `must contain one of ${quoted(Allow)}`)]),
  ];
}

function pathRules(name: string, { FileSystemPermissions: files, ChangeEnvelope }: RawSecurity): readonly Rule[] {
  const isWrite = WRITES.includes(name);
  const allowed = isWrite ? files?.Write : READS.includes(name) ? files?.Read : undefined;
  const envelope = isWrite ? ChangeEnvelope : undefined;
  const rules = [
    ...(files?.Deny ?? []).map((glob) =>
      rule('path', { not: { pattern: pathPattern(glob) } }, `must not match \`${glob}\``),
    ),
    ...[allowed ?? [], envelope ?? []]
      .filter((globs) => globs.length > 0)
      .map((globs) =>
        rule(
          'path',
          { anyOf: globs.map((glob) => ({ pattern: pathPattern(glob) })) },
          `must match one of ${quoted(globs)}`,
        ),
      ),
  ];
  if (rules.length === 0) return [];
  // A path that is spelt in another way could pass the patterns.
  const plain = { not: { pattern: '(^|/)\\.\\.(/|$)|(^|/)\\./|/\\.$|//|^/|\\\\' } };
  return [...rules, rule('path', plain, 'must be a plain path, without `.`, `..`, `//` and a `/` at the start')];
}

function rule(field: string, schema: { readonly [key: string]: Json }, description: string): Rule {
  return { field, rule: { ...schema, description } };
}

/** A pattern that ignores letter case, which schemas have no flag for. */
function anyCase(part: string): string {
  const anyCaseOf = (char: string): string => {
    if (/\s/.test(char)) return '\\s+';
    const [lower, upper] = [char.toLowerCase(), char.toUpperCase()];
    return lower === upper ? escaped(char) : `[${lower}${upper}]`;
  };
  return [...part.trim()].map(anyCaseOf).join('');
}

/** `*.example.com` matches every host of the domain. */
function hostPattern(host: string): string {
  return host.startsWith('*.') ? `([^/:@]+\\.)${anyCase(host.slice(2))}` : anyCase(host);
}

/** `*` stands for part of a name, `**` for any folders; a folder stands for everything in it. */
function pathPattern(glob: string): string {
  const clean = glob
    .replace(/^\.\//, '')
    .replace(/\/+$/, '')
    .replace(/\/\*\*$/, '');
  const source = clean
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map((part) => ({ '**/': '(.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' })[part] ?? escaped(part))
    .join('');
  return `^(${source})(/.*)?$`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
