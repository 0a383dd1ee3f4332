/** Names within the shared sections: each is declared once, and each reference leads somewhere. */
import { PROVIDER_NAMES, readModelRef } from '../../catalog/providers.ts';
import { declareIds } from './declare.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import { childOf, entryOf, itemsOf, textOf, type Located, type LocatedMap, type Path } from '../source/located.ts';
import { misspelt, nearest } from '../diagnose/nearest.ts';
import type { Sections } from './schema/schema.ts';
import type { Shaped } from './shape/shape.ts';
import { type SectionName, unreadSections } from './unread.ts';

interface CheckOptions {
  readonly builtinTools: ReadonlySet<string>;
  readonly unenforced: readonly (keyof Sections)[];
}
type Unread = ReadonlySet<SectionName>;

export interface Names {
  has(name: string): boolean;
  /** The name that was probably meant. */
  near(name: string): string | undefined;
}

export function checkSections(sections: Shaped<Sections>, doc: Located, report: Report, options: CheckOptions): void {
  const unread = unreadSections(doc);
  declareIds(childOf(doc, 'agents'), report, { what: 'agent' });
  if (!unread.has('models')) checkModels(sections, doc, report);
  checkProviders(sections, report);
  checkSchemas(sections, report);
  checkTools(sections, doc, report, options.builtinTools, unread);
  for (const key of options.unenforced) {
    const entry = entryOf(doc, key);
    if (entry === undefined) continue;
    report.warning('not-enforced', entry.keyRange, `\`${key}\` is checked but not enforced by this release`, {
      help: 'Do not rely on it for safety yet.',
    });
  }
}

/**
 * Every tool that may be named: declared, built in, or of an MCP server, whose list is known only when it runs. Where the
 * declarations cannot be read, that may be any.
 */
export function toolNames(sections: Sections, doc: Located, builtin: ReadonlySet<string> = new Set()): Names {
  const unread = unreadSections(doc);
  const any = unread.has('tools') || unread.has('mcp');
  const declared = new Set([...keysOf(childOf(doc, 'tools')), ...builtin]);
  const servers = new Set(keysOf(childOf(doc, 'mcp')));
  return {
    has: (name) => any || declared.has(name) || servers.has(name.split('.')[0] ?? '') || serverAllows(sections, name),
    near: (name) => nearest(name, declared),
  };
}

function serverAllows(sections: Sections, name: string): boolean {
  return Object.values(sections.mcp).some((server) => server.tools?.includes(name) ?? false);
}

function checkModels(sections: Shaped<Sections>, doc: Located, report: Report): void {
  const declared = childOf(doc, 'models');
  if (declared === undefined) return;
  const aliases = keysOf(declared);
  const check = (alias: string | undefined, user: string, path: Path) => {
    // `provider/model` names a model directly.
    if (alias === undefined || alias.includes('/') || aliases.includes(alias)) return;
    const near = nearest(alias, aliases);
    report.error('unknown-model', sections.at(...path), `unknown model \`${alias}\` on ${user}`, {
      help: near === undefined ? 'Declare it under `models`, or write `provider/model`.' : `Did you mean \`${near}\`?`,
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

/** A name that resembles none may be a provider of somebody's own. */
function checkProviders(sections: Shaped<Sections>, report: Report): void {
  const check = (provider: string | undefined, user: string, path: Path): void => {
    if (provider === undefined || PROVIDER_NAMES.includes(provider)) return;
    const near = misspelt(provider, PROVIDER_NAMES);
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

function checkSchemas(sections: Shaped<Sections>, report: Report): void {
  for (const [index] of (sections.value.agents ?? []).entries())
    checkRequired(sections.located('agents', index, 'output'), report);
  for (const name of Object.keys(sections.value.tools))
    for (const field of ['input', 'output']) checkRequired(sections.located('tools', name, field), report);
}

function checkTools(
  sections: Shaped<Sections>,
  doc: Located,
  report: Report,
  builtin: ReadonlySet<string>,
  unread: Unread,
): void {
  const known = toolNames(sections.value, doc, builtin);
  const check = (tool: string | undefined, user: string, path: Path) => {
    if (tool === undefined || tool.includes('*') || known.has(tool)) return;
    const near = known.near(tool);
    report.error('unknown-tool', sections.at(...path), `unknown tool \`${tool}\` on ${user}`, {
      help:
        near === undefined
          ? 'Declare it under `tools`, or the server that has it under `mcp`.'
          : `Did you mean \`${near}\`?`,
    });
  };
  for (const [index, agent] of (sections.value.agents ?? []).entries()) {
    for (const [at, tool] of agent.tools.entries())
      check(tool, `agent \`${agent.id ?? agent.name ?? ''}\``, ['agents', index, 'tools', at]);
  }
  for (const [name, tool] of Object.entries(sections.value.tools)) {
    check(tool.compensate, `tool \`${name}\``, ['tools', name, 'compensate']);
    if (!unread.has('mcp')) checkServer(sections, name, tool.mcp, doc, report);
  }
}

function checkServer(
  sections: Shaped<Sections>,
  tool: string,
  target: string | undefined,
  doc: Located,
  report: Report,
): void {
  const server = target?.split('/')[0];
  const servers = keysOf(childOf(doc, 'mcp'));
  if (server === undefined || servers.includes(server)) return;
  const near = nearest(server, servers);
  report.error(
    'unknown-server',
    sections.at('tools', tool, 'mcp'),
    `unknown MCP server \`${server}\` on tool \`${tool}\``,
    {
      help: near === undefined ? 'Declare it under `mcp`.' : `Did you mean \`${near}\`?`,
    },
  );
}

/** Names count as declared even where their definition is faulty, so that one mistake does not make a second. */
function keysOf(located: Located | undefined): readonly string[] {
  return located?.kind === 'map' ? [...located.entries.keys()] : [];
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
        help: near === undefined ? 'Describe it under `properties`, or remove it.' : `Did you mean \`${near}\`?`,
      });
    }
  }
  for (const inner of innerOf(schema)) checkRequired(inner, report);
}

/** Keywords by which a value may have properties that are described elsewhere, or nowhere. */
const ELSEWHERE = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas'];

function isOpen(schema: LocatedMap): boolean {
  const more = childOf(schema, 'additionalProperties');
  const closed = more === undefined || (more.kind === 'scalar' && more.value === false);
  return !closed || ELSEWHERE.some((key) => schema.entries.has(key));
}

/** Only what describes a value of its own: the branches of `anyOf` and the like speak of the same value. */
function innerOf(schema: LocatedMap): readonly Located[] {
  const maps = ['properties', '$defs', 'patternProperties'].flatMap((key) => {
    const map = childOf(schema, key);
    return map?.kind === 'map' ? [...map.entries.values()].map(({ value }) => value) : [];
  });
  const single = ['items', 'additionalProperties'].flatMap((key) => childOf(schema, key) ?? []);
  return [...maps, ...single, ...itemsOf(childOf(schema, 'prefixItems'))];
}
