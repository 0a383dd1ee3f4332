/** `staged`: plan, work, aggregate, validate and finalize, as a value. Agents stand where YAML has their ids. */
import type { StagedFields, StagedWork } from '@sluice-internal/notations/staged';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Agent } from './agent.ts';
import { Parts, sectionsOf, withoutSettings, type Definition, type Settings } from './definition.ts';
import type { AnyTool } from './tool.ts';

export type StagedOptions = Settings & Omit<StagedFields<Agent, AnyTool>, 'id' | 'description'> & StagedWork<Agent>;

/**
 * A staged flow. The input is the task.
 * @example
 * const research = staged('research', { plan: { agent: planner }, workers: { agent: researcher, max: 4 }, validate: { agent: critic } });
 */
export function beginStaged(id: string, options: StagedOptions): Definition<string, Json> {
  const parts = new Parts();
  const fields = withIds(withoutSettings(options), parts) as object;
  const staged = present({ id, description: options.description, ...fields });
  const document = { ...parts.sections(), ...sectionsOf(options), staged };
  return Object.freeze({ id, document, tools: parts.implementations(), input: undefined });
}

function withIds(value: unknown, parts: Parts): unknown {
  if (Array.isArray(value)) return value.map((item) => withIds(item, parts));
  if (typeof value !== 'object' || value === null) return value;
  if (isPart(value)) {
    parts.add(value);
    return value.kind === 'agent' ? value.id : value.name;
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withIds(item, parts)]));
}

function isPart(value: object): value is Agent | AnyTool {
  return 'kind' in value && (value.kind === 'agent' || value.kind === 'tool') && 'definition' in value;
}
