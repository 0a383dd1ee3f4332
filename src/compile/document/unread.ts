/**
 * Which lists of names cannot be told, because they are misspelt, of another kind than they should be, or hold something
 * nameless. That is reported where it stands; a name that may be among them is then not called unknown as well.
 */
import { childOf, entryMeant, itemsOf, textOf, type Located } from '../source/located.ts';
import { nearest } from '../diagnose/nearest.ts';
import { NOTATION_KEYS } from './notation.ts';
import { AGENT_KEYS } from './schema/agents.ts';
import { SECTION_NAMES, isSectionName, type Sections } from './schema/schema.ts';

export type SectionName = keyof Sections;

export function unreadSections(doc: Located): ReadonlySet<SectionName> {
  const unread = new Set<SectionName>();
  if (doc.kind !== 'map') return unread;
  for (const key of doc.entries.keys()) {
    if (isSectionName(key) || NOTATION_KEYS.includes(key)) continue;
    const meant = nearest(key, [...SECTION_NAMES, ...NOTATION_KEYS]);
    if (meant !== undefined && isSectionName(meant)) unread.add(meant);
  }
  for (const section of ['models', 'tools', 'mcp'] as const) {
    const located = childOf(doc, section);
    if (located !== undefined && located.kind !== 'map') unread.add(section);
  }
  const agents = childOf(doc, 'agents');
  if (isUnread(agents, ['id', 'name']) || itemsOf(agents).some((agent) => isUnreadName(agent, 'id')))
    unread.add('agents');
  return unread;
}

/** Whether an agent was given an id, or a name, that cannot be told. */
export function isUnreadName(agent: Located | undefined, field: 'id' | 'name'): boolean {
  const entry = entryMeant(agent, field, AGENT_KEYS);
  return entry !== undefined && (entry.key !== field || (textOf(entry.value) ?? '') === '');
}

/**
 * Whether a field of a map is there, spelt well or not, whose names cannot all be told. Its items have them under one of
 * `keys`; without those it is a map, whose own keys are the names.
 */
export function isUnreadAt(
  holder: Located | undefined,
  field: string,
  known: readonly string[],
  keys?: readonly string[],
): boolean {
  const entry = entryMeant(holder, field, known);
  if (entry === undefined) return false;
  return entry.key !== field || (keys === undefined ? entry.value.kind !== 'map' : isUnread(entry.value, keys));
}

/** Whether a list is there whose names cannot all be told; each item has one under one of the keys. */
export function isUnread(list: Located | undefined, keys: readonly string[]): boolean {
  if (list === undefined) return false;
  const isNamed = (item: Located): boolean => keys.some((key) => (textOf(childOf(item, key)) ?? '') !== '');
  return list.kind !== 'list' || !itemsOf(list).every(isNamed);
}
