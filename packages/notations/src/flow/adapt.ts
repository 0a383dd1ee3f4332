/**
 * Documents of the system that the graph notation comes from can be used unchanged. Keys with the same meaning are renamed, and
 * every other key of that system gives a warning that it has no effect. Places stay, so that errors point to the text.
 */
import { isBuiltinTool } from '@sluice-internal/kernel/catalog';
import { SECTION_NAMES, unknownKeyHelp } from '@sluice-internal/compile/document';
import { childOf, entryMeant, entryOf, itemsOf, textOf } from '@sluice-internal/compile/source';
import type { Entry, Located, LocatedMap, Report } from '@sluice-internal/compile/source';
import { FIELDS } from './schema.ts';

/** Keys of the whole document that only that system reads, each with what to write here instead. */
const TOP_LEVEL: { readonly [key: string]: string | undefined } = {
  app: undefined,
  schema_version: undefined,
  ui: undefined,
  dev: 'Write the agents into this document.',
  security: 'Write `approval: always` on a tool, or `policies`.',
  channels: 'Start runs with `sluice run` or `engine.start`.',
  triggers: 'Start runs with `sluice run` or `engine.start`.',
  hooks: undefined,
  theme: undefined,
};

const AGENT_ONLY = ['role', 'pool', 'params', 'skills', 'capabilities', 'context', 'hooks'];
const MEMORY_KEYS = ['recall', 'expires', 'quarantine', 'validate', 'share'];

export function adaptDocument(doc: Located, report: Report): Located {
  const known = (): readonly string[] => ['flow', 'runtime', ...SECTION_NAMES];
  const flow = entryMeant(doc, 'flow', known) ?? entryOf(entryMeant(doc, 'runtime', known)?.value, 'flow');
  if (doc.kind !== 'map' || flow === undefined) return doc;
  const adapt: { readonly [key: string]: (entry: Entry) => Located | null } = {
    runtime: (entry) => adaptRuntime(entry, doc.entries.has('flow'), report),
    tools: ({ value }) => adaptTools(value, doc, flow.value, report),
    agents: ({ value }) => mapItems(value, (agent) => adaptAgent(agent, report)),
    flow: ({ value }) => adaptFlow(value, report),
    flows: ({ value }) =>
      mapEntries(byId(value, report), (entry) => ({ ...entry, value: adaptFlow(withId(entry), report) })),
  };
  return mapEntries(doc, (entry) => {
    if (Object.hasOwn(TOP_LEVEL, entry.key)) return dropped(entry, entry.key, report, TOP_LEVEL[entry.key]);
    const value = Object.hasOwn(adapt, entry.key) ? adapt[entry.key]?.(entry) : entry.value;
    return value === null || value === undefined ? null : { ...entry, value };
  });
}

function adaptRuntime(entry: Entry, hasFlow: boolean, report: Report): Located | null {
  if (entry.value.kind !== 'map') return entry.value;
  const kept = mapEntries(entry.value, (each) => {
    if (each.key !== 'flow') return dropped(each, `runtime.${each.key}`, report, runtimeHelp(each.key));
    if (hasFlow) return dropped(each, 'runtime.flow', report, 'The document has `flow` too, and that one runs.');
    return { ...each, value: adaptFlow(each.value, report) };
  });
  return hasFlow ? null : kept;
}

function runtimeHelp(key: string): string | undefined {
  if (key === 'timeout') return 'Write `budgets: { wall_clock_seconds: … }`.';
  return key === 'max_turns' ? 'Write `budgets: { model_calls: … }`.' : undefined;
}

/** `flows` as a map. A list whose items have ids is one. */
function byId(flows: Located, report: Report): Located {
  const ids = itemsOf(flows).map((flow) => childOf(flow, 'id'));
  if (flows.kind !== 'list' || ids.some((id) => (textOf(id) ?? '') === '')) return flows;
  const entries = new Map<string, Entry>();
  for (const value of flows.items) {
    const id = childOf(value, 'id') ?? value;
    const key = textOf(id) ?? '';
    if (entries.has(key))
      report.error('duplicate-id', id.range, `two flows have the id '${key}'`, { help: 'Rename one of them.' });
    entries.set(key, { key, keyRange: id.range, value });
  }
  return { kind: 'map', entries, range: flows.range };
}

/** The id of a flow under `flows` is its key. */
function withId({ key, keyRange, value }: Entry): Located {
  if (value.kind !== 'map' || value.entries.has('id')) return value;
  const id: Entry = { key: 'id', keyRange, value: { kind: 'scalar', value: key, range: keyRange } };
  return { ...value, entries: new Map([['id', id], ...value.entries]) };
}

/** `modules` names the modules that exist. A tool of one of them that nothing implements here runs under a script. */
function adaptTools(tools: Located, doc: LocatedMap, flow: Located, report: Report): Located {
  const modules = entryOf(tools, 'modules');
  if (tools.kind !== 'map' || modules === undefined) return tools;
  const names = new Map(moduleEntries(modules.value).map((entry) => [entry.key, entry]));
  const own = mapEntries(tools, (entry) => {
    if (entry.key === 'modules') return null;
    const isTool = entry.key.includes('.');
    return isTool ? entry : dropped(entry, `tools.${entry.key}`, report, TOP_LEVEL['security']);
  });
  for (const { key, keyRange, value } of names.values())
    if (value.kind === 'map' && value.entries.size > 0)
      report.warning('no-effect', keyRange, `the settings of the module \`${key}\` have no effect here`, {
        help: 'Declare the tool under `tools` with what it needs, such as `timeout`.',
      });
  const entries = new Map(own.kind === 'map' ? own.entries : []);
  for (const { name, at } of namedTools(flow, doc)) {
    const module = names.get(name.split('.')[0] ?? '');
    if (module === undefined || entries.has(name) || isBuiltinTool(name)) continue;
    entries.set(name, { key: name, keyRange: at, value: { kind: 'map', entries: new Map(), range: at } });
  }
  return { ...tools, entries };
}

/** A map from module to settings, or a list of names and of such maps. */
function moduleEntries(modules: Located): readonly Entry[] {
  if (modules.kind === 'map') return [...modules.entries.values()];
  return itemsOf(modules).flatMap((item) => {
    const name = textOf(item);
    if (name !== undefined) return [{ key: name, keyRange: item.range, value: item }];
    return item.kind === 'map' ? [...item.entries.values()] : [];
  });
}

function namedTools(
  flow: Located,
  doc: LocatedMap,
): readonly { readonly name: string; readonly at: Located['range'] }[] {
  const nodes = itemsOf(entryMeant(flow, 'nodes', FIELDS.flow)?.value).flatMap(
    (node) => entryMeant(node, 'tool', FIELDS.node)?.value ?? [],
  );
  const agents = itemsOf(childOf(doc, 'agents')).flatMap((agent) => agentTools(childOf(agent, 'tools')));
  return [...nodes, ...agents].flatMap((located) => {
    const name = textOf(located);
    return name === undefined || !name.includes('.') || name.endsWith('.*') ? [] : [{ name, at: located.range }];
  });
}

/** The tools of an agent as names: `{ modules: [{ web: [search] }, files] }` grants `web.search` and `files.*`. */
function agentTools(tools: Located | undefined): readonly Located[] {
  if (tools?.kind !== 'map') return itemsOf(tools);
  const modules = childOf(tools, 'modules');
  return modules === undefined
    ? []
    : moduleEntries(modules).flatMap(({ key, keyRange, value }): Located[] => {
        const actions = itemsOf(value);
        if (actions.length === 0) return [{ kind: 'scalar', value: `${key}.*`, range: keyRange }];
        return actions.map((action) => ({
          kind: 'scalar',
          value: `${key}.${textOf(action) ?? ''}`,
          range: action.range,
        }));
      });
}

function adaptAgent(agent: Located, report: Report): Located {
  const brain = entryOf(agent, 'brain');
  const own = mapEntries(agent, (entry) => {
    if (entry.key === 'brain') return null;
    if (AGENT_ONLY.includes(entry.key) || isOtherMemory(entry))
      return dropped(entry, entry.key, report, unknownKeyHelp(entry.key, undefined, []));
    if (entry.key === 'system_prompt') return { ...entry, key: 'instructions' };
    if (entry.key === 'specialty') return { ...entry, key: 'description' };
    if (entry.key !== 'tools' || entry.value.kind !== 'map') return entry;
    return { ...entry, value: { kind: 'list', items: agentTools(entry.value), range: entry.value.range } };
  });
  return own.kind === 'map' && brain?.value.kind === 'map' ? withBrain(own, brain.value, report) : own;
}

/** `memory` of that system: a map that has no key of ours. */
function isOtherMemory({ key, value }: Entry): boolean {
  if (key !== 'memory' || value.kind !== 'map' || value.entries.size === 0) return false;
  return !MEMORY_KEYS.some((each) => value.entries.has(each));
}

/** `brain` names the model of an agent and its settings. */
function withBrain(agent: LocatedMap, brain: LocatedMap, report: Report): LocatedMap {
  const entries = new Map(agent.entries);
  const [provider, model] = [textOf(childOf(brain, 'provider')), textOf(childOf(brain, 'model'))];
  for (const entry of brain.entries.values()) {
    if (entry.key === 'provider') continue;
    if (entry.key === 'model' && model !== undefined) {
      const value = provider === undefined ? model : `${provider}/${model}`;
      entries.set('model', { ...entry, value: { kind: 'scalar', value, range: entry.value.range } });
    } else if (entry.key === 'temperature') entries.set('temperature', entry);
    else if (entry.key === 'max_tokens') entries.set('max_output_tokens', { ...entry, key: 'max_output_tokens' });
    else dropped(entry, `brain.${entry.key}`, report, brainHelp(entry.key));
  }
  return { ...agent, entries };
}

function brainHelp(key: string): string | undefined {
  return key === 'config' || key === 'credential'
    ? 'The key of the provider comes from its environment variable; see `models` for another one.'
    : undefined;
}

/** Agents and terminals of that system have `params`, which is `input` or `output` here. */
function adaptFlow(flow: Located, report: Report): Located {
  const nodes = entryMeant(flow, 'nodes', FIELDS.flow);
  return mapEntries(flow, (entry) =>
    entry.key === nodes?.key ? { ...entry, value: mapItems(entry.value, (node) => adaptNode(node, report)) } : entry,
  );
}

function adaptNode(node: Located, report: Report): Located {
  const type = textOf(entryMeant(node, 'type', FIELDS.node)?.value);
  const meant = type === 'agent' ? 'input' : type === 'terminal' ? 'output' : undefined;
  if (meant === undefined) return node;
  const isGiven = entryOf(node, meant) !== undefined;
  return mapEntries(node, (entry) => {
    if (entry.key !== 'params') return entry;
    return isGiven
      ? dropped(entry, 'params', report, `The node has \`${meant}\` too, and that one counts.`)
      : { ...entry, key: meant };
  });
}

function dropped(
  entry: Entry,
  name: string,
  report: Report,
  help = 'Remove it, or keep it for the other system.',
): null {
  report.warning('no-effect', entry.keyRange, `\`${name}\` has no effect here`, { help });
  return null;
}

/** The map with changed entries; an entry that becomes null is left out. Anything but a map stays as it is. */
function mapEntries(located: Located, change: (entry: Entry) => Entry | null): Located {
  if (located.kind !== 'map') return located;
  const entries = [...located.entries.values()].flatMap((entry) => change(entry) ?? []);
  return { ...located, entries: new Map(entries.map((entry) => [entry.key, entry])) };
}

function mapItems(located: Located, change: (item: Located) => Located): Located {
  return located.kind === 'list' ? { ...located, items: located.items.map(change) } : located;
}
