/** Names within the shared sections: each is declared once, and each reference leads to a declaration. */
import { checkPii } from './pii.ts';
import { checkProtections } from './protections-check.ts';
import { BUILTIN_TOOL_NAMES, PROVIDERS, readModelRef } from '@sluice-internal/kernel/catalog';
import type { McpLock } from '@sluice-internal/kernel/catalog';
import { misspelt } from '@sluice-internal/kernel/expr';
import type { Report } from '../source/diagnostics.ts';
import { didYouMean, nearest } from '../source/nearest.ts';
import { childOf, itemsOf, textOf, type Located, type LocatedMap, type Path } from '../source/located.ts';
import { declareIds, matches, namesOf, serverPrefix, type Names, type SectionNames } from './names.ts';
import type { Sections } from './schema/schema.ts';
import type { McpServers, Tool } from './schema/tools.ts';
import type { Shaped } from './shape/shape.ts';

export function checkSections(sections: Shaped<Sections>, doc: Located, names: SectionNames, report: Report): void {
  const tools = toolNames(sections.value, names);
  declareIds(childOf(doc, 'agents'), report, { what: 'agent' });
  if (childOf(doc, 'models') !== undefined) checkModels(sections, names.models, report);
  checkProviders(sections, report);
  checkSchemas(sections, report);
  checkInstructions(sections, report);
  checkTools(sections, tools, report);
  checkServers(sections, names.servers, report);
  checkProtections(sections.value.protections, {
    ...sections.under('protections'),
    models: childOf(doc, 'models') === undefined ? null : names.models,
    agents: childOf(doc, 'agents') === undefined ? null : names.agents,
    report,
  });
  checkPii(sections, tools, names.agents, report);
}

/** Every tool that a document may name: declared, built in, or offered by an MCP server. */
export function toolNames({ mcp }: Sections, names: SectionNames, more: Partial<MoreTools> = {}): KnownTools {
  const tools = namesOf([...names.tools.all, ...Object.keys(more.tools ?? {})], names.tools.poisoned);
  const servers = namesOf([...names.servers.all, ...Object.keys(more.servers ?? {})], names.servers.poisoned);
  const offered = Object.entries({ ...mcp, ...more.servers }).map(([server, { tools: listed }]) => ({
    listed,
    locked: more.mcpLock?.servers[server]?.map(({ name }) => name),
  }));
  const listed = offered.flatMap((server) => server.listed ?? []);
  const locked = offered.flatMap((server) => (server.listed === undefined ? (server.locked ?? []) : []));
  const isUnlocked = offered.some((server) => server.listed === undefined && server.locked === undefined);
  const declared = new Set([...tools.all, ...BUILTIN_TOOL_NAMES, ...listed]);
  // The tools of a server are known only when it runs, so every name with its prefix counts.
  const isOfServer = (name: string): boolean => servers.poisoned || serverPrefix(name, servers.all) !== undefined;
  const namespaces = [...declared].flatMap((name) =>
    name.includes('.') ? [`${name.slice(0, name.lastIndexOf('.'))}.*`] : [],
  );
  return {
    has: (name) => tools.has(name) || declared.has(name) || isOfServer(name),
    fits: (pattern) =>
      tools.poisoned ||
      servers.poisoned ||
      [...declared].some((name) => matches([pattern], name)) ||
      [...servers.all].some((server) => mayMatchUnder(pattern, `${server}.`)),
    mayName: (word) =>
      locked.some((name) => matches([word], name)) || (isUnlocked && word.includes('*') && !word.includes('.')),
    patterns: [...new Set([...namespaces, ...[...servers.all].map((server) => `${server}.*`)])],
    help: (name, otherwise) =>
      servers.all.has(name)
        ? `\`${name}\` is a server: write \`${name}.*\`, or \`${name}.TOOL\` for one of its tools.`
        : didYouMean(name, [...namesOfServers(name, servers.all), ...declared], otherwise),
  };
}

/** The tool of that name on each server, for the case that the name of the server is misspelt. */
function namesOfServers(name: string, servers: ReadonlySet<string>): readonly string[] {
  const [, tool] = /^[^.]+\.(.+)$/s.exec(name) ?? [];
  return tool === undefined ? [] : [...servers].map((server) => `${server}.${tool}`);
}

/** Tools and servers that the notation or a sub-flow declares. */
export interface MoreTools {
  readonly tools: { readonly [name: string]: unknown };
  readonly servers: McpServers;
  readonly mcpLock?: McpLock | undefined;
}

export interface KnownTools extends Pick<Names, 'has' | 'help'> {
  /** True where a tool fits the pattern, or a server may offer one that does. */
  readonly fits: (pattern: string) => boolean;
  /** True where the word fits the bare name of a server's tool that the document does not list, or may fit one. */
  readonly mayName: (word: string) => boolean;
  /** One pattern for each group of tools. */
  readonly patterns: readonly string[];
}

/** True where the pattern may match a name that starts with `prefix`. */
function mayMatchUnder(pattern: string, prefix: string): boolean {
  const fixed = pattern.slice(0, pattern.indexOf('*')).toLowerCase();
  const start = prefix.toLowerCase();
  return fixed.startsWith(start) || start.startsWith(fixed);
}

/** True for an alias, for `provider/model`, and for a name from which the provider follows and that is not like an alias: `gpt-5-mini`. */
export function isModelName(name: string, aliases: Names): boolean {
  if (aliases.has(name) || name.includes('/')) return true;
  return readModelRef(name) !== null && misspelt(name, aliases.all) === undefined;
}

function checkModels(sections: Shaped<Sections>, models: Names, report: Report): void {
  const check = (alias: string | undefined, user: string, path: Path) => {
    if (alias === undefined || isModelName(alias, models)) return;
    report.error('unknown-model', sections.at(...path), `unknown model \`${alias}\` on ${user}`, {
      help: models.help(alias, 'Declare it under `models`, or write `provider/model`.'),
    });
  };
  for (const [index, agent] of (sections.value.agents ?? []).entries()) {
    check(agent.model, `agent \`${agent.id ?? agent.name ?? ''}\``, ['agents', index, 'model']);
  }
  for (const [alias, model] of Object.entries(sections.value.models ?? {})) {
    const several = sections.located('models', alias, 'fallback')?.kind === 'list';
    for (const [index, other] of (model.fallback ?? []).entries())
      check(other, `model \`${alias}\``, ['models', alias, 'fallback', ...(several ? [index] : [])]);
  }
}

/** The provider that a misspelt name was meant to be. */
export function providerMeant(provider: string): string | undefined {
  return Object.hasOwn(PROVIDERS, provider) ? undefined : misspelt(provider, Object.keys(PROVIDERS));
}

/** Warns only about a name that resembles a known provider. Any other may be a provider that the user adds. */
function checkProviders(sections: Shaped<Sections>, report: Report): void {
  const check = (provider: string | undefined, user: string, path: Path): void => {
    const near = provider === undefined ? undefined : providerMeant(provider);
    if (near === undefined) return;
    report.warning('unknown-provider', sections.at(...path), `unknown provider \`${provider}\` on ${user}`, {
      help: `Did you mean \`${near}\`?`,
    });
  };
  const models = sections.value.models ?? {};
  for (const [alias, { provider, base_url: url }] of Object.entries(models))
    if (url === undefined) check(provider, `model \`${alias}\``, ['models', alias, 'provider']);
  for (const [index, { model = '', id, name }] of (sections.value.agents ?? []).entries()) {
    if (!Object.hasOwn(models, model))
      check(readModelRef(model)?.provider, `agent \`${id ?? name ?? ''}\``, ['agents', index, 'model']);
  }
}

/** A template in instructions reaches the model as it is written. `{{obs.1.total}}` may stand there: an agent may write it. */
function checkInstructions(sections: Shaped<Sections>, report: Report): void {
  for (const [index, { instructions }] of (sections.value.agents ?? []).entries()) {
    const [template] = /\{\{(?!\s*obs\b)[^{}]+\}\}/.exec(instructions ?? '') ?? [];
    if (template === undefined) continue;
    const message = `\`${template}\` in \`instructions\` is not filled in: the model gets it as it is written`;
    const help = 'Pass the value with the input or the prompt of the agent.';
    report.warning('no-effect', sections.at('agents', index, 'instructions'), message, { help });
  }
}

function checkSchemas(sections: Shaped<Sections>, report: Report): void {
  for (const [index] of (sections.value.agents ?? []).entries())
    checkRequired(sections.located('agents', index, 'output'), report);
  for (const name of Object.keys(sections.value.tools))
    for (const field of ['input', 'output']) checkRequired(sections.located('tools', name, field), report);
}

function checkTools(sections: Shaped<Sections>, known: KnownTools, report: Report): void {
  const declared = Object.keys(sections.value.tools);
  const check = (tool: string | undefined, user: string, path: Path) => {
    if (tool === undefined || known.has(tool)) return;
    if (tool.endsWith('.*')) {
      if (declared.some((name) => name.startsWith(tool.slice(0, -1)))) return;
      report.warning('unknown-tool', sections.at(...path), `\`${tool}\` on ${user} grants no tool`, {
        help: didYouMean(
          tool,
          known.patterns.filter((pattern) => pattern !== tool),
          'It stands for declared tools and tools of a server. Name built-in tools one by one.',
        ),
      });
      return;
    }
    report.error('unknown-tool', sections.at(...path), `unknown tool \`${tool}\` on ${user}`, {
      help: known.help(tool, 'Declare it under `tools`, or declare its server under `mcp`.'),
    });
  };
  for (const [index, agent] of (sections.value.agents ?? []).entries()) {
    for (const [at, tool] of agent.tools.entries())
      check(tool, `agent \`${agent.id ?? agent.name ?? ''}\``, ['agents', index, 'tools', at]);
  }
  for (const [name, tool] of Object.entries(sections.value.tools)) {
    if (isSilent(name, tool))
      report.error(
        'not-enforced',
        sections.at('tools', name, 'timeout', 'heartbeat'),
        `the built-in tool \`${name}\` gives no sign of life`,
        {
          help: 'Only a module or a function of the program calls `context.heartbeat()`.',
        },
      );
    check(tool.compensate, `tool \`${name}\``, ['tools', name, 'compensate']);
  }
}

/** A declared heartbeat that nothing can give. Other implementations are refused where they are read. */
function isSilent(name: string, { timeout, module }: Tool): boolean {
  if (typeof timeout !== 'object' || timeout.heartbeat === undefined) return false;
  return module === undefined && BUILTIN_TOOL_NAMES.has(name);
}

function checkServers(sections: Shaped<Sections>, servers: Names, report: Report): void {
  for (const [tool, { mcp }] of Object.entries(sections.value.tools)) {
    const server = mcp?.split('/')[0];
    if (server === undefined || servers.has(server)) continue;
    const message = `unknown MCP server \`${server}\` on tool \`${tool}\``;
    report.error('unknown-server', sections.at('tools', tool, 'mcp'), message, {
      help: servers.help(server, 'Declare it under `mcp`.'),
    });
  }
}

function checkRequired(schema: Located | undefined, report: Report): void {
  if (schema?.kind !== 'map') return;
  const properties = childOf(schema, 'properties');
  if (properties?.kind === 'map') {
    const names = [...properties.entries.keys()];
    for (const item of itemsOf(childOf(schema, 'required'))) {
      const name = textOf(item);
      if (name === undefined || properties.entries.has(name)) continue;
      const near = nearest(name, names);
      if (near === undefined && isOpen(schema)) continue;
      report.warning('bad-schema', item, `\`required\` names \`${name}\`, which is not among the \`properties\``, {
        help: didYouMean(name, names, 'Describe it under `properties`, or remove it.'),
      });
    }
  }
  for (const inner of innerOf(schema)) checkRequired(inner, report);
}

/** With one of these keywords a value may have properties that `properties` does not list. */
const ELSEWHERE = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas'];

function isOpen(schema: LocatedMap): boolean {
  const more = childOf(schema, 'additionalProperties');
  const closed = more === undefined || (more.kind === 'scalar' && more.value === false);
  return !closed || ELSEWHERE.some((key) => schema.entries.has(key));
}

/** Schemas of values inside this one. The branches of `anyOf` and the like describe the same value, so they are left out. */
function innerOf(schema: LocatedMap): readonly Located[] {
  const maps = ['properties', '$defs', 'patternProperties'].flatMap((key) => {
    const map = childOf(schema, key);
    return map?.kind === 'map' ? [...map.entries.values()].map(({ value }) => value) : [];
  });
  const single = ['items', 'additionalProperties'].flatMap((key) => childOf(schema, key) ?? []);
  return [...maps, ...single, ...itemsOf(childOf(schema, 'prefixItems'))];
}
