/**
 * Sets of declared names. Names are read straight from the text, so a declaration counts even where the rest of it is
 * faulty. A set is poisoned when part of it could not be read: it then has every name, so no check reports one as unknown.
 */
import type { Report } from '../source/diagnostics.ts';
import { didYouMean, nearest } from '../source/nearest.ts';
import { childOf, entryMeant, itemsOf, textOf, type Located } from '../source/located.ts';
import type { Range } from '../source/range.ts';
import { agentKeys } from './schema/agents.ts';
import { SECTION_NAMES, isSectionName, type Sections } from './schema/schema.ts';
import { isPoison } from './shape/poison.ts';

export interface Names {
  /** The names that could be read, in the order of the document. */
  readonly all: ReadonlySet<string>;
  readonly poisoned: boolean;
  /** True for a declared name, for a poison name, and for every name of a poisoned set. */
  has(name: string): boolean;
  /** The help for an unknown name: the declared name that it is most like, or else the other words. */
  help(name: string, otherwise: string): string;
}

/** The names that the shared sections declare. */
export interface SectionNames {
  readonly agents: Names;
  readonly models: Names;
  readonly tools: Names;
  readonly servers: Names;
  /** Sections that an unknown key at the top was probably meant to be. */
  readonly misspelt: ReadonlySet<keyof Sections>;
}

export interface DeclareOptions {
  /** The word for one of them in messages, such as `flow node`. */
  readonly what: string;
  /** The key that holds the id. Default: `id`. */
  readonly key?: string;
  /** Ids that cannot be used, each with the reason. */
  readonly reserved?: { readonly [id: string]: string };
}

export function namesOf(names: Iterable<string>, poisoned = false): Names {
  const all = new Set(names);
  return {
    all,
    poisoned,
    has: (name) => poisoned || isPoison(name) || all.has(name),
    help: (name, otherwise) => didYouMean(name, all, otherwise),
  };
}

/** The ids that a list declares. Reports an id that is used twice and an id that is reserved. */
export function declareIds(list: Located | undefined, report: Report, options: DeclareOptions): Names {
  const { what, key = 'id', reserved = {} } = options;
  const places = new Map<string, Range>();
  for (const item of itemsOf(list)) {
    const located = childOf(item, key);
    const id = textOf(located);
    if (located === undefined || id === undefined || id === '') continue;
    const first = places.get(id);
    if (first === undefined) {
      places.set(id, located.range);
      const article = /^[aeiou]/.test(what) ? 'an' : 'a';
      if (Object.hasOwn(reserved, id))
        report.error('reserved-id', located, `\`${id}\` cannot be the id of ${article} ${what}: ${reserved[id]}`, {
          help: 'Choose another id.',
        });
    } else {
      report.error('duplicate-id', located, `the id \`${id}\` is used by two ${what}s`, {
        help: 'Rename one of them.',
        related: [{ message: 'the first one is here', at: first }],
      });
    }
  }
  return namesOf(places.keys(), isPoisonedList(list, [key]));
}

/** The server whose name comes before the tool in `server.tool`. A name can contain dots, so the longest one counts. */
export function serverPrefix(name: string, servers: Iterable<string>): string | undefined {
  return [...servers].filter((server) => name.startsWith(`${server}.`)).sort((a, b) => b.length - a.length)[0];
}

/** True if a pattern matches one of the names. `*` matches any text. */
export function matches(patterns: readonly string[] | undefined, ...names: readonly string[]): boolean {
  return (patterns ?? []).some((pattern) => {
    const parts = pattern.toLowerCase().split('*');
    const source = parts.map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*');
    return names.some((name) => new RegExp(`^${source}$`).test(name.toLowerCase()));
  });
}

/** Reports an agent that is not declared. `where` is the key that names it. */
export function checkAgent(agents: Names, id: string | undefined, where: string, at: Range, report: Report): boolean {
  if (id === undefined || agents.has(id)) return true;
  const help = agents.help(id, 'Declare it under `agents`.');
  report.error('unknown-agent', at, `unknown agent \`${id}\` on \`${where}\``, { help });
  return false;
}

/**
 * The names under a field of a map. Without `keys` the field is a map, whose keys are the names; with `keys` it is a list,
 * whose items have their name under one of them. A misspelt field poisons the set.
 */
export function namesAt(
  holder: Located | undefined,
  field: string,
  known: readonly string[],
  keys?: readonly string[],
): Names {
  const entry = entryMeant(holder, field, () => known);
  if (entry === undefined) return namesOf([]);
  if (keys === undefined) return namesOf(keysOf(entry.value), entry.key !== field || entry.value.kind !== 'map');
  return namesOf(namesInList(entry.value, keys), entry.key !== field || isPoisonedList(entry.value, keys));
}

export function sectionNames(doc: Located, notationKeys: readonly string[]): SectionNames {
  const misspelt = misspeltSections(doc, notationKeys);
  const fromMap = (section: 'models' | 'tools' | 'mcp'): Names => {
    const located = childOf(doc, section);
    const broken = located !== undefined && located.kind !== 'map';
    return namesOf(keysOf(located), broken || misspelt.has(section));
  };
  const agents = childOf(doc, 'agents');
  const poisoned =
    misspelt.has('agents') ||
    isPoisonedList(agents, ['id', 'name']) ||
    itemsOf(agents).some((agent) => isPoisonedName(agent, 'id'));
  return {
    agents: namesOf(namesInList(agents, ['id', 'name']), poisoned),
    models: fromMap('models'),
    tools: fromMap('tools'),
    servers: fromMap('mcp'),
    misspelt,
  };
}

/** True where an agent has an id, or a name, that cannot be read. */
export function isPoisonedName(agent: Located | undefined, field: 'id' | 'name'): boolean {
  const entry = entryMeant(agent, field, agentKeys);
  return entry !== undefined && (entry.key !== field || (textOf(entry.value) ?? '') === '');
}

/** True where the list is not a list, or an item has none of the keys. */
export function isPoisonedList(list: Located | undefined, keys: readonly string[]): boolean {
  if (list === undefined) return false;
  return list.kind !== 'list' || namesInList(list, keys).length < list.items.length;
}

function namesInList(list: Located | undefined, keys: readonly string[]): readonly string[] {
  return itemsOf(list).flatMap((item) => keys.map((key) => textOf(childOf(item, key)) ?? '').find(Boolean) ?? []);
}

function keysOf(located: Located | undefined): readonly string[] {
  return located?.kind === 'map' ? [...located.entries.keys()] : [];
}

/** Sections that an unknown top-level key was probably meant to be. */
function misspeltSections(doc: Located, notationKeys: readonly string[]): ReadonlySet<keyof Sections> {
  const known = [...SECTION_NAMES, ...notationKeys];
  const meant = keysOf(doc)
    .filter((key) => !known.includes(key))
    .map((key) => nearest(key, known) ?? '');
  return new Set(meant.filter(isSectionName));
}
