/** `staged`: plan, work, aggregate, validate and finalize, as a value. Agents stand where YAML has their ids. */
import type { StagedFields, StagedWork } from '../../../compile/notations/staged/builder.ts';
import type { Json } from '../../../expr/json.ts';
import type { Agent } from './agent.ts';
import { Parts, SECTIONS, sectionsOf } from './definition.ts';
import type { Definition, Settings } from './definition.ts';
import type { AnyTool } from './tool.ts';

export type StagedOptions = Settings & Omit<StagedFields<Agent, AnyTool>, 'id' | 'description'> & StagedWork<Agent>;

/**
 * A staged flow. The input is the task.
 * @example
 * const research = staged('research', { plan: { agent: planner }, workers: { agent: researcher, max: 4 }, validate: { agent: critic } });
 */
export function beginStaged(id: string, options: StagedOptions): Definition<string, Json> {
  const parts = new Parts();
  const { description } = options;
  const fields = Object.entries(options).filter(([name]) => !SETTINGS.has(name));
  const staged = {
    id,
    ...(description === undefined ? {} : { description }),
    ...Object.fromEntries(fields.map(([name, value]) => [name, withIds(value, parts)])),
  };
  const document = { ...parts.sections(), ...sectionsOf(options), staged };
  return Object.freeze({ id, document, tools: parts.implementations(), input: undefined });
}

const SETTINGS: ReadonlySet<string> = new Set(['description', 'budgets', ...SECTIONS]);

function withIds(value: unknown, parts: Parts): unknown {
  if (Array.isArray(value)) return value.map((item) => withIds(item, parts));
  if (typeof value !== 'object' || value === null) return value;
  if (isAgent(value)) {
    parts.addAgent(value);
    return value.id;
  }
  if (isTool(value)) {
    parts.addTool(value);
    return value.name;
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withIds(item, parts)]));
}

function isTool(value: object): value is AnyTool {
  return 'kind' in value && value.kind === 'tool' && 'definition' in value;
}

function isAgent(value: object): value is Agent {
  return 'kind' in value && value.kind === 'agent' && 'definition' in value;
}
